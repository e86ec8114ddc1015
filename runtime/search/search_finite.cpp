// Dynamic programming over finite states: the best tagging, and exact draws.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "runtime/search/lattice.h"
#include "runtime/search/search.h"
#include "runtime/smc/check_input.h"
#include "runtime/smc/end_of_sequence.h"

namespace scry {
namespace {

void check_finite(const Program& program) {
  for (const Component& c : program.state) {
    if (c.type.is_int()) continue;
    throw Error(
        fmt::format("the model's states are not finite: '{}' is {}; search best-first, or sample",
                    c.name, to_string(c.type)));
  }
}

/// Draws paths y ~ exp(G_T / τ) / Z by the backward sums of the lattice (eq:q-exact-unnorm).
class PathSampler {
 public:
  PathSampler(const Lattice& lattice, double temperature)
      : lattice_(lattice), cumulative_(lattice.steps.size()) {
    std::vector<double> later{0.0};  // H_t / τ of each row (eq:H), at first of the final node
    for (size_t t = lattice.steps.size(); t-- > 0;) later = sum_back(t, later, temperature);
    log_z_ = later.front();
  }

  double log_z() const { return log_z_; }

  struct Path {
    std::vector<int32_t> tags;
    double score = 0;  // G_T
  };
  /// With one number in (0, 1) a step.
  Path draw(std::span<const double> uniforms) const {
    Path path;
    int64_t row = 0;
    for (size_t t = 0; t < lattice_.steps.size(); ++t) {
      const LatticeStep& step = lattice_.steps[t];
      const auto first = cumulative_[t].begin() + step.first_arc[static_cast<size_t>(row)];
      const auto last = cumulative_[t].begin() + step.first_arc[static_cast<size_t>(row) + 1];
      // As they are at most 1 - 2⁻⁵³, the product is below the total: `found` is no end, and
      // it has positive mass.
      const auto found = std::upper_bound(first, last, uniforms[t] * *(last - 1));
      const Arc& arc = step.arcs[static_cast<size_t>(found - cumulative_[t].begin())];
      path.tags.push_back(arc.tag);
      path.score += arc.score;
      row = arc.to;
    }
    return path;
  }

 private:
  /// H_{t-1} / τ from H_t / τ; keeps each row's cumulative weights, as multiples of its heaviest.
  std::vector<double> sum_back(size_t t, const std::vector<double>& later, double temperature) {
    const LatticeStep& step = lattice_.steps[t];
    std::vector<double> sums;
    std::vector<double> weights;
    cumulative_[t].reserve(step.arcs.size());
    for (int64_t row = 0; row < step.num_rows(); ++row) {
      weights.clear();
      for (const Arc& arc : step.arcs_from(row))
        weights.push_back(arc.score / temperature + later[static_cast<size_t>(arc.to)]);
      double top = -INFINITY, total = 0;
      for (double weight : weights) top = std::max(top, weight);
      for (double weight : weights) {
        if (top > -INFINITY) total += std::exp(weight - top);
        cumulative_[t].push_back(total);
      }
      sums.push_back(top > -INFINITY ? top + std::log(total) : top);
    }
    return sums;
  }

  const Lattice& lattice_;
  std::vector<std::vector<double>> cumulative_;  // [T][arc]
  double log_z_ = 0;
};

/// The distinct paths, of as many draws as there are particles.
void fill_sequences(Ensemble& ensemble, const PathSampler& sampler) {
  const RunInfo& info = ensemble.info;
  struct Drawn {
    int32_t count = 0;
    double score = 0;
  };
  std::map<std::vector<int32_t>, Drawn> drawn;
  std::vector<double> uniforms(static_cast<size_t>(ensemble.length));
  for (int particle = 0; particle < info.particles; ++particle) {
    fill_uniform(info.seed, Purpose::kExactDraw, static_cast<uint32_t>(info.sequence),
                 static_cast<uint32_t>(particle), uniforms);
    const PathSampler::Path path = sampler.draw(uniforms);
    Drawn& here = drawn[path.tags];
    ++here.count;
    here.score = path.score;
  }
  for (const auto& [tags, here] : drawn) {
    ensemble.tags.insert(ensemble.tags.end(), tags.begin(), tags.end());
    ensemble.counts.push_back(here.count);
    ensemble.log_scores.push_back(here.score);
    ensemble.log_weights.push_back(std::log(here.count / static_cast<double>(info.particles)) +
                                   ensemble.log_z);
  }
  ensemble.sort();
}

}  // namespace

bool has_finite_states(const Program& program) {
  return std::all_of(program.state.begin(), program.state.end(),
                     [](const Component& c) { return c.type.is_int(); });
}

Best viterbi(const Program& program, const Parameters& parameters, const SampleInput& input,
             const SearchOptions& options) {
  check_finite(program);
  const EndedInputs ended(program.task, std::span(&input, 1));
  check_input(program, ended.front(), options.sequence);
  const Lattice lattice = build_lattice(program, parameters, ended.front(), options.sequence,
                                        options.max_rows, options.memory);
  // The best arc of each row; of equals the first, which has the smallest tag.
  std::vector<std::vector<const Arc*>> choices(lattice.steps.size());
  std::vector<double> later{0.0};  // the best score-to-go of each row
  for (size_t t = lattice.steps.size(); t-- > 0;) {
    const LatticeStep& step = lattice.steps[t];
    std::vector<double> best(static_cast<size_t>(step.num_rows()), -INFINITY);
    choices[t].resize(best.size());
    for (size_t row = 0; row < best.size(); ++row) {
      for (const Arc& arc : step.arcs_from(static_cast<int64_t>(row))) {
        const double score = arc.score + later[static_cast<size_t>(arc.to)];
        if (!(score > best[row])) continue;
        best[row] = score;
        choices[t][row] = &arc;
      }
    }
    later = std::move(best);
  }
  if (later.front() == -INFINITY) {  // though each of its steps is above -∞
    throw SamplingError(Trouble::kNoMass, options.sequence, 0,
                        "the best score is too low for a number");
  }
  Best best;
  best.num_rows = lattice.num_rows();
  int32_t row = 0;
  for (const std::vector<const Arc*>& choice : choices) {
    const Arc& arc = *choice[static_cast<size_t>(row)];
    best.tags.push_back(arc.tag);
    best.log_score += arc.score;
    row = arc.to;
  }
  drop_end(program.task, best.tags);
  return best;
}

Ensemble sample_finite(const Program& program, const Parameters& parameters,
                       const SampleInput& input, const SampleOptions& options) {
  check_options(options);
  check_finite(program);
  const EndedInputs ended(program.task, std::span(&input, 1));
  check_input(program, ended.front(), options.first_sequence);
  const Lattice lattice = build_lattice(program, parameters, ended.front(), options.first_sequence,
                                        options.max_rows, options.memory);
  const PathSampler sampler(lattice, options.temperature);
  if (!std::isfinite(sampler.log_z()))
    throw Error(fmt::format("scores divided by the temperature {} are too large to add",
                            options.temperature));
  Ensemble ensemble;
  ensemble.info.method = row_of(Method::kExact).name;
  ensemble.info.particles = options.particles;
  ensemble.info.temperature = options.temperature;
  ensemble.info.seed = options.seed;
  ensemble.info.sequence = options.first_sequence;
  ensemble.length = static_cast<int>(ended.front().x.size());
  ensemble.log_z = sampler.log_z();
  ensemble.certainty = Certainty::kExact;
  ensemble.log_z_error = 0.0;
  for (const LatticeStep& step : lattice.steps) {
    StepRecord& record = ensemble.steps.emplace_back();
    record.ess = options.particles;
    record.num_rows = step.num_rows();
  }
  fill_sequences(ensemble, sampler);
  drop_end(program.task, ensemble);
  return ensemble;
}

}  // namespace scry
