#include "runtime/train/choose_likelihood.h"

#include <cmath>

#include "tests/catch.h"
#include "tests/support/hand_hmm.h"

using namespace scry;

namespace {

/// The HMM with p(y | start) = ½ and exp emit[y, x] = mass_of_pair for all x and y.
Parameters hmm_with(const Program& program, double mass_of_pair) {
  Parameters parameters(program);
  for (int64_t k = 0; k < 6; ++k) parameters.values.set(k, std::log(0.5));
  for (int64_t k = 16; k < 22; ++k) parameters.values.set(k, std::log(mass_of_pair));
  parameters.prepare(program);
  return parameters;
}

struct Choice {
  Likelihood likelihood;
  std::string note;
};
Choice choose(double mass_of_pair, Likelihood asked) {
  const Program program = test::hand_hmm();
  Choice choice{};
  TrainHooks hooks;
  hooks.note = [&](const std::string& text) { choice.note += text; };
  choice.likelihood = choose_likelihood(program, hmm_with(program, mass_of_pair), asked, hooks);
  return choice;
}

}  // namespace

TEST_CASE("the first step's mass is that of all symbols and tags") {
  const Program program = test::hand_hmm();
  Parameters parameters = hmm_with(program, 1.0 / 3);
  parameters.values.set(16 + 1, std::log(2.0));  // emit[0, 1]
  FirstStepMass mass = measure_first_step(program, parameters);
  CHECK(mass.over_tags == Approx(0.5 * 2 + 0.5 / 3));
  CHECK(mass.symbol == 1);
  CHECK(mass.over_pairs == Approx(0.5 * 2 + 5 * 0.5 / 3));
  mass = measure_first_step(program, parameters, 1);
  CHECK(mass.over_pairs == Approx(1.0 / 3));
}

TEST_CASE("a locally normalized model is fitted by G_T, others by sampling") {
  const Choice joint = choose(1.0 / 3, Likelihood::kAuto);
  CHECK(joint.likelihood == Likelihood::kJoint);
  CHECK(joint.note ==
        "likelihood: joint, G_T = log p(x, y), as the pairs of the first step have mass 1");
  const Choice conditional = choose(1, Likelihood::kAuto);
  CHECK(conditional.likelihood == Likelihood::kJoint);
  CHECK(conditional.note ==
        "likelihood: joint, G_T = log p(y | x), as the tags of the first step have mass 1");
  const Choice global = choose(1.5, Likelihood::kAuto);
  CHECK(global.likelihood == Likelihood::kConditional);
  CHECK(global.note ==
        "likelihood: conditional, with sampled gradients, as the model is not locally normalized: "
        "at the first step, the tags of '0' have mass 1.5");
}

TEST_CASE("what is asked for is done, with a warning where it makes no sense") {
  CHECK(choose(1.5, Likelihood::kConditional).note.empty());
  CHECK(choose(1, Likelihood::kConditional).likelihood == Likelihood::kConditional);
  CHECK(choose(1, Likelihood::kJoint).note.empty());
  const Choice forced = choose(1.5, Likelihood::kJoint);
  CHECK(forced.likelihood == Likelihood::kJoint);
  CHECK(forced.note ==
        "warning: G_T is taken as a log-likelihood, but the model is not locally normalized: at "
        "the first step, the tags of '0' have mass 1.5");
}

TEST_CASE("scores that are no numbers are no sign of local normalization") {
  CHECK(choose(NAN, Likelihood::kAuto).likelihood == Likelihood::kConditional);
  CHECK(choose(0, Likelihood::kAuto).likelihood == Likelihood::kJoint);  // all -∞
}
