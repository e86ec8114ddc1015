#include "tests/support/fake_training.h"

#include <cmath>
#include <cstring>

#include "runtime/kernels/philox.h"
#include "runtime/train/minibatches.h"
#include "runtime/train/run_record.h"

namespace scry::test {
namespace {

Slot real(std::string name, SlotRole role, Shape shape) {
  return {std::move(name), role, Kind::kReal, {}, shape};
}
float* floats(const KernelCall* call, int slot) { return static_cast<float*>(call->args[slot]); }

double mean_of(std::span<const int> x) {
  double total = 0;
  for (int symbol : x) total += symbol;
  return total / static_cast<double>(x.size());
}

}  // namespace

Program fake_program() {
  Program program;
  program.task = {Alphabet::numbered(9), Alphabet::numbered(2)};
  program.params = {{"model.a", {3}, 0, ParamGroup::kModel, Init::normal(1)},
                    {"model.b", {5}, 16, ParamGroup::kModel, Init::normal(1)},
                    {"proposal.c", {2, 2}, 32, ParamGroup::kProposal, Init::normal(1)}};
  program.num_param_elements = 48;
  program.tables = {{"table.0", {3}, 0, ParamGroup::kModel}};
  program.num_table_elements = 16;
  program.prepare.forward = {
      "prepare",
      {real("model.a", SlotRole::kInput, {3}), real("table.0", SlotRole::kOutput, {3})},
      [](const KernelCall* call) {
        for (int k = 0; k < 3; ++k) floats(call, 1)[k] = 2 * floats(call, 0)[k];
      }};
  program.prepare.gradient = {
      "prepare.gradient",
      {real("d.table.0", SlotRole::kSeed, {3}), real("d.model.a", SlotRole::kGradient, {3})},
      [](const KernelCall* call) {
        for (int k = 0; k < 3; ++k) {
          floats(call, 1)[k] += 2 * floats(call, 0)[k];
          floats(call, 0)[k] = -77;  // a seed's content is lost
        }
      }};
  return program;
}

void FakeObjective::add_gradient(std::span<const TrainExample> examples, const StepContext& context,
                                 double scale, Gradients& gradients, Tally& tally) {
  for (const TrainExample& example : examples) {
    Random random(context.seed, static_cast<uint32_t>(example.number));
    const auto pull = [&](const RealBuffer& values, const Block& block, RealBuffer& gradient) {
      for (int64_t k = 0; k < block.shape.size(); ++k) {
        const double target = mean_of(example.x) + noise_ * random.normal();
        double error = values.get(block.offset + k) - target;
        tally.loss += 0.5 * error * error;
        if (block.group == ParamGroup::kProposal) {
          tally.divergence += error;
          error += 1e-3 * context.baseline;
        }
        gradient.add(block.offset + k, scale * error);
      }
    };
    pull(parameters_.tables, program_.tables[0], gradients.tables);
    pull(parameters_.values, program_.params[1], gradients.values);
    pull(parameters_.values, program_.params[2], gradients.values);
    ++tally.num_sequences;
    tally.num_symbols += static_cast<int64_t>(example.x.size());
  }
}

void FakeObjective::measure(std::span<const TrainExample> examples, const StepContext& context,
                            Tally& tally) {
  Gradients ignored(program_);
  add_gradient(examples, context, 1, ignored, tally);
}

std::vector<std::vector<int>> fake_inputs() {
  std::vector<std::vector<int>> inputs;
  for (int i = 0; i < 23; ++i) {
    std::vector<int>& x = inputs.emplace_back();
    for (int t = 0; t <= i % 5; ++t) x.push_back((3 * i + t) % 9);
  }
  return inputs;
}

RunIdentity fake_identity(const Program& program, const FakeRun& run) {
  return {"fake", find_trained_blocks(program, run.groups, run.options.frozen), run.data_hash,
          count_minibatches(fake_inputs().size(), run.options.batch), run.options};
}

FakeResult train_fake(const Program& program, const FakeRun& run) {
  const RunIdentity identity = fake_identity(program, run);
  const std::vector<std::vector<int>> inputs = fake_inputs();
  std::vector<TrainExample> examples;
  for (const std::vector<int>& x : inputs)
    examples.push_back({x, {}, static_cast<int64_t>(examples.size())});
  FakeResult result{begin_run(program, Parameters::fresh(program, 5), identity, run.hooks), false};
  Workers workers(run.options.threads);
  const ObjectiveFactory make = [&](const Parameters& parameters) -> std::unique_ptr<Objective> {
    std::unique_ptr<Objective> objective =
        std::make_unique<FakeObjective>(program, parameters, run.noise);
    return run.wrap ? run.wrap(std::move(objective)) : std::move(objective);
  };
  std::vector<std::unique_ptr<ShardedObjective>> objectives;
  std::vector<Goal> goals;
  for (ParamGroup group : run.groups) {
    objectives.push_back(std::make_unique<ShardedObjective>(program, result.state.parameters,
                                                            run.options.shard, workers, make));
    goals.push_back({group, objectives.back().get()});
  }
  Evaluate evaluate;
  if (run.has_dev) {
    evaluate = [&](EpochReport& report) {
      const Tally tally = objectives.front()->measure(examples, {99, 0});
      report.dev_score = run.dev_score ? run.dev_score(report.epoch) : tally.loss;
      if (run.is_reliable) report.is_reliable = run.is_reliable(report.epoch);
    };
  }
  Trainer trainer(program, result.state, identity, run.hooks, examples, goals, evaluate);
  result.was_interrupted = trainer.run();
  return result;
}

FakeRun small_run() {
  FakeRun run;
  run.options.batch = 4;
  run.options.shard = 2;
  run.options.threads = 1;
  run.options.adam.rate = 0.02;
  run.options.patience = 0;
  run.options.save_seconds = INFINITY;
  return run;
}

std::string failure_of(const FakeRun& run) {
  try {
    train_fake(fake_program(), run);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

std::string bits_of(const Program& program, const TrainState& state) {
  std::string bits = training_json(program, {}, state);
  for (const RealBuffer* buffer :
       {&state.parameters.values, &state.parameters.tables, &state.best.values, &state.best.tables,
        &state.adam.first, &state.adam.second}) {
    bits.append(static_cast<const char*>(buffer->at()),
                static_cast<size_t>(buffer->size()) * program.real_size());
  }
  return bits;
}

}  // namespace scry::test
