#include "runtime/smc/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"

namespace scry {
namespace {

void check_mass(const Ensemble& ensemble, const char* measure) {
  if (ensemble.size() == 0 || ensemble.log_z == -INFINITY) {
    throw Error(fmt::format("{}: the ensemble has no sequence of positive weight", measure));
  }
}

std::vector<int32_t> copy_of(std::span<const int32_t> tags) { return {tags.begin(), tags.end()}; }

}  // namespace

double kl_divergence(const Ensemble& p_hat, double log_z) {
  check_mass(p_hat, "KL divergence");
  if (!std::isfinite(log_z)) {
    throw Error(fmt::format("KL divergence: no distribution has log Z = {}", log_z));
  }
  double divergence = 0;
  for (size_t i = 0; i < p_hat.size(); ++i) {
    const double p = p_hat.probability(i);
    if (p == 0) continue;
    const double log_p = p_hat.log_scores[i] / p_hat.info.temperature - log_z;
    divergence += p * (p_hat.log_probability(i) - log_p);
  }
  return divergence;
}

void ParticlePool::add(const Ensemble& ensemble) {
  if (ensemble.size() == 0) return;
  const auto length = static_cast<size_t>(ensemble.length);
  if (size() > 0 && log_scores_.begin()->first.size() != length) {
    throw Error(fmt::format("particle pool: a sequence of length {} among those of length {}",
                            length, log_scores_.begin()->first.size()));
  }
  for (size_t i = 0; i < ensemble.size(); ++i) {
    const double score = ensemble.log_scores[i];
    const auto [entry, is_new] = log_scores_.try_emplace(copy_of(ensemble.sequence(i)), score);
    // Two methods may round one score differently: the choice must not depend on the order.
    if (!is_new) entry->second = std::max(entry->second, score);
  }
}

double ParticlePool::log_z(double temperature) const {
  std::vector<double> log_terms;
  log_terms.reserve(size());
  for (const auto& [tags, log_score] : log_scores_) log_terms.push_back(log_score / temperature);
  return log_sum_exp(log_terms);
}

double offset_kl(const Ensemble& p_hat, const ParticlePool& pool) {
  return kl_divergence(p_hat, pool.log_z(p_hat.info.temperature));
}

std::vector<Outcome> sample_extra(Sampler& sampler, std::span<const SampleInput> inputs,
                                  SampleOptions options) {
  options.method = Method::kFilter;
  options.particles *= 2;
  options.seed = derive_seed(options.seed, UINT32_MAX);
  return sampler.sample(inputs, options);
}

std::vector<Outcome> sample_extra(const Program& program, const Parameters& parameters,
                                  std::span<const SampleInput> inputs, SampleOptions options) {
  Sampler sampler(program, parameters, options.threads);
  return sample_extra(sampler, inputs, std::move(options));
}

double total_variation(const Ensemble& a, const Ensemble& b) {
  check_mass(a, "total variation");
  check_mass(b, "total variation");
  if (a.length != b.length) {
    throw Error(fmt::format("total variation: sequences of lengths {} and {}", a.length, b.length));
  }
  std::map<std::vector<int32_t>, double> differences;
  for (size_t i = 0; i < a.size(); ++i) differences[copy_of(a.sequence(i))] += a.probability(i);
  for (size_t i = 0; i < b.size(); ++i) differences[copy_of(b.sequence(i))] -= b.probability(i);
  double total = 0;
  for (const auto& [tags, difference] : differences) total += std::abs(difference);
  return std::min(1.0, total / 2);
}

double marginal_variation(const Ensemble& p_hat, std::span<const double> marginals, int num_tags) {
  check_mass(p_hat, "marginal variation");
  const auto length = static_cast<size_t>(p_hat.length), tags = static_cast<size_t>(num_tags);
  if (marginals.size() != length * tags) {
    throw Error(fmt::format("marginal variation: {} marginals for {} positions with {} tags",
                            marginals.size(), length, tags));
  }
  std::vector<double> shares(p_hat.size());
  for (size_t i = 0; i < shares.size(); ++i) shares[i] = p_hat.probability(i);
  double total = 0;
  std::vector<double> differences(tags);
  for (size_t t = 0; t < length; ++t) {
    std::copy_n(marginals.begin() + static_cast<std::ptrdiff_t>(t * tags), tags,
                differences.begin());
    for (size_t i = 0; i < shares.size(); ++i) {
      const int32_t tag = p_hat.tags[i * length + t];
      if (tag < 0 || tag >= num_tags) {
        throw Error(fmt::format("marginal variation: there is no tag {} among {}", tag, num_tags));
      }
      differences[static_cast<size_t>(tag)] -= shares[i];
    }
    double sum = 0;
    for (double difference : differences) sum += std::abs(difference);
    total += std::min(1.0, sum / 2);
  }
  return total;
}

double proposal_kl(const Ensemble& drawn, double log_z) {
  if (drawn.info.particles == 0 || !drawn.has_counts())
    throw Error("KL of the proposal: the ensemble has no particles");
  double total = 0;
  int64_t num_alive = 0;
  for (size_t i = 0; i < drawn.size(); ++i) {
    total += drawn.count(i) * drawn.particle_log_weight(i);
    num_alive += drawn.count(i);
  }
  const int64_t num_particles = int64_t{drawn.info.particles} * drawn.info.runs;
  return num_alive < num_particles ? INFINITY : log_z - total / static_cast<double>(num_particles);
}

double to_bits(double nats) { return nats / std::numbers::ln2; }

}  // namespace scry
