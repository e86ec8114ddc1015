#include "runtime/smc/end_of_sequence.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/quote.h"

namespace scry {

std::span<const int> without_end(std::span<const int> ids, const Alphabet& alphabet) {
  const bool ends = !ids.empty() && alphabet.eos() == ids.back();
  return ends ? ids.first(ids.size() - 1) : ids;
}

std::vector<int> with_end(std::span<const int> ids, const Alphabet& alphabet) {
  const std::span<const int> body = without_end(ids, alphabet);
  std::vector<int> ended(body.begin(), body.end());
  if (alphabet.eos()) ended.push_back(*alphabet.eos());
  return ended;
}

std::optional<std::string> explain_early_end(int id, const Alphabet& alphabet) {
  if (alphabet.eos() != id) return std::nullopt;
  return fmt::format("{} ends a sequence and cannot stand before its end",
                     quote(alphabet.name(id)));
}

EndedInputs::EndedInputs(const Task& task, std::span<const SampleInput> inputs) : inputs_(inputs) {
  if (!task.has_eos()) return;
  symbols_.reserve(inputs.size());
  given_.reserve(inputs.size());
  copies_.reserve(inputs.size());
  for (const SampleInput& input : inputs) {
    symbols_.push_back(with_end(input.x, task.x));
    SampleInput& copy = copies_.emplace_back(symbols_.back(), input.allowed);
    const bool lacks_end = copy.allowed.length() + 1 == static_cast<int>(copy.x.size());
    if (!copy.allowed.empty() && lacks_end && copy.allowed.num_tags() == task.y.size())
      copy.allowed.append_only(*task.y.eos());
    if (!input.given.empty()) copy.given = given_.emplace_back(with_end(input.given, task.y));
  }
  inputs_ = copies_;
}

void drop_end(const Task& task, std::vector<int32_t>& tags) {
  if (task.has_eos() && !tags.empty()) tags.pop_back();
}

void drop_end(const Task& task, Ensemble& ensemble) {
  if (!task.has_eos() || ensemble.length == 0) return;
  const auto length = static_cast<size_t>(ensemble.length) - 1;
  for (size_t i = 1; i < ensemble.size(); ++i) {
    std::copy_n(ensemble.sequence(i).begin(), length,
                ensemble.tags.begin() + static_cast<std::ptrdiff_t>(i * length));
  }
  ensemble.length = static_cast<int>(length);
  ensemble.tags.resize(ensemble.size() * length);
}

}  // namespace scry
