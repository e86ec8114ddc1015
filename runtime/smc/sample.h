// Sampling from p(y | x) ∝ exp G_T: importance sampling, particle filtering and smoothing, beam
// search, enumeration. One interpreter runs them all; they differ in what proposes and what is
// kept.
#pragma once
#include <concepts>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "runtime/kernels/parameters.h"
#include "runtime/smc/ensemble.h"
#include "runtime/smc/methods.h"
#include "runtime/smc/sampling_error.h"
#include "runtime/smc/tag_sets.h"

namespace scry {

struct SampleOptions {
  Method method = Method::kSmooth;
  int particles = 128;  ///< M; the beam's width
  Resampling resampling = Resampling::kSystematic;
  ResampleAt resample_at = ResampleAt::kBefore;
  Trigger trigger = Trigger::kAuto;
  double alpha = 0.5;  ///< kEss: resample when ESS < αM
  Draws draws = Draws::kIndependent;
  Weights weights = Weights::kSampler;
  /// Discrete sets: a prefix that would weigh less than this part of an M-th of the set is chosen
  /// by chance, with others like it, even where there is room for all: fewer prefixes, sooner done.
  /// 0: as many as M.
  double tolerance = 0.2;
  double temperature = 1;  ///< samples from exp(G_T / temperature)
  uint64_t seed = 1;
  bool error_bar = true;                ///< of log Ẑ
  int threads = 0;                      ///< 0: all cores
  int batch = 0;                        ///< sequences run together; 0: chosen
  int64_t first_sequence = 0;           ///< the number of the first input
  int64_t max_rows = int64_t{1} << 22;  ///< kEnumerate: prefixes of one step, at most
  int64_t memory = 0;  ///< bytes to work in, about; 0: a quarter of the machine's (memory.h)
  /// Called from time to time, from one thread at a time, with the number of finished sequences.
  std::function<void(size_t done)> progress = {};
};

/// What is sampled for: x, which must outlive it, and perhaps constraints. Where one is asked for,
/// `x` alone or `{x, allowed}` will do.
///
/// With a tagging `given`, which must outlive it too, that one is retained: the run is drawn as if
/// it had found it (conditional SMC). A tagging drawn from p(y | x) and then retained is followed
/// by ensembles, a draw of which is again one of p(y | x), for every M (Andrieu, Doucet &
/// Holenstein 2010): chain.h makes chains of this.
struct SampleInput {
  SampleInput() = default;
  template <std::convertible_to<std::span<const int>> X>
  SampleInput(const X& x, TagSets allowed = {}, std::span<const int> given = {})
      : x(x), allowed(std::move(allowed)), given(given) {}

  std::span<const int> x;
  TagSets allowed;
  std::span<const int> given;  ///< one tag for each symbol; empty: nothing is retained
};

/// What became of one input.
struct Outcome {
  Ensemble ensemble;
  std::optional<SamplingError> error;
  /// Throws the error if there is one.
  const Ensemble& value() const;
};

/// Samples for each input. The result depends on the options' seed and the input's number, not on
/// threads, batches or the other inputs. Throws Error if the options make no sense.
std::vector<Outcome> sample(const Program& program, const Parameters& parameters,
                            std::span<const SampleInput> inputs, const SampleOptions& options = {});

/// Several independent runs per input, pooled (see pool_runs): the first has the options' seed, the
/// others seeds made of it. A run without mass counts as Ẑ = 0; any other error is the input's.
std::vector<Outcome> sample_runs(const Program& program, const Parameters& parameters,
                                 std::span<const SampleInput> inputs, const SampleOptions& options,
                                 int num_runs);

/// One input. Throws SamplingError.
Ensemble sample(const Program& program, const Parameters& parameters, const SampleInput& input,
                const SampleOptions& options = {});

Ensemble importance(const Program& program, const Parameters& parameters, const SampleInput& input,
                    SampleOptions options = {});
Ensemble filter(const Program& program, const Parameters& parameters, const SampleInput& input,
                SampleOptions options = {});
Ensemble smooth(const Program& program, const Parameters& parameters, const SampleInput& input,
                SampleOptions options = {});
/// With the lookahead if there is one, unless the options' method is kDiscrete.
Ensemble discrete(const Program& program, const Parameters& parameters, const SampleInput& input,
                  SampleOptions options = {});
Ensemble beam(const Program& program, const Parameters& parameters, const SampleInput& input,
              SampleOptions options = {});
Ensemble enumerate(const Program& program, const Parameters& parameters, const SampleInput& input,
                   SampleOptions options = {});

}  // namespace scry
