// How layers report: at their caller's line, with their kind and name before the message.
#pragma once
#include <fmt/format.h>

#include <string>
#include <utility>

#include "dsl/expr.h"

namespace scry {

/// What `body` returns; a ModelError in it becomes one at `where`, with `layer` before its message.
template <typename Body>
auto report_at(Where where, const std::string& layer, Body&& body) {
  try {
    return std::forward<Body>(body)();
  } catch (const ModelError& error) {
    throw ModelError(where, fmt::format("{}: {}", layer, error.message()));
  }
}

/// Throws unless `a` is a vector of `size`, or a matrix with that many columns if `rows` are
/// allowed.
inline void want_size(const Operand& a, const char* what, int size, bool rows) {
  const bool fits = a.expr.is_defined() && a.expr.shape().last() == size &&
                    (a.expr.shape().rank() == 1 || (rows && a.expr.shape().rank() == 2));
  if (fits) return;
  throw ModelError(a.where,
                   fmt::format("{} must have the shape [{}]{}, got {}", what, size,
                               rows ? fmt::format(" or [m, {}]", size) : "",
                               a.expr.is_defined() ? to_string(a.expr.shape()) : "nothing"));
}

}  // namespace scry
