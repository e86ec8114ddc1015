// Which tags are allowed at each position of a sequence.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

namespace scry {

/// A set of tags per position. Default-made, it allows everything.
class TagSets {
 public:
  TagSets() = default;
  TagSets(int length, int num_tags)
      : num_tags_(num_tags),
        allowed_(static_cast<size_t>(length) * static_cast<size_t>(num_tags), 1) {}

  bool empty() const { return allowed_.empty(); }
  int length() const { return empty() ? 0 : static_cast<int>(allowed_.size()) / num_tags_; }
  int num_tags() const { return num_tags_; }
  /// Steps are counted from 1.
  bool allows(int step, int tag) const { return empty() || allowed_[at(step, tag)] != 0; }
  void forbid(int step, int tag) { allowed_[at(step, tag)] = 0; }
  /// Leaves only these.
  void allow_only(int step, std::span<const int> tags) {
    for (int tag = 0; tag < num_tags_; ++tag) forbid(step, tag);
    for (int tag : tags) allowed_[at(step, tag)] = 1;
  }
  void allow_only(int step, std::initializer_list<int> tags) {
    allow_only(step, std::span(tags.begin(), tags.size()));
  }
  /// One more position at the end, where only `tag` is allowed. Not for an empty one.
  void append_only(int tag) {
    allowed_.resize(allowed_.size() + static_cast<size_t>(num_tags_), 0);
    allowed_[at(length(), tag)] = 1;
  }

 private:
  size_t at(int step, int tag) const {
    return static_cast<size_t>(step - 1) * static_cast<size_t>(num_tags_) +
           static_cast<size_t>(tag);
  }
  int num_tags_ = 0;
  std::vector<uint8_t> allowed_;
};

}  // namespace scry
