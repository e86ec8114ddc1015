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

namespace {

class FakeWorker : public ObjectiveWorker {
 public:
  FakeWorker(const Program& program, const Parameters& parameters, const FakeObjective& objective)
      : program_(program), parameters_(parameters), objective_(objective) {}

  void add_gradient(std::span<const TrainExample> examples, uint64_t seed, double scale,
                    Gradients& gradients, Tally& tally) override {
    for (const TrainExample& example : examples) {
      Random random(seed, static_cast<uint32_t>(example.number));
      const auto pull = [&](const RealBuffer& values, const Block& block, RealBuffer& gradient) {
        for (int64_t k = 0; k < block.shape.size(); ++k) {
          const double target = mean_of(example.x) + objective_.noise() * random.normal();
          double error = values.get(block.offset + k) - target;
          tally.add(Tally::kLoss, 0.5 * error * error);
          if (block.group == ParamGroup::kProposal) {
            tally.add("error", error);
            error += 1e-3 * objective_.off();
          }
          gradient.add(block.offset + k, scale * error);
        }
      };
      pull(parameters_.tables, program_.tables[0], gradients.tables);
      pull(parameters_.values, program_.params[1], gradients.values);
      pull(parameters_.values, program_.params[2], gradients.values);
      tally.add(Tally::kSequences, 1);
      tally.add(Tally::kSymbols, static_cast<double>(example.x.size()));
    }
  }
  void measure(std::span<const TrainExample> examples, uint64_t seed, Tally& tally) override {
    Gradients ignored(program_);
    add_gradient(examples, seed, 1, ignored, tally);
  }

 private:
  const Program& program_;
  const Parameters& parameters_;
  const FakeObjective& objective_;
};

/// Puts something around the workers of another objective.
class Wrapped : public Objective {
 public:
  Wrapped(std::unique_ptr<Objective> inner, const FakeRun& run)
      : inner_(std::move(inner)), run_(run) {}
  std::string name() const override { return inner_->name(); }
  ParamGroup group() const override { return inner_->group(); }
  int shard() const override { return inner_->shard(); }
  std::unique_ptr<ObjectiveWorker> make_worker(const Program& program,
                                               const Parameters& parameters) const override {
    return run_.wrap(inner_->make_worker(program, parameters));
  }
  void remember(const Tally& tally) override { inner_->remember(tally); }
  std::vector<double> memory() const override { return inner_->memory(); }
  bool restore(std::span<const double> memory) override { return inner_->restore(memory); }

 private:
  std::unique_ptr<Objective> inner_;
  const FakeRun& run_;
};

}  // namespace

std::unique_ptr<ObjectiveWorker> FakeObjective::make_worker(const Program& program,
                                                            const Parameters& parameters) const {
  return std::make_unique<FakeWorker>(program, parameters, *this);
}
void FakeObjective::remember(const Tally& tally) {
  if (group_ == ParamGroup::kProposal)
    off_ = 0.1 * off_ + 0.9 * tally["error"] / tally[Tally::kSequences];
}
std::vector<double> FakeObjective::memory() const {
  return group_ == ParamGroup::kProposal ? std::vector{off_} : std::vector<double>();
}
bool FakeObjective::restore(std::span<const double> memory) {
  if (memory.size() != this->memory().size()) return false;
  if (!memory.empty()) off_ = memory[0];
  return std::isfinite(off_);
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
  std::vector<std::unique_ptr<ShardedObjective>> objectives;
  std::vector<ShardedObjective*> goals;
  for (ParamGroup group : run.groups) {
    std::unique_ptr<Objective> objective = std::make_unique<FakeObjective>(group, run.noise);
    if (run.wrap) objective = std::make_unique<Wrapped>(std::move(objective), run);
    objectives.push_back(std::make_unique<ShardedObjective>(
        program, result.state.parameters, std::move(objective), run.options.shard, workers));
    goals.push_back(objectives.back().get());
  }
  Evaluate evaluate;
  if (run.has_dev) {
    evaluate = [&](EpochReport& report) {
      const Tally tally = objectives.front()->measure(examples, 99);
      report.dev_score = run.dev_score ? run.dev_score(report.epoch) : tally[Tally::kLoss];
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
