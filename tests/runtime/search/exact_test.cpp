#include "runtime/search/exact.h"

#include <cmath>

#include "runtime/smc/metrics.h"
#include "tests/catch.h"
#include "tests/support/hand_hmm.h"

using namespace scry;
using namespace scry::test;

namespace {

struct Hmm {
  Program program = hand_hmm();
  Parameters parameters = Parameters::fresh(program, 5);
};

const std::vector<int> kX{2, 0, 1, 1, 2, 0};

}  // namespace

TEST_CASE("few taggings are enumerated, and many of finite states are drawn exactly") {
  Hmm hmm;
  const Ensemble all = exact(hmm.program, hmm.parameters, kX, {.max_rows = 64});
  CHECK(all.size() == 64);
  CHECK(all.info.method == "enumerate");
  const Ensemble drawn =
      exact(hmm.program, hmm.parameters, kX, {.particles = 20'000, .max_rows = 63});
  CHECK(drawn.info.method == "exact");
  CHECK(drawn.log_z == Approx(all.log_z).epsilon(1e-12));
  CHECK(drawn.log_z_error == 0.0);
  for (size_t i = 0; i < drawn.size(); ++i)
    CHECK(drawn.particle_log_weight(i) == Approx(all.log_z).epsilon(1e-12));
  // E|p̂ − p| ≤ √(p/n) each, so the mean distance is at most ½ √(64/n) = 0.028.
  CHECK(total_variation(drawn, all) < 2 * 0.028);
}

TEST_CASE("inputs have exact answers each, whatever the threads, and fail alone") {
  Hmm hmm;
  const std::vector<int> bad{0, 7};
  const std::vector<SampleInput> inputs{kX, bad, kX};
  for (int threads : {1, 3}) {
    std::vector<size_t> seen;
    SampleOptions options{.particles = 10, .threads = threads, .max_rows = 32};
    options.first_sequence = 4;
    options.progress = [&](size_t done) { seen.push_back(done); };
    const std::vector<Outcome> outcomes = exact(hmm.program, hmm.parameters, inputs, options);
    CHECK(seen == std::vector<size_t>{1, 2, 3});
    CHECK(outcomes[1].error->what() ==
          std::string("sequence 6, step 2: the symbol 7 is outside the alphabet of 3"));
    // Draws depend on the sequence's number.
    CHECK(outcomes[0].value().tags != outcomes[2].value().tags);
    options.first_sequence = 6;
    CHECK(exact(hmm.program, hmm.parameters, kX, options).tags == outcomes[2].value().tags);
  }
}

TEST_CASE("constraints are counted before it is decided what is few") {
  TagSets allowed(6, kHmmTags);
  allowed.allow_only(1, {1});
  allowed.allow_only(2, {0});
  const Task task = hand_hmm().task;
  CHECK(count_taggings({kX, allowed}, task) == 16);
  CHECK(count_taggings(kX, task) == 64);
  CHECK(count_taggings(std::vector<int>{}, task) == 1);
  CHECK(std::isinf(count_taggings(std::vector<int>(5000, 0), task)));
}

TEST_CASE("the end of a sequence is no choice among taggings") {
  const Task task{Alphabet::numbered(3).with_eos(), Alphabet::numbered(2).with_eos()};
  CHECK(count_taggings(kX, task) == 64);
  CHECK(count_taggings(std::vector{0, 1, 3}, task) == 4);
  CHECK(count_taggings(std::vector<int>{}, task) == 1);
}

TEST_CASE("repeated runs are independent, and pool to a better estimate with its own error bar") {
  Hmm hmm;
  const SampleOptions options{.method = Method::kFilter, .particles = 30};
  const std::vector<SampleInput> inputs{kX};
  const double log_z = exact(hmm.program, hmm.parameters, kX).log_z;
  const Ensemble one = sample_runs(hmm.program, hmm.parameters, inputs, options, 1)[0].value();
  CHECK(one.tags == sample(hmm.program, hmm.parameters, kX, options).tags);  // its own seed
  const Ensemble many = sample_runs(hmm.program, hmm.parameters, inputs, options, 200)[0].value();
  CHECK(many.info.runs == 200);
  CHECK(many.log_z_error.value() > 0);
  // 200 independent runs: 1/√200 of one run's error, which is itself an estimate.
  CHECK(many.log_z_error.value() < 2 * one.log_z_error.value() / std::sqrt(200));
  CHECK(std::abs(many.log_z - log_z) <= 4 * many.log_z_error.value());
  CHECK_THROWS_WITH(sample_runs(hmm.program, hmm.parameters, inputs, options, 0),
                    "runs: 0, but at least 1 is needed");
}

TEST_CASE("of repeated runs, one without mass counts as 0, and other errors are the input's") {
  Hmm hmm;
  // Tag 1 at the last step, and nothing else, has mass only after tag 1: most runs of one particle
  // die.
  for (int64_t k : {0, 2, 4}) hmm.parameters.values.set(k + 1, -3);
  hmm.program.score.forward.run = [](const KernelCall* call) {
    static const Kernel clean = hand_hmm().score.forward;
    clean.run(call);
    const auto* x = static_cast<const int32_t*>(call->args[3]);
    const auto* state = static_cast<const int32_t*>(call->args[2]);
    for (int64_t row = 0; row < call->num_rows; ++row) {
      if (x[call->position_of_row[row]] == 2 && state[row] != 1) {
        for (int tag = 0; tag < kHmmTags; ++tag)
          static_cast<double*>(call->args[4])[row * kHmmTags + tag] = -INFINITY;
      }
    }
  };
  const std::vector<int> x{0, 1, 2};
  const std::vector<SampleInput> inputs{x};
  const SampleOptions options{.method = Method::kFilter, .particles = 1};
  const double log_z = enumerate(hmm.program, hmm.parameters, x).log_z;
  const Ensemble pooled =
      sample_runs(hmm.program, hmm.parameters, inputs, options, 4000)[0].value();
  CHECK(pooled.info.runs == 4000);
  CHECK(std::abs(std::exp(pooled.log_z - log_z) - 1) <= 4 * pooled.log_z_error.value());
  int died = 0;
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    SampleOptions one = options;
    one.seed = seed;
    died += sample(hmm.program, hmm.parameters, inputs, one)[0].error ? 1 : 0;
  }
  CHECK(died > 10);
  const std::vector<int> bad{9};
  const std::vector<SampleInput> bad_inputs{bad};
  CHECK(sample_runs(hmm.program, hmm.parameters, bad_inputs, options, 3)[0].error->trouble() ==
        Trouble::kBadInput);
}

TEST_CASE("the pool's extra particles are twice as many, filtered, and drawn anew") {
  Hmm hmm;
  const std::vector<SampleInput> inputs{kX};
  const SampleOptions options{.method = Method::kSmooth, .particles = 15};
  const Ensemble extra = sample_extra(hmm.program, hmm.parameters, inputs, options)[0].value();
  CHECK(extra.info.method == "filter");
  CHECK(extra.info.particles == 30);
  SampleOptions same_seed = options;
  same_seed.method = Method::kFilter;
  same_seed.particles = 30;
  CHECK(extra.tags != sample(hmm.program, hmm.parameters, kX, same_seed).tags);
  ParticlePool pool;
  const Ensemble drawn = sample(hmm.program, hmm.parameters, kX, options);
  pool.add(drawn);
  const double before = pool.log_z();
  pool.add(extra);
  CHECK(pool.log_z() > before);
  CHECK(pool.log_z() <= exact(hmm.program, hmm.parameters, kX).log_z + 1e-12);
  CHECK(offset_kl(drawn, pool) >= 0);
}
