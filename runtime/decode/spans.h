// Labelled spans in tags such as B-PER, I-PER and O, as CoNLL's conlleval reads them.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "dsl/task.h"

namespace scry {

/// Positions first … last, counted from 0, have a label.
struct Span {
  int first = 0, last = 0;
  int label = 0;  ///< its number in SpanTags::labels()
  bool operator==(const Span&) const = default;
};

/// Spans of two taggings, counted.
struct SpanCounts {
  int64_t decided = 0, truth = 0;
  int64_t both = 0;  ///< of equal first, last and label

  SpanCounts& operator+=(const SpanCounts& more);
  /// 2 · both / (decided + truth), from 0 to 1; 1 where neither has any.
  double f1() const;
};

/// The tags of an alphabet as parts of spans. A tag is O, outside; or a prefix, alone or with a
/// hyphen and a label: B begins, I goes on (BIO: IOB1 and IOB2), E ends (IOE), S is a span by
/// itself (IOBES); L, U (BILOU), M and W (BMEW) are other names of E, S, I and S. Any sequence of
/// tags has spans, whether it keeps to a scheme or not, by conlleval's rules: one begins at B and
/// S, where the label changes, and at I or E after O, E or S; it ends after E and S, before O, B
/// and S, and where the label changes.
class SpanTags {
 public:
  /// Throws Error if a tag is none of these. EOS is outside.
  explicit SpanTags(const Alphabet& alphabet);
  /// Whether there is one for the alphabet.
  static bool fits(const Alphabet& alphabet);

  const std::vector<std::string>& labels() const { return labels_; }
  /// In their order.
  std::vector<Span> spans_of(std::span<const int32_t> tags) const;
  SpanCounts count(std::span<const int32_t> decided, std::span<const int32_t> truth) const;

 private:
  enum class Part : uint8_t { kOutside, kBegin, kInside, kEnd, kSingle };
  struct Tag {
    Part part = Part::kOutside;
    int label = -1;  ///< of kOutside
  };
  static bool ends_between(Tag before, Tag here);
  static bool begins_between(Tag before, Tag here);
  int label_number(std::string_view label);

  std::vector<Tag> tags_;  // by number
  std::vector<std::string> labels_;
};

}  // namespace scry
