#include "runtime/train/exact_likelihood.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/search/search.h"
#include "runtime/train/lattice_gradient.h"
#include "runtime/train/observed_sum.h"
#include "runtime/train/training_error.h"

namespace scry {
namespace {

constexpr int64_t kMaxArcs = int64_t{1} << 21;

class Worker : public ObjectiveWorker {
 public:
  Worker(const Program& program, const Parameters& parameters)
      : program_(program),
        observed_(make_observed_sum(program, parameters, {.is_exact = true})),
        encoder_(program, parameters),
        batch_gradient_(program, parameters),
        lattice_gradient_(program, parameters, batch_gradient_),
        batch_(program) {}

  void set_memory(int64_t bytes) override {
    lattice_gradient_.set_memory(bytes);
    observed_->set_memory(bytes);
  }
  void add_gradient(std::span<const TrainExample> examples, uint64_t seed, double scale,
                    Gradients& gradients, Tally& tally) override {
    const std::span<const Lattice> lattices = build(examples);
    lattice_gradient_.clear_seeds();
    log_zs_.clear();
    for (size_t s = 0; s < examples.size(); ++s) {
      log_zs_.push_back(lattice_gradient_.seed_log_z(s, scale));
      if (!examples[s].is_complete()) continue;
      count(lattices[s], log_zs_[s],
            follow(examples[s], lattices[s],
                   [&](const LatticeStep& step, int64_t row, const Arc& arc) {
                     lattice_gradient_.add_seed(step, row, arc, -scale);
                   }),
            tally);
    }
    batch_gradient_.begin(batch_);
    lattice_gradient_.add(batch_, batch_gradient_, gradients);
    batch_gradient_.finish_model(gradients);
    count_incomplete(examples, lattices, tally, [&](std::span<const TrainExample> incomplete) {
      return observed_->add_gradient(incomplete, seed, -scale, gradients);
    });
  }
  void measure(std::span<const TrainExample> examples, uint64_t seed, Tally& tally) override {
    const std::span<const Lattice> lattices = build(examples);
    log_zs_.clear();
    for (size_t s = 0; s < examples.size(); ++s) {
      log_zs_.push_back(LatticeSums(lattices[s], 1).log_z());
      if (!examples[s].is_complete()) continue;
      count(lattices[s], log_zs_[s], follow(examples[s], lattices[s], [](auto&&...) {}), tally);
    }
    count_incomplete(examples, lattices, tally, [&](std::span<const TrainExample> incomplete) {
      return observed_->measure(incomplete, seed);
    });
  }

 private:
  std::span<const Lattice> build(std::span<const TrainExample> examples) {
    inputs_.clear();
    for (const TrainExample& example : examples) inputs_.push_back(example.x);
    encoder_.run(inputs_, false, batch_);
    return lattice_gradient_.build(batch_, examples, LatticeGradient::Taggings::kAll);
  }

  /// G_T of the given tagging. Calls `visit` with each of its arcs, and where that is.
  template <class Visit>
  double follow(const TrainExample& example, const Lattice& lattice, const Visit& visit) const {
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
      visit(lattice.steps[t], row, *arc);
      log_score += arc->score;
      row = arc->to;
    }
    return log_score;
  }

  static void count(const Lattice& lattice, double log_z, double log_observed, Tally& tally) {
    const double loss = std::max(0.0, log_z - log_observed);  // but for rounding, it never is
    tally.add(Tally::kSequences, 1);
    tally.add(Tally::kSymbols, static_cast<double>(lattice.steps.size()));
    tally.add(Tally::kNegativeLogP, loss);
    tally.add(Tally::kLoss, loss);
  }

  template <class Sum>
  void count_incomplete(std::span<const TrainExample> examples, std::span<const Lattice> lattices,
                        Tally& tally, const Sum& sum) const {
    const std::vector<TrainExample> incomplete = select_examples(examples, false);
    if (incomplete.empty()) return;
    const std::span<const double> log_sums = sum(incomplete);
    for (size_t s = 0, i = 0; s < examples.size(); ++s) {
      if (!examples[s].is_complete()) count(lattices[s], log_zs_[s], log_sums[i++], tally);
    }
  }

  const Program& program_;
  std::unique_ptr<ObservedSum> observed_;
  BatchEncoder encoder_;
  BatchGradient batch_gradient_;
  LatticeGradient lattice_gradient_;
  Batch batch_;
  std::vector<double> log_zs_;
  std::vector<std::span<const int>> inputs_;
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
