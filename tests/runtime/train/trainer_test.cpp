#include "runtime/train/trainer.h"

#include <fmt/format.h>

#include <cmath>

#include "tests/catch.h"
#include "tests/support/fake_training.h"
#include "tests/support/temp_folder.h"

using namespace scry;
using test::bits_of;
using test::failure_of;
using test::fake_program;
using test::FakeRun;
using test::small_run;
using test::train_fake;

namespace {

constexpr int64_t kUpdates = 6;

std::vector<double> values_of(const Parameters& parameters, const Block& block) {
  std::vector<double> values;
  for (int64_t k = 0; k < block.shape.size(); ++k)
    values.push_back(parameters.values.get(block.offset + k));
  return values;
}

/// Stops after so many updates.
std::function<bool()> stop_after(int64_t updates) {
  return [left = updates]() mutable { return --left == 0; };
}

}  // namespace

TEST_CASE("training finds the minimum of a quadratic, through tables too") {
  const Program program = fake_program();
  FakeRun run = small_run();
  run.options.epochs = 3000;
  run.options.batch = 23;  // all: no noise of any kind is left
  run.noise = 0;
  run.options.adam.l2 = 0;
  const auto result = train_fake(program, run);
  double mean = 0;
  for (const std::vector<int>& x : test::fake_inputs()) {
    double sum = 0;
    for (int symbol : x) sum += symbol;
    mean += sum / static_cast<double>(x.size()) / 23;
  }
  for (double a : values_of(result.state.best, program.params[0]))
    CHECK(2 * a == Approx(mean).epsilon(1e-5));
  for (double b : values_of(result.state.best, program.params[1]))
    CHECK(b == Approx(mean).epsilon(1e-5));
  for (double c : values_of(result.state.best, program.params[2]))
    CHECK(c == Approx(mean).epsilon(1e-5));
  CHECK(result.state.history.size() == 3001);
  // Each of the 12 numbers has the variance of the examples' means, over 2, for its loss.
  double least = 0;
  for (const std::vector<int>& x : test::fake_inputs()) {
    double sum = 0;
    for (int symbol : x) sum += symbol;
    least += 6 * std::pow(sum / static_cast<double>(x.size()) - mean, 2);
  }
  CHECK(result.state.best_score == Approx(least).epsilon(1e-5));
  CHECK_FALSE(result.was_interrupted);
}

TEST_CASE("training gives the same bits with any number of threads") {
  const Program program = fake_program();
  FakeRun run = small_run();
  run.options.shard = 1;
  const std::string expected = bits_of(program, train_fake(program, run).state);
  for (int threads : {2, 4}) {
    run.options.threads = threads;
    CHECK(bits_of(program, train_fake(program, run).state) == expected);
  }
  run.options.seed = 2;
  CHECK(bits_of(program, train_fake(program, run).state) != expected);
}

TEST_CASE("a run that was stopped after any update goes on to the same bits, file and history") {
  const Program program = fake_program();
  for (bool has_dev : {true, false}) {
    const test::TempFolder folder;
    FakeRun run = small_run();
    run.has_dev = has_dev;
    run.options.checkpoint = folder.file("whole");
    const std::string expected = bits_of(program, train_fake(program, run).state);
    const std::string bytes = test::read_bytes(folder.file("whole"));
    for (int64_t updates = 1; updates <= 3 * kUpdates; ++updates) {
      run.options.checkpoint = folder.file("part");
      run.options.resume = false;
      run.options.overwrite = true;
      run.hooks.should_stop = stop_after(updates);
      CHECK(train_fake(program, run).was_interrupted);
      run.options.overwrite = false;
      run.options.resume = true;
      run.options.threads = 2;
      run.hooks = {};
      const auto result = train_fake(program, run);
      CHECK_FALSE(result.was_interrupted);
      CHECK(bits_of(program, result.state) == expected);
      CHECK(test::read_bytes(folder.file("part")) == bytes);
    }
  }
}

TEST_CASE("the rate follows its schedule, and a run that goes on must have as many epochs") {
  const Program program = fake_program();
  std::vector<std::string> results;
  for (const RateSchedule schedule :
       {RateSchedule::kConstant, RateSchedule::kLinear, RateSchedule::kCosine}) {
    const test::TempFolder folder;
    FakeRun run = small_run();
    run.options.schedule = schedule;
    results.push_back(bits_of(program, train_fake(program, run).state));
    run.options.checkpoint = folder.file("c");
    run.options.resume = true;
    run.hooks.should_stop = stop_after(2 * kUpdates + 1);
    CHECK(train_fake(program, run).was_interrupted);
    run.hooks = {};
    if (schedule != RateSchedule::kConstant) {
      FakeRun longer = run;
      longer.options.epochs = 4;
      CHECK(failure_of(longer) ==
            fmt::format("{0}: it was trained with --schedule {1} over --epochs 3, not {1} over "
                        "--epochs 4; give the same options or another output file",
                        folder.file("c"), name_of(schedule)));
    }
    CHECK(bits_of(program, train_fake(program, run).state) == results.back());
  }
  CHECK(results[0] != results[1]);
  CHECK(results[0] != results[2]);
  CHECK(results[1] != results[2]);
}

TEST_CASE("a run that is stopped again and again still comes to the same bits") {
  const Program program = fake_program();
  const test::TempFolder folder;
  FakeRun run = small_run();
  const std::string expected = bits_of(program, train_fake(program, run).state);
  run.options.checkpoint = folder.file("c");
  run.options.resume = true;
  int num_runs = 0;
  while (true) {
    run.hooks.should_stop = stop_after(1);
    const auto result = train_fake(program, run);
    if (!result.was_interrupted) {
      CHECK(bits_of(program, result.state) == expected);
      break;
    }
    REQUIRE(++num_runs < 100);
  }
  CHECK(num_runs == 3 * kUpdates);
}

TEST_CASE("a finished run returns at once when it is resumed, and goes on with more epochs") {
  const Program program = fake_program();
  const test::TempFolder folder;
  FakeRun run = small_run();
  run.options.checkpoint = folder.file("c");
  const auto first = train_fake(program, run);
  const std::string bytes = test::read_bytes(folder.file("c"));

  run.options.resume = true;
  run.hooks.progress = [](const TrainProgress&) { FAIL("there was nothing left to do"); };
  run.hooks.epoch = [](const EpochReport&) { FAIL("there was nothing left to do"); };
  CHECK(bits_of(program, train_fake(program, run).state) == bits_of(program, first.state));
  CHECK(test::read_bytes(folder.file("c")) == bytes);

  run.hooks = {};
  run.options.epochs = 5;
  const auto longer = train_fake(program, run);
  FakeRun at_once = small_run();
  at_once.options.epochs = 5;
  CHECK(bits_of(program, longer.state) == bits_of(program, train_fake(program, at_once).state));
}

TEST_CASE("early stopping keeps the best epoch and gives up after its patience") {
  const Program program = fake_program();
  const std::vector<double> scores{9, 5, 3, 4, 3, 3, 1, 0};
  FakeRun run = small_run();
  run.options.epochs = 7;
  run.options.patience = 3;
  run.dev_score = [&](int epoch) { return scores.at(static_cast<size_t>(epoch)); };
  std::vector<int> best;
  run.hooks.epoch = [&](const EpochReport& report) {
    if (report.is_best) best.push_back(report.epoch);
  };
  const auto result = train_fake(program, run);
  CHECK(best == std::vector<int>{0, 1, 2});
  CHECK(result.state.best_epoch == 2);
  CHECK(result.state.history.size() == 6);
  run.options.epochs = 2;
  const auto until_best = train_fake(program, run);
  CHECK(values_of(result.state.best, program.params[1]) ==
        values_of(until_best.state.parameters, program.params[1]));
  CHECK(values_of(result.state.best, program.params[1]) !=
        values_of(result.state.parameters, program.params[1]));

  run.options.epochs = 7;
  run.options.patience = 0;
  CHECK(train_fake(program, run).state.best_epoch == 7);
}

TEST_CASE("the start may remain the best") {
  const Program program = fake_program();
  FakeRun run = small_run();
  run.options.patience = 2;
  run.dev_score = [](int epoch) { return 1.0 * epoch; };
  const auto result = train_fake(program, run);
  CHECK(result.state.best_epoch == 0);
  CHECK(result.state.history.size() == 3);
  CHECK(values_of(result.state.best, program.params[1]) ==
        values_of(Parameters::fresh(program, 5), program.params[1]));
}

TEST_CASE("an epoch whose score cannot be trusted is never the best") {
  const Program program = fake_program();
  FakeRun run = small_run();
  run.options.epochs = 4;
  run.dev_score = [](int epoch) { return 10.0 - epoch; };
  run.is_reliable = [](int epoch) { return epoch % 2 == 1; };
  std::vector<int> best;
  run.hooks.epoch = [&](const EpochReport& report) {
    if (report.is_best) best.push_back(report.epoch);
  };
  const auto result = train_fake(program, run);
  CHECK(best == std::vector<int>{1, 3});
  CHECK(result.state.best_epoch == 3);

  SECTION("if there is no other, the newest are kept, and a resumed run ends in the same file") {
    const test::TempFolder folder;
    run.is_reliable = [](int) { return false; };
    run.options.checkpoint = folder.file("whole");
    best.clear();
    const auto none = train_fake(program, run);
    CHECK(best.empty());
    CHECK(none.state.best_score == INFINITY);
    CHECK(values_of(none.state.best, program.params[0]) ==
          values_of(none.state.parameters, program.params[0]));
    run.options.checkpoint = folder.file("part");
    run.hooks.should_stop = stop_after(8);
    CHECK(train_fake(program, run).was_interrupted);
    run.options.resume = true;
    run.hooks = {};
    train_fake(program, run);
    CHECK(test::read_bytes(folder.file("part")) == test::read_bytes(folder.file("whole")));
  }
}

TEST_CASE("an epoch is told after it is saved, so that no hook can lose it") {
  const Program program = fake_program();
  const test::TempFolder folder;
  FakeRun run = small_run();
  const std::string expected = bits_of(program, train_fake(program, run).state);
  run.options.checkpoint = folder.file("c");
  run.options.resume = true;
  std::vector<int> told, resumed;
  run.hooks.epoch = [&](const EpochReport& report) {
    told.push_back(report.epoch);
    if (report.epoch > 0) throw Error("nobody listens");
  };
  run.hooks.resumed = [&](std::span<const EpochReport> epochs) {
    for (const EpochReport& report : epochs) resumed.push_back(report.epoch);
    resumed.push_back(-1);
  };
  for (int epoch = 1; epoch <= 3; ++epoch)
    CHECK_THROWS_WITH(train_fake(program, run), "nobody listens");
  CHECK(told == std::vector<int>{0, 1, 2, 3});
  CHECK(resumed == std::vector<int>{0, 1, -1, 0, 1, 2, -1});
  CHECK(bits_of(program, train_fake(program, run).state) == expected);
}

TEST_CASE("without a development set the newest parameters are the best") {
  const Program program = fake_program();
  FakeRun run = small_run();
  run.has_dev = false;
  run.options.patience = 1;
  const auto result = train_fake(program, run);
  CHECK(result.state.best_epoch == 3);
  CHECK(std::isnan(result.state.history.back().dev_score));
  CHECK(values_of(result.state.best, program.params[0]) ==
        values_of(result.state.parameters, program.params[0]));
  run.hooks.should_stop = stop_after(2);
  const auto stopped = train_fake(program, run);
  CHECK(values_of(stopped.state.best, program.params[0]) ==
        values_of(stopped.state.parameters, program.params[0]));
}

TEST_CASE("only the goals' parameters that are not frozen are trained") {
  const Program program = fake_program();
  const Parameters start = Parameters::fresh(program, 5);
  const auto moved = [&](const FakeRun& run) {
    const auto result = train_fake(program, run);
    std::vector<std::string> names;
    for (const Block& block : program.params) {
      if (values_of(result.state.best, block) != values_of(start, block))
        names.push_back(block.name);
    }
    return names;
  };
  using Names = std::vector<std::string>;
  FakeRun run = small_run();
  CHECK(moved(run) == Names{"model.a", "model.b", "proposal.c"});
  run.options.frozen = {"model.b"};
  CHECK(moved(run) == Names{"model.a", "proposal.c"});
  run.groups = {ParamGroup::kModel};
  CHECK(moved(run) == Names{"model.a"});
  run.groups = {ParamGroup::kProposal};
  CHECK(moved(run) == Names{"proposal.c"});
}

TEST_CASE("frozen names that are none are named, and so is a run with nothing to train") {
  FakeRun run = small_run();
  run.options.frozen = {"modle"};
  CHECK(failure_of(run) ==
        "there is no parameter 'modle' to freeze; the parameters are model.a, model.b, proposal.c");
  run.options.frozen = {"model"};
  CHECK(failure_of(run) ==
        "there is no parameter 'model' to freeze; did you mean model.a, model.b?");
  run.options.frozen = {"proposal.c"};
  run.groups = {ParamGroup::kProposal};
  CHECK(failure_of(run) == "nothing is left to train: all parameters of the proposal are frozen");
}

TEST_CASE("the gradients of one goal do not leak into the other's parameters") {
  const Program program = fake_program();
  FakeRun both = small_run();
  both.options.adam.clip = 0;  // the norm is over both
  const auto joint = train_fake(program, both);
  for (ParamGroup group : {ParamGroup::kModel, ParamGroup::kProposal}) {
    FakeRun one = both;
    one.groups = {group};
    const auto alone = train_fake(program, one);
    for (const Block& block : program.params) {
      if (block.group == group) {
        CHECK(values_of(joint.state.parameters, block) == values_of(alone.state.parameters, block));
      }
    }
    const bool learns = group == ParamGroup::kProposal;
    const auto& memory = alone.state.memories.at(learns ? "fake proposal" : "fake model");
    CHECK(memory.size() == (learns ? 1 : 0));
  }
  CHECK(joint.state.history.back().train[Tally::kSequences] == 23);
}

TEST_CASE("progress and epochs are reported in order") {
  FakeRun run = small_run();
  std::string log;
  run.hooks.progress = [&](const TrainProgress& p) {
    CHECK(p.num_updates == kUpdates);
    CHECK(p.num_epochs == 3);
    CHECK(p.total_updates == (p.epoch - 1) * kUpdates + p.update);
    CHECK((p.tally.count(Tally::kSequences) == 4 * p.update ||
           p.tally.count(Tally::kSequences) == 4 * p.update - 1));
    log += std::to_string(p.update);
  };
  run.hooks.epoch = [&](const EpochReport& report) {
    CHECK(report.train[Tally::kSequences] == (report.epoch == 0 ? 0 : 23));
    CHECK(report.total_updates == report.epoch * kUpdates);
    log += " e" + std::to_string(report.epoch) + " ";
  };
  train_fake(fake_program(), run);
  CHECK(log == " e0 123456 e1 123456 e2 123456 e3 ");
}

TEST_CASE("checkpoints are written in time") {
  const test::TempFolder folder;
  const auto saves = [&](FakeRun run) {
    run.options.checkpoint = folder.file("c");
    run.options.overwrite = true;
    run.options.epochs = 1;
    std::string log, last;
    run.hooks.progress = [&](const TrainProgress&) {
      const std::string bytes = test::read_bytes(folder.file("c"));
      log += bytes != last ? "s" : "-";
      last = bytes;
    };
    std::filesystem::remove(folder.file("c"));
    train_fake(fake_program(), run);
    return log;
  };
  FakeRun run = small_run();
  CHECK(saves(run) == "------");
  run.options.save_updates = 2;
  CHECK(saves(run) == "--s-s-");  // seen one update later
  run.options.save_updates = 0;
  run.options.save_seconds = 0;
  CHECK(saves(run) == "-sssss");
}

TEST_CASE("no epochs at all leave the start, evaluated and saved") {
  const test::TempFolder folder;
  const Program program = fake_program();
  FakeRun run = small_run();
  run.options.epochs = 0;
  run.options.checkpoint = folder.file("c");
  const auto result = train_fake(program, run);
  CHECK(result.state.history.size() == 1);
  CHECK(std::filesystem::exists(folder.file("c")));
}
