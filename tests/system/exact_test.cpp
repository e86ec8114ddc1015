// The sharpest test: with an exact proposal every tagging has the weight Z (sec:exact).
#include <scry.h>

#include <cmath>

#include "tests/catch.h"
#include "tests/support/lessons.h"
#include "tests/support/taggings.h"

using namespace scry;
using namespace scry::test;

namespace {

/// The rows of a parameter's logits, as probabilities.
std::vector<std::vector<double>> softmax_rows(const Program& program, const Parameters& parameters,
                                              const std::string& name) {
  for (const Block& block : program.params) {
    if (block.name != name) continue;
    std::vector<std::vector<double>> rows(static_cast<size_t>(block.shape[0]));
    for (int i = 0; i < block.shape[0]; ++i) {
      double total = 0;
      for (int j = 0; j < block.shape[1]; ++j) {
        rows[static_cast<size_t>(i)].push_back(
            std::exp(parameters.values.get(block.offset + i * block.shape[1] + j)));
        total += rows[static_cast<size_t>(i)].back();
      }
      for (double& p : rows[static_cast<size_t>(i)]) p /= total;
    }
    return rows;
  }
  throw Error("no parameter " + name);
}

/// log p(x) by the forward algorithm: `weight(from, to, x)` is p(to | from) p(x | to).
template <class Weight>
double forward_log_z(const std::vector<int>& x, int num_states, int start, Weight weight) {
  std::vector<double> alpha(static_cast<size_t>(num_states), 0.0);
  alpha[static_cast<size_t>(start)] = 1;
  for (int symbol : x) {
    std::vector<double> next(alpha.size(), 0.0);
    for (int from = 0; from < num_states; ++from) {
      for (int to = 0; to < num_states; ++to)
        next[static_cast<size_t>(to)] +=
            alpha[static_cast<size_t>(from)] * weight(from, to, symbol);
    }
    alpha = next;
  }
  double total = 0;
  for (double a : alpha) total += a;
  return std::log(total);
}

double hmm_log_z(const Program& program, const Parameters& parameters, const std::vector<int>& x) {
  const auto transition = softmax_rows(program, parameters, "model.transition");
  const auto emission = softmax_rows(program, parameters, "model.emission");
  const int tags = program.num_tags();
  return forward_log_z(x, tags + 1, tags, [&](int from, int to, int symbol) {
    return to == tags ? 0.0
                      : transition[static_cast<size_t>(from)][static_cast<size_t>(to)] *
                            emission[static_cast<size_t>(to)][static_cast<size_t>(symbol)];
  });
}

/// log p(x | u_0 = start), the logarithm of β_0 (eq:beta-oohmm).
double oohmm_log_beta(const Program& program, const Parameters& parameters,
                      const std::vector<int>& x, int start) {
  const auto transition = softmax_rows(program, parameters, "model.transition");
  const auto emission = softmax_rows(program, parameters, "model.emission");
  const int tags = program.num_tags();
  const auto weight = [&](int from, int to, int symbol) {
    double p = 0;
    for (int tag = 0; tag < tags; ++tag) {
      p += emission[static_cast<size_t>(to)][static_cast<size_t>(symbol * tags + tag)];
    }
    return transition[static_cast<size_t>(from)][static_cast<size_t>(to)] * p;
  };
  return forward_log_z(x, static_cast<int>(transition.size()), start, weight);
}
/// Every sequence starts from the latent state BOS, which is 0.
double oohmm_log_z(const Program& program, const Parameters& parameters,
                   const std::vector<int>& x) {
  return oohmm_log_beta(program, parameters, x, 0);
}

void check_exact(const Bundle& bundle,
                 double (*log_z)(const Program&, const Parameters&, const std::vector<int>&)) {
  for (const Precision precision : {Precision::kFloat, Precision::kDouble}) {
    const Program program =
        compile(bundle, {.precision = precision, .gradients = false, .use_cache = false});
    Parameters parameters = Parameters::fresh(program, 5);
    Replay replay(program, parameters);
    const double tolerance = precision == Precision::kDouble ? 1e-9 : 1e-4;
    for (int length = 1; length <= 7; ++length) {
      const std::vector<int> x = random_input(program.task, length, 11);
      const double exact = log_z(program, parameters, x);
      double by_enumeration = 0;
      for (const std::vector<int>& y : all_taggings(program.num_tags(), length)) {
        const SequenceScore score = replay.run(x, y);
        by_enumeration += std::exp(score.log_score);
        CHECK(std::abs(score.log_score - score.log_proposal - exact) <= tolerance);
      }
      CHECK(std::abs(std::log(by_enumeration) - exact) <= tolerance);
    }
  }
}

}  // namespace

TEST_CASE("the exact proposal of the HMM gives every tagging the weight Z") {
  check_exact(lesson_01(), hmm_log_z);
}

TEST_CASE("the exact proposal of the OOHMM gives every tagging the weight Z") {
  check_exact(lesson_02(), oohmm_log_z);
}

TEST_CASE("the exact lookahead of the OOHMM adds up to the logarithm of all of β") {
  const Program program = compile(
      lesson_02(), {.precision = Precision::kDouble, .gradients = false, .use_cache = false});
  Parameters parameters = Parameters::fresh(program, 6);
  Replay replay(program, parameters);
  for (int length = 1; length <= 6; ++length) {
    const std::vector<int> x = random_input(program.task, length, 3);
    const std::vector<int> y(static_cast<size_t>(length), 0);
    double total = 0;  // Ĥ_0 = log 1ᵀβ_0 (eq:sum-beta)
    for (int start = 0; start < program.state[0].type.shape.size(); ++start) {
      total += std::exp(oohmm_log_beta(program, parameters, x, start));
    }
    CHECK(std::abs(replay.run(x, y).to_go - std::log(total)) <= 1e-12);
  }
}

TEST_CASE("a proposal's probabilities of all taggings sum to 1") {
  for (const Bundle& bundle : {lesson_03(), lesson_04(), lesson_05()}) {
    const Program program =
        compile(bundle, {.precision = Precision::kDouble, .gradients = false, .use_cache = false});
    Parameters parameters = Parameters::fresh(program, 7);
    Replay replay(program, parameters);
    for (int length = 1; length <= 4; ++length) {
      const std::vector<int> x = random_input(program.task, length, 2);
      double total = 0;
      for (const std::vector<int>& y : all_taggings(program.num_tags(), length))
        total += std::exp(replay.run(x, y).log_proposal);
      CHECK(std::abs(total - 1) < 1e-9);
    }
  }
}
