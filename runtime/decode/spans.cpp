#include "runtime/decode/spans.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/quote.h"

namespace scry {

SpanCounts& SpanCounts::operator+=(const SpanCounts& more) {
  decided += more.decided;
  truth += more.truth;
  both += more.both;
  return *this;
}

double SpanCounts::f1() const {
  const int64_t all = decided + truth;
  return all == 0 ? 1 : 2 * static_cast<double>(both) / static_cast<double>(all);
}

SpanTags::SpanTags(const Alphabet& alphabet) {
  for (int id = 0; id < alphabet.size(); ++id) {
    Tag& tag = tags_.emplace_back();
    const std::string_view name = alphabet.name(id);
    if (alphabet.eos() == id || name == "O") continue;
    const size_t hyphen = name.find('-');
    const std::string_view prefix = name.substr(0, hyphen);
    constexpr std::string_view kPrefixes = "BIMELSUW";
    constexpr Part kParts[] = {Part::kBegin, Part::kInside, Part::kInside, Part::kEnd,
                               Part::kEnd,   Part::kSingle, Part::kSingle, Part::kSingle};
    const size_t known = prefix.size() == 1 ? kPrefixes.find(prefix) : std::string_view::npos;
    if (known == std::string_view::npos) {
      throw Error(fmt::format(
          "labelled spans: the tag {} is neither O nor B-, I-, E- or S- and a label", quote(name)));
    }
    tag.part = kParts[known];
    tag.label = label_number(hyphen == std::string_view::npos ? "" : name.substr(hyphen + 1));
  }
}

bool SpanTags::fits(const Alphabet& alphabet) {
  try {
    return !SpanTags(alphabet).labels().empty();
  } catch (const Error&) {
    return false;
  }
}

int SpanTags::label_number(std::string_view label) {
  const auto found = std::find(labels_.begin(), labels_.end(), label);
  if (found == labels_.end()) labels_.emplace_back(label);
  return static_cast<int>(std::find(labels_.begin(), labels_.end(), label) - labels_.begin());
}

bool SpanTags::ends_between(Tag before, Tag here) {
  if (before.part == Part::kOutside) return false;
  return before.part == Part::kEnd || before.part == Part::kSingle || here.part == Part::kOutside ||
         here.part == Part::kBegin || here.part == Part::kSingle || before.label != here.label;
}

bool SpanTags::begins_between(Tag before, Tag here) {
  if (here.part == Part::kOutside) return false;
  return here.part == Part::kBegin || here.part == Part::kSingle || before.part == Part::kOutside ||
         before.part == Part::kEnd || before.part == Part::kSingle || before.label != here.label;
}

std::vector<Span> SpanTags::spans_of(std::span<const int32_t> tags) const {
  std::vector<Span> spans;
  Tag before;
  for (size_t t = 0; t < tags.size(); ++t) {
    const Tag here = tags_[static_cast<size_t>(tags[t])];
    const int position = static_cast<int>(t);
    if (begins_between(before, here)) spans.push_back({position, position, here.label});
    if (here.part != Part::kOutside) spans.back().last = position;
    before = here;
  }
  return spans;
}

/// In one pass, as conlleval does it: a pair of spans is right if both begin together, have one
/// label, and end together.
SpanCounts SpanTags::count(std::span<const int32_t> decided, std::span<const int32_t> truth) const {
  SpanCounts counts;
  Tag was_decided, was_true;
  bool together = false;  // in spans that began together, with one label
  for (size_t t = 0; t <= truth.size(); ++t) {
    const bool is_past = t == truth.size();
    const Tag is_decided = is_past ? Tag() : tags_[static_cast<size_t>(decided[t])];
    const Tag is_true = is_past ? Tag() : tags_[static_cast<size_t>(truth[t])];
    if (together) {
      const bool one = ends_between(was_decided, is_decided),
                 other = ends_between(was_true, is_true);
      counts.both += one && other ? 1 : 0;
      together = !one && !other;
    }
    const bool one = begins_between(was_decided, is_decided),
               other = begins_between(was_true, is_true);
    counts.decided += one ? 1 : 0;
    counts.truth += other ? 1 : 0;
    if (one || other) together = one && other && is_decided.label == is_true.label;
    was_decided = is_decided;
    was_true = is_true;
  }
  return counts;
}

}  // namespace scry
