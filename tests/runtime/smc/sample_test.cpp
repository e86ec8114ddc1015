#include "runtime/smc/sample.h"

#include <cmath>
#include <map>

#include "tests/catch.h"
#include "tests/support/hand_hmm.h"
#include "tests/support/replay.h"
#include "tests/support/sampling_methods.h"
#include "tests/support/taggings.h"

using namespace scry;
using namespace scry::test;

namespace {

struct Hmm {
  Program program = hand_hmm();
  Parameters parameters = Parameters::fresh(program, 5);

  /// The lookahead gets the model's own parameters, so that it is exact.
  void make_exact() {
    for (int64_t k = 0; k < 32; ++k) parameters.values.set(32 + k, parameters.values.get(k));
  }
  double log_z(const std::vector<int>& x) {
    double total = 0;
    Replay replay(program, parameters);
    for (const std::vector<int>& y : all_taggings(kHmmTags, static_cast<int>(x.size())))
      total += std::exp(replay.run(x, y).log_score);
    return std::log(total);
  }
};

const std::vector<int> kX{2, 0, 1, 1, 2, 0};

/// The model's score of tag 1 on symbol 2 becomes `kValue`.
template <int kCase>
void poisoned_score(const KernelCall* call) {
  const double value = kCase == 0 ? NAN : kCase == 1 ? INFINITY : -INFINITY;
  static const Kernel clean = hand_hmm().score.forward;
  clean.run(call);
  for (int64_t row = 0; row < call->num_rows; ++row) {
    if (static_cast<const int32_t*>(call->args[3])[call->position_of_row[row]] != 2) continue;
    static_cast<double*>(call->args[4])[row * kHmmTags + 1] = value;
    if (kCase == 2) static_cast<double*>(call->args[4])[row * kHmmTags] = value;
  }
}

std::string failure(const Outcome& outcome) { return outcome.error ? outcome.error->what() : ""; }

/// Of |log Ẑ - log Z|: four standard errors of a sample; rounding where all taggings were kept.
double log_z_bound(const Ensemble& drawn) {
  return drawn.info.particles == 0 ? 1e-12 : 4 * drawn.log_z_error.value() + 1e-12;
}

}  // namespace

TEST_CASE("enumeration finds every tagging with its score, and Z") {
  Hmm hmm;
  const Ensemble all = enumerate(hmm.program, hmm.parameters, kX);
  REQUIRE(all.size() == 64);
  Replay replay(hmm.program, hmm.parameters);
  std::map<std::vector<int>, double> found;
  for (size_t i = 0; i < all.size(); ++i)
    found[{all.sequence(i).begin(), all.sequence(i).end()}] = all.log_scores[i];
  for (const std::vector<int>& y : all_taggings(kHmmTags, 6))
    CHECK(found.at(y) == Approx(replay.run(kX, y).log_score).epsilon(1e-12));
  CHECK(all.log_z == Approx(hmm.log_z(kX)).epsilon(1e-12));
  CHECK(all.log_z_error == 0.0);
}

TEST_CASE("an exact lookahead gives every particle the weight Z") {
  Hmm hmm;
  hmm.make_exact();
  for (int particles : {1, 2, 7, 300}) {
    for (Trigger trigger : {Trigger::kNever, Trigger::kEss, Trigger::kAlways}) {
      const Ensemble drawn =
          smooth(hmm.program, hmm.parameters, kX, {.particles = particles, .trigger = trigger});
      CHECK(drawn.log_z == Approx(hmm.log_z(kX)).epsilon(1e-12));
      for (size_t i = 0; i < drawn.size(); ++i)
        CHECK(drawn.particle_log_weight(i) == Approx(hmm.log_z(kX)).epsilon(1e-12));
      for (const StepRecord& step : drawn.steps) CHECK(step.ess == Approx(particles));
    }
  }
}

TEST_CASE("without resampling, a weight is exp G_T / q, for every method") {
  Hmm hmm;
  Replay replay(hmm.program, hmm.parameters);
  const SampleOptions options{.particles = 50, .trigger = Trigger::kNever};
  for (Method method : {Method::kImportance, Method::kSmooth}) {
    SampleOptions with = options;
    with.method = method;
    const Ensemble drawn = sample(hmm.program, hmm.parameters, SampleInput{kX, {}}, with);
    REQUIRE(drawn.size() > 3);
    for (size_t i = 0; i < drawn.size(); ++i) {
      const SequenceScore score =
          replay.run(kX, std::vector<int>(drawn.sequence(i).begin(), drawn.sequence(i).end()));
      CHECK(drawn.log_scores[i] == Approx(score.log_score).epsilon(1e-12));
      CHECK(drawn.particle_log_weight(i) ==
            Approx(score.log_score - score.log_proposal).epsilon(1e-12));
    }
  }
}

TEST_CASE("counts add up to M, and merged weights to Z's estimate") {
  Hmm hmm;
  for (Method method : {Method::kImportance, Method::kFilter, Method::kSmooth}) {
    for (Trigger trigger : {Trigger::kNever, Trigger::kEss, Trigger::kAlways}) {
      const Ensemble drawn = sample(hmm.program, hmm.parameters, SampleInput{kX, {}},
                                    {.method = method, .particles = 40, .trigger = trigger});
      int total = 0;
      for (int count : drawn.counts) total += count;
      CHECK(total == 40);
      CHECK(log_sum_exp(drawn.log_weights) == Approx(drawn.log_z).epsilon(1e-12));
      REQUIRE(drawn.steps.size() == kX.size());
      CHECK(drawn.steps[0].num_rows == 1);
      for (size_t t = 1; t < kX.size(); ++t) {
        CHECK(drawn.steps[t].num_rows <= std::min(40, 1 << t));
        CHECK(drawn.steps[t].resampled == !drawn.steps[t].ancestors.empty());
        if (trigger == Trigger::kNever) CHECK(!drawn.steps[t].resampled);
        if (trigger == Trigger::kAlways && t + 1 < kX.size()) CHECK(drawn.steps[t].resampled);
      }
      CHECK(!drawn.steps.back().resampled);
    }
  }
}

TEST_CASE("a beam as wide as all taggings is the enumeration") {
  Hmm hmm;
  const Ensemble all = enumerate(hmm.program, hmm.parameters, kX);
  for (Method method : {Method::kBeam, Method::kBeamAhead}) {
    const Ensemble wide =
        beam(hmm.program, hmm.parameters, kX, {.method = method, .particles = 64});
    CHECK(wide.tags == all.tags);
    CHECK(wide.log_scores == all.log_scores);
    CHECK(wide.log_z == all.log_z);
    CHECK(!wide.log_z_error);
  }
}

TEST_CASE("a beam of one takes the best next prefix by G, or by G + C with what is to come") {
  int num_different = 0;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    Hmm hmm;
    hmm.parameters = Parameters::fresh(hmm.program, seed);
    hmm.make_exact();  // G_t + C_t is then the log of all that begins so
    Replay replay(hmm.program, hmm.parameters);
    const auto by_score = [&](const std::vector<int>& y) {
      return replay.run(std::span(kX).first(y.size()), y).log_score;
    };
    const auto by_all = [&](const std::vector<int>& y) {
      double total = 0;
      for (const std::vector<int>& whole : all_taggings(kHmmTags, 6)) {
        if (std::equal(y.begin(), y.end(), whole.begin()))
          total += std::exp(replay.run(kX, whole).log_score);
      }
      return std::log(total);
    };
    const auto walk = [&](const auto& value) {
      std::vector<int> y;
      while (y.size() < kX.size()) {
        std::vector<int> zero = y, one = y;
        zero.push_back(0);
        one.push_back(1);
        y = value(zero) >= value(one) ? zero : one;
      }
      return y;
    };
    const auto found = [&](Method method) {
      const Ensemble kept =
          beam(hmm.program, hmm.parameters, kX, {.method = method, .particles = 1});
      REQUIRE(kept.size() == 1);
      return std::vector<int>(kept.tags.begin(), kept.tags.end());
    };
    CHECK(found(Method::kBeam) == walk(by_score));
    CHECK(found(Method::kBeamAhead) == walk(by_all));
    num_different += walk(by_score) != walk(by_all) ? 1 : 0;
  }
  CHECK(num_different > 0);
}

TEST_CASE("a step is resampled if its effective sample size is below alpha M") {
  Hmm hmm;
  for (double alpha : {0.0, 0.3, 0.7, 0.95, 1.0}) {
    int num_resampled = 0, num_kept = 0;
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      const Ensemble drawn =
          filter(hmm.program, hmm.parameters, kX, {.particles = 20, .alpha = alpha, .seed = seed});
      for (size_t t = 0; t + 1 < kX.size(); ++t) {
        CHECK(drawn.steps[t].resampled == (drawn.steps[t].ess < alpha * 20));
        ++(drawn.steps[t].resampled ? num_resampled : num_kept);
      }
    }
    if (alpha == 0) CHECK(num_resampled == 0);
    if (alpha > 0.9) CHECK(num_resampled > 0);
    if (alpha < 1) CHECK(num_kept > 0);
  }
}

TEST_CASE("resampling is before the draw where the weight does not depend on the tag, else after") {
  Hmm hmm;
  const auto run = [&](Method method, ResampleAt at) {
    return sample(
        hmm.program, hmm.parameters, kX,
        {.method = method, .particles = 20, .resample_at = at, .trigger = Trigger::kAlways});
  };
  for (Method method : {Method::kImportance, Method::kFilter, Method::kSmooth}) {
    const Ensemble before = run(method, ResampleAt::kBefore),
                   after = run(method, ResampleAt::kAfter);
    CHECK(after.info.resampling == "systematic, after the draw, always");
    CHECK(after.steps[0].resampled);
    if (method == Method::kImportance) {
      CHECK(before.info.resampling == after.info.resampling);
      CHECK(before.log_weights == after.log_weights);
    } else {
      CHECK(before.info.resampling == "systematic, before the draw, always");
      CHECK(before.log_weights != after.log_weights);
      CHECK(!before.steps[0].resampled);  // all were on one row
    }
    for (const Ensemble* drawn : {&before, &after}) {
      for (size_t t = 1; t + 1 < kX.size(); ++t) CHECK(drawn->steps[t].resampled);
      CHECK(!drawn->steps.back().resampled);
    }
  }
}

TEST_CASE("constraints are kept by every method, and change Z as they should") {
  Hmm hmm;
  TagSets allowed(6, kHmmTags);
  allowed.forbid(2, 0);
  allowed.allow_only(5, std::vector<int>{0});
  double total = 0;
  Replay replay(hmm.program, hmm.parameters);
  for (const std::vector<int>& y : all_taggings(kHmmTags, 6)) {
    if (y[1] == 1 && y[4] == 0) total += std::exp(replay.run(kX, y).log_score);
  }
  for (Method method : sampling_methods()) {
    const Ensemble drawn = sample(hmm.program, hmm.parameters, SampleInput{kX, allowed},
                                  {.method = method, .particles = 2000});
    for (size_t i = 0; i < drawn.size(); ++i) {
      CHECK(drawn.sequence(i)[1] == 1);
      CHECK(drawn.sequence(i)[4] == 0);
    }
    CHECK(std::abs(drawn.log_z - std::log(total)) <= log_z_bound(drawn));
  }
}

TEST_CASE("a method takes x alone, or x with constraints") {
  Hmm hmm;
  TagSets allowed(6, kHmmTags);
  allowed.allow_only(2, {1});
  CHECK(!allowed.allows(2, 0));
  CHECK(allowed.allows(2, 1));
  const int array[] = {2, 0, 1, 1, 2, 0};
  const double log_z = sample(hmm.program, hmm.parameters, kX).log_z;
  CHECK(smooth(hmm.program, hmm.parameters, array).log_z == log_z);
  CHECK(smooth(hmm.program, hmm.parameters, std::span(kX)).log_z == log_z);
  for (auto* method : {importance, filter, smooth, discrete, beam, enumerate}) {
    const Ensemble drawn = method(hmm.program, hmm.parameters, {kX, allowed}, {.particles = 50});
    for (size_t i = 0; i < drawn.size(); ++i) CHECK(drawn.sequence(i)[1] == 1);
  }
}

TEST_CASE("a temperature flattens or sharpens what is sampled") {
  Hmm hmm;
  Replay replay(hmm.program, hmm.parameters);
  for (double temperature : {0.5, 3.0}) {
    double total = 0;
    for (const std::vector<int>& y : all_taggings(kHmmTags, 6))
      total += std::exp(replay.run(kX, y).log_score / temperature);
    for (Method method : sampling_methods()) {
      const Ensemble drawn =
          sample(hmm.program, hmm.parameters, SampleInput{kX, {}},
                 {.method = method, .particles = 4000, .temperature = temperature});
      CHECK(std::abs(drawn.log_z - std::log(total)) <= log_z_bound(drawn));
      CHECK(drawn.log_scores[0] ==
            Approx(
                replay.run(kX, std::vector<int>(drawn.sequence(0).begin(), drawn.sequence(0).end()))
                    .log_score));
    }
  }
}

TEST_CASE("no symbols have one tagging, of score 0") {
  Hmm hmm;
  for (Method method : sampling_methods()) {
    const Ensemble drawn =
        sample(hmm.program, hmm.parameters, SampleInput{}, {.method = method, .particles = 3});
    REQUIRE(drawn.size() == 1);
    CHECK(drawn.sequence(0).empty());
    CHECK(drawn.log_z == Approx(0).margin(1e-15));
    CHECK(drawn.probability(0) == 1);
  }
}

TEST_CASE("one particle is one tagging, with no error bar") {
  Hmm hmm;
  const Ensemble drawn = smooth(hmm.program, hmm.parameters, kX, {.particles = 1});
  CHECK(drawn.size() == 1);
  CHECK(drawn.probability(0) == 1);
  CHECK(!drawn.log_z_error);
}

TEST_CASE("options without sense are refused in one line") {
  Hmm hmm;
  const auto refused = [&](const SampleOptions& options) -> std::string {
    try {
      sample(hmm.program, hmm.parameters, SampleInput{kX, {}}, options);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  CHECK(refused({.particles = 0}) == "particles: 0, but at least 1 is needed");
  CHECK(refused({.particles = -3}) == "particles: -3, but at least 1 is needed");
  CHECK(refused({.temperature = 0}) == "temperature: 0, but it must be above 0");
  CHECK(refused({.temperature = NAN}) == "temperature: nan, but it must be above 0");
  CHECK(refused({.alpha = 1.5}) == "alpha: 1.5, but it must be between 0 and 1");
  CHECK(refused({.threads = -1}) == "threads and batch cannot be below 0");
  const Program plain = hand_hmm_without_proposal();
  const Parameters parameters = Parameters::fresh(plain, 1);
  CHECK_THROWS_WITH(
      smooth(plain, parameters, kX),
      "the model has no proposal to look ahead with; use filter, discrete or beam by score");
  CHECK(filter(plain, parameters, kX).size() > 1);
  CHECK(importance(plain, parameters, kX).size() > 1);
}

TEST_CASE("a bad sequence is named with its step, and the others are sampled as if alone") {
  Hmm hmm;
  const std::vector<int> good{1, 0, 1}, unknown{0, 3, 1}, other{0, 1, 1, 0};
  std::vector<SampleInput> inputs{{good, {}},
                                  {unknown, {}},
                                  {good, TagSets(3, kHmmTags)},
                                  {good, TagSets(2, kHmmTags)},
                                  {other, {}}};
  inputs[2].allowed.allow_only(2, {});
  const std::vector<Outcome> outcomes =
      sample(hmm.program, hmm.parameters, inputs, {.particles = 9, .first_sequence = 10});
  CHECK(failure(outcomes[1]) == "sequence 12, step 2: the symbol 3 is outside the alphabet of 3");
  CHECK(failure(outcomes[2]) == "sequence 13, step 2: every tag is forbidden");
  CHECK(failure(outcomes[3]) == "sequence 14: 3 symbols and 2 tags, but constraints for 2 and 2");
  CHECK_THROWS_AS(outcomes[1].value(), SamplingError);
  for (size_t i : {size_t{0}, size_t{4}}) {
    const Ensemble alone = sample(hmm.program, hmm.parameters, inputs[i],
                                  {.particles = 9, .first_sequence = 10 + static_cast<int64_t>(i)});
    CHECK(outcomes[i].value().tags == alone.tags);
    CHECK(outcomes[i].value().log_weights == alone.log_weights);
  }
}

TEST_CASE("NaN, infinity or no mass from the model names the step, and spares other sequences") {
  const std::vector<int> good{1, 0, 1, 0}, bad{0, 1, 2, 1};
  const std::vector<SampleInput> inputs{{good, {}}, {bad, {}}, {good, {}}};
  const auto run = [&](KernelFn score) {
    Hmm hmm;
    hmm.program.score.forward.run = score;
    return sample(hmm.program, hmm.parameters, inputs,
                  {.method = Method::kFilter, .particles = 20});
  };
  struct Case {
    KernelFn score;
    std::string message;
  };
  for (const auto& [score, message] :
       {Case{poisoned_score<0>, "the model's score of tag '1' is NaN"},
        Case{poisoned_score<1>, "the model's score of tag '1' is +inf"},
        Case{poisoned_score<2>,
             "every particle has weight 0: no tagging that was tried has a score above -inf"}}) {
    const std::vector<Outcome> outcomes = run(score);
    CHECK(failure(outcomes[1]) == "sequence 2, step 3: " + message);
    CHECK(outcomes[1].error->step() == 3);
    CHECK(outcomes[0].value().size() > 1);
    CHECK(outcomes[2].value().size() > 1);
  }
}

TEST_CASE("more prefixes than the limit are not enumerated") {
  Hmm hmm;
  CHECK_THROWS_WITH(enumerate(hmm.program, hmm.parameters, kX, {.max_rows = 16}),
                    "sequence 1, step 5: there are more than 16 prefixes to enumerate; sample, or "
                    "raise the limit");
  CHECK(enumerate(hmm.program, hmm.parameters, kX, {.max_rows = 64}).size() == 64);
}

TEST_CASE("progress is told as sequences finish") {
  Hmm hmm;
  const std::vector<SampleInput> inputs(20, SampleInput{kX, {}});
  std::vector<size_t> seen;
  SampleOptions options{.particles = 5, .threads = 2, .batch = 3};
  options.progress = [&](size_t done) { seen.push_back(done); };
  sample(hmm.program, hmm.parameters, inputs, options);
  CHECK(seen.size() == 7);
  CHECK(std::is_sorted(seen.begin(), seen.end()));
  CHECK(seen.back() == 20);
}
