#include "runtime/train/trainer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/quote.h"
#include "runtime/kernels/philox.h"
#include "runtime/train/development.h"
#include "runtime/train/minibatches.h"

namespace scry {
namespace {

/// No trained network has such weights; Adam would need a million steps of the usual rate.
constexpr double kLargestParameter = 1e6;

constexpr size_t kMaxShownNames = 20;

std::string list_names(const std::vector<std::string>& names) {
  const size_t shown = std::min(names.size(), kMaxShownNames);
  return fmt::format(
      "{}{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
      shown < names.size() ? fmt::format(" and {} more", names.size() - shown) : "");
}

[[noreturn]] void fail_unknown(const Program& program, const std::string& frozen) {
  std::vector<std::string> all, close;
  for (const Block& block : program.params) {
    all.push_back(block.name);
    if (block.name.find(frozen) != std::string::npos ||
        frozen.find(block.name) != std::string::npos) {
      close.push_back(block.name);
    }
  }
  if (!frozen.empty() && !close.empty()) {
    throw Error(fmt::format("there is no parameter {} to freeze; did you mean {}?",
                            quote(frozen, 100), list_names(close)));
  }
  throw Error(fmt::format("there is no parameter {} to freeze; the parameters are {}",
                          quote(frozen, 100), list_names(all)));
}

bool reads_any(const Kernel& kernel, const Program& program, std::span<const size_t> blocks) {
  return std::any_of(kernel.slots.begin(), kernel.slots.end(), [&](const Slot& slot) {
    return std::any_of(blocks.begin(), blocks.end(),
                       [&](size_t index) { return program.params[index].name == slot.name; });
  });
}

}  // namespace

std::vector<size_t> find_trained_blocks(const Program& program, std::span<const ParamGroup> groups,
                                        std::span<const std::string> frozen) {
  for (const std::string& name : frozen) {
    const auto is_it = [&](const Block& block) { return block.name == name; };
    if (std::none_of(program.params.begin(), program.params.end(), is_it))
      fail_unknown(program, name);
  }
  std::vector<size_t> blocks;
  bool is_any_frozen = false;
  for (size_t i = 0; i < program.params.size(); ++i) {
    const Block& block = program.params[i];
    if (std::find(groups.begin(), groups.end(), block.group) == groups.end()) continue;
    if (std::find(frozen.begin(), frozen.end(), block.name) == frozen.end()) {
      blocks.push_back(i);
    } else {
      is_any_frozen = true;
    }
  }
  if (blocks.empty()) {
    const char* const owner = groups.size() > 1                      ? "program"
                              : groups.front() == ParamGroup::kModel ? "model"
                                                                     : "proposal";
    throw Error(
        is_any_frozen
            ? fmt::format("nothing is left to train: all parameters of the {} are frozen", owner)
            : fmt::format("there is nothing to train: the {} has no parameters", owner));
  }
  return blocks;
}

bool is_finished(const TrainState& state, const TrainOptions& options) {
  if (state.epoch > options.epochs) return true;
  return options.patience > 0 && state.epoch - 1 - state.best_epoch >= options.patience;
}

Trainer::Trainer(const Program& program, TrainState& state, const RunIdentity& identity,
                 const TrainHooks& hooks, std::span<const TrainExample> examples,
                 std::vector<ShardedObjective*> goals, Evaluate evaluate, StartCounts start_counts,
                 Inspect inspect)
    : program_(program),
      state_(state),
      identity_(identity),
      options_(identity.options),
      hooks_(hooks),
      examples_(examples),
      goals_(std::move(goals)),
      evaluate_(std::move(evaluate)),
      start_counts_(start_counts),
      inspect_(std::move(inspect)),
      saved_at_(std::chrono::steady_clock::now()) {
  for (const TrainExample& example : examples) lengths_.push_back(example.x.size());
  for (const Stage* stage : {&program.prepare, &program.prepare_proposal}) {
    if (reads_any(stage->forward, program, identity.blocks))
      prepare_.emplace_back(program, stage->forward, state.parameters);
  }
  // A state with a past came from the checkpoint.
  if (!state.history.empty() && !options_.checkpoint.empty())
    saved_ = Saved{state.adam.num_updates, state.epoch};
  if (!state.history.empty()) restore_memories();
}

void Trainer::restore_memories() {
  for (ShardedObjective* goal : goals_) {
    Objective& objective = goal->objective();
    const auto found = state_.memories.find(objective.name());
    const std::vector<double> memory =
        found == state_.memories.end() ? std::vector<double>() : found->second;
    if (!objective.restore(memory)) {
      throw DataError(fmt::format("{}: what it remembers of the {} is damaged; train anew",
                                  options_.checkpoint, objective.name()));
    }
  }
}

bool Trainer::run() {
  if (state_.history.empty()) {
    EpochReport start;
    start.likelihood = state_.likelihood;
    evaluate(start);
    if (start_counts_ == StartCounts::kYes && start.is_reliable) {
      start.is_best = true;
      state_.best_score = start.dev_score;
    }
    state_.history.push_back(start);
    tell(start);
  } else if (hooks_.resumed) {
    hooks_.resumed(state_.history);
  }
  while (!is_finished(state_, options_)) {
    if (!run_epoch()) return true;
    finish_epoch();
  }
  if (!saved_) save();
  return false;
}

/// False if it was asked to stop.
bool Trainer::run_epoch() {
  const std::vector<std::vector<size_t>> minibatches =
      make_minibatches(lengths_, options_.batch, options_.seed, state_.epoch);
  const auto count = static_cast<int64_t>(minibatches.size());
  while (state_.update < count) {
    update_once(minibatches[static_cast<size_t>(state_.update)]);
    if (hooks_.progress) {
      hooks_.progress({state_.epoch, state_.update, count, state_.adam.num_updates, options_.epochs,
                       state_.tally});
    }
    const bool should_stop = hooks_.should_stop && hooks_.should_stop();
    if (should_stop || is_time_to_save()) save();
    if (should_stop) return false;
  }
  return true;
}

void Trainer::update_once(std::span<const size_t> minibatch) {
  minibatch_.clear();
  for (size_t index : minibatch) minibatch_.push_back(examples_[index]);
  number_ = state_.adam.num_updates + 1;
  const Tally tally = compute_gradient(derive_seed(options_.seed, static_cast<uint32_t>(number_)),
                                       1 / static_cast<double>(minibatch.size()));

  const Gradients& gradients = goals_.front()->gradients();
  const double norm = gradient_norm(program_, gradients, identity_.blocks);
  if (!std::isfinite(norm)) {
    // The squares of huge numbers may be infinite where the numbers are not.
    for (const double limit : {std::numeric_limits<double>::infinity(), 1e100}) {
      if (const auto bad = find_bad_number(program_, gradients.values, identity_.blocks, limit))
        fail_in_update(fmt::format("the gradient of '{}' is {}", bad->parameter, bad->value));
    }
  }
  AdamOptions adam = options_.adam;
  adam.rate *= rate_factor(options_.schedule, number_,
                           int64_t{options_.epochs} * identity_.updates_per_epoch);
  update(program_, identity_.blocks, adam, gradients, norm, state_.adam, state_.parameters);
  if (const auto bad = find_bad_number(program_, state_.parameters.values, identity_.blocks,
                                       kLargestParameter)) {
    fail_in_update(fmt::format("the parameter '{}' becomes {}", bad->parameter, bad->value));
  }
  for (BoundKernel& tables : prepare_) tables.run({});
  state_.tally += tally;
  ++state_.update;
}

/// Fills the first goal's gradients, with each goal's own blocks.
Tally Trainer::compute_gradient(uint64_t seed, double scale) {
  Gradients& result = goals_.front()->gradients();
  Tally total;
  for (size_t g = 0; g < goals_.size(); ++g) {
    ShardedObjective& goal = *goals_[g];
    Tally tally;
    try {
      tally = goal.compute_gradient(minibatch_, seed, scale);
      goal.objective().remember(tally);
    } catch (const TrainingError& error) {
      fail_in_update(error.what() + describe_largest());
    }
    if (g == 0) {
      total = tally;
      continue;
    }
    total = merge_goals(total, tally);
    for (size_t index : identity_.blocks) {
      const Block& block = program_.params[index];
      if (block.group != goal.objective().group()) continue;
      std::memcpy(result.values.at(block.offset), goal.gradients().values.at(block.offset),
                  static_cast<size_t>(block.shape.size()) * program_.real_size());
    }
  }
  return total;
}

void Trainer::evaluate(EpochReport& report) {
  if (!evaluate_) return;
  std::string trouble;
  try {
    evaluate_(report);
    if (std::isnan(report.dev_score)) trouble = "its score is nan";
  } catch (const TrainingError& error) {
    trouble = error.what();
  }
  if (trouble.empty()) return;
  fail(fmt::format("development set after epoch {} (update {}): {}{}", report.epoch,
                   state_.adam.num_updates, trouble, describe_largest()));
}

void Trainer::finish_epoch() {
  EpochReport report;
  report.epoch = state_.epoch;
  report.total_updates = state_.adam.num_updates;
  report.train = state_.tally;
  report.likelihood = state_.likelihood;
  if (inspect_) inspect_(report.epoch);
  evaluate(report);
  report.is_best = !evaluate_ || (report.is_reliable && report.dev_score < state_.best_score);
  if (report.is_best) {
    state_.best = state_.parameters;
    state_.best_score = report.dev_score;
    state_.best_epoch = report.epoch;
  }
  state_.history.push_back(report);
  ++state_.epoch;
  state_.update = 0;
  state_.tally = {};
  // Saved first: telling may fail, or be the end of the process. Who must know of all epochs learns
  // of one that was not told by TrainHooks::resumed.
  save();
  tell(report);
}

void Trainer::tell(const EpochReport& report) const {
  if (hooks_.epoch) hooks_.epoch(report);
  if (!hooks_.note) return;
  if (const std::string text = describe_overshoot(report); !text.empty()) hooks_.note(text);
}

bool Trainer::is_time_to_save() const {
  if (options_.checkpoint.empty()) return false;
  const int64_t since = state_.adam.num_updates - (saved_ ? saved_->update : 0);
  if (options_.save_updates > 0 && since >= options_.save_updates) return true;
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - saved_at_;
  return elapsed.count() >= options_.save_seconds;
}

void Trainer::save() {
  const bool has_best = std::any_of(state_.history.begin(), state_.history.end(),
                                    [](const EpochReport& report) { return report.is_best; });
  // Where nothing could be judged, the newest are as good as any.
  if (!evaluate_ || !has_best) state_.best = state_.parameters;
  for (ShardedObjective* goal : goals_)
    state_.memories[goal->objective().name()] = goal->objective().memory();
  if (options_.checkpoint.empty()) return;
  write_checkpoint(options_.checkpoint, program_, identity_, state_);
  saved_ = Saved{state_.adam.num_updates, state_.epoch};
  saved_at_ = std::chrono::steady_clock::now();
}

void Trainer::fail(const std::string& what) const {
  const std::string last = saved_
                               ? fmt::format("The last good checkpoint is {} (update {}, epoch {})",
                                             options_.checkpoint, saved_->update, saved_->epoch)
                               : std::string("No checkpoint was written");
  throw TrainingError(fmt::format("{}; training stopped. {}; try a lower --rate", what, last));
}

void Trainer::fail_in_update(const std::string& what) const {
  fail(fmt::format("update {} (epoch {}): {}", number_, state_.epoch, what));
}

std::string Trainer::describe_largest() const {
  const Block* largest = nullptr;
  double magnitude = -1;
  for (size_t index : identity_.blocks) {
    const Block& block = program_.params[index];
    for (int64_t k = 0; k < block.shape.size(); ++k) {
      const double value = std::abs(state_.parameters.values.get(block.offset + k));
      if (!(value > magnitude)) continue;
      magnitude = value;
      largest = &block;
    }
  }
  if (largest == nullptr) return "";
  return fmt::format(" (the largest parameter is {:.3g}, in '{}')", magnitude, largest->name);
}

}  // namespace scry
