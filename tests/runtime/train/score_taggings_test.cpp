#include "runtime/train/score_taggings.h"

#include <algorithm>

#include "base/error.h"
#include "runtime/train/check.h"
#include "tests/catch.h"
#include "tests/support/hand_hmm.h"
#include "tests/support/replay.h"

using namespace scry;
using namespace scry::test;

namespace {

std::vector<double> block_of(const Program& program, const RealBuffer& values,
                             const std::string& name) {
  std::vector<double> result;
  for (const Block& block : program.params) {
    for (int64_t k = 0; block.name == name && k < block.shape.size(); ++k)
      result.push_back(values.get(block.offset + k));
  }
  return result;
}

struct Hmm {
  Program program = hand_hmm();
  Parameters parameters = Parameters::fresh(program, 5);
  std::vector<double> trans = block_of(program, parameters.values, "model.trans");
  std::vector<double> emit = block_of(program, parameters.values, "model.emit");

  /// The lookahead gets the model's own parameters, so that it is exact.
  void make_exact() {
    for (int64_t k = 0; k < 32; ++k) parameters.values.set(32 + k, parameters.values.get(k));
  }
};

/// s̄_T = the first row of proposal.trans, instead of 0.
Stage end_of_parameters() {
  const Slot values{"proposal.trans", SlotRole::kInput, Kind::kReal, {}, {3, 2}};
  const Slot b{"later.b", SlotRole::kOutput, Kind::kReal, Axes::sequence(), {2}};
  const Slot seed{"d.later.b", SlotRole::kSeed, Kind::kReal, Axes::sequence(), {2}};
  const Slot gradient{"d.proposal.trans", SlotRole::kGradient, Kind::kReal, {}, {3, 2}};
  const auto copy = [](const KernelCall* call) {
    std::copy_n(static_cast<double*>(call->args[0]), 2, static_cast<double*>(call->args[1]));
  };
  const auto add = [](const KernelCall* call) {
    for (int k : {0, 1}) {
      static_cast<double*>(call->args[1])[k] += static_cast<double*>(call->args[0])[k];
    }
  };
  return {{"end", {values, b}, copy}, {"end.gradient", {seed, gradient}, add}};
}

const std::vector<int> kX{2, 0, 1, 1, 2}, kY{0, 1, 1, 0, 1};

}  // namespace

TEST_CASE("a tagging is scored as the model defines it") {
  Hmm hmm;
  const TaggingScore score = TaggingScorer(hmm.program, hmm.parameters).score(kX, kY);
  CHECK(score.log_score == Approx(hmm_score(hmm.trans, hmm.emit, kX, kY)));
}

TEST_CASE("with an exact lookahead the proposal is the posterior") {
  Hmm hmm;
  hmm.make_exact();
  TaggingScorer scorer(hmm.program, hmm.parameters);
  for (size_t length = 1; length <= 5; ++length) {
    const std::vector<int> x(kX.begin(), kX.begin() + static_cast<std::ptrdiff_t>(length));
    const std::vector<int> y(kY.begin(), kY.begin() + static_cast<std::ptrdiff_t>(length));
    const TaggingScore score = scorer.score(x, y);
    CHECK(score.log_proposal == Approx(score.log_score - hmm_log_total(hmm.trans, hmm.emit, x)));
  }
}

TEST_CASE("any lookahead gives a distribution over taggings") {
  Hmm hmm;  // a lookahead with parameters of its own
  TaggingScorer scorer(hmm.program, hmm.parameters);
  const std::vector<int> x{0, 2, 1};
  double total = 0;
  for (int code = 0; code < 8; ++code) {
    const std::vector<int> y{code & 1, code >> 1 & 1, code >> 2 & 1};
    total += std::exp(scorer.score(x, y).log_proposal);
  }
  CHECK(total == Approx(1));
}

TEST_CASE("at the last step the compatibility counts as 0, whatever the lookahead says") {
  Hmm hmm;
  hmm.program.end = end_of_parameters();
  // Of one step, the proposal is the model's scores alone.
  const double first = hmm_score(hmm.trans, hmm.emit, {1}, {0});
  const double second = hmm_score(hmm.trans, hmm.emit, {1}, {1});
  const TaggingScore score =
      TaggingScorer(hmm.program, hmm.parameters).score(std::vector{1}, std::vector{0});
  CHECK(score.log_proposal == Approx(first - std::log(std::exp(first) + std::exp(second))));
  for (const GradientCheckRow& row : check_gradients(hmm.program, 3, 3)) {
    INFO(row.quantity << ": " << row.worst_parameter << ", " << row.worst_error);
    CHECK(row.ok);
  }
}

TEST_CASE("what is to go adds up") {
  Hmm hmm;
  hmm.make_exact();
  // b_2 = 0 at the end, so that of two steps ½ b_1[0] is left.
  double total = 0;
  for (size_t j : {0u, 1u}) total += std::exp(hmm.trans[j] + hmm.emit[3 * j + 1]);
  const TaggingScore score =
      TaggingScorer(hmm.program, hmm.parameters).score(std::vector{2, 1}, std::vector{0, 0});
  CHECK(score.to_go == Approx(0.5 * std::log(total)));
}

TEST_CASE("without a lookahead there is only the score") {
  const Program program = hand_hmm_without_proposal();
  Parameters parameters = Parameters::fresh(program, 5);
  TaggingScorer scorer(program, parameters);
  const TaggingScore score = scorer.score(kX, kY);
  CHECK(score.log_score ==
        Approx(hmm_score(block_of(program, parameters.values, "model.trans"),
                         block_of(program, parameters.values, "model.emit"), kX, kY)));
  CHECK(score.log_proposal == 0);
  CHECK(score.to_go == 0);
}

TEST_CASE("the empty tagging has score 0") {
  Hmm hmm;
  TaggingScorer scorer(hmm.program, hmm.parameters);
  scorer.score(kX, kY);  // nothing of which may be left
  const TaggingScore score = scorer.score(std::vector<int>{}, std::vector<int>{});
  CHECK(score.log_score == 0);
  CHECK(score.log_proposal == 0);
  CHECK(score.to_go == 0);
}

TEST_CASE("taggings may follow one another in any lengths") {
  Hmm hmm;
  TaggingScorer scorer(hmm.program, hmm.parameters);
  const TaggingScore first = scorer.score(kX, kY);
  scorer.score(std::vector{1}, std::vector{0});
  const TaggingScore again = scorer.score(kX, kY);
  CHECK(again.log_score == first.log_score);
  CHECK(again.log_proposal == first.log_proposal);
}

TEST_CASE("symbols and tags that differ in number, or are unknown, are reported with their step") {
  Hmm hmm;
  TaggingScorer scorer(hmm.program, hmm.parameters);
  const auto fault = [&](const std::vector<int>& x, const std::vector<int>& y) {
    try {
      scorer.score(x, y);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  CHECK(fault({0, 1, 2}, {0, 1}) == "3 symbols but 2 tags");
  CHECK(fault({}, {1}) == "0 symbols but 1 tags");
  CHECK(fault({0, 3, 2}, {0, 1, 1}) ==
        "step 2: the pair (3, 1) is outside the alphabets of 3 symbols and 2 tags");
  CHECK(fault({-1}, {0}) ==
        "step 1: the pair (-1, 0) is outside the alphabets of 3 symbols and 2 tags");
  CHECK(fault({0, 1, 2}, {0, 1, 2}) ==
        "step 3: the pair (2, 2) is outside the alphabets of 3 symbols and 2 tags");
  CHECK(fault({0}, {-1}) ==
        "step 1: the pair (0, -1) is outside the alphabets of 3 symbols and 2 tags");
  CHECK(fault({0, 1}, {0, 1}) == "no error");
}

TEST_CASE("every gradient of a tagging equals finite differences") {
  for (int length : {1, 2, 5}) {
    for (const GradientCheckRow& row : check_gradients(hand_hmm(), length, 3)) {
      INFO(row.quantity << " of length " << row.length << ": " << row.worst_parameter << ", "
                        << row.worst_error);
      CHECK(row.ok);
      CHECK(row.differentiator == "by hand");
    }
  }
}

TEST_CASE("a wrong gradient kernel is found by finite differences") {
  Program program = hand_hmm();
  program.score_tag.gradient.run = [](const KernelCall*) {};  // forgets the score's gradient
  bool all_good = true;
  for (const GradientCheckRow& row : check_gradients(program, 4, 3)) {
    all_good = all_good && row.ok;
    if (row.quantity == "G_T by θ") CHECK_FALSE(row.ok);
  }
  CHECK_FALSE(all_good);
}

TEST_CASE("the oracle scores a tagging as the model defines it") {
  Hmm hmm;
  const SequenceScore score = Replay(hmm.program, hmm.parameters).run(kX, kY);
  CHECK(score.log_score == Approx(hmm_score(hmm.trans, hmm.emit, kX, kY)));
  hmm.make_exact();
  const SequenceScore exact = Replay(hmm.program, hmm.parameters).run(kX, kY);
  CHECK(exact.log_proposal == Approx(exact.log_score - hmm_log_total(hmm.trans, hmm.emit, kX)));
}

TEST_CASE("the oracle's gradient of the score counts transitions and emissions") {
  Hmm hmm;
  Replay replay(hmm.program, hmm.parameters);
  replay.run(kX, kY);
  Gradients gradients(hmm.program);
  replay.add_gradient(gradients, 2);
  // 0 1 1 0 1 from the start, with the symbols 2 0 1 1 2; each counts 2.
  CHECK(block_of(hmm.program, gradients.values, "model.trans") ==
        std::vector<double>{0, 4, 2, 2, 2, 0});
  CHECK(block_of(hmm.program, gradients.values, "model.emit") ==
        std::vector<double>{0, 2, 2, 2, 2, 2});
  CHECK(block_of(hmm.program, gradients.values, "proposal.trans") == std::vector<double>(6, 0.0));
  replay.add_gradient(gradients, 1);  // adds
  CHECK(block_of(hmm.program, gradients.values, "model.trans") ==
        std::vector<double>{0, 6, 3, 3, 3, 0});
}
