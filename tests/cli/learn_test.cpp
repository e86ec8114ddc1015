#include "runtime/files/safetensors.h"
#include "tests/cli/train_checks.h"

namespace scry {
namespace {

using nlohmann::json;
using test::epochs_of;
using test::lines_of;
using test::read_file;
using test::Sandbox;
using test::write_text;

struct WordBox : Sandbox {
  WordBox() {
    write_text(path("words.tsv"),
               "M AA D AH L\t- 1 - 0 -\nK AE T\t- 1 -\nAH B AW T\t0 - 1 -\nB AH N AE N AH\t- 0 - 1 "
               "- 0\n");
    write_text(path("words.txt"), "M AA D AH L\nK AE T\nAH B AW T\nB AH N AE N AH\n");
    write_text(path("dev.txt"), "P AE S T AH\nT IH K AH T\n");
    write_text(path("dev.tsv"), "P AE S T AH\t- 1 - - 0\nT IH K AH T\t- 1 - 0 -\n");
  }
};

const std::string kTagger = "lesson_03_stress_tagger ";
const std::string kLearn = kTagger + "learn --train words.txt --batch 2 -M 16 ";

TEST_CASE("a proposal is learned without tags, for parameters that stay as they are") {
  const WordBox box;
  const auto fitted =
      box.program(kTagger + "fit --train words.tsv --epochs 40 --batch 2 --rate 0.01 -o theta");
  REQUIRE(fitted.exit_code == 0);
  CHECK(lines_of(fitted.err).back() ==
        "fit: next: lesson_03_stress_tagger learn --params theta --train words.tsv -o "
        "learned.safetensors");
  const auto result = box.program(
      kLearn + "--params theta --epochs 15 --patience 0 --rate 0.01 -o out --log log.jsonl");
  CAPTURE(result.err);
  REQUIRE(result.exit_code == 0);
  const std::vector<json> epochs = epochs_of(result.out);
  REQUIRE(epochs.size() == 15);
  CHECK(epochs.back()["kl_bits"].get<double>() < epochs.front()["kl_bits"].get<double>());
  CHECK(epochs.back()["ess"].get<double>() > epochs.front()["ess"].get<double>());
  CHECK(epochs.back()["rows_per_particle_step"].get<double>() > 0);
  CHECK(!epochs.back().contains("perplexity"));
  CHECK(read_file(box.path("log.jsonl")) == result.out);
  const std::vector<std::string> notes = lines_of(result.err);
  CHECK(notes.front() == "learn: 4 examples, 22,306 parameters, gradients by adjoint");
  CHECK(notes.back() ==
        "learn: next: lesson_03_stress_tagger sample --params out --input words.txt");
  // The model's scores are as before, the proposal's are not.
  const auto score = [&](const std::string& params) {
    const auto scored = box.program(kTagger + "score --input words.tsv --params " + params);
    REQUIRE(scored.exit_code == 0);
    const std::string line = lines_of(scored.out).at(1);
    const size_t tab = line.rfind('\t');
    return std::pair(line.substr(0, tab), line.substr(tab));
  };
  CHECK(score("out").first == score("theta").first);
  CHECK(score("out").second != score("theta").second);

  SECTION("tags in the file make no difference") {
    const std::string more = "--params theta --epochs 1 --dev dev.tsv -o ";
    const auto plain = box.program(kLearn + more + "plain");
    REQUIRE(plain.exit_code == 0);
    CHECK(epochs_of(plain.out).at(1)["dev_offset_kl_bits"].is_number());
    REQUIRE(box.program(kTagger + "learn --batch 2 -M 16 --train words.tsv " + more + "tagged")
                .exit_code == 0);
    CHECK(read_file(box.path("plain")) == read_file(box.path("tagged")));
  }
  SECTION("a file of the model alone, such as PyTorch's, is taken with a fresh proposal") {
    TensorFile file = read_tensors(box.path("theta").string());
    std::erase_if(file.tensors, [](const Tensor& t) { return !t.name.starts_with("model."); });
    file.metadata.clear();
    write_text(box.path("torch"), to_bytes(file));
    const auto fresh = box.program(kLearn + "--params torch --epochs 1 -o fresh");
    CAPTURE(fresh.err);
    CHECK(fresh.exit_code == 0);
    CHECK(lines_of(fresh.err).at(1) == "learn: torch has no proposal; it starts afresh, by seed 1");
    CHECK(box.program(kTagger + "fit --train words.tsv --params torch -o no").exit_code == 1);
  }
  SECTION("a file from before to_go was learned is taken, and a line says so") {
    TensorFile file = read_tensors(box.path("theta").string());
    std::erase_if(file.tensors,
                  [](const Tensor& t) { return t.name.find(".to_go.") != t.name.npos; });
    file.metadata.clear();
    write_text(box.path("old"), to_bytes(file));
    const std::string note =
        "old has no to_go, which the proposal gets by default: it is 0 until it is learned, and "
        "samplers do not need it";
    const auto learned = box.program(kLearn + "--params old --epochs 1 -o new");
    CAPTURE(learned.err);
    CHECK(learned.exit_code == 0);
    CHECK(lines_of(learned.err).at(1) == "learn: " + note);
    const auto sampled = box.program(kTagger + "sample --input dev.txt --params old");
    CHECK(sampled.exit_code == 0);
    CHECK(sampled.err.find("scry: " + note) != std::string::npos);
    CHECK(sampled.out == box.program(kTagger + "sample --input dev.txt --params theta").out);
  }
  SECTION("calibration, the baseline and the rate's schedule are asked for") {
    const std::string more = "--params theta --dev dev.tsv --epochs 2 -o ";
    const auto with = box.program(kLearn + more + "with --schedule linear"),
               without = box.program(kLearn + more + "without --calibrate 0 --baseline average");
    CAPTURE(with.err, without.err);
    REQUIRE(with.exit_code == 0);
    REQUIRE(without.exit_code == 0);
    for (const char* field : {"residual_rms", "to_go_rmse", "dev_residual_rms", "dev_to_go_rmse"})
      CHECK(epochs_of(with.out).back()[field].is_number());
    CHECK(with.err.find(", rms r ") != std::string::npos);
    CHECK(epochs_of(without.out).back()["residual_rms"].is_null());
    CHECK(epochs_of(without.out).back()["dev_residual_rms"].is_number());
    const auto longer = box.program(kLearn +
                                    "--params theta --dev dev.tsv --epochs 3 -o with "
                                    "--schedule linear --resume");
    CHECK(longer.exit_code == 1);
    CHECK(longer.err.find("it was trained with --schedule linear over --epochs 2, not linear over "
                          "--epochs 3; give the same options or another output file") !=
          std::string::npos);
    for (const char* wrong :
         {"--calibrate -1", "--calibrate inf", "--baseline none", "--schedule exponential"}) {
      const auto refused = box.program(kLearn + more + "no " + wrong);
      CHECK(refused.exit_code == 2);
      CHECK(lines_of(refused.err).size() == 1);
    }
  }
  SECTION("a resumed run needs no parameters besides") {
    const auto more = box.program(kLearn + "--epochs 16 --patience 0 --rate 0.01 -o out --resume");
    CAPTURE(more.err);
    CHECK(more.exit_code == 0);
    CHECK(epochs_of(more.out).size() == 1);
  }
}

TEST_CASE("the model and its proposal are trained together where that is asked for") {
  const WordBox box;
  const auto result = box.program(kTagger +
                                  "learn --joint --objective joint --train words.tsv --dev dev.tsv "
                                  "--epochs 3 --batch 2 -M 8 --lambda 0 -o out");
  CAPTURE(result.err);
  REQUIRE(result.exit_code == 0);
  const json last = epochs_of(result.out).back();
  for (const char* field : {"perplexity", "dev_perplexity", "kl_bits", "dev_offset_kl_bits", "ess"})
    CHECK(last[field].is_number());
  CHECK(result.err.find("38,782 parameters") != std::string::npos);
  CHECK(box.program(kTagger + "sample --input dev.txt --params out").exit_code == 0);
}

TEST_CASE("embeddings are read from a file, and how many symbols it has is told") {
  const WordBox box;
  std::string vectors;
  for (const char* symbol : {"AA", "K", "ZH", "word"}) {
    vectors += symbol;
    for (int i = 0; i < 32; ++i) vectors += " 0.5";
    vectors += "\n";
  }
  write_text(box.path("glove.txt"), vectors);
  REQUIRE(box.program(kTagger + "init -o theta").exit_code == 0);
  const auto result = box.program(
      kLearn + "--params theta --epochs 1 -o out --embed proposal.emb.weight=glove.txt");
  CAPTURE(result.err);
  CHECK(result.exit_code == 0);
  CHECK(lines_of(result.err).at(1) ==
        "learn: embeddings of proposal.emb.weight: 3 of 39 symbols found in glove.txt");
}

TEST_CASE("what cannot be learned is one line, and no file is touched") {
  const WordBox box;
  REQUIRE(box.program(kTagger + "init -o theta").exit_code == 0);
  REQUIRE(box.program("lesson_01_hmm init -o hmm").exit_code == 0);
  write_text(box.path("bad.txt"), "K AE T\n\nK QQ T\tno tags are read\n");
  write_text(box.path("unequal.tsv"), "K AE T\t- 1\n");
  write_text(box.path("diary.txt"), "1 2 3\n");
  const std::string learn = kTagger + "learn --train words.txt ";
  check_faults(
      box,
      {{learn + "-o out", 2, "scry: --params is required: the model whose proposal is learned"},
       {learn + "-o out --resume", 2, "scry: --params is required"},
       {learn + "--params none -o out", 2, "none"},
       {learn + "--params theta -o theta", 2,
        "scry: --output and --params are the same file 'theta'; give another, or --overwrite\n"},
       {learn + "--params theta -o words.txt --overwrite", 2, "--train are the same file"},
       {learn + "--params hmm -o out", 1, "hmm: it was made for another input alphabet"},
       {learn + "--params theta -o theta --resume", 1, "theta: it holds no training run"},
       {kTagger + "learn --params theta --train bad.txt -o out", 1,
        "bad.txt:3: step 2: 'QQ' is not in the input alphabet\n"},
       {kTagger + "learn --joint --train words.txt -o out", 1,
        "words.txt:1: there is no tab between symbols and tags\n"},
       {kTagger + "learn --joint --train unequal.tsv -o out", 1,
        "unequal.tsv:1: 3 symbols but 2 tags\n"},
       {learn + "--params theta -o out --lambda 1.5", 2,
        "scry: --lambda: '1.5' is not between 0 and 1"},
       {learn + "--params theta -o out --lambda -0.1", 2, "scry: --lambda: '-0.1'"},
       {learn + "--params theta -o out --objective joint", 2, "--objective requires --joint"},
       {learn + "--params theta -o none/out", 1, "scry: none/out cannot be written"},
       {"lesson_01_hmm learn --params hmm --train diary.txt -o out", 1,
        "scry: the model's proposal has no parameters to learn; it is ready for use\n"}});
}

TEST_CASE("a model without parameters or proposal cannot be trained, and says so") {
  const Sandbox box;
  write_text(box.path("coin.cpp"), R"(#include <scry.h>
using namespace scry;
struct Coin : Model {
  explicit Coin(const Task& task) : Model(task, symbol_state("tag", task.y.size())) {}
  Step step(const State&, const Input&, const Sym& y) const override {
    return {.score = sum(zeros({1})), .state = {y}};
  }
};
SCRY_MODEL() { return {std::make_shared<Coin>(Task{Alphabet::of("a b"), Alphabet::of("0 1")})}; }
)");
  write_text(box.path("in.tsv"), "a b\t0 1\n");
  REQUIRE(box.program("scry init coin.cpp -o p").exit_code == 0);
  check_faults(box,
               {{"scry fit coin.cpp --train in.tsv -o out", 1,
                 "scry: the model has no parameters to fit; it is ready for use\n"},
                {"scry learn coin.cpp --train in.tsv --params p -o out", 1,
                 "scry: the model has no proposal to learn; return one beside it in SCRY_MODEL()"},
                {"scry learn coin.cpp --train in.tsv --joint -o out", 1,
                 "scry: the model has no proposal to learn"}});
}

}  // namespace
}  // namespace scry
