// What training adds up over sequences, from which the averages that a person reads are made.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace scry {

/// Sums by name. Added up in a fixed order, so that they are the same for any number of threads.
class Tally {
 public:
  // Names that more than one place knows; an objective may add its own.
  static constexpr std::string_view kSequences = "sequences", kSymbols = "symbols";
  /// No particle had weight; such a sequence counts for nothing else.
  static constexpr std::string_view kFailed = "failed";
  static constexpr std::string_view kLoss = "loss";  ///< what is minimized, as estimated
  /// -log p(x, y) or -log p(y | x) of the given tagging.
  static constexpr std::string_view kNegativeLogP = "negative_log_p";
  /// Sequences whose -log p is an estimate, and on average too high: of incomplete taggings.
  static constexpr std::string_view kEstimated = "estimated";
  static constexpr std::string_view kKl = "kl";       ///< KL(q ‖ p), as estimated: d plus log Ẑ
  static constexpr std::string_view kLogZ = "log_z";  ///< log Ẑ of the particles
  static constexpr std::string_view kEss = "ess";     ///< of the particles, in parts of M
  /// Sequences whose r_t there are (residuals.h): the sums of their mean r_t², and of
  /// (C_0 + Ĥ_0 - log Ẑ)².
  static constexpr std::string_view kCalibrated = "calibrated", kResidual = "residual",
                                    kToGoError = "to_go_error";
  static constexpr std::string_view kRows = "rows", kParticleSteps = "particle_steps";
  /// Sequences with G_T > log Ẑ, which cannot be: Z has exp G_T among its terms. Their -log p is
  /// taken as 0, the least that it can be, which took off so much.
  static constexpr std::string_view kOvershot = "overshot", kOvershoot = "overshoot";

  /// Of a development set whose log Z is estimated: by how much its estimates differ, and by how
  /// much they move from M to 4M (log_z_bracket.h).
  static constexpr std::string_view kGap = "gap", kDrift = "drift";

  struct Sum {
    std::string name;
    double value;
  };
  const std::vector<Sum>& sums() const { return sums_; }

  bool contains(std::string_view name) const;
  /// 0 if nothing was added under this name.
  double operator[](std::string_view name) const;
  int64_t count(std::string_view name) const { return static_cast<int64_t>((*this)[name]); }
  void add(std::string_view name, double value);
  Tally& operator+=(const Tally& other);

  /// The root of the mean r_t², and that of (C_0 + Ĥ_0 - log Ẑ)², in nats; NaN where none were
  /// measured.
  double residual_rms() const { return root_mean(kResidual); }
  double to_go_rmse() const { return root_mean(kToGoError); }
  /// Whether -log p is not known to be wrong by more than a hundredth of the perplexity, and what
  /// log Z was estimated by agrees to kMostGap and kMostDrift a symbol.
  bool is_reliable() const;
  static constexpr double kMostGap = 0.02, kMostDrift = 0.02;

 private:
  double root_mean(std::string_view name) const;
  std::vector<Sum> sums_;  // in the order in which names came
};

/// Of two objectives that saw the same sequences: these are counted once. The particles are the
/// second's, if it has any.
Tally merge_goals(const Tally& first, const Tally& second);

}  // namespace scry
