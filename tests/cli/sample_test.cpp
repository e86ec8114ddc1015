#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/catch.h"
#include "tests/cli/shell.h"

namespace scry {
namespace {

using nlohmann::json;
using test::lines_of;
using test::Sandbox;
using test::write_text;

std::vector<json> objects_of(const std::string& text) {
  std::vector<json> objects;
  for (const std::string& line : lines_of(text)) objects.push_back(json::parse(line));
  return objects;
}

const std::string kHmm = "lesson_01_hmm sample --input in.txt ";
const std::string kRandom = "scry: there is no --params: the weights are random, of seed 1\n";

TEST_CASE("every method samples or searches the HMM, and they agree where they should") {
  const Sandbox box;
  write_text(box.path("in.txt"), "1 2 3 1\n\n3 3\tignored\r\n");
  const auto run = [&](const std::string& options) {
    const auto result = box.program(kHmm + "--format jsonl --precision double " + options);
    INFO(result.err);
    REQUIRE(result.exit_code == 0);
    CHECK(result.err == "scry: there is no --params: the weights are random, of seed 1\n");
    std::vector<json> objects = objects_of(result.out);
    REQUIRE(objects.size() == 2);
    CHECK(objects[0]["line"] == 1);
    CHECK(objects[0]["x"] == json({"1", "2", "3", "1"}));
    CHECK(objects[1]["line"] == 3);
    CHECK(objects[1]["x"] == json({"3", "3"}));
    return objects;
  };
  const std::vector<json> exact = run("--method exact");
  CHECK(exact[0]["num_sequences"] == 16);
  CHECK(exact[0]["log_z_error"] == 0);
  for (const char* method : {"is", "smooth"}) {  // the proposal is exact
    const std::vector<json> drawn = run(std::string("-M 20 --method ") + method);
    for (size_t i : {0, 1}) {
      CHECK(std::abs(drawn[i]["log_z"].get<double>() - exact[i]["log_z"].get<double>()) < 1e-9);
      CHECK(drawn[i]["method"] == method);
      CHECK(drawn[i]["particles"] == 20);
    }
  }
  CHECK(run("")[0]["method"] == "discrete");
  const json filtered = run("--method filter -M 2000")[0];
  CHECK(filtered["log_z_status"] == "estimate");
  CHECK(filtered["log_z_error"].get<double>() < 0.02);
  CHECK(std::abs(filtered["log_z"].get<double>() - exact[0]["log_z"].get<double>()) <=
        4 * filtered["log_z_error"].get<double>());
  const std::vector<json> wide = run("--method beam -M 16");
  REQUIRE(wide[0]["sequences"].size() == 16);
  for (size_t i = 0; i < 16; ++i) {
    for (const char* key : {"tags", "log_score", "share"})
      CHECK(wide[0]["sequences"][i][key] == exact[0]["sequences"][i][key]);
    CHECK(wide[0]["sequences"][i]["probability"].is_null());
  }
  CHECK(wide[0]["log_z"].is_null());
  CHECK(wide[0]["log_z_lower_bound"] == exact[0]["log_z"]);
  CHECK(run("--method beam --beam-by lookahead -M 1")[0]["num_sequences"] == 1);
  for (const char* method : {"viterbi", "astar"}) {
    const std::vector<json> best = run(std::string("--method ") + method);
    CHECK(best[0]["sequences"][0]["tags"] == exact[0]["sequences"][0]["tags"]);
    CHECK(best[0]["optimal"] == true);
  }
}

TEST_CASE("viterbi finds as many taggings as --top says, with their probabilities") {
  const Sandbox box;
  write_text(box.path("in.txt"), "1 2 3 1\n");
  const std::string double_jsonl = "--precision double --format jsonl ";
  const auto run = [&](const std::string& options) {
    const auto result = box.program(kHmm + double_jsonl + options);
    INFO(result.err);
    REQUIRE(result.exit_code == 0);
    return json::parse(result.out);
  };
  const json all = run("--method exact"), best = run("--method viterbi --top 5");
  REQUIRE(best["sequences"].size() == 5);
  CHECK(best["log_z_status"] == "exact");
  CHECK(std::abs(best["log_z"].get<double>() - all["log_z"].get<double>()) < 1e-12);
  for (size_t i = 0; i < 5; ++i) {
    CHECK(best["sequences"][i]["tags"] == all["sequences"][i]["tags"]);
    CHECK(std::abs(best["sequences"][i]["log_probability"].get<double>() -
                   all["sequences"][i]["log_probability"].get<double>()) < 1e-12);
  }
  CHECK(run("--method viterbi")["sequences"].size() == 1);
  CHECK(run("--method viterbi --top 99")["sequences"].size() == 16);
  const auto none = box.program(kHmm + "--method viterbi --top 0");
  CHECK(none.exit_code == 2);
  CHECK(none.err == "scry: --top 0: viterbi needs to know how many taggings to find\n");
  const auto table = box.program(kHmm + "--method viterbi --top 2");
  CHECK(table.exit_code == 0);
  CHECK(lines_of(table.out).size() == 3);
  CHECK(table.out.find(" exact ") != std::string::npos);
}

TEST_CASE("marginals and entropy are exact where they can be, and say which they are") {
  const Sandbox box;
  write_text(box.path("in.txt"), "1 2 3 1\n");
  const auto run = [&](const std::string& options) {
    const auto result =
        box.program(kHmm + "--precision double --format jsonl --marginals " + options);
    INFO(result.err);
    REQUIRE(result.exit_code == 0);
    return json::parse(result.out);
  };
  const json all = run("--method exact"), drawn = run("--method exact --max-rows 10 -M 3"),
             sampled = run("--method filter -M 50");
  CHECK(all["method"] == "enumerate");
  CHECK(drawn["method"] == "exact");
  for (const json& each : {all, drawn}) {
    CHECK(each["marginals_status"] == "exact");
    CHECK(std::abs(each["entropy"].get<double>() - all["entropy"].get<double>()) < 1e-12);
    REQUIRE(each["marginals"].size() == 4);
    for (size_t t = 0; t < 4; ++t)
      CHECK(std::abs(each["marginals"][t][0].get<double>() - all["marginals"][t][0].get<double>()) <
            1e-12);
  }
  double entropy = 0;
  for (const json& each : all["sequences"])
    entropy -= each["probability"].get<double>() * each["log_probability"].get<double>();
  CHECK(std::abs(all["entropy"].get<double>() - entropy) < 1e-12);
  CHECK(sampled["marginals_status"] == "estimate");
  CHECK(sampled["entropy"].is_null());
  const auto table = box.program(kHmm + "--method exact --marginals");
  CHECK(table.exit_code == 0);
  CHECK(lines_of(table.out).size() == 5);
  CHECK(table.out.find(" exact ") != std::string::npos);
}

TEST_CASE("options reach the sampler, and the seed decides") {
  const Sandbox box;
  write_text(box.path("in.txt"), "1 2 3 1 1 2\n");
  const auto run = [&](const std::string& options) {
    const auto result = box.program(kHmm + "--format jsonl --method filter " + options);
    REQUIRE(result.exit_code == 0);
    return result.out;
  };
  CHECK(run("--seed 4") == run("--seed 4"));
  CHECK(run("--seed 4") != run("--seed 5"));
  CHECK(run("--threads 1 --batch 1") == run("--threads 2 --batch 7"));
  const auto field = [&](const std::string& options, const char* name) {
    return json::parse(run(options))[name];
  };
  CHECK(field("--resample always --scheme systematic", "resampling") ==
        "systematic, before the draw, always");
  CHECK(field("--resample ess --alpha 0.9", "resampling") ==
        "systematic, before the draw, if ESS < 0.9 M");
  CHECK(field("--resample always --resample-at after --scheme multinomial", "resampling") ==
        "multinomial, after the draw, always");
  CHECK(field("--temperature 2", "temperature") == 2.0);
  CHECK(field("--runs 5 -M 10", "runs") == 5);
  CHECK(field("--top 2", "sequences").size() == 2);
  CHECK(!json::parse(run("")).contains("steps"));
  CHECK(field("--steps", "steps").size() == 6);
}

TEST_CASE("searches find the same taggings, to the bit, on any number of threads") {
  const Sandbox box;
  const std::string symbols[] = {"1", "2", "3"};
  std::string input;
  for (size_t line = 0; line < 40; ++line) {
    for (size_t t = 0; t <= line % 13; ++t) input += symbols[(line * 7 + t * t) % 3] + " ";
    input += "\n";
  }
  write_text(box.path("in.txt"), input);
  for (const std::string method : {"viterbi", "astar"}) {
    const auto run = [&](const std::string& threads) {
      const auto result =
          box.program(kHmm + "--format jsonl --method " + method + " --threads " + threads);
      REQUIRE(result.exit_code == 0);
      return result.out;
    };
    const std::string alone = run("1");
    REQUIRE(lines_of(alone).size() == 40);
    for (const std::string& line : lines_of(alone)) {  // taggings are compared, not complaints
      const json record = json::parse(line);
      CHECK(record["error"].is_null());
      CHECK(record["optimal"] == true);
      REQUIRE(record["sequences"].size() == 1);
      CHECK(record["sequences"][0]["tags"].size() == record["length"].get<size_t>());
      CHECK(record["sequences"][0]["log_score"].is_number());
    }
    for (const char* threads : {"2", "4"}) CHECK(run(threads) == alone);
  }
}

TEST_CASE("parameters come from a file where one is given") {
  const Sandbox box;
  write_text(box.path("in.txt"), "1 2 3\n");
  REQUIRE(box.program("lesson_01_hmm init --seed 9 -o p.safetensors").exit_code == 0);
  const auto log_z = [&](const std::string& options) {
    const auto result = box.program(kHmm + "--method exact --format jsonl " + options);
    REQUIRE(result.exit_code == 0);
    return json::parse(result.out)["log_z"].get<double>();
  };
  CHECK(log_z("--params p.safetensors --seed 1") == log_z("--seed 9"));
  CHECK(log_z("--params p.safetensors") != log_z("--seed 1"));
}

TEST_CASE("constraints are read from the second column") {
  const Sandbox box;
  write_text(box.path("in.txt"), "1 2 3\t* C C|H\n1 2\tH H\n");
  const auto result = box.program(kHmm + "--constrain --method exact --format jsonl");
  REQUIRE(result.exit_code == 0);
  const std::vector<json> objects = objects_of(result.out);
  CHECK(objects[0]["num_sequences"] == 4);
  for (const json& sequence : objects[0]["sequences"]) CHECK(sequence["tags"][1] == "C");
  CHECK(objects[1]["num_sequences"] == 1);
}

TEST_CASE("a line with something wrong in it is named, and the others are sampled") {
  const Sandbox box;
  write_text(box.path("in.txt"), "1 2\t* H\n2 9 1\t* * *\n1 1\t*\n3\tX\n3 3\nx\t*\n3\tC\n");
  const auto plain = box.program("lesson_01_hmm sample --input in.txt --constrain");
  CHECK(plain.exit_code == 1);
  CHECK(plain.err == kRandom +
                         "in.txt:2: step 2: '9' is not in the input alphabet\n"
                         "in.txt:3: 2 symbols but 1 sets of allowed tags\n"
                         "in.txt:4: step 1: 'X' is not in the output alphabet\n"
                         "in.txt:5: there is no tab between symbols and allowed tags\n"
                         "in.txt:6: step 1: 'x' is not in the input alphabet\n");
  CHECK(lines_of(plain.out).size() >= 8);
  const auto jsonl = box.program("lesson_01_hmm sample --input in.txt --constrain --format jsonl");
  CHECK(jsonl.exit_code == 1);
  CHECK(jsonl.err == plain.err);
  const std::vector<json> objects = objects_of(jsonl.out);
  REQUIRE(objects.size() == 7);
  CHECK(objects[1]["error"] == "step 2: '9' is not in the input alphabet");
  for (size_t i : {0, 6}) CHECK(objects[i].contains("log_z"));
}

TEST_CASE("what a model cannot do is said in one line") {
  const Sandbox box;
  write_text(box.path("in.txt"), "1 2 3\n");
  const auto viterbi = box.program("lesson_02_oohmm sample --input in.txt --method viterbi");
  CHECK(viterbi.exit_code == 1);
  CHECK(viterbi.err == kRandom +
                           "scry: the model's states are not finite: 'belief' is [5]; search "
                           "best-first, or sample\n");
  const auto exact =
      box.program("lesson_02_oohmm sample --input in.txt --method exact --max-rows 7");
  CHECK(exact.exit_code == 1);
  CHECK(exact.err == kRandom +
                         "in.txt:1: there are 8 taggings, more than the 7 to be enumerated, and "
                         "the model's states "
                         "are not finite: sample, or raise the limit\n");
  write_text(box.path("word.txt"), "K AE T\n");
  const auto astar = box.program("lesson_03_stress_tagger sample --input word.txt --method astar");
  CHECK(astar.exit_code == 0);
  CHECK(astar.out.find("heuristic: the lookahead is learned") != std::string::npos);
}

TEST_CASE("the table has a row per tagging, and --stats tells the rows computed") {
  const Sandbox box;
  write_text(box.path("in.txt"), "M AA D AH L\nK AE T\n");
  const auto result =
      box.program("lesson_03_stress_tagger sample --input in.txt --top 2 --stats -M 128");
  CHECK(result.exit_code == 0);
  const std::vector<std::string> lines = lines_of(result.out);
  REQUIRE(lines.size() == 5);
  CHECK(lines[0].find("log Z") != std::string::npos);
  CHECK(lines[1].find("M AA D AH L") != std::string::npos);
  CHECK(result.err.find("rows / (M·T)") != std::string::npos);
  CHECK(result.err.find("1,024 particle-steps") != std::string::npos);
}

TEST_CASE("a file is written whole, or not at all") {
  const Sandbox box;
  write_text(box.path("in.txt"), "1 2\n");
  CHECK(box.program(kHmm + "-o out.txt").exit_code == 0);
  const std::string before = test::read_file(box.path("out.txt"));
  CHECK(!before.empty());
  write_text(box.path("empty.txt"), "\n");
  const auto failed = box.program("lesson_01_hmm sample --input empty.txt -o out.txt");
  CHECK(failed.exit_code == 1);
  CHECK(failed.err == "empty.txt: there is no example in it\n");
  CHECK(test::read_file(box.path("out.txt")) == before);
  const auto unwritable = box.program(kHmm + "-o missing/out.txt");
  CHECK(unwritable.exit_code == 1);
  CHECK(lines_of(unwritable.err).size() == 2);  // the first of random weights
}

TEST_CASE("options that a method would ignore are refused") {
  const Sandbox box;
  write_text(box.path("in.txt"), "1 2\n");
  REQUIRE(box.program("lesson_01_hmm init -o p.safetensors").exit_code == 0);
  for (const char* options : {"--method astar --top 2",
                              "--method viterbi -M 5",
                              "--method viterbi --marginals",
                              "--method beam --marginals",
                              "--method exact --marginals --top 3",
                              "--method astar --temperature 2",
                              "--method astar --runs 2",
                              "--method astar --memory 1G",
                              "--method exact --runs 2",
                              "--method exact --resample always",
                              "--method exact --scheme residual",
                              "--method exact --batch 3",
                              "--method beam --runs 2",
                              "--method beam --alpha 0.3",
                              "--method beam --seed 3 --params p.safetensors",
                              "--method smooth --beam-by lookahead",
                              "--method filter --beam-by score",
                              "--method filter --max-rows 9",
                              "--steps",
                              "--steps --format jsonl --runs 2",
                              "--method viterbi --steps --format jsonl",
                              "--resample never",
                              "--method smooth --resample never --alpha 0.3",
                              "--method smooth --resample never --scheme residual",
                              "--method smooth --resample always --alpha 0.3",
                              "--method is --scheme residual",
                              "--method is --resample always --resample-at before",
                              "--method smooth --resample never --resample-at after",
                              "--method smooth --draws arithmetic --resample ess",
                              "--method smooth --draws arithmetic --alpha 0.3",
                              "--method discrete --draws arithmetic",
                              "--method discrete --resample always",
                              "--method discrete --scheme residual",
                              "--method beam --weights score",
                              "--method viterbi --weights score"}) {
    const auto result = box.program(kHmm + options);
    INFO(options << ": " << result.err);
    CHECK(result.exit_code == 2);
    CHECK(lines_of(result.err).size() == 1);
    CHECK(result.err.find(" has no use with ") != std::string::npos);
    CHECK(result.out.empty());
  }
  for (const char* options :
       {"--method is --resample ess --scheme residual --alpha 0.3", "--method beam --seed 3",
        "--method exact -M 5 --top 2 --max-rows 3 --temperature 2",
        "--method discrete --runs 3 --rank-by score --seed 3",
        "--method smooth --draws arithmetic --resample never", "--draws arithmetic --method filter",
        "--rank-by score", "--method smooth --resample-at after --scheme multinomial",
        "--weights score --runs 2", "--method exact --weights score",
        "--method discrete --weights score"}) {
    const auto result = box.program(kHmm + options);
    INFO(options << ": " << result.err);
    CHECK(result.exit_code == 0);
  }
}

TEST_CASE("a discrete set looks ahead if it can, and tells to use runs for its error") {
  const Sandbox box;
  write_text(box.path("in.txt"), "1 2 3 1 2 3\n");
  const auto record = [&](const std::string& options) {
    const auto result = box.program(kHmm + "--format jsonl -M 3 --precision double " + options);
    INFO(result.err);
    REQUIRE(result.exit_code == 0);
    return json::parse(result.out);
  };
  const json exact = record("--method exact"), ahead = record("--method discrete"),
             blind = record("--method discrete --rank-by score");
  // The lookahead of this model is exact.
  CHECK(ahead["log_z"].get<double>() == Approx(exact["log_z"].get<double>()).epsilon(1e-12));
  CHECK(std::abs(blind["log_z"].get<double>() - exact["log_z"].get<double>()) > 1e-6);
  CHECK(blind["log_z_status"] == "unknown");
  CHECK(blind["log_z_error"].is_null());
  CHECK(blind["log_z_caution"].get<std::string>().find("--runs") != std::string::npos);
  CHECK(blind["num_sequences"] == 3);
  CHECK(blind["particles"] == 3);
  CHECK(record("--method discrete --rank-by score --runs 20")["log_z_error"].get<double>() > 0);
  CHECK(record("--method discrete --weights score")["weights"] == "score");
  CHECK(record("--method smooth --draws arithmetic")["draws"] == "arithmetic");
  const auto table = box.program(kHmm + "-M 3 --method discrete --stats");
  CHECK(table.out.find("--runs") != std::string::npos);
  CHECK(table.err.find("none for 1 of 1: use --runs") != std::string::npos);
  // What all lines have in common is said once.
  write_text(box.path("in.txt"), "1 2 3 1 2 3\n3 2 1 3 2 1\n1 1 1 1 1 1\n");
  const std::string out = box.program(kHmm + "-M 3").out;
  const size_t note = out.find("tells no error by itself");
  REQUIRE(note != std::string::npos);
  CHECK(out.find("tells no error by itself", note + 1) == std::string::npos);
}

TEST_CASE("random weights are told of, and given ones are not") {
  const Sandbox box;
  write_text(box.path("in.txt"), "1 2\n");
  REQUIRE(box.program("lesson_01_hmm init -o p.safetensors").exit_code == 0);
  const auto random = box.program(kHmm + "--format jsonl");
  CHECK(random.err == kRandom);
  CHECK(json::parse(random.out)["parameters"] == "random");
  const auto given = box.program(kHmm + "--format jsonl --params p.safetensors");
  CHECK(given.err.empty());
  CHECK(json::parse(given.out)["parameters"] == "file");
}

TEST_CASE("exact draws from a long input have the probability that the model gives them") {
  const Sandbox box;
  std::string x;
  for (int t = 0; t < 3000; ++t) x += std::to_string(1 + t * t % 3) + " ";
  write_text(box.path("in.txt"), x + "\n1 2 3 3 2 1\n");
  const auto result = box.program(kHmm + "--method exact -M 4 --max-rows 63 --format jsonl");
  CHECK(result.exit_code == 1);  // 6,000 states are too many for the first
  const auto wide = box.program(kHmm + "--method exact -M 4 --format jsonl --precision double");
  REQUIRE(wide.exit_code == 0);
  const std::vector<json> objects = objects_of(wide.out);
  REQUIRE(objects[0]["method"] == "exact");
  for (const json& drawn : objects[0]["sequences"]) {
    CHECK(drawn["share"].get<double>() == Approx(0.25));
    CHECK(drawn["log_probability"].get<double>() ==
          Approx(drawn["log_score"].get<double>() - objects[0]["log_z"].get<double>()));
    CHECK(drawn["probability"].get<double>() < 1e-200);
  }
  const auto table = box.program(kHmm + "--method exact -M 4");
  CHECK(table.out.find(" 0.250 ") == std::string::npos);
}

TEST_CASE("a table says which log Z is exact, a lower bound, or not to be trusted") {
  const Sandbox box;
  std::string x;
  for (int t = 0; t < 3000; ++t) x += std::to_string(1 + t * t % 3) + " ";
  write_text(box.path("in.txt"), x + "\n");
  const auto collapsed = box.program(kHmm + "--method filter --resample never -M 32 --stats");
  CHECK(collapsed.out.find(" unreliable ") != std::string::npos);
  CHECK(collapsed.out.find("the effective sample size fell to") != std::string::npos);
  CHECK(collapsed.err.find("1 of 1 cannot be trusted") != std::string::npos);
  const auto beam = box.program(kHmm + "--method beam -M 4");
  CHECK(beam.out.find("log Z at least") != std::string::npos);
  CHECK(beam.out.find("≥-") != std::string::npos);
  CHECK(box.program(kHmm + "--method exact").out.find(" exact ") != std::string::npos);
  write_text(box.path("in.txt"), "1 2 3\n");
  const auto equal = box.program(kHmm + "--method smooth");  // the lookahead is exact
  CHECK(equal.out.find("±?") != std::string::npos);
  CHECK(equal.out.find("all weights are equal") != std::string::npos);
  CHECK(equal.out.find("±0.000") == std::string::npos);
}

TEST_CASE("results come in the order of lines, however many parts they are made in") {
  const Sandbox box;
  std::string input;
  for (int i = 0; i < 1300; ++i) input += i % 100 == 7 ? "9 9\n" : i % 3 == 0 ? "1 2 3\n" : "3\n";
  write_text(box.path("in.txt"), input);
  const auto streamed = box.program(kHmm + "--format jsonl -M 4");
  CHECK(streamed.exit_code == 1);  // 9 is no symbol
  const std::vector<json> objects = objects_of(streamed.out);
  REQUIRE(objects.size() == 1300);
  for (size_t i = 0; i < objects.size(); ++i) CHECK(objects[i]["line"] == i + 1);
  CHECK(box.program(kHmm + "--format jsonl -M 4 -o out.txt").exit_code == 1);
  CHECK((test::read_file(box.path("out.txt")) == streamed.out));
  CHECK((box.program(kHmm + "--format jsonl -M 4 --memory 40K").out == streamed.out));
  CHECK((box.program(kHmm + "--format jsonl -M 4 -o /dev/stdout").out == streamed.out));
  const auto table = box.program(kHmm + "-M 4 --top 1");
  const std::vector<std::string> rows = lines_of(table.out);
  REQUIRE(rows.size() == 1301);
  for (size_t i = 1; i < rows.size(); ++i) {
    CHECK(rows[i].starts_with(std::string(4 - std::to_string(i).size(), ' ') + std::to_string(i)));
  }
}

TEST_CASE("a line that memory has no room for is named with an estimate") {
  const Sandbox box;
  std::string input = "1 2\n";
  for (int i = 0; i < 2000; ++i) input += "1 ";
  write_text(box.path("in.txt"), input + "\n");
  const auto result = box.program(kHmm + "--format jsonl -M 1000 --top 1 --memory 2M");
  CHECK(result.exit_code == 1);
  REQUIRE(lines_of(result.out).size() == 2);
  CHECK(json::parse(lines_of(result.out)[0])["log_z"].is_number());
  REQUIRE(lines_of(result.err).size() == 2);  // the first is about random weights
  CHECK(lines_of(result.err)[1].starts_with(
      "in.txt:2: 2000 symbols with 1000 particles may need about "));
  CHECK(result.err.ends_with(" or use fewer particles\n"));
  CHECK(box.program(kHmm + "--format jsonl -M 1000 --top 1 --memory 0.5g").exit_code == 0);
}

TEST_CASE("options of sample without sense are usage errors") {
  const Sandbox box;
  write_text(box.path("in.txt"), "1 2\n");
  for (const char* options : {"-M 0",           "-M -1",           "-M many",
                              "--method guess", "--temperature 0", "--temperature -1",
                              "--alpha 2",      "--runs 0",        "--top -2",
                              "--threads -1",   "--resample now",  "--scheme best",
                              "--format xml",   "--max-rows 0",    "--input missing.txt",
                              "--memory 0",     "--memory -1G",    "--memory 5X",
                              "--memory G",     "--memory nan",    "--memory 1e30"}) {
    const auto result = box.program(kHmm + options);
    INFO(options << ": " << result.err);
    CHECK(result.exit_code == 2);
    CHECK(lines_of(result.err).size() == 1);
    CHECK(result.out.empty());
  }
}

TEST_CASE("sample --given retains the file's tags, sweep by sweep, and refuses what has no use") {
  const Sandbox box;
  write_text(box.path("in.txt"), "1 2 3 1 2\tC C H C H\n3 3\n1 2\tC *\n");
  for (const std::string method : {"", "--method smooth ", "--method filter "}) {
    const std::string command = kHmm + "--format jsonl -M 3 --given " + method;
    const auto one = box.program(command), again = box.program(command + "--threads 1 --batch 1");
    CAPTURE(one.err);
    CHECK(one.exit_code == 1);
    CHECK(one.out == again.out);
    CHECK(one.err.find("in.txt:2: there is no tab between symbols and allowed tags") !=
          std::string::npos);
    CHECK(one.err.find("in.txt:3: step 2: --given needs one tag here") != std::string::npos);
    const std::vector<json> objects = objects_of(one.out);
    REQUIRE(objects.size() == 3);
    CHECK(objects[0]["state"].size() == 5);
    CHECK(objects[0]["log_z_status"] == "unknown");
    CHECK(objects[1]["error"].is_string());
    const auto more = box.program(command + "--sweeps 30");
    CHECK(objects_of(more.out)[0]["state"].size() == 5);
  }
  for (const std::string options :
       {"--method beam --given", "--method exact --given", "--given --runs 3",
        "--given --constrain", "--sweeps 3", "--given --method filter --scheme systematic",
        "--given --weights score", "--given --method smooth --draws arithmetic"}) {
    const auto result = box.program(kHmm + options);
    CAPTURE(options, result.err);
    CHECK(result.exit_code == 2);
  }
}

}  // namespace
}  // namespace scry
