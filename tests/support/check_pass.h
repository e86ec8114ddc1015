// What every pass promises: the values stay the same.
#pragma once
#include "compiler/reference.h"
#include "tests/catch.h"
#include "tests/support/graph_builder.h"
#include "tests/support/random_values.h"

namespace scry::test {

/// `after` returns what `before` does, up to rounding, for a few random inputs; and verifies.
inline void check_same_values(const Graph& before, const Graph& after, double tolerance = 1e-12) {
  verify(after);
  for (const uint64_t seed : {1, 2, 3}) {
    const Values inputs = random_inputs(before, kSmallExtent, -1, 1, seed);
    INFO(to_string(before) << "became\n" << to_string(after));
    CHECK(difference(without_padding(evaluate(after, kSmallExtent, inputs), after, kSmallExtent),
                     without_padding(evaluate(before, kSmallExtent, inputs), before,
                                     kSmallExtent)) <= tolerance);
  }
}

}  // namespace scry::test
