#include "runtime/train/train.h"

#include <algorithm>
#include <cmath>

#include "runtime/smc/memory.h"
#include "tests/catch.h"
#include "tests/support/exact_divergences.h"
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
  options.calibrate = 0;  // the lookahead's h is made up: C cannot be exact and consistent with it
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

/// The exact lookahead: φ = θ.
void make_exact(Parameters& parameters) {
  for (int64_t k = 0; k < 32; ++k) parameters.values.set(32 + k, parameters.values.get(k));
}

/// exp of -log p(y | x) a symbol, by enumeration.
double exact_perplexity(const Parameters& parameters, const std::vector<Example>& examples) {
  const auto block = [&](int64_t offset) {
    std::vector<double> values;
    for (int64_t k = 0; k < 6; ++k) values.push_back(parameters.values.get(offset + k));
    return values;
  };
  double total = 0, num_symbols = 0;
  for (const Example& example : examples) {
    total += test::hmm_log_total(block(0), block(16), example.x) -
             test::hmm_score(block(0), block(16), example.x, example.y);
    num_symbols += static_cast<double>(example.x.size());
  }
  return std::exp(total / num_symbols);
}

/// KL(q ‖ p) in nats per sequence, by enumeration.
double exact_kl(const Program& program, Parameters parameters,
                const std::vector<Example>& examples) {
  double total = 0;
  for (const Example& example : examples)
    total += test::exact_divergences(program, parameters, example.x).exclusive;
  return total / static_cast<double>(examples.size());
}

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
  TrainOptions ranking =
      quick_options();  // its states are finite: unless asked, nothing is sampled
  ranking.contrast = Contrast::kRanking;
  const TrainResult result =
      fit(setting.program, setting.start, setting.train, setting.dev, ranking, hooks);
  REQUIRE(result.history.size() == 7);
  CHECK(notes.starts_with("likelihood: conditional"));
  CHECK(exact_perplexity(setting.start, setting.dev) > 1.5);
  CHECK(exact_perplexity(result.parameters, setting.dev) < 1.25);
  CHECK(std::isnan(result.history.back().offset_kl));
  CHECK(notes.find("gradient: ranking") != std::string::npos);
  // The proposal is learned along, unless it is not what y* is set against.
  CHECK(exact_kl(setting.program, result.parameters, setting.dev) <
        exact_kl(setting.program, setting.start, setting.dev));
  TrainOptions without = quick_options();
  without.contrast = Contrast::kSample;
  const TrainResult alone =
      fit(setting.program, setting.start, setting.train, setting.dev, without, hooks);
  CHECK(notes.find("warning: gradient: sample") != std::string::npos);
  CHECK(exact_perplexity(alone.parameters, setting.dev) < 1.25);
  for (int64_t k = 32; k < 64; ++k)
    CHECK(alone.parameters.values.get(k) == setting.start.values.get(k));
}

TEST_CASE("with the exact lookahead, the development perplexity is the exact one") {
  Setting setting;
  TrainOptions options = quick_options();
  options.epochs = 0;
  options.likelihood = Likelihood::kConditional;
  for (const uint64_t seed : {1, 2, 3}) {
    for (const int particles : {1, 32}) {
      options.particles = particles;
      setting.start = Parameters::fresh(setting.program, seed);
      make_exact(setting.start);
      const EpochReport start =
          fit(setting.program, setting.start, setting.train, setting.dev, options).history.front();
      CHECK(start.is_reliable);
      CHECK(start.dev_overshot == 0);
      CHECK(start.dev_sequences == 40);
      CHECK(std::abs(start.perplexity - exact_perplexity(setting.start, setting.dev)) < 1e-9);
    }
  }
}

TEST_CASE("learning the proposal brings it near to the model and leaves the model alone") {
  const Setting setting;
  TrainOptions options = quick_options();
  options.selection = Selection::kKl;  // what is looked at below; the offset KL is of a sample
  const TrainResult result =
      learn(setting.program, setting.start, setting.train, setting.dev, options);
  REQUIRE(result.history.size() == 7);
  const EpochReport &start = result.history.front(), &end = result.history.back();
  CHECK(end.offset_kl < start.offset_kl);
  CHECK(end.dev_ess > start.dev_ess);
  const double before = exact_kl(setting.program, setting.start, setting.dev),
               after = exact_kl(setting.program, result.parameters, setting.dev);
  INFO("exact KL(q ‖ p) " << before << " → " << after);
  CHECK(before > 0.1);
  CHECK(after < 0.01);
  for (int64_t k = 0; k < 32; ++k)
    CHECK(result.parameters.values.get(k) == setting.start.values.get(k));
}

TEST_CASE("model and proposal are learned together") {
  const Setting setting;
  TrainOptions options = quick_options();
  options.epochs = 20;
  const TrainResult result =
      fit_and_learn(setting.program, setting.start, setting.train, setting.dev, options);
  const EpochReport &start = result.history.front(), &end = result.history.back();
  CHECK(exact_perplexity(result.parameters, setting.dev) < 1.25);
  Parameters left_behind = result.parameters;
  for (int64_t k = 32; k < 64; ++k) left_behind.values.set(k, setting.start.values.get(k));
  const double with = exact_kl(setting.program, result.parameters, setting.dev),
               without = exact_kl(setting.program, left_behind, setting.dev);
  INFO("exact KL(q ‖ p): " << with << ", without learning φ " << without);
  CHECK(with < 0.5 * without);  // p goes on to get sharper, and q follows
  CHECK(end.perplexity < start.perplexity);
  CHECK(end.dev_ess > start.dev_ess);
  CHECK(end.dev_score < start.dev_score);
  CHECK(end.train[Tally::kSequences] == 120);
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

TEST_CASE("training is the same in any memory that holds it, and refused in less, in one line") {
  const Setting setting;
  size_t longest = 0;
  for (const std::vector<Example>* examples : {&setting.train, &setting.dev}) {
    for (const Example& example : *examples) longest = std::max(longest, example.x.size());
  }
  const std::vector<int> x(longest, 0);
  for (Train train : {Train{fit}, Train{learn}, Train{fit_and_learn}}) {
    TrainOptions options = quick_options();
    options.epochs = 1;
    options.threads = 1;
    if (train != Train{learn}) options.contrast = Contrast::kRanking;  // else nothing is sampled
    const TrainResult whole =
        train(setting.program, setting.start, setting.train, setting.dev, options, {});
    // Of a shard, whatever samples.
    const double needed = 8 * recorded_bytes(setting.program, {x},
                                             {.method = Method::kSmooth,
                                              .particles = options.particles + 1,
                                              .trigger = Trigger::kNever});
    options.memory = static_cast<int64_t>(needed) + 1;
    const TrainResult narrow =
        train(setting.program, setting.start, setting.train, setting.dev, options, {});
    CHECK(all(narrow.parameters.values) == all(whole.parameters.values));
    CHECK(scores_of(narrow) == scores_of(whole));
    options.memory /= 20;
    // The given taggings' particle is one more.
    const char* what = train == Train{fit}     ? "8 sequences of up to 5 symbols with 33 p"
                       : train == Train{learn} ? "a development sequence: 6 symbols with 512 p"
                                               : "a development sequence: 6 symbols with 32 p";
    CHECK_THROWS_WITH(
        train(setting.program, setting.start, setting.train, setting.dev, options, {}),
        Catch::StartsWith(what) && Catch::Contains("articles may need about") &&
            Catch::Contains("allow more (--memory"));
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
  CHECK(failure_of(fit, [](Setting& s, TrainOptions&) { s.dev[2].y.pop_back(); }) ==
        "development example 3: 3 symbols but 2 tags");
  CHECK(failure_of(learn, [](Setting& s, TrainOptions&) {
          s.program = test::hand_hmm_without_proposal();
        }) == "this model has no proposal that could be learned");
  CHECK(failure_of(fit, [](Setting& s, TrainOptions&) { s.program.differentiator = "none"; }) ==
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
  CHECK(with([](TrainOptions& o) { o.shard = -1; }) == "shard: -1, but at least 0 is needed");
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
