// Backpropagation over forests against one tagging at a time.
#include "runtime/train/forest_gradient.h"

#include <scry.h>

#include <algorithm>
#include <cmath>

#include "runtime/smc/end_of_sequence.h"
#include "runtime/smc/interpreter.h"
#include "runtime/train/given_taggings.h"
#include "tests/catch.h"
#include "tests/support/lessons.h"
#include "tests/support/neighbour_models.h"
#include "tests/support/replay.h"
#include "tests/support/run_kernel.h"
#include "tests/support/small_models.h"
#include "tests/support/taggings.h"

using namespace scry;
using namespace scry::test;

namespace {

constexpr int kLengths[] = {6, 4, 4, 1};  // falling, with a sequence that has no lookahead at all

struct NamedProgram {
  std::string name;
  Program program;
};

std::vector<NamedProgram> programs(Precision precision, Differentiator differentiator) {
  static const SmallTagger tagger;
  static const SmallLookahead lookahead;
  static const EncoderTagger encoder;
  static const Neighbours neighbours;
  static const NeighbourLookahead neighbour_lookahead;
  static const Wild wild;
  const CompileOptions options{.precision = precision, .differentiator = differentiator};
  std::vector<NamedProgram> all;
  all.push_back({"small tagger", compile(tagger, lookahead, options)});
  all.push_back({"encoder", compile(encoder, options)});
  all.push_back({"neighbours", compile(neighbours, neighbour_lookahead, options)});
  all.push_back({"indices beyond the ends", compile(wild, options)});
  all.push_back({"lesson 1", compile(lesson_01(), options)});
  all.push_back({"lesson 2", compile(lesson_02(), options)});
  all.push_back({"lesson 3", compile(lesson_03(), options)});
  all.push_back({"lesson 4", compile(lesson_04(), options)});
  all.push_back({"lesson 5", compile(lesson_05(), options)});
  return all;
}

/// A recorded run over inputs of different lengths, with random weights for its taggings.
struct Run {
  Run(const Program& program, const Parameters& parameters, Method method, int64_t memory = 0)
      : interpreter(
            program, parameters,
            {.method = method, .particles = 40, .trigger = Trigger::kNever, .memory = memory}),
        recording(program, true) {
    for (const int length : kLengths)
      xs.push_back(with_end(random_input(program.task, length, 5), program.task.x));
    std::vector<SampleInput> inputs;
    for (const std::vector<int>& x : xs) inputs.emplace_back(x);
    std::vector<Outcome> outcomes(xs.size());
    std::vector<Job> jobs;
    for (size_t i = 0; i < xs.size(); ++i)
      jobs.push_back({&inputs[i], static_cast<int64_t>(i), &outcomes[i]});
    interpreter.run(jobs, &recording);
    Random random(8, 1);
    for (size_t i = 0; i < recording.finals.size(); ++i) weights.push_back(random.normal());
  }
  std::vector<int> tagging(const Recording::Final& final) const {
    std::vector<int32_t> y(xs[static_cast<size_t>(final.sequence)].size());
    recording.forest.write_prefix(final.row, y);
    return {y.begin(), y.end()};
  }
  Interpreter interpreter;
  Recording recording;
  std::vector<std::vector<int>> xs;
  std::vector<double> weights;
};

double difference(const Gradients& a, const Gradients& b, const Program& program,
                  ParamGroup group) {
  double worst = 0;
  for (const Block& block : program.params) {
    if (block.group != group) continue;
    for (int64_t k = block.offset; k < block.offset + block.shape.size(); ++k) {
      const double x = a.values.get(k), y = b.values.get(k);
      if (!std::isfinite(x) || !std::isfinite(y)) return INFINITY;
      worst = std::max(worst, std::abs(x - y) / std::max({1.0, std::abs(x), std::abs(y)}));
    }
  }
  return worst;
}

/// With `proposal`, of log q for φ; else of G_T for θ.
void check_against_replay(const NamedProgram& named, bool proposal, double tolerance) {
  const Program& program = named.program;
  Parameters parameters = Parameters::fresh(program, 4);
  const Run run(program, parameters, proposal ? Method::kSmooth : Method::kFilter);
  BatchGradient batch_gradient(program, parameters);
  ForestGradient forest_gradient(program, parameters, batch_gradient);
  Gradients by_forest(program), by_replay(program);
  const Batch& batch = run.interpreter.batch();
  for (int round = 0; round < 2; ++round) {  // the second finds memory in use
    by_forest.clear();
    batch_gradient.begin(batch);
    forest_gradient.add(batch, run.recording,
                        proposal ? seed_proposals(run.recording, run.weights)
                                 : seed_scores(run.recording, run.weights),
                        batch_gradient, by_forest);
    if (proposal) {
      batch_gradient.finish_lookahead(by_forest);
    } else {
      batch_gradient.finish_model(by_forest);
    }
  }
  by_forest.finish(program, parameters);

  Replay replay(program, parameters);
  for (size_t i = 0; i < run.weights.size(); ++i) {
    const Recording::Final& final = run.recording.finals[i];
    const SequenceScore score =
        replay.run(run.xs[static_cast<size_t>(final.sequence)], run.tagging(final));
    const double log_score = run.recording.forest.log_score(final.row);
    CHECK(std::abs(score.log_score - log_score) < tolerance * 10);
    if (proposal) {
      const double log_q = log_score - final.log_weight + std::log(final.count / 40.0);
      CHECK(std::abs(score.log_proposal - log_q) < tolerance * 10);
      replay.add_proposal_gradient(by_replay, run.weights[i]);
    } else {
      replay.add_gradient(by_replay, run.weights[i]);
    }
  }
  by_replay.finish(program, parameters);
  INFO(named.name << (proposal ? ", log q, " : ", G_T, ") << program.differentiator << ", "
                  << run.recording.forest.size() << " rows, " << run.weights.size() << " taggings");
  CHECK(run.weights.size() > std::size(kLengths));
  CHECK(difference(by_forest, by_replay, program,
                   proposal ? ParamGroup::kProposal : ParamGroup::kModel) <= tolerance);
}

void check_all(Differentiator differentiator) {
  for (const Precision precision : {Precision::kFloat, Precision::kDouble}) {
    for (const NamedProgram& named : programs(precision, differentiator)) {
      const double tolerance = precision == Precision::kDouble ? 1e-10 : 2e-4;
      check_against_replay(named, false, tolerance);
      if (named.program.has_proposal()) check_against_replay(named, true, tolerance);
    }
  }
}

}  // namespace

TEST_CASE(
    "backpropagation over a forest gives what each tagging alone adds up to, by the adjoint") {
  check_all(Differentiator::kAdjoint);
}

TEST_CASE("backpropagation over a forest gives what each tagging alone adds up to, by Enzyme",
          "[enzyme]") {
  if (skip_without_enzyme()) return;
  check_all(Differentiator::kEnzyme);
}

TEST_CASE("given taggings are a forest of one path each, with the scores of Replay") {
  for (const NamedProgram& named : programs(Precision::kDouble, Differentiator::kAdjoint)) {
    const Program& program = named.program;
    if (named.name == "small tagger") continue;  // it forbids taggings
    Parameters parameters = Parameters::fresh(program, 4);
    std::vector<std::vector<int>> xs, ys;
    std::vector<TrainExample> examples;
    std::vector<std::span<const int>> inputs;
    for (const int length : kLengths) {
      xs.push_back(with_end(random_input(program.task, length, 5), program.task.x));
      ys.push_back(with_end(random_tagging(program.task, length, 5), program.task.y));
    }
    for (size_t i = 0; i < xs.size(); ++i) {
      examples.push_back({xs[i], ys[i], static_cast<int64_t>(i)});
      inputs.emplace_back(xs[i]);
    }
    const Batch batch(program, parameters, inputs, false);
    GivenTaggings taggings(program, parameters);
    const Recording& given = taggings.run(batch, examples);
    CHECK(given.forest.size() == 4 + 6 + 4 + 4 + 1 + (program.task.has_eos() ? 4 : 0));
    Gradients by_forest(program), by_replay(program);
    BatchGradient batch_gradient(program, parameters);
    ForestGradient forest_gradient(program, parameters, batch_gradient);
    const std::vector<double> weights{1, -2, 0.5, 3};
    batch_gradient.begin(batch);
    forest_gradient.add(batch, given, seed_scores(given, weights), batch_gradient, by_forest);
    batch_gradient.finish_model(by_forest);
    by_forest.finish(program, parameters);
    Replay replay(program, parameters);
    for (size_t i = 0; i < xs.size(); ++i) {
      CHECK(std::abs(replay.run(xs[i], ys[i]).log_score - given.finals[i].log_weight) < 1e-10);
      replay.add_gradient(by_replay, weights[i]);
    }
    by_replay.finish(program, parameters);
    INFO(named.name);
    CHECK(difference(by_forest, by_replay, program, ParamGroup::kModel) <= 1e-10);
  }
}

TEST_CASE("cells that memory had no room for are computed again, to the same bits") {
  const Program program = compile(lesson_03(), {.differentiator = Differentiator::kAdjoint});
  const Parameters parameters = Parameters::fresh(program, 4);
  const auto gradient = [&](int64_t memory, int64_t& recorded) {
    const Run run(program, parameters, Method::kSmooth, memory);
    recorded = 0;
    for (const Recording::Level& level : run.recording.levels)
      recorded += level.first_cells < 0 ? 0 : level.count;
    BatchGradient batch_gradient(program, parameters);
    ForestGradient forest_gradient(program, parameters, batch_gradient);
    Gradients gradients(program);
    batch_gradient.begin(run.interpreter.batch());
    forest_gradient.add(run.interpreter.batch(), run.recording,
                        seed_proposals(run.recording, run.weights), batch_gradient, gradients);
    batch_gradient.finish_lookahead(gradients);
    std::vector<double> values;
    for (int64_t k = 0; k < gradients.values.size(); ++k) values.push_back(gradients.values.get(k));
    return values;
  };
  int64_t all = 0, some = 0, none = 0;
  const std::vector<double> expected = gradient(0, all);
  CHECK((gradient(20000, some) == expected));
  CHECK((gradient(1, none) == expected));
  CHECK(some < all);
  CHECK(some > 0);
  CHECK(none == 0);
}
