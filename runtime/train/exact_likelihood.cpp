#include "runtime/train/exact_likelihood.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/search/lattice_sums.h"
#include "runtime/search/search.h"
#include "runtime/train/batch_gradient.h"
#include "runtime/train/training_error.h"

namespace scry {
namespace {

constexpr int64_t kMaxArcs = int64_t{1} << 21;
/// Of one example; of what was not looked at beforehand.
constexpr int64_t kMaxRows = int64_t{1} << 24;

/// The gradient of g of all tags, of many states in large calls.
class StateGradient {
 public:
  StateGradient(const Program& program, const Parameters& parameters,
                const BatchGradient& batch_gradient)
      : kernel_(program, program.score.gradient, parameters),
        slots_(program, kernel_),
        gradients_(batch_gradient.find_slots(kernel_)),
        state_(kernel_, "s.", program.state),
        d_score_(kernel_.find("d.score")),
        all_tags_(static_cast<size_t>(program.num_tags())) {
    std::iota(all_tags_.begin(), all_tags_.end(), 0);
    kernel_.bind(kernel_.find("y"), all_tags_.data());
  }

  /// `d_scores` has a number for each state and tag; its content is lost.
  void add(const Batch& batch, const StateRows& states, std::span<const int32_t> positions,
           RealBuffer& d_scores, BatchGradient& batch_gradient, Gradients& gradients) {
    if (!kernel_) return;
    kernel_.bind(gradients);
    batch.bind(kernel_, slots_);
    batch_gradient.bind(kernel_, gradients_);
    state_.bind(kernel_, states);
    kernel_.bind(d_score_, d_scores.at());
    KernelCall call = batch.call();
    call.num_rows = static_cast<int64_t>(positions.size());
    call.position_of_row = positions.data();
    const int64_t chunk = kernel_.chunk_rows();
    for (int64_t first = 0; first < call.num_rows; first += chunk)
      kernel_.run_rows(call, first, std::min(chunk, call.num_rows - first));
  }

 private:
  BoundKernel kernel_;
  Batch::Slots slots_;
  BatchGradient::Slots gradients_;
  StateSlots state_;
  SlotHandle d_score_;
  std::vector<int32_t> all_tags_;
};

class Worker : public ObjectiveWorker {
 public:
  Worker(const Program& program, const Parameters& parameters)
      : program_(program),
        encoder_(program, parameters),
        builder_(program, parameters),
        batch_gradient_(program, parameters),
        state_gradient_(program, parameters, batch_gradient_),
        batch_(program),
        d_scores_(program.precision, 0) {}

  void set_memory(int64_t bytes) override { limits_.memory = bytes; }
  void add_gradient(std::span<const TrainExample> examples, uint64_t, double scale,
                    Gradients& gradients, Tally& tally) override {
    const std::vector<Lattice> lattices = build(examples);
    d_scores_.reset(builder_.states().num_rows() * program_.num_tags());
    for (size_t s = 0; s < examples.size(); ++s) {
      const LatticeSums sums(lattices[s], 1);
      d_scores_.visit([&](auto* d_scores) {
        seed_arcs(lattices[s], sums, scale, d_scores);
        count(examples[s], lattices[s], sums.log_z(), tally, [&](int64_t state, int32_t tag) {
          auto& d_score = d_scores[state * program_.num_tags() + tag];
          d_score = static_cast<std::decay_t<decltype(d_score)>>(d_score - scale);
        });
      });
    }
    batch_gradient_.begin(batch_);
    state_gradient_.add(batch_, builder_.states(), builder_.positions(), d_scores_, batch_gradient_,
                        gradients);
    batch_gradient_.finish_model(gradients);
  }
  void measure(std::span<const TrainExample> examples, uint64_t, Tally& tally) override {
    const std::vector<Lattice> lattices = build(examples);
    for (size_t s = 0; s < examples.size(); ++s)
      count(examples[s], lattices[s], LatticeSums(lattices[s], 1).log_z(), tally, [](auto...) {});
  }

 private:
  std::vector<Lattice> build(std::span<const TrainExample> examples) {
    inputs_.clear();
    numbers_.clear();
    for (const TrainExample& example : examples) {
      inputs_.push_back(example.x);
      numbers_.push_back(example.number);
    }
    encoder_.run(inputs_, false, batch_);
    try {
      return builder_.build(batch_, {}, numbers_, limits_);
    } catch (const SamplingError& error) {
      const std::string text = fmt::format("step {}: {}", error.step(), error.message());
      if (error.trouble() == Trouble::kNoMass) throw ExampleError(error.sequence(), text);
      if (error.trouble() == Trouble::kTooMuchMemory)
        throw Error(fmt::format("example {}, {}", error.sequence() + 1, text));
      throw TrainingError(fmt::format("example {}, {}", error.sequence() + 1, text));
    }
  }

  /// Of log Z: ∂ log Z / ∂ g(arc) = p(arc).
  template <class Real>
  void seed_arcs(const Lattice& lattice, const LatticeSums& sums, double scale,
                 Real* d_scores) const {
    const std::vector<std::vector<double>> marginals = sums.arc_marginals();
    for (size_t t = 0; t < lattice.steps.size(); ++t) {
      const LatticeStep& step = lattice.steps[t];
      Real* of_row = d_scores + step.first_state * program_.num_tags();
      for (size_t row = 0; row + 1 < step.first_arc.size(); ++row, of_row += program_.num_tags()) {
        for (auto arc = static_cast<size_t>(step.first_arc[row]);
             arc < static_cast<size_t>(step.first_arc[row + 1]); ++arc)
          of_row[step.arcs[arc].tag] = static_cast<Real>(scale * marginals[t][arc]);
      }
    }
  }

  /// Follows the given tagging, and calls `visit` with the state and the tag of each of its arcs.
  template <class Visit>
  void count(const TrainExample& example, const Lattice& lattice, double log_z, Tally& tally,
             const Visit& visit) const {
    double log_score = 0;
    int64_t row = 0;
    for (size_t t = 0; t < lattice.steps.size(); ++t) {
      const Arc* arc = lattice.steps[t].find(row, example.y[t]);
      if (arc == nullptr) {
        throw ExampleError(
            example.number,
            fmt::format("step {}: the model gives tag '{}' probability 0", t + 1,
                        program_.task.y.symbols()[static_cast<size_t>(example.y[t])]));
      }
      visit(lattice.steps[t].first_state + row, arc->tag);
      log_score += arc->score;
      row = arc->to;
    }
    const double loss = std::max(0.0, log_z - log_score);  // but for rounding, it never is
    tally.add(Tally::kSequences, 1);
    tally.add(Tally::kSymbols, static_cast<double>(lattice.steps.size()));
    tally.add(Tally::kNegativeLogP, loss);
    tally.add(Tally::kLoss, loss);
  }

  const Program& program_;
  LatticeLimits limits_{.max_rows = kMaxRows};
  BatchEncoder encoder_;
  LatticeBuilder builder_;
  BatchGradient batch_gradient_;
  StateGradient state_gradient_;
  Batch batch_;
  RealBuffer d_scores_;  // of every state and tag
  std::vector<std::span<const int>> inputs_;
  std::vector<int64_t> numbers_;
};

class ExactLikelihood : public Objective {
 public:
  std::string name() const override { return "exact likelihood"; }
  ParamGroup group() const override { return ParamGroup::kModel; }
  int shard() const override { return 8; }
  std::unique_ptr<ObjectiveWorker> make_worker(const Program& program,
                                               const Parameters& parameters) const override {
    return std::make_unique<Worker>(program, parameters);
  }
};

}  // namespace

std::unique_ptr<Objective> make_exact_likelihood() { return std::make_unique<ExactLikelihood>(); }

bool has_exact_likelihood(const Program& program, const Parameters& parameters,
                          std::span<const TrainExample> examples) {
  if (!has_finite_states(program)) return false;
  constexpr size_t kLongest = 4, kOthers = 12;
  std::vector<const TrainExample*> tried;
  for (const TrainExample& example : examples) tried.push_back(&example);
  const size_t num_longest = std::min(kLongest, tried.size());
  std::partial_sort(tried.begin(), tried.begin() + static_cast<std::ptrdiff_t>(num_longest),
                    tried.end(), [](const TrainExample* a, const TrainExample* b) {
                      return a->x.size() != b->x.size() ? a->x.size() > b->x.size()
                                                        : a->number < b->number;
                    });
  tried.resize(num_longest);
  for (size_t i = 0; i < kOthers && i < examples.size(); ++i)
    tried.push_back(&examples[i * examples.size() / kOthers % examples.size()]);
  LatticeBuilder builder(program, parameters);
  // Not by the machine's memory: what is chosen must not depend on it.
  const LatticeLimits limits{.max_rows = kMaxArcs / program.num_tags() + 1,
                             .memory = int64_t{1} << 40};
  for (const TrainExample* example : tried) {
    const Batch batch(program, parameters, std::span(&example->x, 1), false);
    try {
      const auto lattices = builder.build(batch, {}, std::span(&example->number, 1), limits);
      if (lattices.front().num_arcs() > kMaxArcs) return false;
    } catch (const SamplingError& error) {
      if (error.trouble() == Trouble::kTooManyRows || error.trouble() == Trouble::kTooMuchMemory)
        return false;
      return true;  // as the first update will say
    }
  }
  return true;
}

}  // namespace scry
