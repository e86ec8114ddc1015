// The end of sequences (fn:eos). Users write and read sequences without EOS, models see them with
// it: what takes sequences from users adds the end by this file, and what gives them back takes it
// off again.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "runtime/smc/sample.h"

namespace scry {

/// The symbols or tags up to the alphabet's EOS, if they end with it.
std::span<const int> without_end(std::span<const int> ids, const Alphabet& alphabet);

/// The symbols or tags with the alphabet's EOS, if it has one, once, at the end.
std::vector<int> with_end(std::span<const int> ids, const Alphabet& alphabet);

/// Why a symbol or tag must not stand before the end; nothing if it may.
std::optional<std::string> explain_early_end(int id, const Alphabet& alphabet);

/// Inputs as a model sees them: the given ones, or copies with EOS where the task has it.
/// Constraints and given taggings of inputs without EOS get a position for it.
class EndedInputs {
 public:
  EndedInputs(const Task& task, std::span<const SampleInput> inputs);
  EndedInputs(const EndedInputs&) = delete;
  EndedInputs& operator=(const EndedInputs&) = delete;
  std::span<const SampleInput> all() const { return inputs_; }
  const SampleInput& front() const { return inputs_.front(); }

 private:
  std::vector<std::vector<int>> symbols_, given_;
  std::vector<SampleInput> copies_;
  std::span<const SampleInput> inputs_;
};

/// Takes EOS off taggings of ended inputs. Scores and steps stay: those of EOS are among them.
void drop_end(const Task& task, Ensemble& ensemble);
void drop_end(const Task& task, std::vector<int32_t>& tags);

}  // namespace scry
