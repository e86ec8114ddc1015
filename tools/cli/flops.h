// How much a graph computes, and how often.
#pragma once
#include <array>
#include <map>
#include <string>

#include "compiler/op_table.h"

namespace scry::cli {

/// A count of FLOPs, as a polynomial in the length T of the sequence.
struct Flops {
  std::array<double, 3> by_power{};

  double at(int length) const;
  bool is_zero() const { return by_power == std::array<double, 3>{}; }
  Flops& operator+=(const Flops& other);
  Flops operator*(double factor) const;
};

/// "6,144", "128·T", "3 + 128·T".
std::string to_string(const Flops& flops);

/// The FLOPs of a node at one index of its work_axes().
Flops flops_of(const Graph& graph, NodeId id);

/// Orders sets of axes from the rarest work to the most frequent.
struct LessOften {
  bool operator()(Axes a, Axes b) const { return rank(a) < rank(b); }
  static int rank(Axes axes) {
    return (axes.has_prefix()     ? 6
            : axes.has_position() ? 4
            : axes.has_sequence() ? 2
                                  : 0) +
           (axes.has_tag() ? 1 : 0);
  }
};

/// A graph's FLOPs at one index of each set of axes that it works over.
using FlopsByAxes = std::map<Axes, Flops, LessOften>;
FlopsByAxes sum_flops(const Graph& graph);

/// The part of it that is in matrix products.
FlopsByAxes sum_product_flops(const Graph& graph);

/// For a prefix and each of its tags: prefix + |Y|·(prefix×tag).
Flops per_particle_step(const FlopsByAxes& flops, int num_tags);

/// What one index of the axes is: "parameter update", "sequence", "position", "prefix",
/// "(prefix, tag)".
std::string unit_of(Axes axes);

}  // namespace scry::cli
