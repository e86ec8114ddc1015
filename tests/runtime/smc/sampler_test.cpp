#include "runtime/smc/sampler.h"

#include <filesystem>
#include <set>
#include <thread>

#include "runtime/search/exact.h"
#include "runtime/smc/metrics.h"
#include "tests/catch.h"
#include "tests/support/hand_hmm.h"

using namespace scry;
using namespace scry::test;

namespace {

const std::vector<std::vector<int>> kSymbols{{2, 0, 1, 1, 2, 0},          {1},   {}, {0, 0, 1, 2},
                                             {2, 2, 2, 1, 0, 1, 2, 0, 0}, {1, 0}};

std::vector<SampleInput> inputs() { return {kSymbols.begin(), kSymbols.end()}; }

void check_same(const Ensemble& a, const Ensemble& b) {
  CHECK(a.info.method == b.info.method);
  CHECK(a.tags == b.tags);
  CHECK(a.log_weights == b.log_weights);
  CHECK(a.log_scores == b.log_scores);
  CHECK(a.counts == b.counts);
  CHECK(a.log_z == b.log_z);
  CHECK(a.log_z_error == b.log_z_error);
  CHECK(a.steps.size() == b.steps.size());
}

void check_same(const std::vector<Outcome>& a, const std::vector<Outcome>& b) {
  REQUIRE(a.size() == b.size());
  for (size_t i = 0; i < a.size(); ++i) check_same(a[i].value(), b[i].value());
}

std::set<std::string> thread_ids() {
  std::set<std::string> ids;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task"))
    ids.insert(entry.path().filename().string());
  return ids;
}

}  // namespace

TEST_CASE("a bound sampler gives the bits of the free functions, whatever it did before") {
  const Program program = hand_hmm();
  const Parameters parameters = Parameters::fresh(program, 5);
  for (int threads : {1, 2, 3}) {
    Sampler sampler(program, parameters, threads);
    for (int round = 0; round < 2; ++round) {
      for (const MethodRow& row : method_table()) {
        if (row.make == nullptr) continue;
        INFO(row.name << ", " << threads << " threads, round " << round);
        const SampleOptions options{.method = row.method,
                                    .particles = 7 + 5 * round,
                                    .temperature = 1 + 0.5 * round,
                                    .seed = 3,
                                    .batch = round,
                                    .first_sequence = 4};
        check_same(sampler.sample(inputs(), options),
                   sample(program, parameters, inputs(), options));
        check_same(sampler.sample(kSymbols[0], options),  // by all threads together
                   sample(program, parameters, kSymbols[0], options));
        check_same(sampler.sample_runs(inputs(), options, 3),
                   sample_runs(program, parameters, inputs(), options, 3));
        check_same(sample_extra(sampler, inputs(), options),
                   sample_extra(program, parameters, inputs(), options));
        check_same(exact(sampler, kSymbols[0], options),
                   exact(program, parameters, kSymbols[0], options));
      }
    }
  }
}

TEST_CASE("a bound sampler sees values that change in place, and others moved to their place") {
  const Program program = hand_hmm();
  Parameters parameters = Parameters::fresh(program, 5);
  Sampler sampler(program, parameters, 2);
  const auto drawn = [&] { return sampler.sample(inputs(), {.particles = 9}); };
  const auto expected = [&] { return sample(program, parameters, inputs(), {.particles = 9}); };
  const std::vector<Outcome> before = drawn();
  for (int64_t k = 0; k < parameters.values.size(); ++k)
    parameters.values.set(k, 2 * parameters.values.get(k));
  parameters.prepare(program);
  const std::vector<Outcome> after = drawn();
  CHECK(after[0].value().log_z != before[0].value().log_z);
  check_same(after, expected());

  parameters = Parameters::fresh(program, 6);
  CHECK(drawn()[0].value().log_z != after[0].value().log_z);
  check_same(drawn(), expected());
}

TEST_CASE("a bound sampler starts its threads once, and not before they are needed") {
  const Program program = hand_hmm();
  const Parameters parameters = Parameters::fresh(program, 5);
  std::thread([] {}).join();  // with the first, a sanitizer starts one of its own
  const std::set<std::string> without = thread_ids();
  Sampler sampler(program, parameters, 4);
  CHECK(thread_ids() == without);
  sampler.sample(inputs());
  const std::set<std::string> with = thread_ids();
  CHECK(with.size() == without.size() + 3);
  for (int call = 0; call < 30; ++call) {
    sampler.sample(inputs(), {.particles = 4, .batch = call % 3});
    sampler.sample_runs(inputs(), {.particles = 4}, 2);
  }
  CHECK(thread_ids() == with);
}

TEST_CASE("a bound sampler finds kernels' slots by name once") {
  Program program = hand_hmm();
  const Parameters parameters = Parameters::fresh(program, 5);
  const SampleOptions options{.particles = 9};
  const std::vector<Outcome> expected = sample(program, parameters, inputs(), options);
  Sampler sampler(program, parameters, 2);
  const auto run_both_ways = [&] {  // by batches, and one by all threads together
    check_same(sampler.sample(inputs(), options), expected);
    check_same(sampler.sample(kSymbols[0], options), expected[0].value());
  };
  run_both_ways();
  for (Kernel* kernel : {&program.score.forward, &program.advance.forward, &program.extend.forward})
    for (Slot& slot : kernel->slots) slot.name = "not to be found";
  run_both_ways();
}

TEST_CASE("after a call that failed, a bound sampler is as good as new") {
  const Program program = hand_hmm();
  const Parameters parameters = Parameters::fresh(program, 5);
  Sampler sampler(program, parameters, 2);
  const std::vector<int> stranger{0, 7};
  CHECK_THROWS_AS(sampler.sample(stranger), SamplingError);
  CHECK_THROWS_AS(sampler.sample(inputs(), {.particles = 0}), Error);
  CHECK_THROWS_AS(sampler.sample(inputs(), {.progress = [](size_t) { throw Error("stop"); }}),
                  Error);
  const SampleOptions too_many{.method = Method::kEnumerate, .max_rows = 3};
  CHECK(sampler.sample(inputs(), too_many)[0].error->trouble() == Trouble::kTooManyRows);
  check_same(sampler.sample(inputs()), sample(program, parameters, inputs()));
}
