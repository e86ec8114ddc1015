// Why a sequence could not be sampled.
#pragma once
#include <cstdint>
#include <string>

#include "base/error.h"

namespace scry {

enum class Trouble : uint8_t {
  kBadInput,       ///< a symbol outside the alphabet, constraints of another size
  kForbidden,      ///< the constraints leave no tag at a step, or forbid the given one
  kImpossible,     ///< the given tagging, which is to be retained, cannot be drawn
  kNotANumber,     ///< the model or the lookahead gave NaN or +∞
  kNoMass,         ///< every particle has weight 0: the estimate of Z is 0
  kTooManyRows,    ///< an exact search outgrew its limit, or prefixes can no longer be numbered
  kTooMuchMemory,  ///< it would take more than is allowed
};

/// About one sequence; the others of its batch are unaffected. `what()` is one line such as
/// "sequence 3, step 2: the model's score of tag 'B' is NaN".
class SamplingError : public Error {
 public:
  /// Step 0 is the sequence as a whole.
  SamplingError(Trouble trouble, int64_t sequence, int step, const std::string& message);
  Trouble trouble() const { return trouble_; }
  /// As numbered by the caller, from 0; messages count from 1.
  int64_t sequence() const { return sequence_; }
  int step() const { return step_; }
  /// The message without the place.
  const std::string& message() const { return message_; }

 private:
  Trouble trouble_;
  int64_t sequence_;
  int step_;
  std::string message_;
};

}  // namespace scry
