// The sharpest test: with an exact proposal every tagging has the weight Z (sec:exact).
#include <scry.h>

#include <cmath>

#include "tests/catch.h"
#include "tests/support/forward_algorithm.h"
#include "tests/support/lessons.h"
#include "tests/support/replay.h"
#include "tests/support/taggings.h"

using namespace scry;
using namespace scry::test;

namespace {

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
      for (const std::vector<int>& y : all_taggings(program.task, length))
        total += std::exp(replay.run(x, y).log_proposal);
      CHECK(std::abs(total - 1) < 1e-9);
    }
  }
}
