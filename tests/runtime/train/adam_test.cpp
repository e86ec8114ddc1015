#include "runtime/train/adam.h"

#include <cmath>

#include "runtime/kernels/philox.h"
#include "tests/catch.h"

using namespace scry;

namespace {

/// Blocks of odd sizes, the second of which is not trained.
Program three_blocks(Precision precision) {
  Program program;
  program.precision = precision;
  program.params = {{"first", {7}, 0, ParamGroup::kModel},
                    {"second", {5}, 16, ParamGroup::kModel},
                    {"third", {3, 11}, 32, ParamGroup::kModel}};
  program.num_param_elements = 80;
  return program;
}
const std::vector<size_t> kTrained{0, 2};

void fill_random(RealBuffer& buffer, uint32_t stream) {
  Random random(3, stream);
  for (int64_t k = 0; k < buffer.size(); ++k) buffer.set(k, random.normal());
}

/// One number's Adam by the book: Kingma & Ba's algorithm 1 on the clipped gradient plus l2·w.
struct ByHand {
  double value, m = 0, v = 0;
  void step(const AdamOptions& o, double gradient, double norm, int t) {
    double g = gradient;
    if (o.clip > 0) g *= std::min(1.0, o.clip / (norm + 1e-6));
    g += o.l2 * value;
    m = o.beta1 * m + (1 - o.beta1) * g;
    v = o.beta2 * v + (1 - o.beta2) * g * g;
    const double m_hat = m / (1 - std::pow(o.beta1, t)), v_hat = v / (1 - std::pow(o.beta2, t));
    value -= o.rate * m_hat / (std::sqrt(v_hat) + o.epsilon);
  }
};

void compare_with_hand(Precision precision, const AdamOptions& options, double tolerance) {
  const Program program = three_blocks(precision);
  Parameters parameters(program);
  fill_random(parameters.values, 1);
  const RealBuffer before = parameters.values;
  AdamState state(program);
  std::vector<ByHand> hand;
  for (int64_t k = 0; k < before.size(); ++k) hand.push_back({before.get(k)});
  Gradients gradients(program);
  for (int t = 1; t <= 12; ++t) {
    fill_random(gradients.values, static_cast<uint32_t>(100 + t));
    double squares = 0;
    for (size_t index : kTrained) {
      const Block& block = program.params[index];
      for (int64_t k = 0; k < block.shape.size(); ++k)
        squares += std::pow(gradients.values.get(block.offset + k), 2);
    }
    const double norm = gradient_norm(program, gradients, kTrained);
    REQUIRE(norm == Approx(std::sqrt(squares)).epsilon(1e-12));
    update(program, kTrained, options, gradients, norm, state, parameters);
    for (size_t index : kTrained) {
      const Block& block = program.params[index];
      for (int64_t k = block.offset; k < block.offset + block.shape.size(); ++k) {
        ByHand& number = hand[static_cast<size_t>(k)];
        number.step(options, gradients.values.get(k), norm, t);
        REQUIRE(std::abs(parameters.values.get(k) - number.value) < tolerance);
      }
    }
  }
  CHECK(state.num_updates == 12);
  for (int64_t k = 16; k < 32; ++k) {
    CHECK(parameters.values.get(k) == before.get(k));
    CHECK(state.first.get(k) == 0);
    CHECK(state.second.get(k) == 0);
  }
}

}  // namespace

TEST_CASE("Adam follows its formula, with and without clipping and L2") {
  AdamOptions options;
  options.rate = 0.1;
  for (double clip : {0.0, 0.5, 1e9}) {
    for (double l2 : {0.0, 0.1}) {
      options.clip = clip;
      options.l2 = l2;
      compare_with_hand(Precision::kDouble, options, 1e-12);
      compare_with_hand(Precision::kFloat, options, 1e-5);
    }
  }
  options.beta1 = 0.5;
  options.beta2 = 0.7;
  options.epsilon = 0.3;
  compare_with_hand(Precision::kDouble, options, 1e-12);
}

TEST_CASE("the first step of Adam is the rate in the gradient's direction") {
  const Program program = three_blocks(Precision::kDouble);
  Parameters parameters(program);
  AdamState state(program);
  Gradients gradients(program);
  gradients.values.set(0, 1e-3);
  gradients.values.set(1, -40);
  AdamOptions options;
  options.l2 = options.clip = 0;
  update(program, kTrained, options, gradients, 40, state, parameters);
  CHECK(parameters.values.get(0) == Approx(-1e-3).epsilon(1e-4));
  CHECK(parameters.values.get(1) == Approx(1e-3).epsilon(1e-4));
  CHECK(parameters.values.get(2) == 0);
}

TEST_CASE("bad numbers are found and named, in trained blocks only") {
  for (Precision precision : {Precision::kFloat, Precision::kDouble}) {
    const Program program = three_blocks(precision);
    RealBuffer values(precision, program.num_param_elements);
    CHECK_FALSE(find_bad_number(program, values, kTrained, 1e6));
    values.set(17, NAN);  // of the second block
    values.set(15, NAN);  // between the blocks
    CHECK_FALSE(find_bad_number(program, values, kTrained, 1e6));
    values.set(40, -2e6);
    auto bad = find_bad_number(program, values, kTrained, 1e6);
    REQUIRE(bad);
    CHECK(bad->parameter == "third");
    CHECK(bad->value == -2e6);
    CHECK_FALSE(find_bad_number(program, values, kTrained, INFINITY));
    values.set(6, -INFINITY);
    bad = find_bad_number(program, values, kTrained, INFINITY);
    REQUIRE(bad);
    CHECK(bad->parameter == "first");
    CHECK(bad->value == -INFINITY);
    values.set(5, NAN);
    bad = find_bad_number(program, values, kTrained, 1);
    REQUIRE(bad);
    CHECK(std::isnan(bad->value));
  }
}

TEST_CASE("a gradient that is not finite has no finite norm") {
  const Program program = three_blocks(Precision::kFloat);
  for (int64_t k : {0, 6, 32, 64}) {
    Gradients gradients(program);
    gradients.values.set(k, NAN);
    CHECK(std::isnan(gradient_norm(program, gradients, kTrained)));
    gradients.values.set(k, INFINITY);
    CHECK(gradient_norm(program, gradients, kTrained) == INFINITY);
    gradients.values.set(k, 1e38);
    CHECK(gradient_norm(program, gradients, kTrained) == Approx(1e38));
  }
}
