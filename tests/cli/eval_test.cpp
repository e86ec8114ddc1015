// `scry eval`, as users run it.
#include <nlohmann/json.hpp>

#include "runtime/eval/configuration.h"
#include "tests/catch.h"
#include "tests/cli/shell.h"

namespace scry {
namespace {

using nlohmann::json;
using test::lines_of;
using test::Sandbox;
using test::write_text;

const std::string kHmm = "lesson_01_hmm eval --input in.txt ";

json without_time(json table) {
  table.erase("threads");
  for (json& row : table["rows"]) row.erase("seconds_per_input");
  return table;
}

TEST_CASE("eval compares all methods by default, and prints a table with its legend") {
  const Sandbox box;
  write_text(box.path("in.txt"), "1 2 3 1 2\n3 1\n2 2 1\n");
  REQUIRE(box.program("lesson_01_hmm init -o p.safetensors").exit_code == 0);
  const auto result = box.program(kHmm + "--params p.safetensors -M 4,8 --runs 3");
  INFO(result.out);
  CHECK(result.exit_code == 0);
  CHECK(result.err.empty());
  for (const Configuration& c : default_configurations(true)) {
    INFO(c.name);
    CHECK(result.out.find("\n" + c.name + " ") != std::string::npos);
  }
  for (const char* words :
       {"3 inputs, 3 runs of each", "exact for 3 inputs by enumeration", "KL bits", "sd log Ẑ",
        "marginals", "how far the sample as a whole is from the model", "one standard error",
        "The lookahead by itself: C_t misses the exact H_t by"}) {
    INFO(words);
    CHECK(result.out.find(words) != std::string::npos);
  }
  for (const char* words : {"≈", "≥", "offset KL", "nan"})  // all is exact, or not there
    CHECK(result.out.find(words) == std::string::npos);
}

TEST_CASE("eval's numbers are the same on any threads, and the seed decides") {
  const Sandbox box;
  write_text(box.path("in.txt"), "1 2 3 1 2\n3 1\n2 2 1 1 1 2 3\n1\n");
  const auto run = [&](const std::string& options) {
    const auto result = box.program(kHmm + "--format json -M 4 --runs 2 " + options);
    INFO(result.err);
    REQUIRE(result.exit_code == 0);
    return without_time(json::parse(result.out));
  };
  CHECK(run("--threads 1 --batch 1") == run("--threads 3"));
  CHECK(run("--seed 4 --methods PF") != run("--seed 5 --methods PF"));
}

TEST_CASE("eval's lists take names in any case and with blanks, and refuse typos with advice") {
  const Sandbox box;
  write_text(box.path("in.txt"), "1 2\n");
  const auto result = box.program(kHmm + "--format csv --methods 'pf, BEAM ,filter' -M '2, 3'");
  REQUIRE(result.exit_code == 0);
  const std::vector<std::string> lines = lines_of(result.out);
  REQUIRE(lines.size() == 7);
  CHECK(lines[0].starts_with("configuration,method,resampled,draws,weights,particles,"));
  CHECK(lines[1].starts_with("PF,filter,never,independent,sampler,2,"));
  CHECK(lines[2].starts_with("beam,beam,never,independent,sampler,2,"));
  CHECK(lines[6].starts_with("PF:R,filter,ess,independent,sampler,3,"));

  struct Mistake {
    const char *options, *message;
  };
  for (const Mistake& mistake :
       {Mistake{"--methods PS-R", "--methods: there is no 'PS-R', did you mean PS:R?; there are "},
        {"--methods PF,beem", "--methods: there is no 'beem', did you mean beam?"},
        {"--methods smoth", "--methods: there is no 'smoth', did you mean smooth?"},
        {"--methods viterbi", "--methods: there is no 'viterbi'; there are exact, "},
        {"--methods PF,,PS", "--methods: there is no ''; there are "},
        {"--methods PF,pf", "--methods: PF is there twice"},
        {"-M 8,x", "--particles: '8,x' is not a list of whole numbers such as 8,32,128"},
        {"-M 0", "--particles: '0' is not a list"},
        {"-M 8,8", "--particles: 8 is there twice"},
        {"--runs 0", "'0' is not a whole number above 0"},
        {"--max-rows -1", "'-1' is not a whole number up to 2^28"}}) {
    const auto failed = box.program(kHmm + mistake.options);
    INFO(mistake.options << ": " << failed.err);
    CHECK(failed.exit_code == 2);
    CHECK(failed.err.find(mistake.message) != std::string::npos);
    CHECK(lines_of(failed.err).size() == 1);
    CHECK(failed.out.empty());
  }
}

TEST_CASE("eval evaluates the first sequences if --limit says so, and tells of bad lines") {
  const Sandbox box;
  write_text(box.path("in.txt"), "1 2\n1 9\n3\n2\n");
  const auto limited = box.program(kHmm + "--limit 1 --format json --methods PF -M 2");
  CHECK(limited.exit_code == 0);
  CHECK(json::parse(limited.out)["inputs"] == 1);
  const auto all = box.program(kHmm + "--format json --methods PF -M 2");
  CHECK(all.exit_code == 1);
  CHECK(json::parse(all.out)["inputs"] == 3);
  CHECK(all.err.find("in.txt:2: ") != std::string::npos);
  write_text(box.path("in.txt"), "9\n");
  const auto none = box.program(kHmm + "--methods PF");
  CHECK(none.exit_code == 1);
  CHECK(none.err.find("in.txt: no sequence in it can be evaluated\n") != std::string::npos);
}

TEST_CASE("what eval only estimates, it marks") {
  const Sandbox box;
  write_text(box.path("in.txt"), "1 2 3 1 2 3 1 1\n3 1\n");
  const auto result = box.program(
      kHmm + "--max-rows 4 --max-states 0 --reference 64 --methods exact,PF,beam -M 4 --runs 2");
  INFO(result.out);
  CHECK(result.exit_code == 0);
  CHECK(result.out.find("exact for 1 input by enumeration, estimated for 1 input by 4 runs of") !=
        std::string::npos);
  for (const std::string& line : lines_of(result.out)) {
    if (!line.starts_with("PF") && !line.starts_with("beam  ")) continue;
    CHECK(line.find("≈") != std::string::npos);
  }
  CHECK(result.out.find("exact with M = 4: on 1 input the draws are from the estimate of p.\n") !=
        std::string::npos);
}

TEST_CASE("eval writes its numbers besides, and over nothing that it reads") {
  const Sandbox box;
  write_text(box.path("in.txt"), "1 2\n");
  const std::string eval = kHmm + "--methods PF -M 2 --threads 1 ";
  const auto both = box.program(eval + "--format markdown --csv numbers.csv");
  REQUIRE(both.exit_code == 0);
  CHECK(both.out.find("| PF | 2 | ") != std::string::npos);
  CHECK(lines_of(test::read_file(box.path("numbers.csv"))).size() == 2);
  CHECK(box.program(eval + "--csv in.txt").err ==
        "scry: --csv and --input are the same file 'in.txt', which would be lost\n");
  CHECK(box.program(eval + "--csv new -o new").err ==
        "scry: --output and --csv are the same file 'new', which would be lost\n");
  CHECK(test::read_file(box.path("in.txt")) == "1 2\n");
}

TEST_CASE("eval needs a lookahead for what looks ahead") {
  const Sandbox box;
  write_text(
      box.path("blind.cpp"),
      "#include <scry.h>\n"
      "using namespace scry;\n"
      "struct Blind : Model {\n"
      "  Embedding w;\n"
      "  explicit Blind(const Task& t) : Model(t, state(\"h\", 1)), w(*this, \"w\", 3, 2) {}\n"
      "  Step step(const State& s, const Input& x, const Sym& y) const override {\n"
      "    return {.score = w[x][y], .state = {s[\"h\"]}};\n"
      "  }\n"
      "};\n"
      "SCRY_MODEL() {\n"
      "  return {std::make_shared<Blind>(Task{Alphabet::numbered(3), Alphabet::numbered(2)})};\n"
      "}\n");
  write_text(box.path("in.txt"), "1 2 0\n");
  const auto refused = box.program("scry eval blind.cpp --input in.txt --methods PF,PS");
  INFO(refused.err);
  CHECK(refused.exit_code == 2);
  CHECK(lines_of(refused.err).back() ==
        "scry: --methods: PS needs a lookahead, and the model has no proposal");
  const auto all = box.program("scry eval blind.cpp --input in.txt -M 2 --format json");
  REQUIRE(all.exit_code == 0);
  const json table = json::parse(all.out);
  CHECK(table["rows"].size() == default_configurations(false).size());
  CHECK(table["lookahead"]["calibration"].is_null());
  CHECK(table["lookahead"]["blind_calibration"].is_number());
}

}  // namespace
}  // namespace scry
