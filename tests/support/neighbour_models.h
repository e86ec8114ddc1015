// Models that look around in x: what a user writes, and what nobody should, each with its score in
// plain C++.
#pragma once
#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "runtime/kernels/parameters.h"
#include "tests/support/small_models.h"

namespace scry::test {

/// A parameter's elements.
inline std::vector<double> values_of(const Program& program, const Parameters& parameters,
                                     const std::string& name) {
  std::vector<double> values;
  for (const Block& block : program.params) {
    if (block.name != name) continue;
    for (int64_t k = 0; k < block.shape.size(); ++k)
      values.push_back(parameters.values.get(block.offset + k));
  }
  return values;
}

inline constexpr int kWidth = 3;  // of the encodings below

inline double row_dot(const std::vector<double>& a, int i, const std::vector<double>& b, int j) {
  double total = 0;
  for (int k = 0; k < kWidth; ++k) {
    total += a[static_cast<size_t>(i * kWidth + k)] * b[static_cast<size_t>(j * kWidth + k)];
  }
  return total;
}

/// g depends on the symbols one later and two earlier, the position, the length and the ends.
struct Neighbours : Model {
  Embedding symbol, next, before;
  Parameter at, ends;
  explicit Neighbours(const Task& task = small_task())
      : Model(task, state("h", 1)),
        symbol(*this, "symbol", task.x.size(), kWidth),
        next(*this, "next", task.y.size(), kWidth),
        before(*this, "before", task.y.size(), kWidth),
        at(param("at", {3, task.y.size()}, Init::normal(1))),
        ends(param("ends", {2, task.y.size()}, Init::normal(1))) {}
  Encoding encode(const Sym& x) const override { return {{"e", symbol[x]}}; }
  Step step(const State& s, const Input& x, const Sym& y) const override {
    const Expr around = dot(next[y], x.at("e", +1)) + dot(before[y], x.at("e", -2));
    const Expr place = at[min(x.position(), 2)][y] / to_real(x.length());
    const Expr first = select(x.is_first(), ends[0][y], 0.0);
    const Expr last = select(x.is_last(), ends[1][y], 0.0);
    return {.score = around + place + first + last, .state = {s["h"]}};
  }

  static double score(const Program& program, const Parameters& parameters, std::span<const int> x,
                      std::span<const int> y) {
    const auto values = [&](const char* name) { return values_of(program, parameters, name); };
    const std::vector<double> e = values("model.symbol.weight"), n = values("model.next.weight"),
                              b = values("model.before.weight"), at = values("model.at"),
                              ends = values("model.ends");
    const int length = static_cast<int>(x.size()), tags = program.num_tags();
    double total = 0;
    for (int t = 0; t < length; ++t) {
      const int tag = y[static_cast<size_t>(t)];
      if (t + 1 < length) total += row_dot(n, tag, e, x[static_cast<size_t>(t + 1)]);
      if (t - 2 >= 0) total += row_dot(b, tag, e, x[static_cast<size_t>(t - 2)]);
      total += at[static_cast<size_t>(std::min(t, 2) * tags + tag)] / length;
      if (t == 0) total += ends[static_cast<size_t>(tag)];
      if (t == length - 1) total += ends[static_cast<size_t>(tags + tag)];
    }
    return total;
  }
};

/// Looks to the right of where x is, and at the last but one.
struct NeighbourLookahead : Proposal {
  Linear layer;
  NeighbourLookahead() : Proposal(state("later", kWidth)), layer(*this, "layer", kWidth, kWidth) {}
  State back(const State& later, const Input& x) const override {
    const Expr all = x.encoding().all("e");
    return {tanh(layer(later["later"] + x.at("e", +1)) + all[x.length() - 2])};
  }
  Expr to_go(const State& later, const Input& x) const override {
    return dot(later["later"], x.at("e", -1));
  }
  Expr compat(const State& s, const State& later, const Candidates&) const override {
    return sum(later["later"]) * (1 + s["h"][0]);
  }
};

/// Indices into [T, 3] that are beyond the ends for some T, x, y or all of them.
struct Wild : Model {
  Embedding symbol, weight;
  explicit Wild(const Task& task = small_task())
      : Model(task, state("h", kWidth)),
        symbol(*this, "symbol", task.x.size(), kWidth),
        weight(*this, "weight", 6, kWidth) {}
  Encoding encode(const Sym& x) const override { return {{"e", symbol[x]}}; }
  State start(const Encoding& encoding) const override {
    return {encoding.all("e")[5] + encoding.all("e")[encoding.length()]};
  }
  Step step(const State& s, const Input& x, const Sym& y) const override {
    const Expr all = x.encoding().all("e");
    const Sym t = x.position();
    const Expr updated = update_row(all, t + 2, s["h"]);
    const Expr column = matmul(all, weight[5]);  // [T]
    return {.score = dot(weight[0], all[t + 1]) + dot(weight[1], all[t - 1]) +
                     dot(weight[2], all[y * 4000]) + dot(weight[3], tanh(all)[x * 3 - 4]) +
                     dot(weight[4], updated[t]) + column[7 - t * 100],
            .state = {s["h"]}};
  }

  static double score(const Program& program, const Parameters& parameters, std::span<const int> x,
                      std::span<const int> y) {
    const std::vector<double> e = values_of(program, parameters, "model.symbol.weight"),
                              w = values_of(program, parameters, "model.weight.weight");
    const int length = static_cast<int>(x.size());
    const auto symbol_at = [&](int i) {
      return x[static_cast<size_t>(std::clamp(i, 0, length - 1))];
    };
    std::vector<double> bent = e;
    for (double& value : bent) value = std::tanh(value);
    double total = 0;
    for (int t = 0; t < length; ++t) {
      const int tag = y[static_cast<size_t>(t)];
      total += row_dot(w, 0, e, symbol_at(t + 1)) + row_dot(w, 1, e, symbol_at(t - 1));
      total += row_dot(w, 2, e, symbol_at(tag * 4000));
      total += row_dot(w, 3, bent, symbol_at(symbol_at(t) * 3 - 4));
      if (std::min(t + 2, length - 1) == t) {  // its row was replaced by the state
        total += row_dot(w, 4, e, symbol_at(5)) + row_dot(w, 4, e, symbol_at(length));
      } else {
        total += row_dot(w, 4, e, symbol_at(t));
      }
      total += row_dot(w, 5, e, symbol_at(7 - t * 100));
    }
    return total;
  }
};

}  // namespace scry::test
