// Why training had to stop.
#pragma once
#include <cstdint>
#include <string>

#include "base/error.h"

namespace scry {

/// A number that is none, or parameters that run away. `what()` is one line; as it leaves fit or
/// learn, it names the update, the parameter and the last good checkpoint.
class TrainingError : public Error {
 public:
  using Error::Error;
};

enum class ExampleSet : uint8_t { kTraining, kDevelopment };

/// An example that cannot be trained on, such as a tagging that the model forbids.
class ExampleError : public Error {
 public:
  ExampleError(int64_t number, const std::string& message, ExampleSet set = ExampleSet::kTraining)
      : Error((set == ExampleSet::kTraining ? "example " : "development example ") +
              std::to_string(number + 1) + ": " + message),
        number_(number),
        set_(set),
        message_(message) {}
  int64_t number() const { return number_; }  ///< TrainExample::number
  ExampleSet set() const { return set_; }
  /// The message without the place.
  const std::string& message() const { return message_; }

 private:
  int64_t number_;
  ExampleSet set_;
  std::string message_;
};

}  // namespace scry
