// Plain evaluation of a graph in double: the meaning that machine code is tested against, and what
// constants are folded with.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "dsl/graph.h"

namespace scry {

/// The sizes of the axes, and where rows and positions belong.
struct Extent {
  int num_rows = 1, num_positions = 1, num_sequences = 1, num_tags = 1;
  std::vector<int> position_of_row = {0};
  std::vector<int> sequence_of_position = {0};
  std::vector<int> lengths = {1};  ///< T of each sequence

  int max_length() const;
  int count(Axes axes) const;  ///< number of indices
  /// Elements of a value at one index of its axes; T counts as max_length().
  int64_t stride(const Shape& shape) const;
};

/// Values over axes × elements, row-major, tags innermost among the axes. Integers as doubles.
using Values = std::map<std::string, std::vector<double>>;

/// `inputs` are by name (parameters too). Accumulated outputs start from `initial`, or 0.
Values evaluate(const Graph& graph, const Extent& extent, const Values& inputs,
                const Values& initial = {});

}  // namespace scry
