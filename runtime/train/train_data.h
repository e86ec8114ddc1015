// Examples, checked, as training takes them.
#pragma once
#include <deque>
#include <span>
#include <vector>

#include "runtime/files/examples_file.h"
#include "runtime/train/objective.h"
#include "runtime/train/training_error.h"

namespace scry {

enum class TagUse : uint8_t { kNeeded, kIgnored };

struct TrainData {
  /// Without empty ones. They point into the given ones, or into `ended`.
  std::vector<TrainExample> examples;
  int64_t num_empty = 0;
  int64_t num_incomplete = 0;          ///< of `examples`, where tags are needed
  std::deque<std::vector<int>> ended;  ///< copies with EOS, where the task has it (fn:eos)
  std::deque<TagSets> ended_sets;      ///< likewise
};

/// Throws ExampleError if a symbol or tag is outside its alphabet, if EOS stands before the end, or
/// if tags are needed and are not as many as symbols, or none is allowed at a step. Where tags are
/// ignored, the examples have none.
TrainData check_examples(const Program& program, std::span<const Example> examples, TagUse tags,
                         ExampleSet set);

/// In the order of falling length, as objectives take them.
void sort_by_length(std::vector<TrainExample>& examples);

uint64_t hash_examples(std::span<const TrainExample> train, std::span<const TrainExample> dev);

}  // namespace scry
