#include "runtime/search/posterior.h"

#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <map>

#include "runtime/search/lattice_sums.h"
#include "runtime/smc/check_input.h"
#include "runtime/smc/end_of_sequence.h"

namespace scry {
namespace {

/// What draws have in common, before there are any.
Ensemble blank_draws(int particles, uint64_t seed, int64_t sequence, double temperature,
                     double log_z) {
  Ensemble ensemble;
  ensemble.info.method = row_of(Method::kExact).name;
  ensemble.info.particles = particles;
  ensemble.info.temperature = temperature;
  ensemble.info.seed = seed;
  ensemble.info.sequence = sequence;
  ensemble.log_z = log_z;
  ensemble.certainty = Certainty::kExact;
  ensemble.log_z_error = 0.0;
  return ensemble;
}

void add_drawn(Ensemble& ensemble, std::span<const int32_t> tags, int32_t count, double score) {
  ensemble.tags.insert(ensemble.tags.end(), tags.begin(), tags.end());
  ensemble.counts.push_back(count);
  ensemble.log_scores.push_back(score);
  ensemble.log_weights.push_back(std::log(count / static_cast<double>(ensemble.info.particles)) +
                                 ensemble.log_z);
}

class EnumeratedPosterior : public Posterior {
 public:
  EnumeratedPosterior(Ensemble all, int num_tags) : all_(std::move(all)), num_tags_(num_tags) {
    double total = 0;
    for (size_t i = 0; i < all_.size(); ++i) cumulative_.push_back(total += all_.probability(i));
    if (!(total > 0)) throw Error("posterior: no tagging has a positive probability");
  }

  double log_z() const override { return all_.log_z; }
  RealMatrix<double> tag_marginals() const override { return all_.tag_marginals(num_tags_); }
  std::vector<RealMatrix<double>> transition_marginals() const override {
    std::vector<RealMatrix<double>> marginals(static_cast<size_t>(std::max(0, all_.length - 1)),
                                              RealMatrix<double>::Zero(num_tags_, num_tags_));
    for (size_t i = 0; i < all_.size(); ++i) {
      const std::span<const int32_t> y = all_.sequence(i);
      for (size_t t = 1; t < y.size(); ++t) marginals[t - 1](y[t - 1], y[t]) += all_.probability(i);
    }
    return marginals;
  }
  double entropy() const override {
    double entropy = 0;
    for (size_t i = 0; i < all_.size(); ++i) {
      const double p = all_.probability(i);
      if (p > 0) entropy -= p * all_.log_probability(i);
    }
    return std::max(0.0, entropy);
  }

  Ensemble draw(int particles, uint64_t seed) const override {
    Ensemble ensemble =
        blank_draws(particles, seed, all_.info.sequence, all_.info.temperature, all_.log_z);
    ensemble.length = all_.length;
    std::map<size_t, int32_t> counts;
    for (int particle = 0; particle < particles; ++particle) {
      double uniform;
      fill_uniform(seed, Purpose::kExactDraw, static_cast<uint32_t>(all_.info.sequence),
                   static_cast<uint32_t>(particle), std::span(&uniform, 1));
      // Below the total, also when rounded: the sum passes it, and at a probability above 0.
      const auto found =
          std::upper_bound(cumulative_.begin(), cumulative_.end(), uniform * cumulative_.back());
      ++counts[static_cast<size_t>(found - cumulative_.begin())];
    }
    for (const auto& [i, count] : counts)
      add_drawn(ensemble, all_.sequence(i), count, all_.log_scores[i]);
    ensemble.sort();
    return ensemble;
  }

 private:
  Ensemble all_;
  int num_tags_;
  std::vector<double> cumulative_;
};

class FinitePosterior : public Posterior {
 public:
  FinitePosterior(const Program& program, Lattice lattice, int64_t sequence, double temperature)
      : program_(program),
        sequence_(sequence),
        temperature_(temperature),
        lattice_(std::move(lattice)),
        paths_(lattice_, temperature) {
    if (!std::isfinite(paths_.log_z()))
      throw Error(
          fmt::format("scores divided by the temperature {} are too large to add", temperature));
    const RealMatrix<double> marginals = tag_marginals();
    known_ = {paths_.entropy(), {marginals.data(), marginals.data() + marginals.size()}};
  }

  double log_z() const override { return paths_.log_z(); }
  RealMatrix<double> tag_marginals() const override {
    RealMatrix<double> marginals = paths_.tag_marginals(program_.num_tags());
    if (program_.task.has_eos() && marginals.rows() > 0)  // whose tag users do not see
      marginals.conservativeResize(marginals.rows() - 1, Eigen::NoChange);
    return marginals;
  }
  std::vector<RealMatrix<double>> transition_marginals() const override {
    std::vector<RealMatrix<double>> marginals = paths_.transition_marginals(program_.num_tags());
    if (program_.task.has_eos() && !marginals.empty()) marginals.pop_back();
    return marginals;
  }
  double entropy() const override { return known_.entropy; }

  Ensemble draw(int particles, uint64_t seed) const override {
    Ensemble ensemble = blank_draws(particles, seed, sequence_, temperature_, paths_.log_z());
    ensemble.length = static_cast<int>(lattice_.steps.size());
    for (const LatticeStep& step : lattice_.steps) {
      StepRecord& record = ensemble.steps.emplace_back();
      record.ess = particles;
      record.num_rows = step.num_rows();
    }
    struct Drawn {
      int32_t count = 0;
      double score = 0;
    };
    std::map<std::vector<int32_t>, Drawn> drawn;
    std::vector<double> uniforms(lattice_.steps.size());
    for (int particle = 0; particle < particles; ++particle) {
      fill_uniform(seed, Purpose::kExactDraw, static_cast<uint32_t>(sequence_),
                   static_cast<uint32_t>(particle), uniforms);
      LatticeSums::Path path = paths_.draw(uniforms);
      Drawn& here = drawn[std::move(path.tags)];
      ++here.count;
      here.score = path.score;
    }
    for (const auto& [tags, here] : drawn) add_drawn(ensemble, tags, here.count, here.score);
    ensemble.sort();
    drop_end(program_.task, ensemble);
    ensemble.known = known_;
    return ensemble;
  }

 private:
  const Program& program_;
  int64_t sequence_;
  double temperature_;
  Lattice lattice_;
  LatticeSums paths_;
  Ensemble::Known known_;
};

}  // namespace

std::unique_ptr<Posterior> enumerated_posterior(Ensemble all, int num_tags) {
  return std::make_unique<EnumeratedPosterior>(std::move(all), num_tags);
}

std::unique_ptr<Posterior> finite_posterior(const Program& program, const Parameters& parameters,
                                            const SampleInput& input,
                                            const SampleOptions& options) {
  check_finite_states(program);
  const EndedInputs ended(program.task, std::span(&input, 1));
  check_input(program, ended.front(), options.first_sequence);
  return std::make_unique<FinitePosterior>(
      program,
      build_lattice(program, parameters, ended.front(), options.first_sequence,
                    {options.max_rows, options.memory}),
      options.first_sequence, options.temperature);
}

}  // namespace scry
