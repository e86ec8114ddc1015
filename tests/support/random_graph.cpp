#include "tests/support/random_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

namespace scry::test {
namespace {

constexpr double kMaxBound = 20;
constexpr int kTags = 3;  // of kSmallExtent

class Generator {
 public:
  Generator(uint64_t seed, const RandomGraphOptions& options)
      : random_(seed * 7919 + 17), options_(options) {}

  Graph run() {
    add_leaves();
    const std::vector<std::function<NodeId()>> rules{
        [&] { return unary(); },     [&] { return unary(); },     [&] { return binary(); },
        [&] { return binary(); },    [&] { return binary(); },    [&] { return guarded(); },
        [&] { return choice(); },    [&] { return reduction(); }, [&] { return reduction(); },
        [&] { return product(); },   [&] { return product(); },   [&] { return product(); },
        [&] { return layout(); },    [&] { return layout(); },    [&] { return concat(); },
        [&] { return slice(); },     [&] { return indexing(); },  [&] { return indexing(); },
        [&] { return indexing(); },  [&] { return tags(); },      [&] { return neutral(); },
        [&] { return arithmetic(); }};
    for (int made = 0, tries = 0; made < options_.num_ops && tries < 1000; ++tries) {
      if (rules[below(rules.size())]() >= 0) ++made;
    }
    add_outputs();
    verify(b_.graph);
    return b_.graph;
  }

 private:
  size_t below(size_t n) { return static_cast<size_t>(random_() % n); }
  bool chance(double p) { return static_cast<double>(below(1000)) < 1000 * p; }
  const Node& node(NodeId id) const { return b_.graph[id]; }
  const Shape& shape(NodeId id) const { return node(id).type.shape; }
  double bound(NodeId id) const { return bounds_[static_cast<size_t>(id)]; }

  void add_leaves() {
    for (Shape s : {Shape{4, 4}, Shape{6, 4}, Shape{4, 3}, Shape{4}, Shape{3}, Shape{}}) {
      note(b_.param(fmt::format("p{}", b_.graph.size()), s), 1);
    }
    const std::vector<std::pair<Shape, Axes>> inputs{{{4}, Axes::prefix()},
                                                     {{3}, Axes::prefix()},
                                                     {{3, 4}, Axes::prefix()},
                                                     {{2, 2}, kPrefixTag},
                                                     {{4}, kPrefixTag},
                                                     {{4}, Axes::tag()},
                                                     {{}, Axes::tag()},
                                                     {{4}, Axes::sequence()},
                                                     {{4}, Axes::position()},
                                                     {{3, 4}, kPositionTag},
                                                     {{3, 4}, kSequenceTag},
                                                     {{}, Axes::prefix()},
                                                     {{kLength, 4}, Axes::sequence()}};
    for (size_t i = 0; i < inputs.size(); ++i) {
      note(b_.real(fmt::format("a{}", i), inputs[i].first, inputs[i].second), 1);
    }
    integers_ = {b_.integer("y", kTags, Axes::tag()), b_.integer("x", 6, Axes::position()),
                 b_.integer("i", 4, Axes::prefix()), b_.number(1), b_.number(2)};
    bounds_.resize(b_.graph.nodes.size(), 0);
  }
  NodeId note(NodeId id, double bound) {
    bounds_.resize(b_.graph.nodes.size(), 0);
    bounds_[static_cast<size_t>(id)] = bound;
    reals_.push_back(id);
    return id;
  }
  /// Adds a node whose elements are at most `bound`, or tanh of it if that is too large.
  NodeId make(Op op, std::vector<NodeId> in, double bound, Attr attr = {}) {
    const NodeId id = b_.add(op, std::move(in), std::move(attr));
    if (bound <= kMaxBound) return note(id, bound);
    return note(b_.add(Op::kTanh, {id}), 1);
  }
  /// A real node for which `fits` holds, rather a recent one; or -1.
  NodeId pick(const std::function<bool(NodeId)>& fits) {
    std::vector<NodeId> candidates;
    std::copy_if(reals_.begin(), reals_.end(), std::back_inserter(candidates), fits);
    if (candidates.empty()) return -1;
    const size_t recent = std::min<size_t>(candidates.size(), 5);
    return chance(0.6) ? candidates[candidates.size() - 1 - below(recent)]
                       : candidates[below(candidates.size())];
  }
  NodeId any() {
    return pick([](NodeId) { return true; });
  }
  NodeId fixed() {
    return pick([&](NodeId id) { return shape(id).is_static(); });
  }
  NodeId of_rank(int rank) {
    return pick([&](NodeId id) { return shape(id).rank() == rank; });
  }
  static bool broadcasts(const Shape& a, const Shape& b) {
    for (int k = 1; k <= std::min(a.rank(), b.rank()); ++k) {
      const int x = a[a.rank() - k], y = b[b.rank() - k];
      if (x != y && x != 1 && y != 1) return false;
    }
    return true;
  }
  NodeId partner(NodeId a) {
    return pick([&](NodeId b) { return broadcasts(shape(a), shape(b)); });
  }

  NodeId unary() {
    std::vector<Op> ops{Op::kNeg, Op::kTanh, Op::kSigmoid, Op::kSoftplus, Op::kExp, Op::kFinite};
    if (!options_.smooth) ops.insert(ops.end(), {Op::kRelu, Op::kStopGradient});
    const Op op = ops[below(ops.size())];
    const NodeId a = any();
    if (op == Op::kExp && bound(a) > 3) return -1;
    const bool small = op == Op::kTanh || op == Op::kSigmoid;
    return make(op, {a},
                small            ? 1
                : op == Op::kExp ? std::exp(bound(a))
                                 : bound(a) + (op == Op::kSoftplus ? 1 : 0));
  }
  NodeId binary() {
    std::vector<Op> ops{Op::kAdd, Op::kAdd, Op::kSub, Op::kMul, Op::kMul, Op::kLogDivide};
    if (!options_.smooth) ops.insert(ops.end(), {Op::kMin, Op::kMax});
    const Op op = ops[below(ops.size())];
    const NodeId a = any(), b = partner(a);
    return make(op, {a, b}, op == Op::kMul ? bound(a) * bound(b) : bound(a) + bound(b));
  }
  /// Operations that need a positive operand: softplus + ½ is one.
  NodeId guarded() {
    const NodeId a = any(), b = partner(a);
    const NodeId positive = b_.add(Op::kAdd, {b_.add(Op::kSoftplus, {b}), b_.number(0.5)});
    bounds_.resize(b_.graph.nodes.size(), 0);
    switch (below(4)) {
      case 0:
        return make(Op::kLog, {positive}, bound(b) + 1);
      case 1:
        return make(Op::kSqrt, {positive}, bound(b) + 1);
      case 2:
        return make(Op::kDiv, {a, positive}, 2 * bound(a));
      default:
        return make(Op::kRatio, {a, positive}, 2 * bound(a));
    }
  }
  NodeId choice() {
    const NodeId a = any(), b = partner(a);
    if (options_.smooth || chance(0.6)) {
      std::vector<NodeId> conditions;
      for (NodeId id : integers_) {
        if (node(id).type.hi <= 2 && node(id).type.lo >= 0) conditions.push_back(id);
      }
      return make(Op::kSelect, {conditions[below(conditions.size())], a, b},
                  std::max(bound(a), bound(b)));
    }
    // Only inputs are compared: they are the same number in every precision and order.
    const auto is_input = [&](NodeId id) {
      return node(id).op == Op::kInput && broadcasts(shape(a), shape(id));
    };
    const NodeId left = pick(is_input), right = pick(is_input);
    if (left < 0 || right < 0 || !broadcasts(shape(left), shape(right))) return -1;
    if (!broadcasts(shape(b), shape(left)) || !broadcasts(shape(b), shape(right))) return -1;
    return make(Op::kIfGreater, {left, right, a, b}, std::max(bound(a), bound(b)));
  }
  NodeId reduction() {
    const NodeId a = pick([&](NodeId id) { return shape(id).rank() > 0; });
    const Attr attr{.i = chance(0.5) ? 1 : 0};
    if (!options_.smooth && chance(0.3)) return make(Op::kMaxOf, {a}, bound(a), attr);
    return make(Op::kSum, {a}, bound(a) * 4, attr);
  }
  NodeId product() {
    if (chance(0.25)) return product_of_parts();
    const NodeId a = pick([&](NodeId id) { return shape(id).rank() > 0; });
    const bool ta = shape(a).rank() == 2 && chance(0.3), tb = chance(0.4);
    const int inner = shape(a).rank() == 2 && ta ? shape(a)[0] : shape(a).last();
    const NodeId b =
        pick([&](NodeId id) { return shape(id).rank() == 2 && shape(id)[tb ? 1 : 0] == inner; });
    if (b < 0) return -1;
    return make(Op::kMatMul, {a, b}, bound(a) * bound(b) * 4, {.i = ta, .j = tb});
  }
  /// [a; b] W, where a and b often vary over different axes.
  NodeId product_of_parts() {
    const auto fits = [&](NodeId id) { return shape(id).rank() == 1 && shape(id).is_static(); };
    const NodeId a = pick(fits);
    const NodeId b = pick([&](NodeId id) { return fits(id) && shape(id)[0] + shape(a)[0] == 6; });
    if (b < 0) return -1;
    const NodeId both = b_.add(Op::kConcat, {a, b});
    return make(Op::kMatMul, {both, reals_[1]}, std::max(bound(a), bound(b)) * 6);
  }
  NodeId layout() {
    if (chance(0.4)) {
      const NodeId a = of_rank(2);
      return make(Op::kTranspose, {a}, bound(a));
    }
    const NodeId a = fixed();
    const int size = static_cast<int>(shape(a).size());
    std::vector<Shape> shapes{{size}, {1, size}, {size, 1}};
    if (size % 2 == 0) shapes.push_back({2, size / 2});
    if (size == 1) shapes.push_back({});
    const Shape to = shapes[below(shapes.size())];
    if (chance(0.7)) return make(Op::kReshape, {a}, bound(a), {.shape = to});
    if (shape(a).rank() == 2 || shape(a).last() > 6) return -1;
    return make(Op::kExpand, {a}, bound(a),
                {.shape = shape(a).rank() == 0 ? Shape{4} : Shape{3, size}});
  }
  NodeId concat() {
    const int rank = chance(0.7) ? 1 : 2;
    const int axis = rank == 2 && chance(0.5) ? 1 : 0;
    const auto fits = [&](NodeId id) {
      return shape(id).rank() == rank && shape(id).is_static() && shape(id).size() <= 24;
    };
    const NodeId a = pick(fits);
    std::vector<NodeId> parts{a};
    double largest = bound(a);
    for (size_t n = 1 + below(2); n > 0; --n) {
      const NodeId next = pick([&](NodeId id) {
        return fits(id) && (rank == 1 || shape(id)[1 - axis] == shape(a)[1 - axis]);
      });
      parts.push_back(next);
      largest = std::max(largest, bound(next));
    }
    return make(Op::kConcat, parts, largest, {.axis = axis});
  }
  NodeId slice() {
    const NodeId a = pick([&](NodeId id) { return shape(id).rank() > 0 && shape(id).is_static(); });
    const int64_t axis = shape(a).rank() == 2 && chance(0.5) ? 1 : 0;
    const auto extent = static_cast<size_t>(shape(a)[static_cast<int>(axis)]);
    const size_t start = below(extent), length = 1 + below(extent - start);
    return make(
        Op::kSlice, {a}, bound(a),
        {.i = static_cast<int64_t>(start), .j = static_cast<int64_t>(length), .axis = axis});
  }
  /// A symbol below `size`; one that may be anything but surely negative, if that is T.
  NodeId index(int size) {
    const NodeId id = integers_[below(integers_.size())];
    if (size == kLength) return node(id).type.hi > 0 ? id : integers_[1];
    if (node(id).type.lo >= 0 && node(id).type.hi <= size) return id;
    const NodeId whole = node(id).type.lo >= 0 ? id : integers_[1];
    const NodeId result = b_.add(Op::kMod, {whole, b_.number(size)});
    bounds_.resize(b_.graph.nodes.size(), 0);
    return result;
  }
  NodeId indexing() {
    switch (below(4)) {
      case 0: {
        const NodeId a = of_rank(1);
        return make(Op::kElement, {a, index(shape(a)[0])}, bound(a));
      }
      case 1: {
        const NodeId a = of_rank(2);
        const NodeId v = pick([&](NodeId id) { return shape(id) == Shape{shape(a)[1]}; });
        if (v < 0) return -1;
        return make(Op::kUpdateRow, {a, index(shape(a)[0]), v}, std::max(bound(a), bound(v)));
      }
      case 2:
        if (chance(0.7)) return -1;
        return make(Op::kOneHot, {index(4)}, 1, {.i = 4});
      default: {
        const NodeId a = of_rank(2);
        return make(Op::kRow, {a, index(shape(a)[0])}, bound(a));
      }
    }
  }
  NodeId tags() {
    if (!options_.of_model && chance(0.3)) {
      const NodeId a =
          pick([&](NodeId id) { return shape(id).rank() == 2 && shape(id)[0] == kTags; });
      return a < 0 ? -1 : make(Op::kAtTag, {a}, bound(a));
    }
    const NodeId a =
        pick([&](NodeId id) { return shape(id).is_static() && shape(id).size() <= 6; });
    return make(Op::kCandidates, {a}, bound(a), {.i = kTags});
  }
  /// What passes are to remove: + 0, × 1, / 1, double negation, with and without broadcasting.
  NodeId neutral() {
    const NodeId a = fixed();
    const bool zero = chance(0.5), wide = chance(0.3) && shape(a).rank() == 1;
    const Shape s = wide ? Shape{2, shape(a)[0]} : chance(0.5) ? Shape{} : shape(a);
    const NodeId c =
        b_.constant(s, std::vector<double>(static_cast<size_t>(s.size()), zero ? 0.0 : 1.0));
    bounds_.resize(b_.graph.nodes.size(), 0);
    const bool swap = chance(0.5);
    if (chance(0.2)) return make(Op::kNeg, {make(Op::kNeg, {a}, bound(a))}, bound(a));
    if (zero) return make(Op::kAdd, swap ? std::vector{c, a} : std::vector{a, c}, bound(a));
    if (chance(0.3)) return make(Op::kDiv, {a, c}, bound(a));
    return make(Op::kMul, swap ? std::vector{c, a} : std::vector{a, c}, bound(a));
  }
  NodeId arithmetic() {
    const NodeId a = integers_[below(integers_.size())], b = integers_[below(integers_.size())];
    if (chance(0.3)) {
      bounds_.resize(b_.graph.nodes.size(), 0);
      return make(Op::kToReal, {a}, static_cast<double>(node(a).type.hi));
    }
    constexpr Op kOps[]{Op::kAdd,   Op::kSub,  Op::kMul,    Op::kIntDiv, Op::kMod,
                        Op::kEqual, Op::kLess, Op::kSelect, Op::kMin,    Op::kMax};
    const Op op = kOps[below(std::size(kOps))];
    const Type x = node(a).type, y = node(b).type;
    if ((op == Op::kIntDiv || op == Op::kMod) && (x.lo < 0 || y.lo <= 0)) return -1;
    if ((op == Op::kMul || op == Op::kAdd || op == Op::kSub) &&
        (std::abs(x.hi * y.hi) > 30 || x.lo < 0 || y.lo < 0))
      return -1;
    const NodeId id = b_.add(op, op == Op::kSelect ? std::vector{a, a, b} : std::vector{a, b});
    bounds_.resize(b_.graph.nodes.size(), 0);
    integers_.push_back(id);
    return id;
  }

  void add_outputs() {
    const Axes wider[]{Axes::none(), Axes::none(), Axes::prefix(), Axes::tag(), kPrefixTag};
    for (int o = 0; o < 3; ++o) {
      const NodeId id = o == 0 ? reals_.back() : any();
      const Axes axes = node(id).axes | wider[below(std::size(wider))];
      b_.output(fmt::format("o{}", o), id, axes, !options_.of_model && chance(0.2));
    }
    b_.output("n", integers_.back());
  }

  GraphBuilder b_;
  std::mt19937_64 random_;
  const RandomGraphOptions& options_;
  std::vector<NodeId> reals_, integers_;
  std::vector<double> bounds_;
};

}  // namespace

Graph random_graph(uint64_t seed, const RandomGraphOptions& options) {
  return Generator(seed, options).run();
}

}  // namespace scry::test
