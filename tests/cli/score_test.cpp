#include <cmath>

#include "tests/catch.h"
#include "tests/cli/shell.h"

namespace scry {
namespace {

using test::lines_of;
using test::Sandbox;

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream stream(line);
  for (std::string cell; std::getline(stream, cell, '\t');) cells.push_back(cell);
  return cells;
}

const std::string kRandom = "scry: there is no --params: the weights are random, of seed 1\n";

TEST_CASE("scores come back with their lines, one row each") {
  const Sandbox box;
  test::write_text(box.path("in.tsv"), "1 2 3\tC H H\n\n3\tC\r\n");
  const auto result = box.program("lesson_01_hmm score --input in.tsv");
  CHECK(result.exit_code == 0);
  CHECK(result.err == kRandom);
  const std::vector<std::string> lines = lines_of(result.out);
  REQUIRE(lines.size() == 3);
  CHECK(lines[0] == "x\ty\tG_T\tlog_p\tlog_q");
  REQUIRE(cells_of(lines[1]).size() == 5);
  CHECK(cells_of(lines[1])[0] == "1 2 3");
  CHECK(cells_of(lines[1])[1] == "C H H");
  CHECK(cells_of(lines[2])[0] == "3");
  CHECK(cells_of(lines[2])[1] == "C");
}

TEST_CASE("an HMM's exact proposal and its score differ by log Z for every tagging") {
  const Sandbox box;
  test::write_text(box.path("in.tsv"), "1 3\tC C\n1 3\tC H\n1 3\tH C\n1 3\tH H\n");
  const std::vector<std::string> lines =
      lines_of(box.program("lesson_01_hmm score --precision double --input in.tsv").out);
  REQUIRE(lines.size() == 5);
  const auto log_z_of = [](const std::string& line) {
    return std::stod(cells_of(line)[2]) - std::stod(cells_of(line)[4]);
  };
  const double log_z = log_z_of(lines[1]);
  double z = 0;
  for (size_t i = 1; i < lines.size(); ++i) {
    z += std::exp(std::stod(cells_of(lines[i])[2]));
    CHECK(std::abs(log_z_of(lines[i]) - log_z) < 1e-10);
    // The exact proposal is p(y | x), which is also known by sums over states.
    CHECK(std::abs(std::stod(cells_of(lines[i])[3]) - std::stod(cells_of(lines[i])[4])) < 1e-10);
  }
  CHECK(std::abs(std::log(z) - log_z) < 1e-10);
}

TEST_CASE("log p(y|x) is by all taggings where they are few, and else said to be unknown") {
  const Sandbox box;
  test::write_text(box.path("in.tsv"),
                   "M AA D AH L\t- 1 - 0 -\nM AA D AH L\t- 0 - 1 -\n"
                   "M AA D AH L M AA D AH L M AA D AH L\t- 1 - 0 - - 1 - 0 - - 1 - 0 -\n");
  const auto result =
      box.program("lesson_03_stress_tagger score --precision double --input in.tsv");
  REQUIRE(result.exit_code == 0);
  const std::vector<std::string> lines = lines_of(result.out);
  REQUIRE(lines.size() == 4);
  const auto cell = [&](size_t line, size_t column) { return cells_of(lines[line]).at(column); };
  const auto log_z_of = [&](size_t line) {
    return std::stod(cell(line, 2)) - std::stod(cell(line, 3));
  };
  CHECK(std::stod(cell(1, 3)) < 0);
  CHECK(std::abs(log_z_of(1) - log_z_of(2)) < 1e-10);
  CHECK(cell(3, 3) == "unknown");
  CHECK(result.err.find("log p(y|x) is not known for 1 tagging: of the first, at line 3, it has "
                        "more than 4096 taggings, and the model's states are not finite; scry "
                        "sample estimates log Z") != std::string::npos);
}

TEST_CASE("the same seed gives the same scores, in float and in double, and another seed others") {
  const Sandbox box;
  test::write_text(box.path("in.tsv"), "M AA D AH L\t- 1 - 0 -\n");
  const auto score = [&](const std::string& options) {
    const auto result = box.program("lesson_03_stress_tagger score --input in.tsv " + options);
    REQUIRE(result.exit_code == 0);
    return std::stod(cells_of(lines_of(result.out).at(1)).at(2));
  };
  const double first = score("--seed 7");
  CHECK(score("--seed 7") == first);
  CHECK(std::abs(score("--seed 7 --precision double") - first) < 1e-3);
  CHECK(score("--seed 8") != first);
}

TEST_CASE("a split of the stress sample is scored from a file and from standard input alike") {
  const Sandbox box;
  const std::string sample = test::source_dir() + "/data/stress/dev1.tsv";
  const auto file =
      box.program("lesson_03_stress_tagger score -o out.tsv --input '" + sample + "'");
  CHECK(file.exit_code == 0);
  CHECK(file.out.empty());
  const std::string written = test::read_file(box.path("out.tsv"));
  CHECK(lines_of(written).size() == 501);
  CHECK(box.program("lesson_03_stress_tagger score --input - <'" + sample + "'").out == written);
}

TEST_CASE("an unknown symbol is read as the alphabet's unknown symbol where it has one") {
  const Sandbox box;
  test::write_text(box.path("in.tsv"), "DET SYM NOUN\tB I I\nDET <unk> NOUN\tB I I\n");
  const auto result = box.program("lesson_04_encoder_tagger score --input in.tsv");
  REQUIRE(result.exit_code == 0);
  const std::vector<std::string> lines = lines_of(result.out);
  CHECK(cells_of(lines.at(1)).at(0) == "DET SYM NOUN");
  CHECK(cells_of(lines.at(1)).at(2) == cells_of(lines.at(2)).at(2));
}

TEST_CASE("a fault in the data is one line with its place, before anything is written") {
  const Sandbox box;
  test::write_text(box.path("out.tsv"), "old");
  const std::vector<std::pair<std::string, std::string>> cases{
      {"1 2\tC H\n1 2 3\tC H\n", "in.tsv:2: 3 symbols but 2 tags"},
      {"1\tC H\n", "in.tsv:1: 1 symbol but 2 tags"},
      {"1 2\tC H\n\nQQ 2\tC H\n", "in.tsv:3: 'QQ' is not in the input alphabet"},
      {"1 2\tC X\n", "in.tsv:1: 'X' is not in the output alphabet"},
      {"1 2 C H\n", "in.tsv:1: there is no tab between symbols and tags"},
      {"1\tC\tH\n",
       "in.tsv:1: there is more than one tab; a line is symbols, a tab, and tags (columns are read "
       "by --input-format conll)"},
      {"1 \x01\x1b[2J\tC C\n", "in.tsv:1: '\\x01\\x1b[2J' is not in the input alphabet"},
      {"\n", "in.tsv: there is no example in it"},
      {"", "in.tsv: there is no example in it"},
  };
  for (const auto& [text, message] : cases) {
    test::write_text(box.path("in.tsv"), text);
    const auto result = box.program("lesson_01_hmm score --input in.tsv -o out.tsv");
    CAPTURE(text);
    CHECK(result.exit_code == 1);
    CHECK(result.out.empty());
    CHECK(result.err == message + "\n");
    CHECK(test::read_file(box.path("out.tsv")) == "old");
  }
  CHECK(box.program("lesson_01_hmm score --input .").err == ". is a folder\n");
}

TEST_CASE("a score that is no number is an error with its line, and -inf is a score") {
  const Sandbox box;
  test::write_text(box.path("odd.cpp"), R"(#include <scry.h>
using namespace scry;
struct Odd : Model {
  explicit Odd(const Task& task) : Model(task, symbol_state("tag", task.y.size())) {}
  Step step(const State&, const Input& x, const Sym& y) const override {
    const Expr infinity = constant({3}, {0, -INFINITY, INFINITY})[x];
    return {.score = infinity - select(y == 1, infinity, 0.0), .state = {y}};
  }
};
SCRY_MODEL() { return {std::make_shared<Odd>(Task{Alphabet::of("a b c"), Alphabet::of("0 1")})}; }
)");
  const auto score = [&](const std::string& text) {
    test::write_text(box.path("in.tsv"), text);
    return box.program("scry score odd.cpp --input in.tsv");
  };
  const auto fine = score("a b\t0 0\n");
  CHECK(fine.exit_code == 0);
  CHECK(lines_of(fine.out).at(1) == "a b\t0 0\t-inf\tunknown");
  for (const std::string bad : {"b\t1\n", "c\t0\n", "c\t1\n"}) {
    const auto result = score("a\t0\n\n" + bad);
    CAPTURE(bad, result.err);
    CHECK(result.exit_code == 1);
    CHECK(result.out.empty());
    CHECK(result.err.starts_with("in.tsv:3: the model's score G_T is "));
  }
}

TEST_CASE("a damaged kernel in the cache is named in one line, and the command succeeds") {
  const Sandbox box;
  test::write_text(box.path("in.tsv"), "1 2 3\tC H H\n");
  const auto first = box.program("lesson_01_hmm score --input in.tsv");
  REQUIRE(first.exit_code == 0);
  int num_kernels = 0;
  for (const auto& entry : std::filesystem::directory_iterator(box.cache())) {
    if (entry.path().extension() != ".kernels") continue;
    std::filesystem::resize_file(entry.path(), entry.file_size() / 2);
    ++num_kernels;
  }
  REQUIRE(num_kernels == 1);
  const auto second = box.program("lesson_01_hmm score --input in.tsv");
  CHECK(second.exit_code == 0);
  CHECK(second.out == first.out);
  CHECK(lines_of(second.err).size() == 2);
  CHECK(second.err.ends_with(kRandom));
  CHECK(second.err.starts_with("scry: the cached kernel " + box.cache().string()));
  CHECK(second.err.find("is damaged; compiling again") != std::string::npos);
  const auto third = box.program("lesson_01_hmm score --input in.tsv");
  CHECK(third.out == first.out);
  CHECK(third.err == kRandom);
}

TEST_CASE("an unwritable cache is named in one line, and the command succeeds") {
  const Sandbox box;
  test::write_text(box.path("in.tsv"), "1 2 3\tC H H\n");
  test::write_text(box.cache(), "a file where the folder should be");
  const auto result = box.program("lesson_01_hmm score --input in.tsv");
  CHECK(result.exit_code == 0);
  CHECK(lines_of(result.out).size() == 2);
  CHECK(lines_of(result.err).size() == 2);
  CHECK(result.err.ends_with(kRandom));
  CHECK(result.err.find("cannot be written") != std::string::npos);
}

}  // namespace
}  // namespace scry
