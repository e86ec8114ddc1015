#include "tests/support/random_values.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "tests/catch.h"

namespace scry::test {
namespace {

constexpr int64_t kUnlimited = int64_t{1} << 20;

bool is_leaf(const Node& node) { return node.op == Op::kInput || node.op == Op::kParam; }

double random_integer(const Node& node, const Extent& extent, size_t k, std::mt19937_64& random) {
  if (node.attr.name == "last") return extent.lengths[k] - 1;
  if (node.axes == Axes::tag()) return static_cast<double>(k % static_cast<size_t>(node.type.hi));
  const int shortest = *std::min_element(extent.lengths.begin(), extent.lengths.end());
  const int64_t size = node.type.hi > kUnlimited ? shortest : node.type.hi;
  return static_cast<double>(random() % static_cast<uint64_t>(size));
}

std::vector<double> random_values(const Node& node, const Extent& extent, double low, double high,
                                  std::mt19937_64& random) {
  const int64_t size = extent.count(node.axes) * extent.stride(node.type.shape);
  std::vector<double> values(static_cast<size_t>(size));
  for (size_t k = 0; k < values.size(); ++k) {
    values[k] =
        node.type.is_int()
            ? random_integer(node, extent, k, random)
            : static_cast<float>(low + (high - low) * std::generate_canonical<double, 53>(random));
  }
  return values;
}

/// Each index of the axes, as the sequence that it belongs to.
std::vector<int> sequences_of(Axes axes, const Extent& extent) {
  std::vector<int> result;
  for (int k = 0; k < extent.count(axes); ++k) {
    const int outer = axes.has_tag() ? k / extent.num_tags : k;
    const int position =
        axes.has_prefix() ? extent.position_of_row[static_cast<size_t>(outer)] : outer;
    result.push_back(axes.has_prefix() || axes.has_position()
                         ? extent.sequence_of_position[static_cast<size_t>(position)]
                         : outer);
  }
  return result;
}

}  // namespace

Values random_inputs(const Graph& graph, const Extent& extent, double low, double high,
                     uint64_t seed) {
  std::mt19937_64 random(seed);
  Values inputs;
  for (const Node& node : graph.nodes) {
    if (!is_leaf(node) || inputs.contains(node.attr.name)) continue;
    inputs[node.attr.name] = random_values(node, extent, low, high, random);
  }
  return inputs;
}

Values with_seeds(const Graph& graph, const Extent& extent, Values inputs, uint64_t seed) {
  std::mt19937_64 random(seed);
  for (const GraphOutput& output : graph.outputs) {
    Node node = graph[output.node];
    if (node.type.is_int()) continue;
    node.axes = output.axes;
    inputs["d." + output.name] = random_values(node, extent, -1, 1, random);
  }
  return inputs;
}

std::vector<std::string> real_inputs(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes) {
    if (!is_leaf(node) || node.type.is_int()) continue;
    if (std::find(names.begin(), names.end(), node.attr.name) == names.end()) {
      names.push_back(node.attr.name);
    }
  }
  return names;
}

std::vector<std::string> real_outputs(const Graph& graph) {
  std::vector<std::string> names;
  for (const GraphOutput& output : graph.outputs) {
    if (!graph[output.node].type.is_int()) names.push_back(output.name);
  }
  return names;
}

double difference(const Values& a, const Values& b) {
  double worst = a.size() == b.size() ? 0 : 1e300;
  for (const auto& [name, values] : a) {
    INFO(name);
    REQUIRE(b.contains(name));
    REQUIRE(values.size() == b.at(name).size());
    for (size_t k = 0; k < values.size(); ++k) {
      const double x = values[k], y = b.at(name)[k];
      if (std::isnan(x) || std::isnan(y)) return 1e300;
      if (x == y) continue;  // infinities too
      worst = std::max(worst, std::abs(x - y) / std::max({1.0, std::abs(x), std::abs(y)}));
    }
  }
  return worst;
}

Values with_zeros(Values gradients, const Values& inputs, const std::vector<std::string>& wrt) {
  for (const std::string& name : wrt) {
    gradients.try_emplace("d." + name, std::vector<double>(inputs.at(name).size(), 0.0));
  }
  return gradients;
}

Values without_padding(Values values, const Graph& graph, const Extent& extent) {
  for (const GraphOutput& output : graph.outputs) {
    const Shape& shape = graph[output.node].type.shape;
    if (shape.is_static()) continue;
    const auto allocated = [&](int size) { return size == kLength ? extent.max_length() : size; };
    const int rows = allocated(shape.rows()), columns = allocated(shape.last());
    double* v = values.at(output.name).data();
    for (const int sequence : sequences_of(output.axes, extent)) {
      const int length = extent.lengths[static_cast<size_t>(sequence)];
      for (int i = 0; i < rows; ++i) {
        for (int j = 0; j < columns; ++j, ++v) {
          if ((shape.rows() == kLength && i >= length) || (shape.last() == kLength && j >= length))
            *v = 0;
        }
      }
    }
  }
  return values;
}

double objective(const Graph& graph, const Extent& extent, const Values& inputs) {
  const Values outputs = without_padding(evaluate(graph, extent, inputs), graph, extent);
  double total = 0;
  for (const std::string& name : real_outputs(graph)) {
    const std::vector<double>&out = outputs.at(name), &seed = inputs.at("d." + name);
    for (size_t k = 0; k < out.size(); ++k) total += out[k] * seed[k];
  }
  return total;
}

double slope(const Graph& graph, const Extent& extent, const Values& inputs,
             const Values& direction) {
  const double h = 1e-5;
  const auto shifted = [&](double by) {
    Values moved = inputs;
    for (const auto& [name, values] : direction) {
      for (size_t k = 0; k < values.size(); ++k) moved.at(name)[k] += by * values[k];
    }
    return objective(graph, extent, moved);
  };
  return (8 * (shifted(h) - shifted(-h)) - (shifted(2 * h) - shifted(-2 * h))) / (12 * h);
}

}  // namespace scry::test
