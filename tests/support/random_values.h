// Random inputs for graphs, and comparisons of what graphs return.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "compiler/reference.h"

namespace scry::test {

/// A value for every input and parameter of the graph: reals in [low, high), exactly representable
/// in float so that both precisions get the same; symbols in their range. An integer over the tags
/// alone is the tag; `last` is T - 1; other integers of unlimited range are positions in every
/// sequence.
Values random_inputs(const Graph& graph, const Extent& extent, double low, double high,
                     uint64_t seed);

/// `inputs` with a seed `d.OUT` in [-1, 1) for each real output.
Values with_seeds(const Graph& graph, const Extent& extent, Values inputs, uint64_t seed);

/// The names of the real inputs and parameters, and of the real outputs.
std::vector<std::string> real_inputs(const Graph& graph);
std::vector<std::string> real_outputs(const Graph& graph);

/// The largest difference, relative to the larger of 1 and the values. NaN differs from everything.
double difference(const Values& a, const Values& b);

/// An input that no gradient reaches has none in the adjoint: that counts as zeros.
Values with_zeros(Values gradients, const Values& inputs, const std::vector<std::string>& wrt);

/// Padding beyond a sequence's length is nobody's: blank it.
Values without_padding(Values values, const Graph& graph, const Extent& extent);

/// Σ seed · output over all real outputs, by the reference.
double objective(const Graph& graph, const Extent& extent, const Values& inputs);
/// Its derivative along `direction` (of one or more inputs), by five points: error h⁴.
double slope(const Graph& graph, const Extent& extent, const Values& inputs,
             const Values& direction);

}  // namespace scry::test
