#include "runtime/smc/resample.h"

#include <cmath>
#include <numeric>

#include "tests/catch.h"

using namespace scry;

namespace {

const Resampling kSchemes[] = {Resampling::kMultinomial, Resampling::kResidual,
                               Resampling::kStratified, Resampling::kSystematic};
const std::vector<double> kWeights{0.0, 3.0, 0.5, 1e-9, 2.25, 0.0, 0.25, 0.0};

std::vector<int> count_copies(Resampling scheme, const std::vector<double>& weights,
                              std::span<const double> uniforms) {
  std::vector<int32_t> ancestors(weights.size(), -1);
  resample(scheme, weights, uniforms, ancestors);
  std::vector<int> counts(weights.size(), 0);
  for (int32_t ancestor : ancestors) ++counts.at(static_cast<size_t>(ancestor));
  return counts;
}

}  // namespace

TEST_CASE("every scheme makes as many copies as the weights say, in expectation") {
  const auto num = kWeights.size();
  const double total = std::accumulate(kWeights.begin(), kWeights.end(), 0.0);
  constexpr int kRounds = 20'000;
  for (Resampling scheme : kSchemes) {
    std::vector<double> sums(num, 0.0), squares(num, 0.0), uniforms(num);
    for (uint32_t round = 0; round < kRounds; ++round) {
      fill_uniform(5, Purpose::kResample, round, 1, uniforms);
      const std::vector<int> counts = count_copies(scheme, kWeights, uniforms);
      for (size_t i = 0; i < num; ++i) {
        sums[i] += counts[i];
        squares[i] += counts[i] * counts[i];
      }
    }
    for (size_t i = 0; i < num; ++i) {
      const double mean = sums[i] / kRounds;
      const double error = std::sqrt((squares[i] / kRounds - mean * mean) / kRounds);
      INFO("scheme " << static_cast<int>(scheme) << ", particle " << i);
      CHECK(std::abs(mean - static_cast<double>(num) * kWeights[i] / total) <= 4 * error + 1e-8);
      if (kWeights[i] == 0) CHECK(sums[i] == 0);
    }
  }
}

TEST_CASE("residual and systematic resampling round the expected number of copies") {
  const double total = std::accumulate(kWeights.begin(), kWeights.end(), 0.0);
  std::vector<double> uniforms(kWeights.size());
  for (uint32_t round = 0; round < 500; ++round) {
    fill_uniform(6, Purpose::kResample, round, 1, uniforms);
    const std::vector<int> residual = count_copies(Resampling::kResidual, kWeights, uniforms);
    const std::vector<int> systematic = count_copies(Resampling::kSystematic, kWeights, uniforms);
    const std::vector<int> stratified = count_copies(Resampling::kStratified, kWeights, uniforms);
    for (size_t i = 0; i < kWeights.size(); ++i) {
      const double expected = 8 * kWeights[i] / total;
      CHECK(residual[i] >= std::floor(expected));
      CHECK(systematic[i] >= std::floor(expected));
      CHECK(systematic[i] <= std::ceil(expected));
      CHECK(std::abs(stratified[i] - expected) < 2);
    }
  }
}

TEST_CASE("the ends of the wheel go to particles that have weight") {
  for (Resampling scheme : kSchemes) {
    for (double u : {0x1p-53, 1 - 0x1p-53}) {
      for (double scale : {1e-300, 1.0, 1e300}) {
        std::vector<double> weights = kWeights;
        for (double& w : weights) w *= scale;
        const std::vector<double> uniforms(weights.size(), u);
        const std::vector<int> counts = count_copies(scheme, weights, uniforms);
        for (size_t i = 0; i < weights.size(); ++i) {
          if (weights[i] == 0) CHECK(counts[i] == 0);
        }
      }
    }
  }
}

TEST_CASE("equal weights are left alone by all schemes but the multinomial") {
  const std::vector<double> weights(9, 0.7);
  std::vector<double> uniforms(9);
  fill_uniform(7, Purpose::kResample, 1, 1, uniforms);
  for (Resampling scheme : {Resampling::kStratified, Resampling::kSystematic})
    CHECK(count_copies(scheme, weights, uniforms) == std::vector<int>(9, 1));
}
