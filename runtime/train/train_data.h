// Examples, checked, as training takes them.
#pragma once
#include <span>
#include <vector>

#include "runtime/examples_file.h"
#include "runtime/train/objective.h"
#include "runtime/train/training_error.h"

namespace scry {

enum class TagUse : uint8_t { kNeeded, kIgnored };

struct TrainData {
  std::vector<TrainExample> examples;  ///< without empty ones; they point into the given ones
  int64_t num_empty = 0;
};

/// Throws ExampleError if a symbol or tag is outside its alphabet, or if tags are needed and are
/// missing or not as many as symbols. Where tags are ignored, the examples have none.
TrainData check_examples(const Program& program, std::span<const Example> examples, TagUse tags,
                         ExampleSet set);

/// In the order of falling length, as objectives take them.
void sort_by_length(std::vector<TrainExample>& examples);

uint64_t hash_examples(std::span<const TrainExample> train, std::span<const TrainExample> dev);

}  // namespace scry
