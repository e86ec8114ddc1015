// The samplers against exact answers, on compiled models.
#include <scry.h>

#include <cmath>
#include <set>

#include "runtime/smc/interpreter.h"
#include "tests/catch.h"
#include "tests/support/forward_algorithm.h"
#include "tests/support/lessons.h"
#include "tests/support/neural_problems.h"
#include "tests/support/replay.h"
#include "tests/support/taggings.h"
#include "tests/support/under_sanitizer.h"

using namespace scry;
using namespace scry::test;

namespace {

const std::pair<Method, const char*> kSamplers[] = {
    {Method::kImportance, "is"}, {Method::kFilter, "filter"}, {Method::kSmooth, "smooth"}};

}  // namespace

TEST_CASE("the oracle itself is right: enumeration agrees with replayed taggings") {
  for (NeuralProblem& problem : problems()) {
    INFO(problem.name);
    Replay replay(problem.program, problem.parameters);
    double total = 0;
    const std::vector<std::vector<int>> all =
        all_taggings(problem.program.task, static_cast<int>(problem.x.size()));
    for (const std::vector<int>& y : all)
      total += std::exp(replay.run(problem.x, y).log_score - problem.exact.log_z);
    CHECK(total == Approx(1).epsilon(1e-5));
    for (size_t i : {size_t{0}, problem.exact.size() / 2, problem.exact.size() - 1}) {
      const std::span<const int32_t> tags = problem.exact.sequence(i);
      const std::vector<int> y(tags.begin(), tags.end());
      CHECK(problem.exact.log_scores[i] ==
            Approx(replay.run(problem.x, y).log_score).epsilon(1e-5));
    }
  }
}

TEST_CASE("with the exact proposal every particle has the weight Z") {
  const auto check = [](const Bundle& bundle, auto log_z) {
    for (const Precision precision : {Precision::kFloat, Precision::kDouble}) {
      const Program program = compile(bundle, {.precision = precision, .gradients = false});
      const double tolerance = precision == Precision::kDouble ? 1e-9 : 1e-4;
      const Parameters parameters = Parameters::fresh(program, 5);
      for (int length : {1, 2, 5, 20, 60}) {
        const std::vector<int> x = random_input(program.task, length, 11);
        const double exact = log_z(program, parameters, x);
        for (int particles : {1, 2, 8, 33, 128, 1000}) {
          for (Trigger trigger : {Trigger::kNever, Trigger::kEss, Trigger::kAlways}) {
            const Ensemble drawn =
                smooth(program, parameters, x, {.particles = particles, .trigger = trigger});
            CHECK(std::abs(drawn.log_z - exact) <= tolerance);
            for (size_t i = 0; i < drawn.size(); ++i)
              CHECK(std::abs(drawn.particle_log_weight(i) - exact) <= tolerance);
          }
        }
      }
    }
  };
  check(lesson_01(), hmm_log_z);
  check(lesson_02(), oohmm_log_z);
}

TEST_CASE("the estimate of Z is unbiased for every method, scheme and trigger") {
  constexpr int kRounds = kUnderSanitizer ? 2 : 20;
  for (const NeuralProblem& problem : problems()) {
    for (const auto& [method, name] : kSamplers) {
      for (Trigger trigger : {Trigger::kNever, Trigger::kEss, Trigger::kAlways}) {
        for (Resampling scheme : {Resampling::kMultinomial, Resampling::kResidual,
                                  Resampling::kStratified, Resampling::kSystematic}) {
          if (trigger == Trigger::kNever && scheme != Resampling::kMultinomial) continue;
          const std::vector<Outcome> runs = repeat(
              problem, {.method = method, .particles = 6, .resampling = scheme, .trigger = trigger},
              kRounds, 500);
          std::vector<double> ratios;
          for (const Outcome& run : runs) ratios.push_back(ratio(run, problem.exact.log_z));
          const Mean mean = mean_of(ratios);
          INFO(problem.name << ", " << name << ", trigger " << static_cast<int>(trigger)
                            << ", scheme " << static_cast<int>(scheme));
          CHECK(ratios.size() == kRounds * 500);
          CHECK(mean.standard_error > 1e-6);
          CHECK(std::abs(mean.value - 1) <= 4 * mean.standard_error);
        }
      }
    }
  }
}

TEST_CASE("p̂ comes nearer to p as 1/√M") {
  for (const NeuralProblem& problem : problems()) {
    for (const auto& [method, name] : kSamplers) {
      std::vector<double> distances;
      for (int particles : {256, 1024, 4096}) {
        std::vector<double> each;
        for (const Outcome& run :
             repeat(problem, {.method = method, .particles = particles}, 1, 40))
          each.push_back(total_variation(run.value(), problem.exact));
        distances.push_back(mean_of(each).value);
      }
      INFO(problem.name << ", " << name << ": " << distances[0] << " " << distances[1] << " "
                        << distances[2]);
      // Four times the particles, half the distance; the mean of 40 runs is known to a few percent.
      for (size_t i = 1; i < distances.size(); ++i) {
        CHECK(distances[i - 1] / distances[i] > 1.6);
        CHECK(distances[i - 1] / distances[i] < 2.5);
      }
    }
  }
}

TEST_CASE("the error bar covers log Z at its nominal rate") {
  for (const NeuralProblem& problem : problems()) {
    for (const auto& [method, name] : kSamplers) {
      // Never; by ESS and always by each scheme, before the draw; and after it.
      for (int way = 0; way < 8; ++way) {
        SampleOptions options{.method = method, .particles = 512};
        options.trigger = way == 0 ? Trigger::kNever : way <= 1 ? Trigger::kEss : Trigger::kAlways;
        options.resampling = way == 1 || way == 7
                                 ? Resampling::kSystematic
                                 : static_cast<Resampling>(std::max(0, way - 2) % 4);
        options.resample_at = way < 6 ? ResampleAt::kBefore : ResampleAt::kAfter;
        const std::vector<Outcome> runs = repeat(problem, options, 1, 1000);
        int covered = 0;
        for (const Outcome& run : runs) {
          REQUIRE(run.value().log_z_error);
          const double error = std::abs(run.value().log_z - problem.exact.log_z);
          if (error <= 1.96 * *run.value().log_z_error) ++covered;
        }
        INFO(problem.name << ", " << name << ", way " << way << ": " << covered / 10.0 << " %");
        // 95 %, known to 4 · √(0.05 · 0.95 / 1000) = 2.8 %.
        CHECK(covered >= 922);
        CHECK(covered <= 978);
      }
    }
  }
}

TEST_CASE("a beam as wide as all taggings is the enumeration, for neural models too") {
  for (const NeuralProblem& problem : problems()) {
    INFO(problem.name);
    const double all = std::pow(problem.program.num_tags(), problem.x.size());
    for (Method method : {Method::kBeam, Method::kBeamAhead}) {
      const Ensemble wide = beam(problem.program, problem.parameters, problem.x,
                                 {.method = method, .particles = static_cast<int>(all)});
      CHECK(wide.tags == problem.exact.tags);
      // The lookahead's kernel computes g in another order of operations.
      for (size_t i = 0; i < wide.size(); ++i)
        CHECK(wide.log_scores[i] == Approx(problem.exact.log_scores[i]).epsilon(1e-5));
      CHECK(wide.log_z == Approx(problem.exact.log_z).epsilon(1e-5));
    }
  }
}

TEST_CASE("equal prefixes are computed once, at every step") {
  const Program program = compile(lesson_03(), {.gradients = false});
  const Parameters parameters = lively_parameters(program, 1, 5);
  const std::vector<int> x = random_input(program.task, 12, 3);
  // Without resampling every prefix is on the way to a tagging that was drawn.
  for (Method method : {Method::kImportance, Method::kFilter, Method::kSmooth}) {
    const Ensemble drawn = sample(program, parameters, SampleInput{x},
                                  {.method = method, .particles = 128, .trigger = Trigger::kNever});
    REQUIRE(drawn.steps.size() == 12);
    for (size_t t = 0; t < 12; ++t) {
      std::set<std::vector<int32_t>> prefixes;
      for (size_t i = 0; i < drawn.size(); ++i) {
        const std::span<const int32_t> y = drawn.sequence(i).first(t);
        prefixes.emplace(y.begin(), y.end());
      }
      INFO("step " << t + 1);
      CHECK(drawn.steps[t].num_rows == static_cast<int64_t>(prefixes.size()));
    }
    CHECK(drawn.steps[11].num_rows > 8);
    CHECK(drawn.steps[11].num_rows < 128);
  }
  // With resampling, of several sequences: no two rows of the forest are equal.
  const std::vector<SampleInput> inputs(3, SampleInput{x});
  for (Trigger trigger : {Trigger::kAlways, Trigger::kEss}) {
    std::vector<Outcome> outcomes(inputs.size());
    std::vector<Job> jobs;
    for (size_t i = 0; i < inputs.size(); ++i)
      jobs.push_back({&inputs[i], static_cast<int64_t>(i), &outcomes[i]});
    Recording recording(program, false);
    Interpreter(program, parameters, {.particles = 128, .trigger = trigger}).run(jobs, &recording);
    const Forest& forest = recording.forest;
    REQUIRE(forest.num_levels() == 13);
    for (int t = 1; t <= 12; ++t) {
      std::set<std::pair<RowId, int32_t>> rows;
      for (RowId row = forest.level_begin(t); row < forest.level_end(t); ++row)
        rows.emplace(forest.parent(row), forest.tag(row));
      INFO("step " << t);
      CHECK(static_cast<RowId>(rows.size()) == forest.level_end(t) - forest.level_begin(t));
    }
  }
}

TEST_CASE("results are the same bits for any threads and batches") {
  for (const Bundle& bundle : {lesson_02(), lesson_03(), lesson_04()}) {
    const Program program = compile(bundle, {.gradients = false});
    const Parameters parameters = lively_parameters(program, 2, 2);
    std::vector<std::vector<int>> xs;
    std::vector<SampleInput> inputs;
    for (int i = 0; i < 100; ++i)
      xs.push_back(random_input(program.task, 1 + (i * 7) % 13, static_cast<uint64_t>(i)));
    for (const std::vector<int>& x : xs) inputs.push_back({x, {}});
    for (Method method : {Method::kImportance, Method::kFilter, Method::kSmooth, Method::kDiscrete,
                          Method::kDiscreteAhead, Method::kBeam, Method::kBeamAhead}) {
      const auto records = [&](int threads, int batch) {
        std::string all;
        for (const Outcome& outcome :
             sample(program, parameters, inputs,
                    {.method = method, .particles = 50, .threads = threads, .batch = batch}))
          all += to_json(outcome.value(), program.task) + "\n";
        return all;
      };
      const std::string expected = records(1, 0);
      for (int threads : {1, 2, 4}) {
        for (int batch : {0, 1, 7, 64}) CHECK((records(threads, batch) == expected));
      }
      // One at a time, as separate calls.
      for (size_t i : {size_t{0}, size_t{41}, size_t{99}}) {
        const Ensemble alone =
            sample(program, parameters, inputs[i],
                   {.method = method, .particles = 50, .first_sequence = static_cast<int64_t>(i)});
        CHECK(expected.find(to_json(alone, program.task)) != std::string::npos);
      }
    }
  }
}

TEST_CASE("many rows of one long sequence are shared out among threads, with the same bits") {
  const Program program = compile(lesson_03(), {.gradients = false});
  const Parameters parameters = Parameters::fresh(program, 1);
  const std::vector<int> x = random_input(program.task, 9, 5);
  for (Method method : {Method::kFilter, Method::kSmooth, Method::kDiscreteAhead}) {
    const auto record = [&](int threads) {
      const Ensemble drawn = sample(program, parameters, SampleInput{x, {}},
                                    {.method = method, .particles = 3000, .threads = threads});
      return to_json(drawn, program.task);
    };
    CHECK((record(1) == record(2)));
    CHECK((record(1) == record(4)));
  }
}
