// What fit and learn do when the model, the file or the streams are not what they should be.
#include "tests/cli/train_checks.h"
#include "tests/support/places.h"

namespace scry {
namespace {

using nlohmann::json;
using test::epochs_of;
using test::lines_of;
using test::read_file;
using test::Sandbox;
using test::write_text;

/// A model of 8 tags whose state is the last tag, with the tag 8 at the start.
std::string model_with(const std::string& score) {
  return R"(#include <scry.h>
using namespace scry;
struct Chain : Model {
  Parameter w, v;
  explicit Chain(const Task& task)
      : Model(task, symbol_state("tag", 9)), w(param("w", {9, 8}, Init::normal(1))),
        v(param("v", {8}, Init::fill(0))) {}
  State start(const Encoding&) const override { return {8}; }
  Step step(const State& s, const Input& x, const Sym& y) const override {
    const Sym last = s.sym("tag");
    return {.score = )" +
         score + R"(, .state = {y}};
  }
};
SCRY_MODEL() {
  return {std::make_shared<Chain>(Task{Alphabet::of("a b"), Alphabet::numbered(8)})};
}
)";
}
/// With a real state besides, which nothing reads: so that states are not finite.
std::string with_real_state(std::string model) {
  const auto replace = [&](const std::string& old, const std::string& text) {
    model.replace(model.find(old), old.size(), text);
  };
  replace("symbol_state(\"tag\", 9)", "state(\"h\", 1).and_symbol(\"tag\", 9)");
  replace("  State start(const Encoding&) const override { return {8}; }\n", "");
  replace(".state = {y}", ".state = {s[\"h\"], y}");
  return model;
}
const std::string kNormalized = "log_softmax(w)[last][y]";

/// Tags that their first one tells.
struct ChainBox : Sandbox {
  ChainBox() {
    std::string text;
    for (int tag = 0; tag < 8; ++tag) {
      const std::string name = std::to_string(tag);
      text += "a\t" + name + "\na b a\t" + name + " " + name + " " + name + "\n";
    }
    write_text(path("train.tsv"), text);
    write_text(path("dev.tsv"), text);
  }
  void write_model(const std::string& name, const std::string& score) const {
    write_text(path(name), model_with(score));
  }
};

std::string last_line(const std::string& text) {
  const std::vector<std::string> lines = lines_of(text);
  return lines.empty() ? "" : lines.back();
}

TEST_CASE("a model that is normalized at the first step and not later is recognized or stopped") {
  const ChainBox box;
  box.write_model("late.cpp", kNormalized + " + select(last == 8, 0 * v[y], 0 * v[y] + 3)");
  const std::string options = " --train train.tsv --dev dev.tsv -o out --epochs 2 --overwrite ";
  const auto automatic = box.program("scry fit late.cpp" + options);
  CAPTURE(automatic.err);
  CHECK(automatic.exit_code == 0);
  CHECK(
      automatic.err.find(
          "likelihood: conditional, with exact gradients over finite states, as "
          "the model is not locally normalized: the tags have mass 20.09 at step 2 of example ") !=
      std::string::npos);
  for (const json& epoch : epochs_of(automatic.out)) {
    if (epoch["dev_perplexity"].is_number()) CHECK(epoch["dev_perplexity"] >= 1);
  }
  const auto joint = box.program("scry fit late.cpp --objective joint" + options);
  CAPTURE(joint.err);
  CHECK(joint.exit_code == 1);
  CHECK(joint.out.empty());
  CHECK(joint.err.find("warning: G_T is taken as a log-likelihood") != std::string::npos);
  CHECK(last_line(joint.err).starts_with("dev.tsv:"));
  CHECK(last_line(joint.err).ends_with(
      ", above 1: the model is not locally normalized, so G_T is no log-likelihood; fit it by "
      "--objective conditional"));
}

TEST_CASE(
    "a model that loses its normalization as it learns is stopped, with or without a dev set") {
  const ChainBox box;
  box.write_model("drift.cpp", kNormalized + " + v[y]");  // v begins at 0
  for (const std::string dev : {"", "--dev dev.tsv "}) {
    const auto result = box.program(
        "scry fit drift.cpp --train train.tsv --rate 0.1 -o out --overwrite --epochs 200 " + dev);
    CAPTURE(dev, result.err);
    CHECK(result.exit_code == 1);
    CHECK(
        result.err.find("likelihood: joint, G_T = log p(y | x), as the tags have mass 1 at all") !=
        std::string::npos);
    CHECK(last_line(result.err).find("train.tsv:") == 0);
    CHECK(last_line(result.err).ends_with("fit it by --objective conditional"));
    for (const json& epoch : epochs_of(result.out)) CHECK(epoch.value("dev_perplexity", 1.0) >= 1);
  }
}

// A quarter of the samples has the first tag that pays at the second and third step.
TEST_CASE(
    "a conditional fit whose particles miss the given taggings says so, and is measured right") {
  const ChainBox box;
  const std::string blind =
      model_with("select((last == 7) && (y == 7), v[y] + 30, v[y] + 0 * w[last][y])");
  write_text(box.path("blind.cpp"), with_real_state(blind));
  write_text(box.path("finite.cpp"), blind);
  const std::string fit =
      "scry fit blind.cpp --train sevens.tsv --dev sevens.tsv -M 2 --rate 0.01 --gradient sample "
      "--epochs ";
  std::string sevens;
  for (int i = 0; i < 12; ++i) sevens += "a b a\t7 7 7\n";
  write_text(box.path("sevens.tsv"), sevens);
  const auto result = box.program(fit + "2 -o out");
  CAPTURE(result.err, result.out);
  REQUIRE(result.exit_code == 0);
  const std::vector<json> epochs = epochs_of(result.out);
  REQUIRE(epochs.size() == 3);
  for (const json& epoch : epochs) {  // by sets that retain the given taggings
    CHECK(epoch["dev_perplexity"] == 1.0);
    CHECK(epoch["dev_unreliable"] == false);
    CHECK(epoch["dev_overshot"] == 0);
  }
  CHECK(epochs[1]["overshot"] > 0);
  CHECK(epochs[1]["unreliable"] == true);
  CHECK(epochs[1]["perplexity"].is_null());
  CHECK(epochs[1]["loss"].is_null());
  int num_warnings = 0;
  for (const std::string& line : lines_of(result.err))
    num_warnings +=
        line.find("perplexities cannot be trusted; give more particles (-M)") != std::string::npos
            ? 1
            : 0;
  CHECK(num_warnings == 2);
  CHECK(result.err.find("warning: gradient: sample, M particles without y*") != std::string::npos);

  const auto retains = box.program("scry fit blind.cpp --train sevens.tsv -M 2 --epochs 1 -o set");
  CAPTURE(retains.err, retains.out);
  CHECK(retains.exit_code == 0);
  CHECK(retains.err.find("gradient: discrete, a discrete set of M, at least 32, that retains y*; M "
                         "is raised from 2 to 32") != std::string::npos);
  CHECK(epochs_of(retains.out).back()["overshot"] == 0);
  const auto other = box.program(
      "scry fit blind.cpp --train sevens.tsv -M 2 --epochs 2 "
      "--gradient smc -o set --resume");
  CHECK(other.exit_code == 1);
  CHECK(last_line(other.err).find("it was trained with --gradient auto, not smc") !=
        std::string::npos);
  box.write_model("local.cpp", kNormalized);
  const auto local =
      box.program("scry fit local.cpp --train train.tsv --epochs 1 --gradient smc -o local");
  CHECK(local.exit_code == 1);
  CHECK(last_line(local.err).find("--gradient smc has no use: the likelihood is joint") !=
        std::string::npos);
  SECTION("which sums over finite states do not: the same scores, exactly") {
    const auto exact = box.program(
        "scry fit finite.cpp --train sevens.tsv --dev sevens.tsv --rate 0.01 --epochs 2 -o finite");
    CAPTURE(exact.err);
    REQUIRE(exact.exit_code == 0);
    for (const json& epoch : epochs_of(exact.out)) {
      CHECK(epoch["likelihood"] == "exact");
      CHECK(epoch["dev_perplexity"] >= 1);
      CHECK_FALSE(epoch.contains("dev_overshot"));
    }
  }
}

TEST_CASE("a run does not go on with a model that was changed, in equal shapes or not") {
  const ChainBox box;
  box.write_model("model.cpp", kNormalized);
  const std::string fit = "scry fit model.cpp --train train.tsv -o out --resume --epochs ";
  REQUIRE(box.program(fit + "2").exit_code == 0);
  const std::string old = read_file(box.path("out"));
  box.write_model("model.cpp", "log_softmax(w * 2)[last][y]");
  const auto changed = box.program(fit + "3");
  CHECK(changed.exit_code == 1);
  CHECK(last_line(changed.err) ==
        "out: its run is of another model, or of this one before it was changed; start a new one "
        "from its parameters by --params and another output file");
  CHECK(read_file(box.path("out")) == old);
  write_text(box.path("model.cpp"), "// A comment changes nothing.\n" + model_with(kNormalized));
  CHECK(box.program(fit + "3").exit_code == 0);
}

const std::string kFit = "lesson_01_hmm fit --train train.tsv --dev dev.tsv --epochs 3 ";

struct DiaryBox : Sandbox {
  DiaryBox() {
    std::string text;
    for (int i = 0; i < 40; ++i) text += "1 1 2 3 3\tC C C H H\n3 3 2 1\tH H H C\n";
    write_text(path("train.tsv"), text);
    write_text(path("dev.tsv"), "2 3 3 3 1 1\tH H H H C C\n1\tC\n3 2 3\tH H H\n");
  }
};

TEST_CASE("streams that cannot be written lose nothing of a run") {
  const DiaryBox box;
  REQUIRE(box.program(kFit + "-o whole --log whole.jsonl").exit_code == 0);
  const std::string whole = read_file(box.path("whole"));
  const auto log = epochs_of(read_file(box.path("whole.jsonl")));
  int number = 0;
  for (const std::string streams :
       {"| head -1", "| true", "2>&1 | head -1", ">/dev/full", "2>/dev/full", ">/dev/full 2>&1",
        ">&-", "2>&-", ">&- 2>&- <&-"}) {
    const std::string name = "part" + std::to_string(++number);
    const auto result = box.run("sh -c '" + test::bin_dir() + "/" + kFit + "-o " + name +
                                    " --log " + name + ".jsonl " + streams + "'",
                                "SCRY_ENZYME=off");
    CAPTURE(streams, result.exit_code, result.err);
    CHECK(read_file(box.path(name)) == whole);
    CHECK(epochs_of(read_file(box.path(name + ".jsonl"))) == log);
    const bool is_piped = streams.find('|') != std::string::npos;
    const bool is_output_lost = streams.starts_with(">");
    if (!is_piped) CHECK(result.exit_code == (is_output_lost ? 1 : 0));
  }
}

TEST_CASE("a checkpoint with one wrong bit is no parameters for any command") {
  const DiaryBox box;
  REQUIRE(box.program(kFit + "-o out").exit_code == 0);
  std::string bytes = read_file(box.path("out"));
  bytes[bytes.size() - 3] = static_cast<char>(bytes[bytes.size() - 3] ^ 1);
  write_text(box.path("bad"), bytes);
  for (const std::string command :
       {"score --input dev.tsv", "sample --input dev.tsv", "fit --train train.tsv -o new"}) {
    const auto result = box.program("lesson_01_hmm " + command + " --params bad");
    CAPTURE(command, result.err);
    CHECK(result.exit_code == 1);
    CHECK(result.err == "bad: the file is damaged: it is not what its checksum was made of\n");
  }
}

TEST_CASE("what a killed process left beside the output and the log goes with the next run") {
  const DiaryBox box;
  for (const std::string name : {"out", "log.jsonl"}) {
    write_text(box.path(name + ".999999999.tmp"), "half");
    write_text(box.path(name + ".999999999.a1B2.tmp"), "half");
    write_text(box.path(name + ".notes.tmp"), "mine");
  }
  REQUIRE(box.program(kFit + "-o out --log log.jsonl --resume").exit_code == 0);
  std::vector<std::string> names;
  for (const auto& [name, bytes] : test::files_in(box)) names.push_back(name);
  CHECK(names == std::vector<std::string>{"dev.tsv", "log.jsonl", "log.jsonl.notes.tmp", "out",
                                          "out.notes.tmp", "train.tsv"});
}

}  // namespace
}  // namespace scry
