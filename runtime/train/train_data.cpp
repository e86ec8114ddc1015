#include "runtime/train/train_data.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/fnv_hash.h"

namespace scry {
namespace {

/// What is wrong with the example; empty if nothing is.
std::string find_fault(const Program& program, const Example& example, TagUse tags) {
  const auto outside = [](const char* kind, const std::vector<int>& ids, int size) -> std::string {
    for (size_t t = 0; t < ids.size(); ++t) {
      if (ids[t] >= 0 && ids[t] < size) continue;
      return fmt::format("step {}: the {} {} is outside the alphabet of {}", t + 1, kind, ids[t],
                         size);
    }
    return "";
  };
  if (example.x.size() > static_cast<size_t>(kMaxLength)) {
    return fmt::format("{} symbols, but a sequence has at most {}", example.x.size(), kMaxLength);
  }
  std::string fault = outside("symbol", example.x, program.task.x.size());
  if (!fault.empty() || tags == TagUse::kIgnored) return fault;
  if (example.y.empty() && !example.x.empty()) return "it has no tags, and fitting needs them";
  if (example.x.size() != example.y.size())
    return fmt::format("{} symbols but {} tags", example.x.size(), example.y.size());
  return outside("tag", example.y, program.num_tags());
}

}  // namespace

TrainData check_examples(const Program& program, std::span<const Example> examples, TagUse tags,
                         ExampleSet set) {
  TrainData data;
  for (size_t i = 0; i < examples.size(); ++i) {
    const Example& example = examples[i];
    const auto number = static_cast<int64_t>(i);
    const std::string fault = find_fault(program, example, tags);
    if (!fault.empty()) throw ExampleError(number, fault, set);
    if (example.x.empty()) {
      ++data.num_empty;
    } else if (tags == TagUse::kNeeded) {
      data.examples.push_back({example.x, example.y, number});
    } else {
      data.examples.push_back({example.x, {}, number});
    }
  }
  return data;
}

void sort_by_length(std::vector<TrainExample>& examples) {
  std::stable_sort(
      examples.begin(), examples.end(),
      [](const TrainExample& a, const TrainExample& b) { return a.x.size() > b.x.size(); });
}

uint64_t hash_examples(std::span<const TrainExample> train, std::span<const TrainExample> dev) {
  FnvHash hash;
  for (const auto& examples : {train, dev}) {
    hash.add(static_cast<uint64_t>(examples.size()));
    for (const TrainExample& example : examples) {
      hash.add(static_cast<uint64_t>(example.number));  // the key of its random numbers
      hash.add(example.x);
      hash.add(example.y);
    }
  }
  return hash.value();
}

}  // namespace scry
