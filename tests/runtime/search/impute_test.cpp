#include "runtime/search/impute.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "runtime/search/search.h"
#include "tests/catch.h"
#include "tests/support/scored_hmm.h"

using namespace scry;
using namespace scry::test;

namespace {

using Counts = std::map<std::vector<int>, double>;

/// Σ (observed - expected)² / expected over all taggings that may be, and their number less one.
std::pair<double, double> chi_squared(const ScoredHmm& hmm, const std::vector<int>& x,
                                      const TagSets& allowed, const Imputed& imputed) {
  Counts counts;
  for (const std::vector<int32_t>& tags : imputed.versions) ++counts[ints(tags)];
  const auto scores = all_scores(hmm, x, allowed);
  const double log_z = log_total(scores), m = static_cast<double>(imputed.versions.size());
  double total = 0, found = 0;
  for (const auto& [y, score] : scores) {
    const double expected = m * std::exp(score - log_z);
    total += (counts[y] - expected) * (counts[y] - expected) / expected;
    found += counts[y];
  }
  CHECK(found == m);  // none is outside what was observed
  return {total, static_cast<double>(scores.size()) - 1};
}

}  // namespace

TEST_CASE("versions are draws from the model given what was observed") {
  const ScoredHmm hmm(5, hand_hmm_without_proposal());
  const std::vector<int> x{0, 2, 1, 2, 0};
  const TagSets allowed = some_constraints(5, 3);
  const std::vector<SampleInput> inputs{{x, allowed}, x};
  const std::vector<Imputed> imputed =
      impute(hmm.program, hmm.parameters, inputs, {.versions = 4000});
  for (size_t i : {0, 1}) {
    CHECK(imputed[i].is_exact);
    const auto [total, freedom] = chi_squared(hmm, x, i == 0 ? allowed : TagSets(), imputed[i]);
    INFO(total << " of " << freedom);
    CHECK(total < freedom + 4 * std::sqrt(2 * freedom));
  }
}

TEST_CASE("versions of long inputs are exact over finite states, and the same for any threads") {
  const ScoredHmm hmm(5, hand_hmm_without_proposal());
  std::vector<std::vector<int>> xs;
  std::vector<SampleInput> inputs;
  for (int i = 0; i < 9; ++i) xs.push_back(random_symbols(kHmmSymbols, 10 + i, 3));
  for (const std::vector<int>& x : xs)
    inputs.emplace_back(x, some_constraints(static_cast<int>(x.size()), 4));
  std::vector<Imputed> first;
  for (const int threads : {1, 2, 3}) {
    const std::vector<Imputed> imputed =
        impute(hmm.program, hmm.parameters, inputs, {.versions = 3, .threads = threads});
    for (size_t i = 0; i < inputs.size(); ++i) {
      REQUIRE_FALSE(imputed[i].error);
      CHECK(imputed[i].is_exact);
      for (const std::vector<int32_t>& tags : imputed[i].versions)
        CHECK(is_allowed(inputs[i].allowed, ints(tags)));
      if (threads > 1) CHECK(imputed[i].versions == first[i].versions);
    }
    if (threads == 1) first = imputed;
  }
  CHECK(first[8].versions[0] != first[8].versions[1]);
}

TEST_CASE("an input whose tags are all forbidden is an error of its own") {
  const ScoredHmm hmm(5, hand_hmm_without_proposal());
  const std::vector<int> x{0, 1};
  TagSets none(2, kHmmTags);
  none.allow_only(2, std::initializer_list<int>{});
  const std::vector<SampleInput> inputs{{x, none}, x};
  const std::vector<Imputed> imputed = impute(hmm.program, hmm.parameters, inputs);
  REQUIRE(imputed[0].error);
  CHECK(imputed[0].error->trouble() == Trouble::kForbidden);
  CHECK(imputed[1].versions.size() == 5);
  CHECK_THROWS_WITH(impute(hmm.program, hmm.parameters, inputs, {.versions = 0}),
                    "versions: 0, but at least 1 is needed");
}

namespace {

/// Tags are 1 with probability π, each by itself; then symbol 1 is likelier.
constexpr double kEmission[2][3] = {{0.5, 0.3, 0.2}, {0.3, 0.5, 0.2}};

void set_share(ScoredHmm& hmm, double share) {
  for (int from = 0; from < 3; ++from) {
    hmm.set_trans(from, 0, std::log(1 - share));
    hmm.set_trans(from, 1, std::log(share));
  }
  for (int tag = 0; tag < 2; ++tag) {
    for (int symbol = 0; symbol < 3; ++symbol)
      hmm.set_emit(tag, symbol, std::log(kEmission[tag][symbol]));
  }
}

struct Observed {
  std::vector<std::vector<int>> xs;
  std::vector<SampleInput> inputs;
  int num_ones = 0, num_known = 0, num_tags = 0;
  int unknown_by_symbol[3] = {};

  Observed(double share, double hidden, Random& random) {
    constexpr int kLines = 20, kLength = 5;
    std::vector<TagSets> sets;
    for (int i = 0; i < kLines; ++i) {
      std::vector<int>& x = xs.emplace_back();
      TagSets& allowed = sets.emplace_back(kLength, kHmmTags);
      for (int step = 1; step <= kLength; ++step) {
        const int tag = random.uniform() < share ? 1 : 0;
        const double u = random.uniform();
        x.push_back(u < kEmission[tag][0] ? 0 : u < 1 - kEmission[tag][2] ? 1 : 2);
        ++num_tags;
        if (random.uniform() < hidden) {
          ++unknown_by_symbol[x.back()];
          continue;
        }
        allowed.allow_only(step, {tag});
        num_ones += tag;
        ++num_known;
      }
    }
    for (size_t i = 0; i < xs.size(); ++i) inputs.emplace_back(xs[i], sets[i]);
  }

  /// From the posterior of π under a uniform prior, on a grid.
  double draw_share(Random& random) const {
    constexpr int kGrid = 400;
    std::vector<double> cumulative;
    double total = 0;
    for (int i = 0; i < kGrid; ++i) {
      const double p = (i + 0.5) / kGrid;
      double log_p = num_ones * std::log(p) + (num_known - num_ones) * std::log(1 - p);
      for (int symbol = 0; symbol < 3; ++symbol) {
        log_p += unknown_by_symbol[symbol] *
                 std::log(p * kEmission[1][symbol] + (1 - p) * kEmission[0][symbol]);
      }
      cumulative.push_back(total += std::exp(log_p + 100 * std::log(2.0)));
    }
    const double target = random.uniform() * total;
    const auto found = std::upper_bound(cumulative.begin(), cumulative.end(), target);
    return (static_cast<double>(found - cumulative.begin()) + 0.5) / kGrid;
  }
};

/// The 97.5 % quantile of Student's t, by its expansion in 1/ν.
double t_quantile(double freedom) {
  const double z = 1.959964, z3 = z * z * z, z5 = z3 * z * z;
  return z + (z3 + z) / (4 * freedom) + (5 * z5 + 16 * z3 + 3 * z) / (96 * freedom * freedom);
}

}  // namespace

TEST_CASE("estimates pooled over versions by Rubin's rules cover the truth at the nominal rate") {
  // Proper imputation: each version with parameters from their posterior, tags from the model.
  constexpr int kRepeats = 400, kVersions = 8;
  constexpr double kShare = 0.35;
  ScoredHmm hmm(5, hand_hmm_without_proposal());
  Random random(31, 1);
  int num_covered = 0, num_naive = 0;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    const Observed observed(kShare, 0.6, random);
    const double n = observed.num_tags;
    std::vector<double> estimates;
    double within = 0;
    for (int version = 0; version < kVersions; ++version) {
      set_share(hmm, observed.draw_share(random));
      const std::vector<Imputed> imputed =
          impute(hmm.program, hmm.parameters, observed.inputs,
                 {.versions = 1,
                  .seed = static_cast<uint64_t>(repeat * kVersions + version + 1),
                  .threads = 1});
      double ones = 0;
      for (const Imputed& line : imputed) {
        for (const int32_t tag : line.versions.front()) ones += tag;
      }
      estimates.push_back(ones / n);
      within += ones / n * (1 - ones / n) / n / kVersions;
    }
    double mean = 0, between = 0;
    for (const double estimate : estimates) mean += estimate / kVersions;
    for (const double estimate : estimates)
      between += (estimate - mean) * (estimate - mean) / (kVersions - 1);
    const double extra = (1 + 1.0 / kVersions) * between;
    const double ratio = 1 + within / extra;
    const double bar = t_quantile((kVersions - 1) * ratio * ratio) * std::sqrt(within + extra);
    num_covered += std::abs(mean - kShare) <= bar ? 1 : 0;
    num_naive += std::abs(estimates[0] - kShare) <= 1.96 * std::sqrt(within) ? 1 : 0;
  }
  const double error = std::sqrt(0.95 * 0.05 / kRepeats);
  INFO(num_covered << " pooled and " << num_naive << " single ones of " << kRepeats);
  CHECK(std::abs(num_covered / double{kRepeats} - 0.95) < 4 * error);
  CHECK(num_naive / double{kRepeats} < 0.95 - 4 * error);
}
