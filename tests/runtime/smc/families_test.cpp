#include "runtime/smc/families.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/kernels/philox.h"
#include "runtime/smc/ensemble.h"
#include "tests/catch.h"

using namespace scry;

namespace {

struct Reduced {
  std::vector<size_t> kept;
  std::vector<double> log_weights;
};

Reduced reduced(const std::vector<double>& log_weights, size_t family_size, size_t num_kept,
                double family_offset, double member_offset) {
  Reduced result;
  Families families;
  families.weigh(log_weights, family_size);
  families.reduce(num_kept, family_offset, member_offset, result.kept, result.log_weights);
  return result;
}

/// Families of unlike sizes, some members of weight 0.
std::vector<double> random_log_weights(size_t num_families, size_t family_size, double spread,
                                       uint32_t stream) {
  Random random(17, stream);
  std::vector<double> values;
  for (size_t f = 0; f < num_families; ++f) {
    const double level = spread * random.normal();
    for (size_t n = 0; n < family_size; ++n) {
      const double value = level + spread * random.normal();
      values.push_back(random.uniform() < 0.15 ? -INFINITY : value);
    }
  }
  return values;
}

size_t count_above(const std::vector<double>& log_weights) {
  return log_weights.size() -
         static_cast<size_t>(std::count(log_weights.begin(), log_weights.end(), -INFINITY));
}

double log_kappa_of(const std::vector<double>& log_weights, size_t num_kept) {
  Reducer reducer;
  reducer.weigh(log_weights);
  return reducer.log_threshold(num_kept);
}

double mass_of(std::span<const double> log_weights, double log_kappa) {
  double mass = 0;
  for (double w : log_weights) mass += std::exp(w - log_kappa);
  return mass;
}

}  // namespace

TEST_CASE("a choice by families leaves every weight as it is in the mean") {
  // Both offsets are uniform and independent: a fine grid has every outcome in its proportion, up
  // to a cell at each of the borders between outcomes; of those each member sees a few.
  constexpr int kGrid = 400;
  for (uint32_t stream = 0; stream < 6; ++stream) {
    const std::vector<double> values = random_log_weights(5, 3, 0.3 + 0.3 * stream, stream);
    const size_t num_above = count_above(values);
    for (const size_t num_kept : {1, 2, 4, 7, 10}) {
      if (num_kept >= num_above) continue;
      std::vector<double> mean(values.size(), 0.0);
      double most = 0;
      for (int i = 0; i < kGrid; ++i) {
        for (int j = 0; j < kGrid; ++j) {
          const Reduced result = reduced(values, 3, num_kept, (i + 0.5) / kGrid, (j + 0.5) / kGrid);
          for (size_t n = 0; n < result.kept.size(); ++n) {
            const double weight = std::exp(result.log_weights[n]);
            mean[result.kept[n]] += weight / (kGrid * kGrid);
            most = std::max(most, weight);
          }
        }
      }
      for (size_t at = 0; at < values.size(); ++at) {
        INFO("stream " << stream << ", " << num_kept << " kept, member " << at);
        CHECK(std::abs(mean[at] - std::exp(values[at])) <= 4 * most / kGrid);
      }
    }
  }
}

TEST_CASE("a choice by families keeps as many as asked for, and the sum of their weights") {
  for (uint32_t stream = 0; stream < 200; ++stream) {
    for (const size_t family_size : {1, 2, 5, 40}) {
      const std::vector<double> values =
          random_log_weights(1 + stream % 30, family_size, 0.02 * stream, stream);
      for (const size_t num_kept : {1, 2, 7, 31, 100, 2000}) {
        const Reduced result = reduced(values, family_size, num_kept, 0.37, (stream + 0.5) / 200);
        INFO("stream " << stream << ", " << num_kept << " of families of " << family_size);
        CHECK(result.kept.size() == std::min(num_kept, count_above(values)));
        CHECK(std::adjacent_find(result.kept.begin(), result.kept.end(), std::greater_equal<>()) ==
              result.kept.end());
        for (const size_t i : result.kept) CHECK(values[i] > -INFINITY);
        if (count_above(values) > 0) {
          CHECK(log_sum_exp(result.log_weights) ==
                Approx(log_sum_exp(values)).epsilon(1e-11).margin(1e-11));
        }
      }
    }
  }
}

TEST_CASE("what is heavier than the threshold of all is kept as it is, by families too") {
  for (uint32_t stream = 0; stream < 100; ++stream) {
    const std::vector<double> values = random_log_weights(8, 4, 1.5, stream);
    const double log_kappa = log_kappa_of(values, 9);
    const Reduced result = reduced(values, 4, 9, (stream + 0.5) / 100, 0.3);
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i] <= log_kappa + 1e-9) continue;
      const auto at = std::find(result.kept.begin(), result.kept.end(), i);
      REQUIRE(at != result.kept.end());
      CHECK(result.log_weights[static_cast<size_t>(at - result.kept.begin())] == values[i]);
    }
  }
}

TEST_CASE("a family that weighs nearly a place keeps a member, and what it weighs") {
  constexpr size_t kFamilies = 24, kSize = 5;
  Random random(3, 1);
  for (int time = 0; time < 200; ++time) {
    // From 0.75 to 1.25 places each; no member is heavy.
    std::vector<double> values;
    for (size_t f = 0; f < kFamilies; ++f) {
      const double mass = 0.75 + 0.5 * random.uniform();
      std::vector<double> members;
      for (size_t n = 0; n < kSize; ++n) members.push_back(0.5 + random.uniform());
      const double total = std::accumulate(members.begin(), members.end(), 0.0);
      for (const double m : members) values.push_back(std::log(m / total * mass) - 700.0);
    }
    const double log_kappa = log_kappa_of(values, kFamilies);
    const Reduced result = reduced(values, kSize, kFamilies, random.uniform(), random.uniform());
    REQUIRE(result.kept.size() == kFamilies);
    for (size_t f = 0; f < kFamilies; ++f) {
      CHECK(result.kept[f] / kSize == f);
      const double mass = mass_of(std::span(values).subspan(f * kSize, kSize), log_kappa);
      CHECK(result.log_weights[f] == Approx(log_kappa + std::log(mass)).epsilon(1e-12));
    }
  }
}

TEST_CASE("small families are reduced to some that weigh as much as the least that are not") {
  // Twenty of a tenth of a place, and eight of one: κ is 1, of ten places.
  std::vector<double> values;
  for (int f = 0; f < 28; ++f) {
    for (int n = 0; n < 2; ++n) values.push_back(std::log(f < 20 ? 0.05 : 0.5));
  }
  for (int time = 0; time < 50; ++time) {
    const Reduced result = reduced(values, 2, 10, (time + 0.5) / 50, 0.2);
    REQUIRE(result.kept.size() == 10);
    CHECK(result.kept[1] < 40);
    CHECK(result.kept[2] >= 40);
    for (const double w : result.log_weights) CHECK(w == Approx(0).margin(1e-12));
  }
  // With more places, small ones weigh less, but not less than need be: of 12 places, each 10 / 12,
  // the twenty fill 2.4, and get 2.4 / 0.7 rounded up.
  const Reduced more = reduced(values, 2, 12, 0.5, 0.2);
  REQUIRE(more.kept.size() == 12);
  CHECK(more.kept[3] < 40);
  CHECK(more.kept[4] >= 40);
  for (size_t n = 0; n < 4; ++n) CHECK(more.log_weights[n] == Approx(std::log(2.0 / 4)));
}

TEST_CASE("more places go to the families that weigh more") {
  // Of 12 places 6, 3, 2 and 1.
  std::vector<double> values;
  for (const double mass : {6.0, 3.0, 2.0, 1.0}) {
    for (int n = 0; n < 20; ++n) values.push_back(std::log(mass / 20));
  }
  const Reduced result = reduced(values, 20, 12, 0.5, 0.5);
  std::vector<int> places(4, 0);
  for (const size_t i : result.kept) ++places[i / 20];
  CHECK(places == std::vector<int>{6, 3, 2, 1});
  for (const double w : result.log_weights) CHECK(w == Approx(0).margin(1e-12));
}

TEST_CASE("like families keep unlike members, few neighbours or many") {
  constexpr size_t kFamilies = 60, kSize = 5;
  const std::vector<double> values(kFamilies * kSize, -std::log(5.0));
  for (int time = 0; time < 50; ++time) {
    const Reduced result = reduced(values, kSize, kFamilies, 0.5, (time + 0.5) / 50);
    REQUIRE(result.kept.size() == kFamilies);
    std::vector<int> seen(kSize, 0);
    for (size_t f = 0; f < kFamilies; ++f) {
      ++seen[result.kept[f] % kSize];
      if (f > 0) CHECK(result.kept[f] % kSize != result.kept[f - 1] % kSize);
    }
    for (const int count : seen) CHECK(std::abs(count - 12) <= 2);
  }
}
