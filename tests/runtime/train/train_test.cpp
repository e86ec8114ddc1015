#include "runtime/train/train.h"

#include <cmath>

#include "tests/catch.h"
#include "tests/support/hand_hmm.h"
#include "tests/support/hmm_examples.h"
#include "tests/support/temp_folder.h"

using namespace scry;

namespace {

TrainOptions quick_options() {
  TrainOptions options;
  options.adam.rate = 0.05;
  options.epochs = 6;
  options.patience = 0;
  options.threads = 1;
  options.save_seconds = INFINITY;
  return options;
}

std::vector<double> all(const RealBuffer& buffer) {
  std::vector<double> values;
  for (int64_t k = 0; k < buffer.size(); ++k) values.push_back(buffer.get(k));
  return values;
}

std::vector<double> scores_of(const TrainResult& result) {
  std::vector<double> scores;
  for (const EpochReport& report : result.history) scores.push_back(report.dev_score);
  return scores;
}

struct Setting {
  Program program = test::hand_hmm();
  Parameters start = Parameters::fresh(program, 1);
  std::vector<Example> train = test::hmm_examples(120, 1), dev = test::hmm_examples(40, 2);
};

using Train = TrainResult (*)(const Program&, const Parameters&, std::span<const Example>,
                              std::span<const Example>, const TrainOptions&, const TrainHooks&);

template <class Change>
std::string failure_of(Train train, Change change) {
  Setting setting;
  TrainOptions options = quick_options();
  change(setting, options);
  try {
    train(setting.program, setting.start, setting.train, setting.dev, options, {});
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("fitting a globally normalized HMM lowers its conditional perplexity") {
  const Setting setting;
  std::string notes;
  TrainHooks hooks;
  hooks.note = [&](const std::string& text) { notes += text; };
  const TrainResult result =
      fit(setting.program, setting.start, setting.train, setting.dev, quick_options(), hooks);
  REQUIRE(result.history.size() == 7);
  CHECK(notes.starts_with("likelihood: conditional"));
  CHECK(result.history.front().perplexity > 1.5);
  CHECK(result.history.back().perplexity < 1.35);
  CHECK(std::isnan(result.history.back().offset_kl));
  for (int64_t k = 32; k < 64; ++k)
    CHECK(result.parameters.values.get(k) == setting.start.values.get(k));
}

TEST_CASE("learning the proposal brings it near to the model and leaves the model alone") {
  const Setting setting;
  const TrainResult result =
      learn(setting.program, setting.start, setting.train, setting.dev, quick_options());
  REQUIRE(result.history.size() == 7);
  const EpochReport &start = result.history.front(), &end = result.history.back();
  CHECK(end.offset_kl < start.offset_kl);
  CHECK(end.offset_kl < 0.35);
  CHECK(end.dev_ess > start.dev_ess);
  CHECK(end.dev_ess > 0.95);
  CHECK(end.train.kl / static_cast<double>(end.train.num_sequences) < 0.05);
  for (int64_t k = 0; k < 32; ++k)
    CHECK(result.parameters.values.get(k) == setting.start.values.get(k));
}

TEST_CASE("model and proposal are learned together") {
  const Setting setting;
  const TrainResult result =
      fit_and_learn(setting.program, setting.start, setting.train, setting.dev, quick_options());
  const EpochReport &start = result.history.front(), &end = result.history.back();
  CHECK(end.perplexity < 1.35);
  CHECK(end.perplexity < start.perplexity);
  CHECK(end.dev_ess > start.dev_ess);
  CHECK(end.dev_score < start.dev_score);
  CHECK(end.train.num_sequences == 120);
}

TEST_CASE("every kind of training is the same with any threads, and after an interruption") {
  const Setting setting;
  for (Train train : {Train{fit}, Train{learn}, Train{fit_and_learn}}) {
    TrainOptions options = quick_options();
    options.epochs = 2;
    const TrainResult whole =
        train(setting.program, setting.start, setting.train, setting.dev, options, {});
    CHECK_FALSE(whole.was_interrupted);
    options.threads = 2;
    const TrainResult parallel =
        train(setting.program, setting.start, setting.train, setting.dev, options, {});
    CHECK(all(parallel.parameters.values) == all(whole.parameters.values));
    CHECK(scores_of(parallel) == scores_of(whole));

    const test::TempFolder folder;
    options.checkpoint = folder.file("c");
    TrainHooks hooks;
    hooks.should_stop = [left = 11]() mutable { return --left == 0; };
    CHECK(train(setting.program, setting.start, setting.train, setting.dev, options, hooks)
              .was_interrupted);
    options.resume = true;
    const TrainResult resumed =
        train(setting.program, setting.start, setting.train, setting.dev, options, {});
    CHECK(all(resumed.parameters.values) == all(whole.parameters.values));
    CHECK(scores_of(resumed) == scores_of(whole));
  }
}

TEST_CASE("learning looks at no tags") {
  Setting setting;
  TrainOptions options = quick_options();
  options.epochs = 1;
  const TrainResult tagged =
      learn(setting.program, setting.start, setting.train, setting.dev, options);
  for (std::vector<Example>* examples : {&setting.train, &setting.dev}) {
    for (Example& example : *examples) example.y.clear();
  }
  const TrainResult untagged =
      learn(setting.program, setting.start, setting.train, setting.dev, options);
  CHECK(all(tagged.parameters.values) == all(untagged.parameters.values));
}

TEST_CASE("empty examples are passed over with a note") {
  Setting setting;
  setting.train.emplace_back();
  setting.dev.resize(42);
  std::string notes;
  TrainHooks hooks;
  hooks.note = [&](const std::string& text) { notes += text + "\n"; };
  TrainOptions options = quick_options();
  options.epochs = 1;
  learn(setting.program, setting.start, setting.train, setting.dev, options, hooks);
  CHECK(notes == "1 empty example is passed over\n2 empty development examples are passed over\n");
}

TEST_CASE("data, models and options that cannot be trained with are one line each") {
  CHECK(failure_of(fit, [](Setting& s, TrainOptions&) { s.train.clear(); }) ==
        "there are no examples to train on");
  CHECK(failure_of(fit, [](Setting& s, TrainOptions&) { s.dev[2].y.clear(); }) ==
        "development example 3: it has no tags, and fitting needs them");
  CHECK(failure_of(learn, [](Setting& s, TrainOptions&) {
          s.program = test::hand_hmm_without_proposal();
        }) == "this model has no proposal that could be learned");
  CHECK(failure_of(fit, [](Setting& s, TrainOptions&) { s.program.advance.gradient = {}; }) ==
        "the program was compiled without gradients, which training needs");
  CHECK(failure_of(learn, [](Setting&, TrainOptions& o) {
          o.frozen = {"proposal.trans", "proposal.emit"};
        }) == "nothing is left to train: all parameters of the proposal are frozen");
  const auto with = [](auto change) {
    return failure_of(fit, [&](Setting&, TrainOptions& o) { change(o); });
  };
  CHECK(with([](TrainOptions& o) { o.lambda = 2; }) == "lambda: 2, but it must be between 0 and 1");
  CHECK(with([](TrainOptions& o) { o.lambda = NAN; }) ==
        "lambda: nan, but it must be between 0 and 1");
  CHECK(with([](TrainOptions& o) { o.particles = 0; }) == "particles: 0, but at least 1 is needed");
  CHECK(with([](TrainOptions& o) { o.batch = 0; }) == "batch: 0, but at least 1 is needed");
  CHECK(with([](TrainOptions& o) { o.shard = 0; }) == "shard: 0, but at least 1 is needed");
  CHECK(with([](TrainOptions& o) { o.epochs = -1; }) == "epochs: -1, but at least 0 is needed");
  CHECK(with([](TrainOptions& o) { o.adam.rate = 0; }) == "rate: 0, but it must be above 0");
  CHECK(with([](TrainOptions& o) { o.adam.rate = INFINITY; }) ==
        "rate: inf, but it must be finite");
  CHECK(with([](TrainOptions& o) { o.adam.beta2 = 1; }) ==
        "beta2: 1, but it must be at least 0 and below 1");
  CHECK(with([](TrainOptions& o) { o.adam.l2 = -1; }) == "l2: -1, but at least 0 is needed");
  CHECK(with([](TrainOptions& o) { o.resume = o.overwrite = true; }) ==
        "a checkpoint can be resumed or overwritten, not both");
}
