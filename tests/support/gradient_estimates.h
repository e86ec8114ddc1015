// Estimates of gradients, drawn again and again, on models small enough to know the exact ones.
#pragma once
#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "runtime/kernels/philox.h"
#include "runtime/train/objective.h"
#include "tests/support/learned_oohmm.h"
#include "tests/support/run_kernel.h"
#include "tests/support/small_models.h"

namespace scry::test {

using Vector = std::vector<double>;

struct Problem {
  std::string name;
  Program program;
  Parameters parameters;
  std::vector<int> x;
};

/// A tagger with forbidden taggings, and an OOHMM; lively enough that p and q are far apart.
inline std::vector<Problem> problems(Differentiator differentiator,
                                     Precision precision = Precision::kDouble) {
  static const SmallTagger tagger(small_task(), 5, 2);
  static const SmallLookahead lookahead;
  static const PlainOohmm oohmm(small_task(3, 2), 3, 2);
  static const LearnedBackward backward(small_task(3, 2), 3);
  const CompileOptions options{.precision = precision, .differentiator = differentiator};
  std::vector<Problem> all;
  const auto add = [&](const char* name, Program program, std::vector<int> x, double scale) {
    Parameters parameters = Parameters::fresh(program, 3);
    for (int64_t k = 0; k < parameters.values.size(); ++k)
      parameters.values.set(k, scale * parameters.values.get(k));
    for (const Block& block : program.params) {
      for (int64_t k = 0; block.is_automatic && k < block.shape.size(); ++k)
        parameters.values.set(block.offset + k, 0.25 * static_cast<double>(k) - 0.75);
    }
    parameters.prepare(program);
    all.push_back({name, std::move(program), std::move(parameters), std::move(x)});
  };
  add("small tagger", compile(tagger, lookahead, options), {1, 0, 3, 2}, 2);
  add("OOHMM", compile(oohmm, backward, options), {2, 0, 1, 1, 2, 0}, 3);
  return all;
}

inline std::vector<Differentiator> differentiators() {
  std::vector<Differentiator> all{Differentiator::kAdjoint};
  if (has_enzyme()) all.push_back(Differentiator::kEnzyme);
  return all;
}

/// The numbers of φ, or of θ.
inline Vector flatten(const Program& program, const Gradients& gradients, ParamGroup group) {
  Vector flat;
  for (const Block& block : program.params) {
    if (block.group != group) continue;
    for (int64_t k = 0; k < block.shape.size(); ++k)
      flat.push_back(gradients.values.get(block.offset + k));
  }
  return flat;
}

inline double squared_distance(const Vector& a, const Vector& b) {
  double total = 0;
  for (size_t k = 0; k < a.size(); ++k) total += (a[k] - b[k]) * (a[k] - b[k]);
  return total;
}

/// Independent estimates of a gradient, each the mean over `copies` of one example.
class Estimates {
 public:
  Estimates(Problem& problem, const Objective& objective, int copies,
            const std::vector<int>& y = {})
      : problem_(problem),
        worker_(objective.make_worker(problem.program, problem.parameters)),
        group_(objective.group()),
        gradients_(problem.program) {
    for (int i = 0; i < copies; ++i) examples_.push_back({problem.x, y, i});
  }
  Vector draw(uint64_t seed) {
    gradients_.clear();
    tally = {};
    worker_->add_gradient(examples_, seed, 1.0 / static_cast<double>(examples_.size()), gradients_,
                          tally);
    gradients_.finish(problem_.program, problem_.parameters);
    return flatten(problem_.program, gradients_, group_);
  }
  Tally tally;  ///< of the last

 private:
  Problem& problem_;
  std::unique_ptr<ObjectiveWorker> worker_;
  ParamGroup group_;
  Gradients gradients_;
  std::vector<TrainExample> examples_;
};

/// Mean and variance of numbers that come one by one.
struct Moments {
  int64_t count = 0;
  double mean = 0, squares = 0, last = 0;
  void add(double x) {
    last = x;
    const double delta = x - mean;
    mean += delta / static_cast<double>(++count);
    squares += delta * (x - mean);
  }
  double variance() const { return squares / static_cast<double>(count - 1); }
  double standard_error() const { return std::sqrt(variance() / static_cast<double>(count)); }
};

struct Unbiasedness {
  double worst_element = 0, worst_direction = 0;  ///< in standard errors
  double variance = 0;                            ///< of the whole gradient
};

/// `draw` gives the n-th estimate.
inline Unbiasedness measure_bias(const Vector& exact, int count,
                                 const std::function<Vector(int)>& draw) {
  constexpr size_t kDirections = 16;
  Random random(11, 1);
  std::vector<Vector> directions(kDirections, Vector(exact.size()));
  for (Vector& direction : directions) {
    for (double& d : direction) d = random.normal();
  }
  std::vector<Moments> elements(exact.size()), projections(kDirections);
  for (int n = 0; n < count; ++n) {
    const Vector estimate = draw(n);
    for (size_t k = 0; k < exact.size(); ++k) elements[k].add(estimate[k] - exact[k]);
    for (size_t i = 0; i < kDirections; ++i) {
      double projection = 0;
      for (size_t k = 0; k < exact.size(); ++k)
        projection += directions[i][k] * (estimate[k] - exact[k]);
      projections[i].add(projection);
    }
  }
  Unbiasedness result;
  for (const Moments& m : elements) {
    result.variance += m.variance();
    if (m.variance() > 1e-24)
      result.worst_element = std::max(result.worst_element, std::abs(m.mean) / m.standard_error());
  }
  for (const Moments& m : projections)
    result.worst_direction =
        std::max(result.worst_direction, std::abs(m.mean) / m.standard_error());
  return result;
}

/// The root of the mean squared distance from `exact`.
inline double rms_error(const Vector& exact, int count, const std::function<Vector(int)>& draw) {
  double total = 0;
  for (int n = 0; n < count; ++n) total += squared_distance(exact, draw(n));
  return std::sqrt(total / count);
}

inline double norm(const Vector& v) {
  return std::sqrt(squared_distance(v, Vector(v.size(), 0.0)));
}

}  // namespace scry::test
