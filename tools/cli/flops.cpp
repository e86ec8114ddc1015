#include "tools/cli/flops.h"

#include <fmt/format.h>

#include "tools/cli/text.h"

namespace scry::cli {
namespace {

template <class Wanted>
FlopsByAxes sum_flops_if(const Graph& graph, Wanted is_wanted) {
  FlopsByAxes sums;
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Flops flops = flops_of(graph, id);
    if (!flops.is_zero() && is_wanted(graph[id].op)) sums[work_axes(graph, id)] += flops;
  }
  return sums;
}

}  // namespace

double Flops::at(int length) const {
  return by_power[0] + length * (by_power[1] + length * by_power[2]);
}

Flops& Flops::operator+=(const Flops& other) {
  for (size_t i = 0; i < by_power.size(); ++i) by_power[i] += other.by_power[i];
  return *this;
}

Flops Flops::operator*(double factor) const {
  Flops product = *this;
  for (double& coefficient : product.by_power) coefficient *= factor;
  return product;
}

std::string to_string(const Flops& flops) {
  static constexpr std::array kPowers{"", "T", "T²"};
  std::string text;
  for (size_t i = 0; i < kPowers.size(); ++i) {
    if (flops.by_power[i] == 0) continue;
    const bool one = i > 0 && flops.by_power[i] == 1;
    text += text.empty() ? "" : " + ";
    text += one ? std::string(kPowers[i])
                : group_digits(flops.by_power[i]) + (i > 0 ? "·" : "") + kPowers[i];
  }
  return text.empty() ? "0" : text;
}

Flops flops_of(const Graph& graph, NodeId id) {
  // A shape has at most two dimensions T, so three lengths determine the polynomial.
  const double f1 = flops(graph, id, 1), f2 = flops(graph, id, 2), f3 = flops(graph, id, 3);
  const double square = (f1 - 2 * f2 + f3) / 2, linear = f2 - f1 - 3 * square;
  return {{f1 - linear - square, linear, square}};
}

FlopsByAxes sum_flops(const Graph& graph) {
  return sum_flops_if(graph, [](Op) { return true; });
}

FlopsByAxes sum_product_flops(const Graph& graph) { return sum_flops_if(graph, is_product); }

Flops per_particle_step(const FlopsByAxes& flops, int num_tags) {
  Flops sum;
  for (const auto& [axes, part] : flops) {
    if (axes.has_prefix()) sum += part * (axes.has_tag() ? num_tags : 1);
  }
  return sum;
}

std::string unit_of(Axes axes) {
  const std::string unit = axes.has_prefix()     ? "prefix"
                           : axes.has_position() ? "position"
                           : axes.has_sequence() ? "sequence"
                           : axes.has_tag()      ? ""
                                                 : "parameter update";
  if (!axes.has_tag()) return unit;
  return unit.empty() ? "tag" : fmt::format("({}, tag)", unit);
}

}  // namespace scry::cli
