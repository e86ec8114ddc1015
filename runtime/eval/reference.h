// What the samples of an input are measured against.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/eval/calibration.h"
#include "runtime/eval/experiment.h"
#include "runtime/kernels/workers.h"
#include "runtime/search/posterior.h"
#include "runtime/smc/metrics.h"

namespace scry {

struct Reference {
  enum class Kind : uint8_t { kNone, kEnumerated, kFinite, kEstimated };
  Kind kind = Kind::kNone;
  double log_z = NAN;             ///< exact, or an estimate
  double log_z_error = NAN;       ///< of an estimate: standard error, by the scatter of its sets
  std::vector<double> marginals;  ///< p(y_t = tag | x), [T][|Y|]; or those of the large set
  std::optional<Calibration> calibration;  ///< where all prefixes were enumerated
  std::vector<CalibrationPoint> points;    ///< likewise, of some inputs, if wanted
  std::string trouble;                     ///< why the input is left out; else empty

  bool is_exact() const { return kind == Kind::kEnumerated || kind == Kind::kFinite; }
};

/// Makes references for inputs, part by part.
class ReferenceMaker {
 public:
  /// All must outlive it.
  ReferenceMaker(Sampler& sampler, const Experiment& experiment, size_t num_inputs);

  /// Called where p(y | x) is known, for the i-th input of the part; from many threads, of one
  /// input at a time.
  using AtPosterior =
      std::function<void(size_t i, const Posterior& posterior, const Reference& reference)>;
  /// Of inputs numbered from `first` on. Those whose log Z is not exact get pools, with all that
  /// the large set has.
  std::vector<Reference> make(std::span<const SampleInput> inputs, int64_t first,
                              std::vector<std::unique_ptr<ParticlePool>>& pools,
                              const AtPosterior& at_posterior);
  /// Whether p(y | x) of this input will be known, unless something fails.
  bool expects_exact(const SampleInput& input) const;
  /// How estimates are made, such as "4 runs of discrete with M = 4096".
  std::string describe_large_set() const;

 private:
  struct Tools;  // of one worker
  bool make_exact(Tools& tools, const SampleInput& input, int64_t sequence, int64_t memory,
                  size_t i, const AtPosterior& at_posterior, Reference& reference);
  void estimate(std::span<const SampleInput> inputs, int64_t first,
                std::span<const std::unique_ptr<ParticlePool>> pools,
                std::span<Reference> references, size_t begin, const AtPosterior& at_posterior);
  SampleOptions options_for(int64_t first, int64_t memory) const;
  int num_points(int64_t sequence) const;

  Sampler& sampler_;
  const Experiment& experiment_;
  int64_t num_inputs_;
  Workers workers_;
};

/// Calls run(first, count) for every stretch of consecutive indices below `count` that `holds`.
void for_each_stretch(size_t count, const std::function<bool(size_t i)>& holds,
                      const std::function<void(size_t first, size_t count)>& run);

}  // namespace scry
