#include "runtime/smc/lineage.h"

#include <cmath>
#include <map>
#include <set>

#include "tests/catch.h"
#include "tests/support/scored_hmm.h"

using namespace scry;
using namespace scry::test;

namespace {

const std::vector<int> kX{2, 0, 1, 1, 2, 0, 1};

/// Of every method that goes step by step, with and without much resampling.
std::vector<SampleOptions> all_options() {
  std::vector<SampleOptions> all;
  for (const MethodRow& row : method_table()) {
    if (row.make == nullptr) continue;
    for (const int particles : {1, 5, 40}) {
      all.push_back({.method = row.method,
                     .particles = particles,
                     .temperature = 1.3,
                     .seed = 8,
                     .first_sequence = 3});
      if (row.selects != Selects::kDraws) continue;
      for (const ResampleAt at : {ResampleAt::kBefore, ResampleAt::kAfter}) {
        all.push_back(all.back());
        all.back().trigger = Trigger::kAlways;
        all.back().resample_at = at;
      }
    }
  }
  return all;
}

std::vector<int32_t> prefix_of(const Lineage& lineage, size_t row) {
  std::vector<int32_t> tags;
  for (auto at = static_cast<int32_t>(row); at > 0;
       at = lineage.rows[static_cast<size_t>(at)].parent)
    tags.insert(tags.begin(), lineage.rows[static_cast<size_t>(at)].tag);
  return tags;
}

}  // namespace

TEST_CASE("a lineage is of the run that sample makes, to the bit") {
  const ScoredHmm hmm(5);
  for (const SampleOptions& options : all_options()) {
    INFO(row_of(options.method).name << ", M = " << options.particles);
    const Ensemble sampled = sample(hmm.program, hmm.parameters, kX, options);
    const Lineage lineage = trace_lineage(hmm.program, hmm.parameters, kX, options);
    const Ensemble& traced = lineage.outcome.value();
    CHECK(traced.tags == sampled.tags);
    CHECK(traced.log_weights == sampled.log_weights);
    CHECK(traced.log_z == sampled.log_z);
    CHECK(traced.counts == sampled.counts);
    REQUIRE(traced.steps.size() == sampled.steps.size());
    for (size_t t = 0; t < traced.steps.size(); ++t)
      CHECK(traced.steps[t].ancestors == sampled.steps[t].ancestors);
  }
}

TEST_CASE("the shares of every level of a lineage add up to 1, when it was there and at the end") {
  const ScoredHmm hmm(5);
  for (const SampleOptions& options : all_options()) {
    INFO(row_of(options.method).name << ", M = " << options.particles);
    const Lineage lineage = trace_lineage(hmm.program, hmm.parameters, kX, options);
    REQUIRE(lineage.num_levels() == static_cast<int>(kX.size()) + 1);
    const std::vector<double> shares = lineage.shares(), finals = lineage.final_shares();
    size_t row = 0;
    for (int t = 0; t < lineage.num_levels(); ++t) {
      double share = 0, final_share = 0;
      int64_t count = 0;
      for (const Lineage::Row& each : lineage.level(t)) {
        share += shares[row];
        final_share += finals[row++];
        count += each.count;
      }
      CHECK(share == Approx(1));
      CHECK(final_share == Approx(1));
      if (t > 0 && row_of(options.method).selects == Selects::kDraws)
        CHECK(count == options.particles);
    }
    CHECK(lineage.log_totals.back() == Approx(lineage.outcome.ensemble.log_z));
  }
}

TEST_CASE("a lineage's prefixes are distinct, score as they should, and end in the sample") {
  const ScoredHmm hmm(5);
  for (const SampleOptions& options : all_options()) {
    INFO(row_of(options.method).name << ", M = " << options.particles);
    const Lineage lineage = trace_lineage(hmm.program, hmm.parameters, kX, options);
    const Ensemble& sampled = lineage.outcome.value();
    std::map<std::vector<int32_t>, double> taggings;
    for (size_t i = 0; i < sampled.size(); ++i) {
      const auto tags = sampled.sequence(i);
      taggings[{tags.begin(), tags.end()}] = sampled.probability(i);
    }
    std::set<std::vector<int32_t>> prefixes;
    const std::vector<double> finals = lineage.final_shares();
    for (size_t row = 1; row < lineage.rows.size(); ++row) {
      const std::vector<int32_t> prefix = prefix_of(lineage, row);
      CHECK(prefixes.insert(prefix).second);
      const std::vector<int> x(kX.begin(), kX.begin() + static_cast<std::ptrdiff_t>(prefix.size()));
      CHECK(lineage.rows[row].log_score == Approx(hmm.score(x, prefix)));
      if (prefix.size() == kX.size()) {
        REQUIRE(taggings.contains(prefix));
        CHECK(finals[row] == Approx(taggings[prefix]));
      }
    }
    CHECK(lineage.level(lineage.num_levels() - 1).size() == sampled.size());
  }
}

TEST_CASE("a lineage tells what a set or a beam left out of each step") {
  const ScoredHmm hmm(5);
  for (const Method method : {Method::kDiscrete, Method::kBeam}) {
    const Lineage lineage = trace_lineage(hmm.program, hmm.parameters, kX,
                                          {.method = method, .particles = 5, .tolerance = 0});
    CHECK(lineage.left_out == std::vector<int64_t>{0, 0, 0, 3, 5, 5, 5, 5});
    CHECK(lineage.to_go.empty());
  }
}

TEST_CASE("with the exact lookahead, log Z_t and what is to go are log Z at every t") {
  const ScoredHmm hmm = exact_hmm(4);
  const double log_z = log_total(all_scores(hmm, kX));
  for (const Method method : {Method::kSmooth, Method::kDiscreteAhead}) {
    const Lineage lineage =
        trace_lineage(hmm.program, hmm.parameters, kX, {.method = method, .particles = 6});
    REQUIRE(lineage.to_go.size() == kX.size() + 1);
    for (size_t t = 1; t < lineage.to_go.size(); ++t)
      CHECK(lineage.log_totals[t] + lineage.to_go[t] == Approx(log_z));
  }
}

TEST_CASE("the lineage of a run that failed ends where it failed; of no symbols it is the root") {
  ScoredHmm hmm(5);
  for (int tag = 0; tag < kHmmTags; ++tag) hmm.set_emit(tag, 1, -INFINITY);
  const Lineage failed =
      trace_lineage(hmm.program, hmm.parameters, kX, {.method = Method::kFilter, .particles = 4});
  REQUIRE(failed.outcome.error);
  CHECK(failed.outcome.error->step() == 3);
  CHECK(failed.num_levels() == 3);
  for (double share : failed.final_shares()) CHECK(share == 0);

  const Lineage empty = trace_lineage(hmm.program, hmm.parameters, std::vector<int>(),
                                      {.method = Method::kFilter, .particles = 4});
  CHECK(empty.rows.size() == 1);
  CHECK(empty.outcome.value().size() == 1);
  CHECK(empty.final_shares() == std::vector<double>{1});
  CHECK_THROWS_AS(trace_lineage(hmm.program, hmm.parameters, kX, {.method = Method::kViterbi}),
                  Error);
}
