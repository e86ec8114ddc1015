#include "runtime/train/choose_likelihood.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "runtime/quote.h"
#include "runtime/stepper.h"

namespace scry {
namespace {

constexpr double kMostMass = 1 + 1e-3;  // float kernels round

}  // namespace

bool FirstStepMass::is_joint() const { return over_pairs <= kMostMass; }
bool FirstStepMass::is_conditional() const { return over_tags <= kMostMass; }

FirstStepMass measure_first_step(const Program& program, const Parameters& parameters,
                                 int max_symbols) {
  constexpr int kBatch = 256;
  const int num_symbols = std::min(program.task.x.size(), max_symbols);
  const auto num_tags = static_cast<int64_t>(program.num_tags());
  std::vector<int> symbols(static_cast<size_t>(num_symbols));
  std::iota(symbols.begin(), symbols.end(), 0);
  Stepper stepper(program, parameters);
  Cells cells(program);
  FirstStepMass mass;
  for (int first = 0; first < num_symbols; first += kBatch) {
    const int count = std::min(kBatch, num_symbols - first);
    std::vector<std::span<const int>> inputs;
    std::vector<int32_t> sequences;
    for (int i = 0; i < count; ++i) {
      inputs.emplace_back(&symbols[static_cast<size_t>(first + i)], 1);
      sequences.push_back(i);
    }
    const Batch batch(program, parameters, inputs, false);
    cells.scores.reset(count * num_tags);
    stepper.score(batch, 1, {batch.start(), sequences}, 0, count, cells);
    for (int i = 0; i < count; ++i) {
      double over_tags = 0;
      for (int64_t tag = 0; tag < num_tags; ++tag)
        over_tags += std::exp(cells.scores.get(i * num_tags + tag));
      mass.over_pairs += over_tags;
      if (over_tags <= mass.over_tags) continue;  // NaN goes on
      mass.over_tags = over_tags;
      mass.symbol = first + i;
    }
  }
  return mass;
}

Likelihood choose_likelihood(const Program& program, const Parameters& parameters, Likelihood asked,
                             const TrainHooks& hooks) {
  if (asked == Likelihood::kConditional) return asked;
  const auto note = [&](const std::string& text) {
    if (hooks.note) hooks.note(text);
  };
  const FirstStepMass mass = measure_first_step(program, parameters);
  const bool is_local = mass.is_joint() || mass.is_conditional();
  if (asked == Likelihood::kJoint) {
    if (!is_local) {
      note(
          fmt::format("warning: G_T is taken as a log-likelihood, but the model is not locally "
                      "normalized: at the first step, the tags of {} have mass {:.4g}",
                      quote(program.task.x.name(mass.symbol)), mass.over_tags));
    }
    return asked;
  }
  if (mass.is_joint()) {
    note(
        fmt::format("likelihood: joint, G_T = log p(x, y), as the pairs of the first step have "
                    "mass {:.4g}",
                    mass.over_pairs));
  } else if (mass.is_conditional()) {
    note(
        fmt::format("likelihood: joint, G_T = log p(y | x), as the tags of the first step have "
                    "mass {:.4g}",
                    mass.over_tags));
  } else {
    note(
        fmt::format("likelihood: conditional, with sampled gradients, as the model is not locally "
                    "normalized: at the first step, the tags of {} have mass {:.4g}",
                    quote(program.task.x.name(mass.symbol)), mass.over_tags));
  }
  return is_local ? Likelihood::kJoint : Likelihood::kConditional;
}

}  // namespace scry
