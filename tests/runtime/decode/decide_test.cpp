#include "runtime/decode/decide.h"

#include <cmath>

#include "runtime/decode/spans.h"
#include "runtime/search/exact.h"
#include "runtime/search/search.h"
#include "tests/catch.h"
#include "tests/support/hand_hmm.h"
#include "tests/support/hand_posterior.h"

using namespace scry;
using namespace scry::test;

namespace {

const Task kTask{Alphabet::of("a"), Alphabet::of("O B-X I-X")};
constexpr LossKind kKinds[] = {LossKind::kHamming, LossKind::kWhole, LossKind::kSpans,
                               LossKind::kEdit, LossKind::kOwn};

/// Wrong tags count the more the later they stand, and one way more than the other.
double own_loss(std::span<const int32_t> decided, std::span<const int32_t> truth) {
  double total = 0;
  for (size_t t = 0; t < truth.size(); ++t) {
    if (decided[t] != truth[t]) total += static_cast<double>(t + 1) * (1 + decided[t]);
  }
  return total;
}

struct Least {
  std::vector<int> tags;
  double risk = INFINITY;
};
/// Over all taggings, by the definition (eq:risk).
Least brute_force(const Ensemble& p, const Loss& loss, int num_tags) {
  Least least;
  for (const std::vector<int>& z : all_taggings(num_tags, p.length)) {
    double risk = 0;
    for (size_t i = 0; i < p.size(); ++i) risk += p.probability(i) * loss(z, p.sequence(i));
    if (risk < least.risk) least = {z, risk};
  }
  return least;
}

}  // namespace

TEST_CASE("of all of p every loss is minimized over all taggings, to the risk by brute force") {
  for (const LossKind kind : kKinds) {
    const Loss loss = make_loss(kind, kTask, own_loss);
    const Decider decider(kind, kTask, own_loss);
    for (int length : {1, 2, 4, 5}) {
      for (uint64_t seed = 0; seed < 6; ++seed) {
        for (double spread : {0.3, 2.0}) {  // diffuse and peaked
          const Ensemble p = random_posterior(3, length, seed, spread);
          const Least least = brute_force(p, loss, 3);
          const Decision decision = decider.decide(p, {.num_taggings = std::pow(3, length)});
          CAPTURE(loss_names()[static_cast<size_t>(kind)], length, seed, spread);
          CHECK(decision.expected_loss == Approx(least.risk).epsilon(1e-9).margin(1e-12));
          CHECK(p.expectation([&](std::span<const int32_t> y) { return loss(decision.tags, y); }) ==
                Approx(least.risk).epsilon(1e-9).margin(1e-12));
          // Several taggings have the same spans, and edits tie.
          if (kind != LossKind::kSpans && kind != LossKind::kEdit)
            CHECK(decision.tags == least.tags);
          CHECK(decision.status == RiskStatus::kExact);
          CHECK(decision.is_over_all);
        }
      }
    }
  }
}

TEST_CASE("the losses do not all choose the same, and none is beaten at its own") {
  int num_different = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Ensemble p = random_posterior(3, 4, seed, 0.8);
    const auto whole = Decider(LossKind::kWhole, kTask).decide(p);
    const auto hamming = Decider(LossKind::kHamming, kTask).decide(p);
    num_different += whole.tags != hamming.tags ? 1 : 0;
    const auto risk = [&](const Decider& decider, const Decision& decision) {
      return p.expectation(
          [&](std::span<const int32_t> y) { return decider.loss(decision.tags, y); });
    };
    const Decider by_tags(LossKind::kHamming, kTask);
    CHECK(risk(by_tags, hamming) <= risk(by_tags, whole) + 1e-12);
    CHECK(risk(by_tags, hamming) == Approx(hamming.expected_loss));
  }
  CHECK(num_different > 5);
}

TEST_CASE("of a sample the decision is over candidates, and says so") {
  Ensemble sample = random_posterior(3, 4, 3);
  sample.certainty = Certainty::kUnknown;
  const Decision spans = Decider(LossKind::kSpans, kTask).decide(sample);
  CHECK(!spans.is_over_all);
  CHECK(spans.status == RiskStatus::kEstimate);
  CHECK(spans.num_candidates == 81);
  CHECK(Decider(LossKind::kHamming, kTask).decide(sample).is_over_all);
  CHECK(!Decider(LossKind::kWhole, kTask).decide(sample).is_over_all);
  sample.certainty = Certainty::kUnreliable;
  CHECK(Decider(LossKind::kEdit, kTask).decide(sample).status == RiskStatus::kUnreliable);
  sample.certainty = Certainty::kLowerBound;
  CHECK(Decider(LossKind::kEdit, kTask).decide(sample).status == RiskStatus::kBeam);

  // Half of the taggings, weighted as if they were all, with log Z of all.
  Ensemble half = random_posterior(3, 4, 3, 0.1);
  half.certainty = Certainty::kUnknown;
  for (auto* list : {&half.log_weights, &half.log_scores}) list->resize(40);
  half.tags.resize(40 * 4);
  for (double& log_weight : half.log_weights) log_weight = half.log_z - std::log(40);
  CHECK(Decider(LossKind::kHamming, kTask).decide(half).status == RiskStatus::kUnreliable);
  half.certainty = Certainty::kExact;  // as of exact draws
  half.counts.assign(40, 1);
  half.info.particles = 40;
  CHECK(Decider(LossKind::kHamming, kTask).decide(half).status == RiskStatus::kEstimate);

  const Ensemble all = random_posterior(3, 4, 3);
  const Decision few = Decider(LossKind::kSpans, kTask).decide(all, {.max_candidates = 5});
  CHECK(few.num_candidates == 5);
  CHECK(!few.is_over_all);
  CHECK(few.status == RiskStatus::kExact);  // its expectation is over all of p all the same
  CHECK(few.expected_loss >= Decider(LossKind::kSpans, kTask).decide(all).expected_loss);
}

TEST_CASE("exact draws know log Z but are a sample, also when weighted by score") {
  const Program program = hand_hmm();
  const Parameters parameters = Parameters::fresh(program, 5);
  const std::vector<int> x{2, 0, 1, 1, 2, 0, 1, 2};
  Ensemble drawn = exact(program, parameters, x, {.particles = 20, .max_rows = 40});
  REQUIRE(drawn.certainty == Certainty::kExact);
  CHECK(!drawn.is_whole_posterior());
  weigh_by_score(drawn);
  CHECK(!drawn.is_whole_posterior());
  CHECK(exact(program, parameters, x, {.temperature = 2}).is_whole_posterior());
}

TEST_CASE(
    "of whole sequences the candidate of the best score is chosen, though another weighs more") {
  Ensemble sample = hand_ensemble(
      {{{0, 1}, std::log(2), 1, -3}, {{1, 1}, std::log(5), 1, -4}, {{2, 2}, std::log(1), 1, -5}},
      2);
  sample.sort();
  const Decision decision = Decider(LossKind::kWhole, kTask).decide(sample);
  CHECK(decision.tags == std::vector<int32_t>{0, 1});
  CHECK(decision.expected_loss == Approx(1 - 2 / 8.0));
}

TEST_CASE("taggings of no weight are neither candidates nor counted; no mass is an error") {
  Ensemble sample = four();
  sample.sort();
  const Decision decision = Decider(LossKind::kEdit, kTask).decide(sample);
  CHECK(decision.num_candidates == 3);
  CHECK(decision.tags == std::vector<int32_t>{0, 1});
  CHECK(decision.expected_loss == Approx(0.3 * 1 + 0.1 * 1));
  for (const Ensemble& empty : ensembles_without_mass()) {
    for (const LossKind kind : kKinds)
      CHECK_THROWS_AS(Decider(kind, kTask, own_loss).decide(empty), Error);
  }
}

TEST_CASE("finite states give the exact decision by dynamic programming, at any length") {
  const Program program = hand_hmm();
  const Parameters parameters = Parameters::fresh(program, 7);
  const Task task{Alphabet::numbered(kHmmSymbols), Alphabet::numbered(kHmmTags)};
  for (double temperature : {1.0, 0.25}) {
    for (int length : {1, 4, 9}) {
      const std::vector<int> x = random_symbols(kHmmSymbols, length, 3);
      SampleOptions options;
      options.temperature = temperature;
      const Ensemble all = exact(program, parameters, x, options);
      for (const LossKind kind : {LossKind::kHamming, LossKind::kWhole}) {
        const Decider decider(kind, task);
        const Least least = brute_force(all, make_loss(kind, task), kHmmTags);
        const Decision decision = decider.decide_exactly(program, parameters, x, options);
        CAPTURE(temperature, length, static_cast<int>(kind));
        CHECK(decision.tags == least.tags);
        CHECK(decision.expected_loss == Approx(least.risk).epsilon(1e-9));
        CHECK(decision.is_over_all);
        CHECK(decision.status == RiskStatus::kExact);
      }
    }
  }
  const std::vector<int> long_x = random_symbols(kHmmSymbols, 2000, 3);
  const Decision whole =
      Decider(LossKind::kWhole, task).decide_exactly(program, parameters, long_x);
  CHECK(whole.tags == viterbi(program, parameters, long_x).tags);
  CHECK(whole.expected_loss <= 1);
  CHECK_THROWS_AS(Decider(LossKind::kEdit, task).decide_exactly(program, parameters, long_x),
                  Error);
}

TEST_CASE("forbidden tags are never decided for by marginals") {
  const Program program = hand_hmm();
  const Parameters parameters = Parameters::fresh(program, 7);
  const Task task{Alphabet::numbered(kHmmSymbols), Alphabet::numbered(kHmmTags)};
  const std::vector<int> x{0, 1, 2, 1};
  for (int tag : {0, 1}) {
    TagSets allowed(4, kHmmTags);
    allowed.allow_only(3, {tag});
    const Decider decider(LossKind::kHamming, task);
    CHECK(decider.decide_exactly(program, parameters, {x, allowed}).tags[2] == tag);
    CHECK(decider.decide(exact(program, parameters, {x, allowed})).tags[2] == tag);
  }
}
