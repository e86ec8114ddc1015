// Samples for the examples of a minibatch, on one forest, to be differentiated.
#pragma once
#include <map>

#include "runtime/smc/interpreter.h"
#include "runtime/train/objective.h"

namespace scry {

/// What is done with the tags that examples have.
enum class GivenUse : uint8_t {
  kNone,
  kRetain,  ///< SampleInput::given: the tagging is one of those sampled
  kAllow,   ///< TrainExample::allowed: no other taggings are sampled
};

class ForestSampler {
 public:
  /// Cells are kept if the gradient of the proposal is wanted.
  ForestSampler(const Program& program, const Parameters& parameters, const SampleOptions& options,
                bool keeps_cells, GivenUse use = GivenUse::kNone);

  /// To work in, from now on; what may not fit is refused.
  void set_memory(int64_t bytes);

  /// What is known of one sequence's particles.
  struct Sample {
    std::vector<size_t> finals;  ///< of the recording
    double log_z = 0;
    double ess = 0;        ///< in parts of M
    int64_t num_live = 0;  ///< particles that came to the end
  };

  /// With `log_sums`, Recording::log_sums are kept. Throws TrainingError if a score is NaN or +∞,
  /// Error if the examples may not fit the memory.
  const Recording& run(std::span<const TrainExample> examples, uint64_t seed,
                       bool log_sums = false);

  const Batch& batch() const { return interpreter_.batch(); }
  /// No particle of the sequence had weight, or its tagging could not be retained.
  bool failed(size_t sequence) const { return outcomes_[sequence].error.has_value(); }
  const Sample& sample(size_t sequence) const { return samples_[sequence]; }
  /// Rows extended, and particle steps they stand for.
  void count_rows(Tally& tally) const;

 private:
  void check_memory();
  void summarize();

  const Program& program_;
  SampleOptions options_;
  GivenUse use_;
  Interpreter interpreter_;
  Recording recording_;
  std::vector<SampleInput> inputs_;
  std::vector<Job> jobs_;
  std::vector<Outcome> outcomes_;
  std::vector<Sample> samples_;
  std::vector<double> log_weights_;
  int64_t limit_ = 0;               // of set_memory; 0: none
  std::map<size_t, double> bytes_;  // that an input of this length may need
};

}  // namespace scry
