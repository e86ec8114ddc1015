#include "tools/cli/train_report.h"

#include <nlohmann/json.hpp>

#include "tests/catch.h"

using namespace scry;
using namespace scry::cli;
using nlohmann::json;

namespace {

Tally some_tally() {
  Tally tally;
  tally.add(Tally::kSequences, 4);
  tally.add(Tally::kSymbols, 10);
  tally.add(Tally::kLoss, 16);
  tally.add(Tally::kNegativeLogP, 0);
  tally.add(Tally::kEss, 2);
  tally.add(Tally::kRows, 30);
  tally.add(Tally::kParticleSteps, 120);
  tally.add(Tally::kFailed, 1);
  return tally;
}

/// Of a proposal, too.
Tally tally_of_both() {
  Tally tally = some_tally();
  tally.add(Tally::kKl, 2 * std::log(2.0));
  tally.add(Tally::kCalibrated, 3);
  tally.add(Tally::kResidual, 12);
  tally.add(Tally::kToGoError, 27);
  return tally;
}

EpochReport some_epoch(int epoch, double score, bool is_best) {
  EpochReport report;
  report.epoch = epoch;
  report.total_updates = 50 * epoch;
  report.train = some_tally();
  report.perplexity = score;
  report.offset_kl = score * std::log(2.0);
  report.dev_kl = 2 * std::log(2.0);
  report.dev_ess = 0.25;
  report.dev_residual_rms = 0.75;
  report.dev_to_go_rmse = 1.5;
  report.dev_score = score;
  report.is_best = is_best;
  return report;
}

std::vector<std::string> keys_of(const json& object) {
  std::vector<std::string> keys;
  for (const auto& item : object.items()) keys.push_back(item.key());
  return keys;
}

}  // namespace

TEST_CASE("an epoch's JSON line has averages, and only the fields that its goal gives sense to") {
  EpochReport report = some_epoch(2, 3.5, true);
  report.train = tally_of_both();
  const std::string line = epoch_json(report, TrainGoal::kFitAndLearn, true, 1.25);
  CHECK(line ==
        "{\"epoch\":2,\"updates\":100,\"loss\":4.0,\"perplexity\":1.0,\"dev_perplexity\":3.5,"
        "\"kl_bits\":0.5,\"residual_rms\":2.0,\"to_go_rmse\":3.0,\"dev_offset_kl_bits\":3.5,"
        "\"dev_kl_bits\":2.0,\"dev_ess\":0.25,\"dev_residual_rms\":0.75,\"dev_to_go_rmse\":1.5,"
        "\"ess\":0.5,"
        "\"rows_per_particle_step\":0.25,\"failed\":1,\"seconds\":1.25,\"best\":true}\n");
  const json learn = json::parse(epoch_json(report, TrainGoal::kLearn, false, 1));
  CHECK(keys_of(learn) == std::vector<std::string>{"best", "epoch", "ess", "failed", "kl_bits",
                                                   "loss", "residual_rms", "rows_per_particle_step",
                                                   "seconds", "to_go_rmse", "updates"});
  // A conditional fit may learn the proposal along.
  CHECK(json::parse(epoch_json(report, TrainGoal::kFit, true, 1))["kl_bits"] == 0.5);
  EpochReport joint = some_epoch(2, 3.5, true);
  joint.train.add(Tally::kParticleSteps, -120);
  const json fit = json::parse(epoch_json(joint, TrainGoal::kFit, true, 1));
  CHECK(keys_of(fit) == std::vector<std::string>{"best", "dev_perplexity", "epoch", "failed",
                                                 "loss", "perplexity", "seconds", "updates"});
}

TEST_CASE(
    "a conditional fit says how many sequences overshot, and gives no number it cannot trust") {
  EpochReport report = some_epoch(2, 3.5, false);
  report.likelihood = Likelihood::kConditional;
  json line = json::parse(epoch_json(report, TrainGoal::kFit, true, 1));
  CHECK(line["overshot"] == 0);
  CHECK(line["unreliable"] == false);
  CHECK(line["dev_overshot"] == 0);
  CHECK(line["dev_unreliable"] == false);
  CHECK(line["dev_gap"].is_null());
  report.dev_gap = 0.25;
  report.dev_drift = -0.5;
  line = json::parse(epoch_json(report, TrainGoal::kFit, true, 1));
  CHECK(line["dev_gap"] == 0.25);
  CHECK(line["dev_drift"] == -0.5);
  CHECK(line["perplexity"] == 1.0);

  report.train.add(Tally::kOvershot, 3);
  report.train.add(Tally::kOvershoot, 0.2);  // of 10 symbols
  report.dev_overshot = 2;
  report.is_reliable = false;
  report.perplexity = NAN;
  line = json::parse(epoch_json(report, TrainGoal::kFit, true, 1));
  CHECK(line["overshot"] == 3);
  CHECK(line["unreliable"] == true);
  CHECK(line["dev_overshot"] == 2);
  CHECK(line["dev_unreliable"] == true);
  for (const char* field : {"loss", "perplexity", "dev_perplexity"}) CHECK(line[field].is_null());
  CHECK_FALSE(json::parse(epoch_json(report, TrainGoal::kFit, false, 1)).contains("dev_overshot"));
  CHECK(progress_of({2, 20, 50, 70, 4, report.train}, TrainGoal::kFit, 1).details ==
        std::vector<std::string>{"perplexity unreliable (3 overshot)", "ESS 50 %"});
  CHECK(json::parse(epoch_json(report, TrainGoal::kFit, true, NAN))["seconds"].is_null());
}

TEST_CASE("the summary says which epochs could not be judged") {
  std::vector<EpochReport> history{some_epoch(0, 9, true), some_epoch(1, 4.5, true),
                                   some_epoch(2, INFINITY, false)};
  history[2].is_reliable = false;
  CHECK(summary_of(history, TrainGoal::kFit, 2) ==
        "epoch 1 of 2 was the best, 1 epoch that could not be judged left out: development "
        "perplexity 4.5");
  history[1].is_reliable = history[1].is_best = false;
  CHECK(summary_of(history, TrainGoal::kFit, 2) ==
        "no epoch of 2 was better than the start, 2 epochs that could not be judged left out: "
        "development perplexity 9");
  history[0].is_reliable = history[0].is_best = false;
  CHECK(summary_of(history, TrainGoal::kFit, 2) ==
        "no epoch of 2 could be judged, as the estimates of log Z are too bad; the parameters of "
        "epoch 2 are kept, as the last");
}

TEST_CASE("a number that is not finite is null, and the start has what was measured at it") {
  EpochReport report;
  report.perplexity = INFINITY;
  report.is_best = true;
  CHECK(epoch_json(report, TrainGoal::kFit, true, 0) ==
        "{\"epoch\":0,\"updates\":0,\"dev_perplexity\":null,\"seconds\":0.0,\"best\":true}\n");
  report.epoch = 1;
  CHECK(json::parse(epoch_json(report, TrainGoal::kFit, true, 0))["loss"].is_null());
}

TEST_CASE("the bar of training has the epoch's averages, and the whole run's part") {
  const TrainProgress now{2, 20, 50, 70, 4, some_tally()};
  const Progress learn = progress_of({2, 20, 50, 70, 4, tally_of_both()}, TrainGoal::kLearn, 1);
  CHECK(learn.heading == "epoch 2/4");
  CHECK(learn.done == 20);
  CHECK(learn.total == 50);
  CHECK(learn.details ==
        std::vector<std::string>{"loss 4", "KL 0.50 bits", "rms r 2.00", "ESS 50 %"});
  CHECK(learn.part == Approx(70. / 200));
  CHECK(progress_of(now, TrainGoal::kFit, 61).part == Approx(10. / 140));  // resumed at update 60
  CHECK(progress_of(now, TrainGoal::kFit, 61).details ==
        std::vector<std::string>{"loss 4", "perplexity 1", "ESS 50 %"});
}

TEST_CASE("the summary names the best epoch and its score") {
  std::vector<EpochReport> history{some_epoch(0, 9, true), some_epoch(1, 4.5, true),
                                   some_epoch(2, 5, false)};
  CHECK(summary_of(history, TrainGoal::kFit, 2) ==
        "epoch 1 of 2 was the best: development perplexity 4.5");
  CHECK(summary_of(history, TrainGoal::kLearn, 9) ==
        "epoch 1 of 9 was the best, stopped after epoch 2: development offset KL 4.5 bits, "
        "KL(q||p) 2 bits, ESS 25 "
        "%, rms r 0.75 nats");
  history[1].is_best = false;
  CHECK(summary_of(history, TrainGoal::kFit, 2) ==
        "no epoch of 2 was better than the start: development perplexity 9");
  for (EpochReport& report : history) report.dev_score = NAN;
  CHECK(summary_of(history, TrainGoal::kFit, 2) == "epoch 2 of 2 is done: loss 4");
}
