#include "runtime/train/lattice_gradient.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "runtime/train/training_error.h"

namespace scry {
namespace {

/// Of one example; of what was not looked at beforehand.
constexpr int64_t kMaxRows = int64_t{1} << 24;

}  // namespace

LatticeGradient::LatticeGradient(const Program& program, const Parameters& parameters,
                                 const BatchGradient& batch_gradient)
    : program_(program),
      limits_{.max_rows = kMaxRows},
      builder_(program, parameters),
      kernel_(program, program.score.gradient, parameters),
      slots_(program, kernel_),
      gradient_slots_(batch_gradient.find_slots(kernel_)),
      state_(kernel_, "s.", program.state),
      d_score_(kernel_.find("d.score")),
      all_tags_(static_cast<size_t>(program.num_tags())),
      seeds_(program.precision, 0) {
  std::iota(all_tags_.begin(), all_tags_.end(), 0);
  kernel_.bind(kernel_.find("y"), all_tags_.data());
}

std::span<const Lattice> LatticeGradient::build(const Batch& batch,
                                                std::span<const TrainExample> examples,
                                                Taggings taggings) {
  numbers_.clear();
  allowed_.clear();
  for (const TrainExample& example : examples) {
    numbers_.push_back(example.number);
    if (taggings == Taggings::kObserved) allowed_.push_back(example.allowed);
  }
  try {
    lattices_ = builder_.build(batch, allowed_, numbers_, limits_);
  } catch (const SamplingError& error) {
    const std::string text = fmt::format("step {}: {}", error.step(), error.message());
    if (error.trouble() == Trouble::kNoMass) throw ExampleError(error.sequence(), text);
    if (error.trouble() == Trouble::kTooMuchMemory)
      throw Error(fmt::format("example {}, {}", error.sequence() + 1, text));
    throw TrainingError(fmt::format("example {}, {}", error.sequence() + 1, text));
  }
  return lattices_;
}

void LatticeGradient::clear_seeds() {
  seeds_.reset(builder_.states().num_rows() * program_.num_tags());
}

/// ∂ log Z / ∂ g(arc) = p(arc).
double LatticeGradient::seed_log_z(size_t sequence, double weight) {
  const Lattice& lattice = lattices_[sequence];
  const LatticeSums sums(lattice, 1);
  const std::vector<std::vector<double>> marginals = sums.arc_marginals();
  seeds_.visit([&](auto* seeds) {
    using Real = std::decay_t<decltype(*seeds)>;
    for (size_t t = 0; t < lattice.steps.size(); ++t) {
      const LatticeStep& step = lattice.steps[t];
      auto* of_row = seeds + step.first_state * program_.num_tags();
      for (size_t row = 0; row + 1 < step.first_arc.size(); ++row, of_row += program_.num_tags()) {
        for (auto arc = static_cast<size_t>(step.first_arc[row]);
             arc < static_cast<size_t>(step.first_arc[row + 1]); ++arc)
          of_row[step.arcs[arc].tag] = static_cast<Real>(weight * marginals[t][arc]);
      }
    }
  });
  return sums.log_z();
}

void LatticeGradient::add_seed(const LatticeStep& step, int64_t row, const Arc& arc,
                               double weight) {
  seeds_.add((step.first_state + row) * program_.num_tags() + arc.tag, weight);
}

void LatticeGradient::add(const Batch& batch, BatchGradient& batch_gradient, Gradients& gradients) {
  if (!kernel_) return;
  const std::span<const int32_t> positions = builder_.positions();
  kernel_.bind(gradients);
  batch.bind(kernel_, slots_);
  batch_gradient.bind(kernel_, gradient_slots_);
  state_.bind(kernel_, builder_.states());
  kernel_.bind(d_score_, seeds_.at());
  KernelCall call = batch.call();
  call.num_rows = static_cast<int64_t>(positions.size());
  call.position_of_row = positions.data();
  const int64_t chunk = kernel_.chunk_rows();
  for (int64_t first = 0; first < call.num_rows; first += chunk)
    kernel_.run_rows(call, first, std::min(chunk, call.num_rows - first));
}

}  // namespace scry
