#include <chrono>
#include <thread>

#include "tests/cli/train_checks.h"

namespace scry {
namespace {

using nlohmann::json;
using test::epochs_of;
using test::lines_of;
using test::read_file;
using test::Sandbox;
using test::write_text;

/// Diaries in which hot days have many ice creams and come in runs.
std::string diaries(int count) {
  const std::vector<std::string> kinds{"1 1 2 3 3\tC C C H H\n", "3 3 2 1\tH H H C\n",
                                       "2 3 3 3 1 1\tH H H H C C\n", "1\tC\n", "3 2 3\tH H H\n"};
  std::string text;
  for (int i = 0; i < count; ++i) text += kinds[static_cast<size_t>(i) % kinds.size()];
  return text;
}

double total_score(const Sandbox& box, const std::string& options) {
  const auto result = box.program("lesson_01_hmm score --input dev.tsv " + options);
  REQUIRE(result.exit_code == 0);
  double total = 0;
  for (const std::string& line : lines_of(result.out)) {
    const size_t tab = line.find('\t', line.find('\t') + 1);
    if (!line.starts_with("x\t")) total += std::stod(line.substr(tab + 1));
  }
  return total;
}

const std::string kFit = "lesson_01_hmm fit --train train.tsv --dev dev.tsv --rate 0.05 ";

struct DiaryBox : Sandbox {
  DiaryBox() {
    write_text(path("train.tsv"), diaries(60));
    write_text(path("dev.tsv"), diaries(7));
  }
};

TEST_CASE("fitting betters the development score, and other commands take what it wrote") {
  const DiaryBox box;
  const auto result = box.program(kFit + "--epochs 4 --batch 8 -o out --log log.jsonl");
  CAPTURE(result.err);
  REQUIRE(result.exit_code == 0);
  CHECK(read_file(box.path("log.jsonl")) == result.out);
  const std::vector<json> epochs = epochs_of(result.out);
  REQUIRE(epochs.size() == 5);
  for (size_t i = 0; i < epochs.size(); ++i) CHECK(epochs[i]["epoch"] == i);
  CHECK(epochs[4]["updates"] == 32);
  CHECK(epochs[4]["best"] == true);
  CHECK(epochs[4]["dev_perplexity"].get<double>() <
        0.9 * epochs[0]["dev_perplexity"].get<double>());
  CHECK(epochs[4]["loss"].get<double>() < epochs[1]["loss"].get<double>());
  CHECK(epochs[4]["failed"] == 0);
  const std::vector<std::string> notes = lines_of(result.err);
  REQUIRE(notes.size() == 5);
  CHECK(notes[0] == "fit: 60 examples, 7 for development, 12 parameters, gradients by adjoint");
  CHECK(notes[2].starts_with("fit: epoch 4 of 4 was the best: development perplexity "));
  CHECK(notes[3] == "fit: wrote out");
  CHECK(notes[4] == "fit: next: lesson_01_hmm sample --params out --input dev.tsv");
  CHECK(total_score(box, "--params out") > total_score(box, "--seed 1") + 1);
  CHECK(box.program("lesson_01_hmm sample --params out --input dev.tsv").exit_code == 0);

  SECTION("the same again is the same to the byte, on any number of threads") {
    const auto again = box.program(kFit + "--epochs 4 --batch 8 -o again --threads 2");
    CHECK(epochs_of(again.out) == epochs);
    CHECK(read_file(box.path("again")) == read_file(box.path("out")));
    REQUIRE(box.program(kFit + "--epochs 4 --batch 8 -o other --seed 2").exit_code == 0);
    CHECK(read_file(box.path("other")) != read_file(box.path("out")));
  }
  SECTION("it can start from parameters, and some of them can be frozen") {
    const auto more = box.program(kFit +
                                  "--epochs 1 -o more --params out --freeze model.emission "
                                  "--objective conditional -M 8 --precision double");
    CAPTURE(more.err);
    REQUIRE(more.exit_code == 0);
    CHECK(more.err.find(", 6 parameters, ") != std::string::npos);
    CHECK(epochs_of(more.out)[1]["likelihood"] == "exact");
    CHECK(epochs_of(more.out)[1]["dev_perplexity"] >= 1);
  }
  SECTION("a finished run can have more epochs, and its log goes on") {
    const auto more = box.program(kFit + "--epochs 6 --batch 8 -o out --resume --log log.jsonl");
    CAPTURE(more.err);
    CHECK(more.exit_code == 0);
    CHECK(epochs_of(more.out).size() == 2);
    CHECK(epochs_of(read_file(box.path("log.jsonl"))).size() == 7);
    const auto done = box.program(kFit + "--epochs 6 --batch 8 -o out --resume --log log.jsonl");
    CHECK(done.exit_code == 0);
    CHECK(done.out.empty());
    CHECK(epochs_of(read_file(box.path("log.jsonl"))).size() == 7);
  }
}

// Saving after every update makes a run last, as files are synced; what comes out does not depend
// on it.
const std::string kLong = kFit + "--batch 1 --epochs 100 --patience 0 --log ";

void wait_for(const std::filesystem::path& path) {
  for (int i = 0; i < 20000 && !std::filesystem::exists(path); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void check_same_run(const DiaryBox& box) {
  CHECK(read_file(box.path("part")) == read_file(box.path("whole")));
  CHECK(epochs_of(read_file(box.path("part.jsonl"))) ==
        epochs_of(read_file(box.path("whole.jsonl"))));
}

TEST_CASE("a run that is interrupted and goes on ends as one that never was") {
  const DiaryBox box;
  REQUIRE(box.program(kLong + "whole.jsonl -o whole").exit_code == 0);
  for (const int signal : {SIGINT, SIGTERM}) {
    const std::string go_on = kLong + "part.jsonl -o part --resume ";
    Sandbox::Background run(box, go_on + "--save-updates 1");
    wait_for(box.path("part"));
    run.send(signal);
    const auto stopped = run.wait();
    CAPTURE(stopped.err);
    REQUIRE(stopped.exit_code == 128 + signal);
    const std::string last = lines_of(stopped.err).back();
    CHECK(last.starts_with("fit: interrupted after update "));
    CHECK(last.ends_with(" of epoch 1; saved to part; go on with --resume"));
    REQUIRE(box.program(go_on).exit_code == 0);
    check_same_run(box);
    std::filesystem::remove(box.path("part"));
  }
}

TEST_CASE("a run that is killed at any moment leaves a whole file or none, and goes on") {
  const DiaryBox box;
  REQUIRE(box.program(kLong + "whole.jsonl -o whole").exit_code == 0);
  const std::string go_on = kLong + "part.jsonl -o part --resume ";
  for (const int milliseconds : {0, 5, 30, 45, 60, 80, 120}) {
    Sandbox::Background run(box, go_on + "--save-updates 1");
    if (milliseconds == 120) wait_for(box.path("part"));
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    run.send(SIGKILL);
    run.wait();
    if (!std::filesystem::exists(box.path("part"))) continue;
    CHECK(box.program("lesson_01_hmm score --input dev.tsv --params part").exit_code == 0);
  }
  const auto result = box.program(go_on);
  CAPTURE(result.err);
  REQUIRE(result.exit_code == 0);
  CHECK(result.err.find("starts afresh") == std::string::npos);
  check_same_run(box);
  for (const auto& [name, bytes] : test::files_in(box)) CHECK_FALSE(name.ends_with(".tmp"));
}

TEST_CASE("what cannot be fitted is one line, and no file is touched") {
  const DiaryBox box;
  REQUIRE(box.program(kFit + "--epochs 1 -o old").exit_code == 0);
  const std::string old = read_file(box.path("old"));
  write_text(box.path("cut"), old.substr(0, old.size() - 5));
  REQUIRE(box.program("lesson_01_hmm init -o plain").exit_code == 0);
  REQUIRE(box.program("lesson_02_oohmm init -o other").exit_code == 0);
  write_text(box.path("empty.tsv"), "\n");
  write_text(box.path("unequal.tsv"), "1 2\tC H\n1 2\tC\n");
  write_text(box.path("unknown.tsv"), "1 9\tC H\n");
  write_text(box.path("log.jsonl"), "old log");
  const std::string fit = "lesson_01_hmm fit --train train.tsv ";
  check_faults(
      box,
      {
          {"lesson_01_hmm fit -o out", 2, "scry: --train is required"},
          {fit, 2, "scry: --output is required"},
          {"lesson_01_hmm fit --train none.tsv -o out", 2, "none.tsv"},
          {"lesson_01_hmm fit --train empty.tsv -o out", 1,
           "empty.tsv: there is no example in it\n"},
          {"lesson_01_hmm fit --train unequal.tsv -o out", 1,
           "unequal.tsv:2: 2 symbols but 1 tag\n"},
          {"lesson_01_hmm fit --train unknown.tsv -o out", 1,
           "unknown.tsv:1: '9' is not in the input alphabet\n"},
          {fit + "--dev unknown.tsv -o out", 1,
           "unknown.tsv:1: '9' is not in the input alphabet\n"},
          {fit + "-o old", 2,
           "scry: 'old' exists; go on with its run by --resume, or replace it by --overwrite\n"},
          {fit + "-o ./train.tsv --overwrite", 2,
           "scry: --output and --train are the same file './train.tsv', which would be lost\n"},
          {fit + "--params plain -o plain", 2,
           "scry: --output and --params are the same file 'plain'; give another, or --overwrite\n"},
          {fit + "-o out --log log.jsonl", 2, "scry: 'log.jsonl' exists; give another --log"},
          {fit + "-o out --log ./out", 2, "scry: --log and --output are the same file './out'"},
          {fit + "-o out --log train.tsv --resume", 2, "scry: --log and --train are the same file"},
          {fit + "-o none/out", 1, "scry: none/out cannot be written: No such file or directory\n"},
          {fit + "-o .", 1, "scry: . is a folder\n"},
          {fit + "-o out --log none/log", 1,
           "scry: none/log cannot be written: No such file or directory\n"},
          {fit + "-o cut --resume", 1, "cut: "},
          {fit + "-o plain --resume", 1, "plain: it holds no training run that could go on"},
          {fit + "-o old --resume --rate 0.5", 1, "old: it was trained with "},
          {fit + "-o out --params other", 1, "other: "},
          {fit + "-o out --params cut", 1, "cut: "},
          {fit + "-o out --resume --overwrite", 2, "scry: --resume excludes --overwrite"},
          {fit + "-o out --freeze model.x", 2,
           "scry: --freeze: the model has no parameter 'model.x'; it has model."},
          {fit + "-o out --freeze model.transition --freeze model.emission", 2,
           "scry: --freeze leaves no parameter to train\n"},
          {fit + "-o out --embed model.emission", 2,
           "scry: --embed: 'model.emission' is not PARAMETER=FILE"},
          {fit + "-o out --embed model.emission=none.txt", 2, "none.txt"},
          {fit + "-o out --embed model.x=train.tsv", 2,
           "scry: --embed: the model has no parameter"},
          {fit + "-o out --embed model.emission=train.tsv", 1, "train.tsv:1: "},
          {fit + "-o out --rate 0", 2, "scry: --rate: '0' is not a number above 0"},
          {fit + "-o out --beta1 1", 2, "scry: --beta1: '1' is not at least 0 and below 1"},
          {fit + "-o out --epochs 0", 2, "scry: --epochs: '0' is not a whole number above 0"},
          {fit + "-o out --objective best", 2, "scry: --objective: 'best' is none of auto, joint"},
          {fit + "-o out --save-every never", 2, "scry: --save-every: 'never' is not"},
          {fit + "-o out --save-updates -1", 2, "scry: --save-updates: '-1' is not a whole number"},
      });
}

TEST_CASE("a tagging that the model forbids is named with its line, in either file") {
  const DiaryBox box;
  write_text(box.path("strict.cpp"), R"(#include <scry.h>
using namespace scry;
struct Strict : Model {
  Parameter tag;
  explicit Strict(const Task& task)
      : Model(task, symbol_state("tag", task.y.size())),
        tag(param("tag", {task.y.size()}, Init::normal(1))) {}
  Step step(const State&, const Input& x, const Sym& y) const override {
    return {.score = constant({2, 2}, {0, -INFINITY, 0, 0})[x][y] + log_softmax(tag)[y],
            .state = {y}};
  }
};
SCRY_MODEL() { return {std::make_shared<Strict>(Task{Alphabet::of("a b"), Alphabet::of("0 1")})}; }
)");
  write_text(box.path("good"), "a b\t0 1\n\nb\t1\n");
  write_text(box.path("bad"), "a b\t0 1\n\nb a\t0 1\n");
  for (const std::string objective : {"joint", "conditional"}) {
    for (const std::string files : {"--train bad", "--train good --dev bad"}) {
      const auto result = box.program("scry fit strict.cpp -o out --overwrite --objective " +
                                      objective + " " + files);
      CAPTURE(objective, files, result.err);
      CHECK(result.exit_code == 1);
      CHECK(lines_of(result.err).back().starts_with("bad:3: "));
    }
  }
  CHECK(!std::filesystem::exists(box.path("out")));
}

}  // namespace
}  // namespace scry
