// Graph × Graph: what one stage computes anyway is left for the gradient of another.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "dsl/graph.h"

namespace scry {

/// Matrix products of rows that `forward` computes, that `again` would compute again, and that the
/// gradient of `again` (of its outputs `seeds` for `wrt`) needs: they become outputs kept.0,
/// kept.1, … of both, whose names are returned. Inputs of `again` that are outputs of `forward` are
/// the same values.
std::vector<std::string> keep_products(Graph& forward, Graph& again,
                                       std::span<const std::string> seeds,
                                       std::span<const std::string> wrt);

}  // namespace scry
