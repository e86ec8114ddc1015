// How training stops when numbers run away.
#include <atomic>
#include <chrono>
#include <cmath>
#include <thread>

#include "runtime/kernels/philox.h"
#include "runtime/train/trainer.h"
#include "tests/catch.h"
#include "tests/support/fake_training.h"
#include "tests/support/temp_folder.h"

using namespace scry;
using test::failure_of;
using test::FakeRun;
using test::small_run;

namespace {

/// Passes everything on, and spoils the gradient or throws at the update that has this seed; for
/// the seed 0, at all.
class Spoiled : public ObjectiveWorker {
 public:
  Spoiled(std::unique_ptr<ObjectiveWorker> inner, uint64_t seed,
          std::function<void(Gradients&)> spoil)
      : inner_(std::move(inner)), seed_(seed), spoil_(std::move(spoil)) {}
  void add_gradient(std::span<const TrainExample> examples, uint64_t seed, double scale,
                    Gradients& gradients, Tally& tally) override {
    inner_->add_gradient(examples, seed, scale, gradients, tally);
    if (seed_ == 0 || seed == seed_) spoil_(gradients);
  }
  void measure(std::span<const TrainExample> examples, uint64_t seed, Tally& tally) override {
    inner_->measure(examples, seed, tally);
  }

 private:
  std::unique_ptr<ObjectiveWorker> inner_;
  uint64_t seed_;
  std::function<void(Gradients&)> spoil_;
};

constexpr uint32_t kEvery = 0;

void spoil_update(FakeRun& run, uint32_t update, std::function<void(Gradients&)> spoil) {
  const uint64_t seed = update == kEvery ? 0 : derive_seed(run.options.seed, update);
  run.wrap = [seed,
              spoil](std::unique_ptr<ObjectiveWorker> inner) -> std::unique_ptr<ObjectiveWorker> {
    return std::make_unique<Spoiled>(std::move(inner), seed, spoil);
  };
}

}  // namespace

TEST_CASE("a gradient that is no number stops training and leaves the checkpoint as it was") {
  const test::TempFolder folder;
  FakeRun run = small_run();
  run.options.checkpoint = folder.file("c");
  run.options.save_updates = 4;
  run.groups = {ParamGroup::kModel};
  std::string before;
  run.hooks.progress = [&](const TrainProgress& p) {
    if (p.total_updates == 9) before = test::read_bytes(folder.file("c"));
  };
  spoil_update(run, 10, [](Gradients& gradients) { gradients.values.set(17, NAN); });
  CHECK(failure_of(run) ==
        "update 10 (epoch 2): the gradient of 'model.b' is nan; training stopped. The last good "
        "checkpoint is " +
            folder.file("c") + " (update 6, epoch 2); try a lower --rate");
  CHECK(test::read_bytes(folder.file("c")) == before);
  CHECK(folder.names() == std::vector<std::string>{"c"});

  run.options.checkpoint.clear();
  run.hooks = {};
  spoil_update(run, 10, [](Gradients& gradients) { gradients.tables.set(0, INFINITY); });
  CHECK(failure_of(run) ==
        "update 10 (epoch 2): the gradient of 'model.a' is inf; training stopped. No checkpoint "
        "was written; try a lower --rate");
}

TEST_CASE("parameters that run away stop training") {
  const test::TempFolder folder;
  FakeRun run = small_run();
  run.options.checkpoint = folder.file("c");
  run.options.save_updates = 1;
  run.options.adam.rate = 3e5;
  run.options.adam.l2 = 0;
  spoil_update(run, kEvery, [](Gradients& gradients) {
    gradients.clear();
    gradients.values.set(18, -1);
  });
  const std::string message = failure_of(run);
  CHECK(message.starts_with("update 4 (epoch 1): the parameter 'model.b' becomes 1"));
  CHECK(message.ends_with("(update 3, epoch 1); try a lower --rate"));
  run.options.resume = true;
  CHECK(failure_of(run) == message);  // the file is good and as it was
}

TEST_CASE("an objective's failure is reported with the update and the largest parameter") {
  FakeRun run = small_run();
  run.groups = {ParamGroup::kModel};
  spoil_update(run, 2, [](Gradients&) { throw TrainingError("the score of step 3 is nan"); });
  const std::string message = failure_of(run);
  CHECK(message.starts_with(
      "update 2 (epoch 1): the score of step 3 is nan (the largest parameter is 1."));
  CHECK(message.ends_with(
      "in 'model.b'); training stopped. No checkpoint was written; try a lower --rate"));
  spoil_update(run, 2, [](Gradients&) { throw ExampleError(6, "the model forbids tag 'B'"); });
  CHECK(failure_of(run) == "example 7: the model forbids tag 'B'");
}

TEST_CASE("the first shard's failure is reported whoever is faster") {
  FakeRun run = small_run();
  run.options.threads = 4;
  run.options.shard = 1;
  std::atomic<int> order = 0;
  run.wrap = [&](std::unique_ptr<ObjectiveWorker>) -> std::unique_ptr<ObjectiveWorker> {
    struct Failing : ObjectiveWorker {
      explicit Failing(std::atomic<int>& order) : order(order) {}
      void add_gradient(std::span<const TrainExample> examples, uint64_t, double, Gradients&,
                        Tally&) override {
        if (order++ % 2 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
        throw ExampleError(examples.front().number, "no");
      }
      void measure(std::span<const TrainExample>, uint64_t, Tally&) override {}
      std::atomic<int>& order;
    };
    return std::make_unique<Failing>(order);
  };
  const std::string expected = failure_of(run);
  CHECK(expected.starts_with("example "));
  for (int i = 0; i < 20; ++i) CHECK(failure_of(run) == expected);
}

TEST_CASE("a development score that is no number stops training") {
  const test::TempFolder folder;
  FakeRun run = small_run();
  run.options.checkpoint = folder.file("c");
  run.dev_score = [](int epoch) { return epoch == 2 ? NAN : 1.0; };
  const std::string message = failure_of(run);
  CHECK(message.starts_with("development set after epoch 2 (update 12): its score is nan (the "));
  CHECK(message.ends_with("(update 6, epoch 2); try a lower --rate"));
}
