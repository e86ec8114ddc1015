#include "dsl/type.h"

#include <fmt/format.h>

#include "base/error.h"

namespace scry {

Shape::Shape(std::initializer_list<int> dims) {
  if (dims.size() > 2) throw Error("a tensor has at most two dimensions");
  for (int dim : dims) dims_[static_cast<size_t>(rank_++)] = dim;
}

bool Shape::is_static() const {
  for (int axis = 0; axis < rank_; ++axis) {
    if ((*this)[axis] == kLength) return false;
  }
  return true;
}

bool Shape::is_positive() const {
  for (int axis = 0; axis < rank_; ++axis) {
    if ((*this)[axis] < 1) return false;
  }
  return true;
}

int64_t Shape::size() const {
  int64_t size = 1;
  for (int axis = 0; axis < rank_; ++axis) size *= (*this)[axis];
  return size;
}

std::string to_string(const Shape& shape) {
  if (shape.rank() == 0) return "scalar";
  std::string text;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (axis > 0) text += ", ";
    text += shape[axis] == kLength ? "T" : std::to_string(shape[axis]);
  }
  return "[" + text + "]";
}

std::string to_string(const Type& type) {
  if (type.is_int()) return fmt::format("symbol in [{}, {})", type.lo, type.hi);
  return to_string(type.shape);
}

std::string to_string(Axes axes) {
  if (axes == Axes::none()) return "parameters";
  std::string text = axes.has_prefix()     ? "prefix"
                     : axes.has_position() ? "position"
                     : axes.has_sequence() ? "sequence"
                                           : "";
  if (axes.has_tag()) text += text.empty() ? "tag" : "×tag";
  return text;
}

}  // namespace scry
