// What a model reads and writes: the input and output alphabets.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.h"

namespace scry {

/// A finite set of named symbols, numbered from 0 in the order given.
class Alphabet {
 public:
  Alphabet() = default;
  /// Throws ModelError at the caller's line if a symbol is empty or stands twice; so do the others.
  explicit Alphabet(std::vector<std::string> symbols, Where where = Where::here());
  /// The words of `symbols`, which white space separates: Alphabet::of("B I O").
  static Alphabet of(std::string_view symbols, Where where = Where::here());
  /// The symbols of a file, one a line, in UTF-8, in the file's order. A byte order mark, blank
  /// lines and blanks around a symbol, such as Windows' carriage returns, are read over; nothing is
  /// a comment, as "#" may be a symbol. Throws DataError ("chars.txt:41: …") if the file cannot be
  /// read, has no symbol, or a symbol stands twice, has a blank in it or is not UTF-8.
  static Alphabet from_file(const std::string& path);
  /// n symbols named "0", "1", ….
  static Alphabet numbered(int size);

  /// A copy with one more symbol, that every unknown input symbol is read as.
  Alphabet with_unknown(std::string symbol = "<unk>", Where where = Where::here()) const;
  /// A copy with one more symbol that ends every sequence (fn:eos). Where a task's two alphabets
  /// have one, a model sees every input with x's EOS at its end, whose tag is y's EOS; elsewhere
  /// that tag is impossible. Users write and read sequences without either. Throws ModelError if
  /// there is one already.
  Alphabet with_eos(std::string symbol = "<eos>", Where where = Where::here()) const;

  int size() const { return static_cast<int>(symbols_.size()); }
  const std::string& name(int id) const;
  /// The symbol's number; the unknown symbol's if there is one; else nothing.
  std::optional<int> find(std::string_view symbol) const;
  std::optional<int> eos() const { return eos_; }
  std::optional<int> unknown() const { return unknown_; }
  const std::vector<std::string>& symbols() const { return symbols_; }
  bool operator==(const Alphabet& other) const;

 private:
  int add(std::string symbol, Where where);
  std::vector<std::string> symbols_;
  std::unordered_map<std::string, int> ids_;
  std::optional<int> eos_, unknown_;
};

/// A tagging task: y_t ∈ y for each x_t ∈ x.
struct Task {
  Alphabet x, y;
  /// Whether sequences end with EOS; of a compiled model, both alphabets have one or neither.
  bool has_eos() const { return x.eos() && y.eos(); }
};

}  // namespace scry
