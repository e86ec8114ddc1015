// Models evaluated in plain arithmetic, from their parameters' values alone: an oracle that shares
// no code with what it checks.
#pragma once
#include <cmath>
#include <string>
#include <vector>

#include "base/error.h"
#include "runtime/kernels/parameters.h"

namespace scry::test {

using Vec = std::vector<double>;

inline size_t at(int i) { return static_cast<size_t>(i); }

struct Mat {
  int rows = 0, cols = 0;
  Vec values;
  double operator()(int i, int j) const { return values[at(i * cols + j)]; }
  Vec row(int i) const {
    return {values.begin() + i * cols, values.begin() + static_cast<std::ptrdiff_t>(i + 1) * cols};
  }
};

/// A parameter's values; a vector is a matrix of one column.
inline Mat weights_of(const Program& program, const Parameters& parameters,
                      const std::string& name) {
  for (const Block& block : program.params) {
    if (block.name != name) continue;
    Mat mat{static_cast<int>(block.shape[0]),
            block.shape.rank() == 2 ? static_cast<int>(block.shape[1]) : 1,
            {}};
    for (int64_t k = 0; k < block.shape.size(); ++k)
      mat.values.push_back(parameters.values.get(block.offset + k));
    return mat;
  }
  throw Error("no parameter " + name);
}

inline Vec times(const Mat& a, const Vec& x) {
  Vec result(at(a.rows), 0.0);
  for (int i = 0; i < a.rows; ++i) {
    for (int j = 0; j < a.cols; ++j) result[at(i)] += a(i, j) * x[at(j)];
  }
  return result;
}
inline Vec plus(Vec a, const Vec& b) {
  for (size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}
inline Vec joined(Vec a, const Vec& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
inline Vec tanh_of(Vec a) {
  for (double& v : a) v = std::tanh(v);
  return a;
}
inline double dot_of(const Vec& a, const Vec& b) {
  double total = 0;
  for (size_t i = 0; i < a.size(); ++i) total += a[i] * b[i];
  return total;
}
inline double sigma(double v) { return 1 / (1 + std::exp(-v)); }

inline Vec log_softmax_of(Vec a) {
  double total = 0;
  for (double v : a) total += std::exp(v);
  for (double& v : a) v -= std::log(total);
  return a;
}

/// nn.Linear, nn.GRUCell, nn.LSTMCell and nn.LayerNorm, by PyTorch's formulas.
struct PlainLinear {
  Mat weight, bias;
  PlainLinear(const Program& program, const Parameters& parameters, const std::string& name)
      : weight(weights_of(program, parameters, name + ".weight")),
        bias(weights_of(program, parameters, name + ".bias")) {}
  Vec operator()(const Vec& x) const { return plus(times(weight, x), bias.values); }
};

struct PlainCell {
  Mat weight_ih, weight_hh, bias_ih, bias_hh;
  PlainCell(const Program& program, const Parameters& parameters, const std::string& name,
            const std::string& suffix = "")
      : weight_ih(weights_of(program, parameters, name + ".weight_ih" + suffix)),
        weight_hh(weights_of(program, parameters, name + ".weight_hh" + suffix)),
        bias_ih(weights_of(program, parameters, name + ".bias_ih" + suffix)),
        bias_hh(weights_of(program, parameters, name + ".bias_hh" + suffix)) {}

  Vec gru(const Vec& h, const Vec& x) const {
    const Vec of_x = plus(times(weight_ih, x), bias_ih.values),
              of_h = plus(times(weight_hh, h), bias_hh.values);
    const size_t d = h.size();
    Vec next;
    for (size_t k = 0; k < d; ++k) {
      const double r = sigma(of_x[k] + of_h[k]), z = sigma(of_x[d + k] + of_h[d + k]);
      const double n = std::tanh(of_x[2 * d + k] + r * of_h[2 * d + k]);
      next.push_back((1 - z) * n + z * h[k]);
    }
    return next;
  }
  void lstm(Vec& h, Vec& c, const Vec& x) const {
    const Vec all =
        plus(plus(times(weight_ih, x), bias_ih.values), plus(times(weight_hh, h), bias_hh.values));
    const size_t d = h.size();
    for (size_t k = 0; k < d; ++k) {
      c[k] = sigma(all[d + k]) * c[k] + sigma(all[k]) * std::tanh(all[2 * d + k]);
      h[k] = sigma(all[3 * d + k]) * std::tanh(c[k]);
    }
  }
};

struct PlainLayerNorm {
  Mat weight, bias;
  PlainLayerNorm(const Program& program, const Parameters& parameters, const std::string& name)
      : weight(weights_of(program, parameters, name + ".weight")),
        bias(weights_of(program, parameters, name + ".bias")) {}
  Vec operator()(const Vec& x) const {
    double mean = 0, variance = 0;
    for (double v : x) mean += v / static_cast<double>(x.size());
    for (double v : x) variance += (v - mean) * (v - mean) / static_cast<double>(x.size());
    Vec result;
    for (size_t k = 0; k < x.size(); ++k) {
      result.push_back((x[k] - mean) / std::sqrt(variance + 1e-5) * weight.values[k] +
                       bias.values[k]);
    }
    return result;
  }
};

inline Vec attend_plainly(const Vec& query, const std::vector<Vec>& all) {
  Vec scores, result(all.front().size(), 0.0);
  for (const Vec& key : all)
    scores.push_back(dot_of(query, key) / std::sqrt(static_cast<double>(query.size())));
  scores = log_softmax_of(scores);
  for (size_t t = 0; t < all.size(); ++t) {
    for (size_t k = 0; k < result.size(); ++k) result[k] += std::exp(scores[t]) * all[t][k];
  }
  return result;
}

}  // namespace scry::test
