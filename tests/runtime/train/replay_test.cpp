#include "tests/support/replay.h"

#include <algorithm>

#include "base/error.h"
#include "tests/catch.h"
#include "tests/support/hand_hmm.h"

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

const std::vector<int> kX{2, 0, 1, 1, 2}, kY{0, 1, 1, 0, 1};

}  // namespace

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
