// The types of values in a model: real tensors of rank 0 to 2, and integers with a known range.
#pragma once
#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>

namespace scry {

/// A dimension that is the length T of the sequence at hand, known only at run time.
inline constexpr int kLength = -1;
/// The longest sequence. Positions are thus exact as floats, and sums and small multiples of them
/// are integers of 32 bits.
inline constexpr int kMaxLength = 1 << 24;

/// A tensor shape of rank 0, 1 or 2. A dimension may be kLength.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<int> dims);

  int rank() const { return rank_; }
  int operator[](int axis) const { return dims_[static_cast<size_t>(axis)]; }
  /// The last dimension; 1 for a scalar.
  int last() const { return rank_ == 0 ? 1 : (*this)[rank_ - 1]; }
  /// The number of rows of a matrix; 1 for a vector or scalar.
  int rows() const { return rank_ == 2 ? dims_[0] : 1; }
  bool is_static() const;
  /// Static, with no dimension below 1.
  bool is_positive() const;
  /// The number of elements. Only for static shapes.
  int64_t size() const;
  bool operator==(const Shape&) const = default;

 private:
  std::array<int, 2> dims_{};
  int rank_ = 0;
};

/// "[32]", "[T, 8]", "scalar".
std::string to_string(const Shape& shape);

enum class Kind : uint8_t { kReal, kInt };

/// A value's type. Integers are scalars and lie in [lo, hi), which fits 32 bits.
struct Type {
  Kind kind = Kind::kReal;
  Shape shape = {};
  int64_t lo = 0, hi = 0;

  static Type real(Shape shape) { return {Kind::kReal, shape, 0, 0}; }
  static Type integer(int64_t lo, int64_t hi) { return {Kind::kInt, {}, lo, hi}; }
  bool is_int() const { return kind == Kind::kInt; }
  bool operator==(const Type&) const = default;
};

std::string to_string(const Type& type);

/// What a value varies over. A value is computed once per index of its axes and no more.
/// A prefix (row) stands at one position, and a position in one sequence: each implies what it is
/// in, which is then not set.
class Axes {
 public:
  constexpr Axes() = default;
  static constexpr Axes none() { return Axes(0); }      ///< parameters only
  static constexpr Axes sequence() { return Axes(1); }  ///< s₀, T, an encoding of all of x
  static constexpr Axes position() { return Axes(2); }  ///< x_t, t, s̄_t
  static constexpr Axes prefix() { return Axes(4); }    ///< s_{t-1}
  static constexpr Axes tag() { return Axes(8); }       ///< the candidate y_t

  constexpr bool has_sequence() const { return (bits_ & 1) != 0; }
  constexpr bool has_position() const { return (bits_ & 2) != 0; }
  constexpr bool has_prefix() const { return (bits_ & 4) != 0; }
  constexpr bool has_tag() const { return (bits_ & 8) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr Axes without_tag() const { return Axes(bits_ & ~8u); }
  /// Every index of `this` determines an index of `other`.
  constexpr bool covers(Axes other) const { return (*this | other) == *this; }
  constexpr Axes operator|(Axes other) const { return Axes(bits_ | other.bits_); }
  constexpr bool operator==(const Axes&) const = default;

 private:
  constexpr explicit Axes(unsigned bits)
      : bits_((bits & 4) != 0   ? bits & ~3u
              : (bits & 2) != 0 ? bits & ~1u
                                : bits) {}
  unsigned bits_ = 0;
};

/// "parameters", "sequence", "position", "prefix", "prefix×tag", …
std::string to_string(Axes axes);

}  // namespace scry
