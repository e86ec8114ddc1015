// exp, log and what is made of them, in machine code, against the C library in long double.
#include "compiler/math_emitter.h"

#include <cmath>
#include <limits>
#include <random>

#include "tests/catch.h"
#include "tests/support/graph_builder.h"
#include "tests/support/run_kernel.h"

using namespace scry;
using namespace scry::test;

namespace {

/// Odd, so that both the vector loop and its remainder are run.
constexpr int kWidth = 67;

const std::vector<Op> kFunctions{Op::kExp, Op::kLog, Op::kTanh, Op::kSigmoid, Op::kSoftplus};

const Compiled& compiled(Precision precision) {
  const auto compile = [](Precision p) {
    std::vector<KernelPlan> plans;
    for (Op op : kFunctions) {
      GraphBuilder b;
      plans.push_back(
          plan_kernel(info(op).name, b.finish(b.add(op, {b.real("a", {kWidth}, Axes::prefix())}))));
    }
    return Compiled(plans, p, 1);
  };
  static const Compiled in_float = compile(Precision::kFloat),
                        in_double = compile(Precision::kDouble);
  return precision == Precision::kFloat ? in_float : in_double;
}

template <class Real>
constexpr Precision precision_of() {
  return sizeof(Real) == sizeof(float) ? Precision::kFloat : Precision::kDouble;
}

template <class Real>
std::vector<Real> run(Op op, const std::vector<Real>& xs) {
  const size_t rows = (xs.size() + kWidth - 1) / kWidth;
  std::vector<double> a(xs.begin(), xs.end());
  a.resize(rows * kWidth, 1.0);
  const Extent extent{static_cast<int>(rows), 1, 1, 1, std::vector<int>(rows, 0), {0}, {1}};
  const Values out = compiled(precision_of<Real>()).run(info(op).name, extent, {{"a", a}});
  return {out.at("out").begin(), out.at("out").begin() + static_cast<std::ptrdiff_t>(xs.size())};
}

/// The distance from the exact value in units of the last place of Real.
template <class Real>
double ulps(Real got, long double exact) {
  const Real nearest = static_cast<Real>(exact);
  if (got == nearest) return 0;
  if (std::isnan(got) || std::isinf(got) || std::isinf(nearest)) return 1e300;
  const Real magnitude = std::max(std::abs(nearest), std::numeric_limits<Real>::min());
  const Real ulp = std::nextafter(magnitude, std::numeric_limits<Real>::infinity()) - magnitude;
  return static_cast<double>(std::abs(static_cast<long double>(got) - exact) / ulp);
}

template <class Real>
std::vector<Real> sweep(double low, double high, int count) {
  std::vector<Real> xs;
  for (int k = 0; k <= count; ++k) xs.push_back(static_cast<Real>(low + (high - low) * k / count));
  return xs;
}

/// Every power of two, subnormal ones too, times mantissas in [1, 2); and densely about 1.
template <class Real>
std::vector<Real> positive_numbers() {
  using Limits = std::numeric_limits<Real>;
  std::mt19937_64 random(1);
  std::vector<Real> xs{Limits::denorm_min(), Limits::min(), Limits::max(), Real(1)};
  const int per_power = sizeof(Real) == sizeof(float) ? 200 : 30;
  for (int e = Limits::min_exponent - Limits::digits; e < Limits::max_exponent; ++e) {
    for (int k = 0; k < per_power; ++k) {
      const double mantissa = 1 + std::generate_canonical<double, 53>(random);
      xs.push_back(std::ldexp(static_cast<Real>(mantissa), e));
    }
  }
  for (int k = 1; k < 3000; ++k)
    xs.push_back(1 + Limits::epsilon() * Real(k * k)),
        xs.push_back(1 - Limits::epsilon() * Real(k * k) / 2);
  std::erase_if(xs, [](Real x) { return !(x > 0) || std::isinf(x); });
  return xs;
}

template <class Real>
double worst_ulps(Op op, const std::vector<Real>& xs, long double (*exact)(long double)) {
  const std::vector<Real> got = run(op, xs);
  double worst = 0;
  Real where = 0;
  for (size_t k = 0; k < xs.size(); ++k) {
    const double error = ulps(got[k], exact(xs[k]));
    if (error > worst) worst = error, where = xs[k];
  }
  UNSCOPED_INFO("worst at " << where);
  return worst;
}
template <class Real>
double worst_error(Op op, const std::vector<Real>& xs, long double (*exact)(long double)) {
  const std::vector<Real> got = run(op, xs);
  double worst = 0;
  for (size_t k = 0; k < xs.size(); ++k) {
    const long double y = exact(xs[k]);
    worst =
        std::max(worst, static_cast<double>(std::abs(got[k] - y) / std::max(1.0L, std::abs(y))));
  }
  return worst;
}

long double sigmoid(long double x) { return 1 / (1 + std::exp(-x)); }
long double softplus(long double x) {
  return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}

}  // namespace

TEST_CASE("exp is right to 4 ulp wherever its value is a normal number", "[math]") {
  CHECK(worst_ulps(Op::kExp, sweep<float>(-87.3365, 88.7228, 300000), std::exp) <= 4);
  CHECK(worst_ulps(Op::kExp, sweep<float>(-1e-3, 1e-3, 10000), std::exp) <= 4);
  CHECK(worst_ulps(Op::kExp, sweep<double>(-708.39, 709.7827, 300000), std::exp) <= 4);
  CHECK(worst_ulps(Op::kExp, sweep<double>(-1e-6, 1e-6, 10000), std::exp) <= 4);
}

TEST_CASE("exp of less than the smallest normal number is nearly 0, and of the largest is infinite",
          "[math]") {
  for (float y : run(Op::kExp, sweep<float>(-120, -87.3, 10000))) CHECK((y >= 0 && y < 1.3e-38f));
  for (double y : run(Op::kExp, sweep<double>(-800, -708.3, 10000)))
    CHECK((y >= 0 && y < 2.5e-308));
  // The last float that has a finite exponential is 88.72283935546875.
  for (float y : run(Op::kExp, sweep<float>(88.7, 88.7228, 1000))) CHECK(std::isfinite(y));
  for (float y : run(Op::kExp, sweep<float>(88.7229, 1e5, 1000))) CHECK(std::isinf(y));
  for (double y : run(Op::kExp, sweep<double>(709, 709.7827, 1000))) CHECK(std::isfinite(y));
  for (double y : run(Op::kExp, sweep<double>(709.7828, 1e5, 1000))) CHECK(std::isinf(y));
}

TEMPLATE_TEST_CASE("exp and log of the special numbers are as in C", "[math]", float, double) {
  using Limits = std::numeric_limits<TestType>;
  const TestType inf = Limits::infinity(), nan = Limits::quiet_NaN();
  const std::vector<TestType> exps = run<TestType>(
      Op::kExp,
      {0, TestType(-0.0), inf, -inf, nan, Limits::denorm_min(), Limits::max(), Limits::lowest()});
  CHECK(exps[0] == 1);
  CHECK(exps[1] == 1);
  CHECK(exps[2] == inf);
  CHECK(exps[3] == 0);
  CHECK(std::isnan(exps[4]));
  CHECK(exps[5] == 1);
  CHECK(exps[6] == inf);
  CHECK(exps[7] == 0);
  const std::vector<TestType> logs = run<TestType>(
      Op::kLog, {0, TestType(-0.0), inf, 1, nan, TestType(-1), -inf, -Limits::denorm_min()});
  CHECK(logs[0] == -inf);
  CHECK(logs[1] == -inf);
  CHECK(logs[2] == inf);
  CHECK(logs[3] == 0);
  for (size_t k : {4, 5, 6, 7}) CHECK(std::isnan(logs[k]));
}

TEST_CASE("log is right to 4 ulp for every positive number, subnormal ones too", "[math]") {
  CHECK(worst_ulps(Op::kLog, positive_numbers<float>(), std::log) <= 4);
  CHECK(worst_ulps(Op::kLog, positive_numbers<double>(), std::log) <= 4);
  CHECK(worst_ulps(Op::kLog, sweep<float>(0.5, 2, 300000), std::log) <= 4);
  CHECK(worst_ulps(Op::kLog, sweep<double>(0.5, 2, 300000), std::log) <= 4);
}

TEST_CASE("tanh, sigmoid and softplus are right to the precision's rounding", "[math]") {
  const std::vector<float> xs = sweep<float>(-30, 30, 300000),
                           far{-1e30f, -1e4f, -200, 200, 1e4f, 1e30f};
  const std::vector<double> ys = sweep<double>(-60, 60, 300000),
                            farther{-1e300, -1e4, -800, 800, 1e4, 1e300};
  CHECK(worst_error(Op::kTanh, xs, std::tanh) <= 2e-7);
  CHECK(worst_error(Op::kTanh, far, std::tanh) <= 2e-7);
  CHECK(worst_error(Op::kTanh, ys, std::tanh) <= 1e-15);
  CHECK(worst_error(Op::kTanh, farther, std::tanh) <= 1e-15);
  CHECK(worst_error(Op::kSigmoid, xs, sigmoid) <= 2e-7);
  CHECK(worst_error(Op::kSigmoid, far, sigmoid) <= 2e-7);
  CHECK(worst_error(Op::kSigmoid, ys, sigmoid) <= 1e-15);
  CHECK(worst_error(Op::kSigmoid, farther, sigmoid) <= 1e-15);
  CHECK(worst_error(Op::kSoftplus, xs, softplus) <= 2e-7);
  CHECK(worst_error(Op::kSoftplus, far, softplus) <= 2e-7);
  CHECK(worst_error(Op::kSoftplus, ys, softplus) <= 1e-15);
  CHECK(worst_error(Op::kSoftplus, farther, softplus) <= 1e-15);
}
