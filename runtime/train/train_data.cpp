#include "runtime/train/train_data.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/fnv_hash.h"
#include "runtime/smc/end_of_sequence.h"

namespace scry {
namespace {

std::string find_fault(const Task& task, const TagSets& allowed, size_t length) {
  if (allowed.empty()) return "";
  if (static_cast<size_t>(allowed.length()) != length || allowed.num_tags() != task.y.size()) {
    return fmt::format("{} symbols and {} tags, but sets of tags for {} and {}", length,
                       task.y.size(), allowed.length(), allowed.num_tags());
  }
  for (int step = 1; step <= allowed.length(); ++step) {
    bool any = false;
    for (int tag = 0; !any && tag < task.y.size(); ++tag)
      any = allowed.allows(step, tag) && task.y.eos() != tag;
    if (!any) return fmt::format("step {}: every tag is forbidden", step);
  }
  return "";
}

/// What is wrong with the example; empty if nothing is.
std::string find_fault(const Task& task, const Example& example, TagUse tags) {
  const auto find = [](const char* kind, std::span<const int> ids,
                       const Alphabet& alphabet) -> std::string {
    for (size_t t = 0; t < ids.size(); ++t) {
      if (ids[t] < 0 || ids[t] >= alphabet.size()) {
        return fmt::format("step {}: the {} {} is outside the alphabet of {}", t + 1, kind, ids[t],
                           alphabet.size());
      }
      if (const auto fault = explain_early_end(ids[t], alphabet))
        return fmt::format("step {}: {}", t + 1, *fault);
    }
    return "";
  };
  if (example.x.size() > static_cast<size_t>(kMaxLength)) {
    return fmt::format("{} symbols, but a sequence has at most {}", example.x.size(), kMaxLength);
  }
  const std::span<const int> x = without_end(example.x, task.x);
  const std::span<const int> y = without_end(example.y, task.y);
  std::string fault = find("symbol", x, task.x);
  if (!fault.empty() || tags == TagUse::kIgnored) return fault;
  if (y.empty() && !x.empty()) return find_fault(task, example.allowed, x.size());
  if (!example.allowed.empty()) return "it has tags, and sets of tags beside them";
  if (x.size() != y.size()) return fmt::format("{} symbols but {} tags", x.size(), y.size());
  return find("tag", y, task.y);
}

}  // namespace

TrainData check_examples(const Program& program, std::span<const Example> examples, TagUse tags,
                         ExampleSet set) {
  TrainData data;
  for (size_t i = 0; i < examples.size(); ++i) {
    const Example& example = examples[i];
    const auto number = static_cast<int64_t>(i);
    const std::string fault = find_fault(program.task, example, tags);
    if (!fault.empty()) throw ExampleError(number, fault, set);
    std::span<const int> x = example.x, y = example.y;
    const bool is_open =
        without_end(y, program.task.y).empty() && !without_end(x, program.task.x).empty();
    const TagSets* allowed = example.allowed.empty() ? nullptr : &example.allowed;
    if (program.task.has_eos()) {
      x = data.ended.emplace_back(with_end(x, program.task.x));
      y = data.ended.emplace_back(with_end(y, program.task.y));
    }
    if (x.empty()) {
      ++data.num_empty;
    } else if (tags == TagUse::kNeeded && is_open) {
      if (allowed != nullptr && program.task.has_eos()) {
        allowed = &data.ended_sets.emplace_back(*allowed);
        data.ended_sets.back().append_only(*program.task.y.eos());
      }
      data.examples.push_back({x, {}, number, allowed});
      ++data.num_incomplete;
    } else if (tags == TagUse::kNeeded) {
      data.examples.push_back({x, y, number});
    } else {
      data.examples.push_back({x, {}, number});
    }
  }
  return data;
}

void sort_by_length(std::vector<TrainExample>& examples) {
  std::stable_sort(
      examples.begin(), examples.end(),
      [](const TrainExample& a, const TrainExample& b) { return a.x.size() > b.x.size(); });
}

namespace {

void add(const TagSets& allowed, FnvHash& hash) {
  std::vector<int> tags;
  for (int step = 1; step <= allowed.length(); ++step) {
    tags.clear();
    for (int tag = 0; tag < allowed.num_tags(); ++tag) {
      if (allowed.allows(step, tag)) tags.push_back(tag);
    }
    hash.add(tags);
  }
}

}  // namespace

uint64_t hash_examples(std::span<const TrainExample> train, std::span<const TrainExample> dev) {
  FnvHash hash;
  for (const auto& examples : {train, dev}) {
    hash.add(static_cast<uint64_t>(examples.size()));
    for (const TrainExample& example : examples) {
      hash.add(static_cast<uint64_t>(example.number));  // the key of its random numbers
      hash.add(example.x);
      hash.add(example.y);
      if (example.allowed != nullptr) add(*example.allowed, hash);
    }
  }
  return hash.value();
}

}  // namespace scry
