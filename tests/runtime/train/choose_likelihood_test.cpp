#include "runtime/train/choose_likelihood.h"

#include <cmath>

#include "tests/catch.h"
#include "tests/support/hand_hmm.h"

using namespace scry;
using test::kHmmSymbols;

namespace {

/// Three examples of the HMM's symbols 0, 1, 2 and tags 0, 1.
const std::vector<std::vector<int>> kX{{0, 1}, {2, 2, 0}, {1}};
const std::vector<std::vector<int>> kY{{0, 0}, {1, 1, 0}, {1}};

std::vector<TrainExample> examples() {
  std::vector<TrainExample> result;
  for (size_t i = 0; i < kX.size(); ++i) result.push_back({kX[i], kY[i], static_cast<int64_t>(i)});
  return result;
}

/// The HMM with p(y | s) = ½ and exp emit[y, x] = mass_of_pair for all x and y.
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
Choice choose(const Parameters& parameters, Likelihood asked) {
  const Program program = test::hand_hmm();
  Choice choice{};
  TrainHooks hooks;
  hooks.note = [&](const std::string& text) { choice.note += text; };
  choice.likelihood = choose_likelihood(program, parameters, examples(), asked, hooks);
  return choice;
}
Choice choose(double mass_of_pair, Likelihood asked) {
  return choose(hmm_with(test::hand_hmm(), mass_of_pair), asked);
}

}  // namespace

TEST_CASE("the mass of every prefix of the data is looked at, of tags and of pairs") {
  const Program program = test::hand_hmm();
  Parameters parameters = hmm_with(program, 1.0 / 3);
  // After tag 1, tag 0 gets 0.8: only the second and third step of example 2 come after tag 1.
  parameters.values.set(1 * test::kHmmTags + 0, std::log(0.8));
  parameters.values.set(16 + 0, std::log(0.5));  // p(x = 0 | tag 0)
  const StepMass mass = measure_mass(program, parameters, examples());
  CHECK(mass.num_prefixes == 6);
  CHECK(mass.most_tags.mass == Approx(0.8 * 0.5 + 0.5 / 3).epsilon(1e-12));
  CHECK(mass.most_tags.example == 1);
  CHECK(mass.most_tags.step == 3);
  CHECK(mass.least_tags.mass == Approx(1.0 / 3).epsilon(1e-12));
  CHECK(mass.num_symbols == kHmmSymbols);
  CHECK(mass.num_pair_prefixes == 3);
  // At step 1 nothing is amiss but p(x | tag 0); all of step 3 is seen in one of three turns.
  double most = 0;
  for (int turn = 0; turn < 3; ++turn)
    most = std::max(most, measure_mass(program, parameters, examples(), turn).most_pairs.mass);
  CHECK(most == Approx(0.8 * (0.5 + 2.0 / 3) + 0.5).epsilon(1e-12));
}

TEST_CASE("a locally normalized model is fitted by G_T, others by log p(y | x)") {
  const Choice joint = choose(1.0 / 3, Likelihood::kAuto);
  CHECK(joint.likelihood == Likelihood::kJoint);
  CHECK(joint.note ==
        "likelihood: joint, G_T = log p(x, y), as the pairs have mass 1 at all 3 prefixes tried");
  const Choice conditional = choose(1, Likelihood::kAuto);
  CHECK(conditional.likelihood == Likelihood::kJoint);
  CHECK(conditional.note ==
        "likelihood: joint, G_T = log p(y | x), as the tags have mass 1 at all 6 prefixes tried");
  const Choice global = choose(1.5, Likelihood::kAuto);
  CHECK(global.likelihood == Likelihood::kExact);
  CHECK(global.note ==
        "likelihood: conditional, with exact gradients over finite states, as the model is not "
        "locally normalized: the tags have mass 1.5 at step 1 of example 2");
}

TEST_CASE("where states are not finite, gradients are sampled") {
  Program program = test::hand_hmm();
  const Parameters parameters = hmm_with(program, 1.5);
  program.state.push_back({"h", Type::real({3})});
  std::string note;
  TrainHooks hooks;
  hooks.note = [&](const std::string& text) { note += text; };
  CHECK(choose_likelihood(program, parameters, examples(), Likelihood::kAuto, hooks) ==
        Likelihood::kConditional);
  CHECK(note ==
        "likelihood: conditional, with sampled gradients, as the model is not locally normalized: "
        "the tags have mass 1.5 at step 1 of example 2");
  note.clear();
  CHECK(choose_likelihood(program, parameters, examples(), Likelihood::kConditional, hooks) ==
        Likelihood::kConditional);
  CHECK(note.empty());
}

TEST_CASE(
    "a model that is normalized at the first step and not later is not taken for normalized") {
  const Program program = test::hand_hmm();
  Parameters parameters = hmm_with(program, 1);
  parameters.values.set(1, std::log(3.0));  // tag 1 after tag 0
  const Choice late = choose(parameters, Likelihood::kAuto);
  CHECK(late.likelihood == Likelihood::kExact);
  CHECK(late.note.ends_with("the tags have mass 3.5 at step 2 of example 1"));
}

TEST_CASE("less mass than 1 is a joint model's or comes of forbidden tags, else it is no sign") {
  const Choice joint = choose(0.2, Likelihood::kAuto);
  CHECK(joint.likelihood == Likelihood::kJoint);
  CHECK(joint.note ==
        "likelihood: joint, G_T = log p(x, y), as the pairs have mass at most 0.6 at the 3 "
        "prefixes tried");
  const Choice neither = choose(0.7, Likelihood::kAuto);  // of tags 0.7, of pairs 2.1
  CHECK(neither.likelihood == Likelihood::kExact);
  CHECK(neither.note.ends_with("the tags have mass 0.7 at step 1 of example 2"));

  const Program program = test::hand_hmm();
  Parameters parameters = hmm_with(program, 1);
  for (int64_t symbol = 0; symbol < kHmmSymbols; ++symbol)
    parameters.values.set(16 + kHmmSymbols + symbol, -INFINITY);  // tag 1
  const Choice forbidden = choose(parameters, Likelihood::kAuto);
  CHECK(forbidden.likelihood == Likelihood::kJoint);
  CHECK(forbidden.note ==
        "likelihood: joint, G_T = log p(y | x), as the tags have mass at most 0.5 at the 4 "
        "prefixes tried");
}

TEST_CASE("what is asked for is done, with a warning where it makes no sense") {
  CHECK(choose(1, Likelihood::kConditional).likelihood == Likelihood::kExact);
  CHECK(choose(1, Likelihood::kConditional).note ==
        "likelihood: conditional, with exact gradients over finite states");
  CHECK(choose(1, Likelihood::kJoint).note.empty());
  const Choice forced = choose(1.5, Likelihood::kJoint);
  CHECK(forced.likelihood == Likelihood::kJoint);
  CHECK(forced.note ==
        "warning: G_T is taken as a log-likelihood, but the model is not locally normalized: the "
        "tags have mass 1.5 at step 1 of example 2");
}

TEST_CASE("scores that are no numbers are no sign of local normalization") {
  CHECK(choose(NAN, Likelihood::kAuto).likelihood == Likelihood::kExact);
  CHECK(choose(0, Likelihood::kAuto).likelihood == Likelihood::kJoint);  // all -∞
  const Program program = test::hand_hmm();
  Parameters parameters = hmm_with(program, 1);
  parameters.values.set(1, NAN);  // after tag 0 only
  CHECK(choose(parameters, Likelihood::kAuto).likelihood == Likelihood::kExact);
}

TEST_CASE("a model that loses its normalization is noticed, with the example and the step") {
  const Program program = test::hand_hmm();
  CHECK_NOTHROW(check_normalization(program, hmm_with(program, 1), examples(), 1));
  Parameters parameters = hmm_with(program, 1);
  parameters.values.set(1, std::log(3.0));
  try {
    check_normalization(program, parameters, examples(), 4);
    FAIL("it was not noticed");
  } catch (const ExampleError& error) {
    CHECK(error.number() == 0);
    CHECK(error.message() ==
          "after epoch 4 the tags have mass 3.5 at step 2: the model is not locally normalized, so "
          "G_T is no log-likelihood; fit it by --objective conditional");
  }
}
