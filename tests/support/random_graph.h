// Random small graphs over nearly all operations and axes.
#pragma once
#include "tests/support/graph_builder.h"

namespace scry::test {

struct RandomGraphOptions {
  int num_ops = 14;
  /// What a model can hold: without accumulated outputs and operations that only adjoints make.
  bool of_model = false;
  /// No kinks and no stopped gradients either, so that finite differences are the gradient.
  bool smooth = false;
};

/// A graph for kSmallExtent, whose values stay below about 20 for inputs in [-1, 1). A pure
/// function of its arguments. Parameters-only inputs are kParam nodes named p0, p1, ….
Graph random_graph(uint64_t seed, const RandomGraphOptions& options = {});

}  // namespace scry::test
