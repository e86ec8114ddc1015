// `--report`, as users run it. What the page looks like is tested in Chromium (tests/report).
#include "tools/cli/report.h"

#include <nlohmann/json.hpp>
#include <set>

#include "tests/catch.h"
#include "tests/cli/shell.h"

namespace scry {
namespace {

using nlohmann::json;
using test::lines_of;
using test::read_file;
using test::Sandbox;
using test::write_text;

/// The data that a page has.
json data_of(const std::string& html) {
  const std::string begin = "<script id=\"data\" type=\"application/json\">";
  const size_t at = html.find(begin);
  REQUIRE(at != std::string::npos);
  const size_t end = html.find("</script>", at);
  return json::parse(html.substr(at + begin.size(), end - at - begin.size()));
}

json report_of(const Sandbox& box, const std::string& command, int exit_code = 0) {
  const auto result = box.program(command + " --report r.html");
  INFO(command << ": " << result.err);
  REQUIRE(result.exit_code == exit_code);
  return data_of(read_file(box.path("r.html")));
}

/// Three symbols, and tags that are trouble to a page.
const std::string kTroubleModel =
    "#include <scry.h>\n"
    "using namespace scry;\n"
    "struct Odd : Model {\n"
    "  Embedding w;\n"
    "  explicit Odd(const Task& t) : Model(t, state(\"h\", 1)), w(*this, \"w\", 3, 5) {}\n"
    "  Step step(const State& s, const Input& x, const Sym& y) const override {\n"
    "    return {.score = w[x][y], .state = {s[\"h\"]}};\n"
    "  }\n"
    "};\n"
    "SCRY_MODEL() {\n"
    "  return {std::make_shared<Odd>(Task{Alphabet::of(\"a & <b>\"),\n"
    "      Alphabet({\"</script><script>alert(1)</script>\", \"\\\"'`${1}\", \"名詞\", \"اسم\", "
    "\"<!--\"})})};\n"
    "}\n";

TEST_CASE("a report changes nothing of what is printed or written") {
  const Sandbox box;
  write_text(box.path("in.txt"), "1 2 3 1 2\n3 1\n2 2 1\n");
  REQUIRE(box.program("lesson_01_hmm init -o p").exit_code == 0);
  for (const std::string command :
       {"sample --params p --input in.txt --format jsonl --steps -M 8",
        "sample --params p --input in.txt --format jsonl -M 8 --method filter --resample always",
        "sample --params p --input in.txt --format jsonl -M 8 --runs 3 --weights score",
        "sample --params p --input in.txt --format jsonl --method exact",
        "sample --params p --input in.txt --format jsonl --method viterbi",
        "eval --params p --input in.txt --format csv -M 4 --runs 2"}) {
    INFO(command);
    const auto plain = box.program("lesson_01_hmm " + command);
    const auto with = box.program("lesson_01_hmm " + command + " --report r.html");
    CHECK(with.exit_code == plain.exit_code);
    const bool has_times = command.starts_with("eval");  // in the last column
    const std::vector<std::string> a = lines_of(plain.out), b = lines_of(with.out);
    REQUIRE(a.size() == b.size());
    for (size_t i = 0; i < a.size(); ++i)
      CHECK((has_times ? a[i].substr(0, a[i].rfind(',')) == b[i].substr(0, b[i].rfind(','))
                       : a[i] == b[i]));
  }
  write_text(box.path("train.tsv"), "1 2 3 1\tC H C H\n1 2\tC C\n3 3 1\tH H C\n");
  for (const std::string name : {"plain", "with"}) {
    const auto result =
        box.program("lesson_01_hmm fit --train train.tsv --dev train.tsv --epochs 3 -o " + name +
                    (name == "with" ? " --report r.html" : ""));
    INFO(result.err);
    REQUIRE(result.exit_code == 0);
  }
  CHECK(read_file(box.path("plain")) == read_file(box.path("with")));
}

TEST_CASE("a report of sample has the forests of the chosen sequences, whose weights add up") {
  const Sandbox box;
  write_text(box.path("in.txt"), "1 2 3 1 2\n3 1\n\n2 2 1\n1\n2\n3\n");
  const std::string sample = "lesson_01_hmm sample --input in.txt -M 6 --method smooth";
  const json chosen = report_of(box, sample + " --report-inputs 2,1,2");
  REQUIRE(chosen["sections"].size() == 2);
  CHECK(chosen["sections"][0]["title"] == "Sequence 1: 1 2 3 1 2");
  CHECK(chosen["sections"][1]["title"] == "Sequence 2: 3 1");
  for (const json& run : chosen["sections"]) {
    std::vector<double> shares(run["levels"].get<size_t>(), 0), finals = shares;
    std::vector<size_t> levels;
    for (const json& node : run["nodes"]) {
      const int parent = node["parent"];
      REQUIRE(parent < static_cast<int>(levels.size()));
      levels.push_back(parent < 0 ? 0 : levels[static_cast<size_t>(parent)] + 1);
      shares[levels.back()] += node["share"].get<double>();
      finals[levels.back()] += node["final"].get<double>();
    }
    for (size_t t = 0; t < shares.size(); ++t) {
      CHECK(shares[t] == Approx(1));
      CHECK(finals[t] == Approx(1));
    }
    CHECK(run["steps"].size() == run["x"].size());
    CHECK(run["num_prefixes"].get<size_t>() + 1 == run["nodes"].size());
  }
  CHECK(report_of(box, sample)["sections"].size() == 4);  // the first ones

  const auto missing = box.program(sample + " --report-inputs 1,99 --report r.html");
  CHECK(missing.exit_code == 1);
  CHECK(missing.err.find("--report-inputs: there is no sequence 99; in.txt has") !=
        std::string::npos);
}

TEST_CASE("a report of many prefixes is bounded, and says how many there were") {
  const Sandbox box;
  std::string line = "1";
  for (int t = 1; t < 200; ++t) line += t % 3 == 0 ? " 2" : " 3";
  write_text(box.path("in.txt"), line + "\n");
  const json run = report_of(box,
                             "lesson_01_hmm sample --input in.txt -M 1000 --method filter "
                             "--resample never")["sections"][0];
  CHECK(run["nodes"].size() <= 1500);
  CHECK(run["nodes"].size() > 1000);
  CHECK(run["num_prefixes"].get<size_t>() > 10'000);
  CHECK(run["taggings"].size() == 20);
  CHECK(read_file(box.path("r.html")).size() < 1'000'000);
}

TEST_CASE("what has no particles, failed or was pooled is shown as far as it goes, in words") {
  const Sandbox box;
  write_text(box.path("in.txt"), "1 2 3\n");
  const std::string sample = "lesson_01_hmm sample --input in.txt ";
  const auto section = [&](const std::string& options, int exit_code = 0) {
    return report_of(box, sample + options, exit_code)["sections"][0];
  };
  CHECK(section("--method viterbi")["note"] ==
        "viterbi has no particles and goes not step by step: there are no lanes and no forest.");
  CHECK(section("--method exact")["nodes"].empty());
  CHECK(section("--method beam -M 2")["nodes"].size() > 3);
  CHECK(section("--runs 3 -M 2")["note"] ==
        "The pictures are of the first of 3 runs; log Z and the taggings are of all.");
  write_text(box.path("in.txt"), "1 9 3\n");
  const json bad = section("", 1);
  CHECK(bad["note"].get<std::string>().starts_with("It failed: "));
  CHECK(bad["nodes"].empty());
  write_text(box.path("in.txt"), "1 2 3\tC H C\n");
  for (const std::string sweeps : {"1", "4"}) {
    const json chain = section("--given -M 3 --method filter --sweeps " + sweeps);
    CHECK(
        chain["note"].get<std::string>().starts_with("The pictures are of the last of " + sweeps));
    CHECK(chain["nodes"].size() > 3);
  }
}

TEST_CASE("the forest of a chain is that of its last sweep") {
  const Sandbox box;
  write_text(box.path("in.txt"), "1 2 3 1 2\tC H C H C\n");
  const auto result = box.program(
      "lesson_01_hmm sample --input in.txt --given -M 3 --method filter --sweeps 4 "
      "--format jsonl --report r.html");
  REQUIRE(result.exit_code == 0);
  const json run = data_of(read_file(box.path("r.html")))["sections"][0];
  const json printed = json::parse(result.out);
  size_t leaves = 0;
  std::vector<size_t> levels;
  for (const json& node : run["nodes"]) {
    const int parent = node["parent"];
    levels.push_back(parent < 0 ? 0 : levels[static_cast<size_t>(parent)] + 1);
    leaves += levels.back() == 5 ? 1 : 0;
  }
  CHECK(leaves == printed["num_sequences"].get<size_t>());
  CHECK(run["steps"][4]["log_z"].get<double>() == Approx(printed["log_z"].get<double>()));
}

TEST_CASE("names that are markup stay text in a report") {
  const Sandbox box;
  write_text(box.path("odd.cpp"), kTroubleModel);
  write_text(box.path("<b>&amp.txt"), "a & <b>\n");
  const auto result = box.program(
      "scry sample odd.cpp --input '<b>&amp.txt' -M 50 --method filter --report r.html");
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  const std::string html = read_file(box.path("r.html"));
  CHECK(html.find("alert(1)</script>") == std::string::npos);
  CHECK(html.find("<b>&amp.txt</title>") == std::string::npos);
  const json run = data_of(html)["sections"][0];
  CHECK(run["x"] == json{"a", "&", "<b>"});
  std::set<std::string> tags;
  for (const json& node : run["nodes"]) tags.insert(node["tag"].get<std::string>());
  for (const char* tag : {"</script><script>alert(1)</script>", "\"'`${1}", "名詞", "اسم", "<!--"})
    CHECK(tags.contains(tag));
}

TEST_CASE("a report of eval has all rows, and points of the lookahead where H is known") {
  const Sandbox box;
  write_text(box.path("in.txt"), "1 2 3 1 2\n3 1\n2 2 1\n1\n");
  REQUIRE(box.program("lesson_01_hmm init -o p").exit_code == 0);
  const std::string eval = "lesson_01_hmm eval --params p --input in.txt -M 2,4 --runs 2";
  const json data = report_of(box, eval);
  REQUIRE(data["sections"].size() == 2);
  json printed = json::parse(box.program(eval + " --format json").out);
  json table = data["sections"][0]["table"];
  for (json* each : {&printed, &table}) {
    for (json& row : (*each)["rows"]) row.erase("seconds_per_input");
  }
  CHECK(table == printed);
  const json& points = data["sections"][1]["points"];
  REQUIRE(!points.empty());
  CHECK(points.size() <= 2000);
  for (const json& point : points) {  // the lesson's lookahead is exact, in float
    CHECK(point["lookahead"].get<double>() == Approx(point["to_go"].get<double>()).margin(1e-4));
    CHECK(point["residual"].get<double>() == Approx(0).margin(1e-4));
  }
  const json none = report_of(box, eval + " --max-rows 0");
  CHECK(none["sections"][1]["points"].empty());
  CHECK(none["sections"][1]["why_none"].get<std::string>().starts_with("No input was enumerated"));
}

TEST_CASE("a report of training has every epoch, those before --resume included") {
  const Sandbox box;
  write_text(box.path("train.tsv"), "1 2 3 1\tC H C H\n1 2\tC C\n3 3 1\tH H C\n");
  const std::string fit = "lesson_01_hmm fit --train train.tsv --dev train.tsv -o f ";
  REQUIRE(box.program(fit + "--epochs 2").exit_code == 0);
  const json epochs = report_of(box, fit + "--epochs 4 --resume")["sections"][0]["epochs"];
  REQUIRE(epochs.size() == 5);
  for (size_t e = 0; e < epochs.size(); ++e) CHECK(epochs[e]["epoch"] == e);
  CHECK(epochs[1]["seconds"].is_null());
  CHECK(epochs[4]["seconds"].is_number());
  CHECK(epochs[4]["dev_perplexity"].is_number());
}

TEST_CASE("a report that cannot be written, or would be lost, is refused before the work starts") {
  const Sandbox box;
  write_text(box.path("in.txt"), "1 2\n");
  write_text(box.path("train.tsv"), "1 2\tC H\n");
  REQUIRE(box.program("lesson_01_hmm init -o p").exit_code == 0);
  struct Mistake {
    const char* words;
    int exit_code;
    const char* message;
  };
  for (const Mistake& mistake :
       {Mistake{"sample --input in.txt --report no/r.html", 1, "no/r.html cannot be written"},
        {"eval --input in.txt --report no/r.html", 1, "no/r.html cannot be written"},
        {"fit --train train.tsv -o f --report no/r.html", 1, "no/r.html cannot be written"},
        {"sample --input in.txt --report in.txt", 2, "--report and --input are the same file"},
        {"eval --input in.txt --params p --report p", 2, "--report and --params are the same"},
        {"sample --input in.txt -o a --report ./a", 2, "--output and --report are the same"},
        {"fit --train train.tsv -o f --report train.tsv", 2, "--report and --train are the same"},
        {"fit --train train.tsv -o f --report f", 2, "--report and --output are the same file"},
        {"fit --train train.tsv -o f --log l --report l", 2, "--report and --log are the same"},
        {"sample --input in.txt --report p", 2, "'p' holds parameters, which would be lost"},
        {"sample --input in.txt --report-inputs 1", 2, "--report-inputs requires --report"},
        {"sample --input in.txt --report r --report-inputs 0", 2, "'0' is not a list of numbers"},
        {"sample --input in.txt --report r --report-inputs 1,,2", 2, "is not a list of numbers"}}) {
    const auto result = box.program(std::string("lesson_01_hmm ") + mistake.words);
    INFO(mistake.words << ": " << result.err);
    CHECK(result.exit_code == mistake.exit_code);
    CHECK(result.err.find(mistake.message) != std::string::npos);
    CHECK(result.out.empty());
    CHECK(!std::filesystem::exists(box.path("f")));
  }
  CHECK(read_file(box.path("in.txt")) == "1 2\n");

  write_text(box.path("m.cpp"), kTroubleModel);  // nor a model file, nor vectors to begin with
  const auto model = box.program("scry sample m.cpp --input in.txt --report m.cpp");
  CHECK(model.exit_code == 2);
  CHECK(model.err.starts_with("scry: --report and MODEL are the same file 'm.cpp'"));
  CHECK(read_file(box.path("m.cpp")) == kTroubleModel);
  write_text(box.path("v.txt"), "1 0.5 0.5\n");
  const auto vectors = box.program(
      "lesson_01_hmm fit --train train.tsv -o f --embed model.emission=v.txt --report v.txt");
  CHECK(vectors.exit_code == 2);
  CHECK(vectors.err.starts_with("scry: --report and --embed are the same file 'v.txt'"));
}

TEST_CASE("the page asks for nothing outside it, and has the licence of its library") {
  const std::string html = cli::to_html({.title = "a < b & c"});
  CHECK(html.find("<title>a &lt; b &amp; c</title>") != std::string::npos);
  CHECK(html.find("default-src 'none'") != std::string::npos);
  CHECK(html.find("Mike Bostock") != std::string::npos);
  CHECK(html.find("Redistribution and use") + html.find("Permission to use") !=
        2 * std::string::npos);
  for (const char* mark : {"@TITLE@", "@DATA@", "@STYLE@", "@SCRIPT@", "@LIBRARY@", "@LICENCE@"})
    CHECK(html.find(mark) == std::string::npos);
  for (const char* outside : {"src=\"http", "url(http", "@import", "<link rel=\"stylesheet\""})
    CHECK(html.find(outside) == std::string::npos);
}

}  // namespace
}  // namespace scry
