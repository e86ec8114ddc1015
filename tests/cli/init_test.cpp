#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "tests/catch.h"
#include "tests/cli/shell.h"

namespace scry {
namespace {

using test::lines_of;
using test::Sandbox;
using Json = nlohmann::json;

/// The header of a safetensors file, read without Scry.
Json header_of(const std::string& bytes) {
  size_t length = 0;
  for (size_t i = 8; i-- > 0;) length = length * 256 + static_cast<unsigned char>(bytes.at(i));
  return Json::parse(bytes.substr(8, length));
}

/// The names in the sandbox's folder, but for the cache and what the shell left.
std::vector<std::string> names_in(const Sandbox& box) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(box.path("."))) {
    const std::string name = entry.path().filename().string();
    if (name != "cache" && name != ".out" && name != ".err") names.push_back(name);
  }
  return names;
}

TEST_CASE("fresh parameters are written, and one line says what") {
  const Sandbox box;
  const auto result = box.program("lesson_01_hmm init --seed 7 -o hmm.safetensors");
  CHECK(result.exit_code == 0);
  CHECK(result.err.empty());
  const std::string bytes = test::read_file(box.path("hmm.safetensors"));
  Json header = header_of(bytes);
  CHECK(header["__metadata__"]["format"] == "scry");
  CHECK(Json::parse(header["__metadata__"]["scry.y"].get<std::string>()) == Json{"C", "H"});
  header.erase("__metadata__");
  size_t num_numbers = 0;
  for (const Json& tensor : header) {
    CHECK(tensor["dtype"] == "F32");
    size_t size = 1;
    for (const Json& dim : tensor["shape"]) size *= dim.get<size_t>();
    num_numbers += size;
  }
  CHECK(result.out == "wrote " + std::to_string(header.size()) + " tensors with " +
                          std::to_string(num_numbers) + " numbers (" +
                          std::to_string(bytes.size()) + " bytes) to hmm.safetensors\n");
  CHECK(names_in(box) == std::vector<std::string>{"hmm.safetensors"});
}

TEST_CASE("scores under saved parameters are those under the seed that they were made by") {
  const Sandbox box;
  test::write_text(box.path("in.tsv"), "M AA D AH L\t- 1 - 0 -\n");
  const std::string score = "lesson_03_stress_tagger score --input in.tsv ";
  for (const std::string precision : {"--precision float", "--precision double"}) {
    const auto init =
        box.program("lesson_03_stress_tagger init --seed 7 --overwrite -o p " + precision);
    REQUIRE(init.exit_code == 0);
    CHECK(lines_of(init.out).size() == 1);
    const auto saved = box.program(score + precision + " --params p");
    CAPTURE(precision, saved.err);
    CHECK(saved.exit_code == 0);
    CHECK(lines_of(saved.out).size() == 2);
    CHECK(saved.out == box.program(score + precision + " --seed 7").out);
    CHECK(saved.out != box.program(score + precision).out);
  }
}

TEST_CASE("the same seed gives the same file, and another seed another") {
  const Sandbox box;
  for (const std::string words : {"--seed 1 -o a", "-o b", "--seed 2 -o c"}) {
    REQUIRE(box.program("lesson_01_hmm init " + words).exit_code == 0);
  }
  CHECK(test::read_file(box.path("a")) == test::read_file(box.path("b")));
  CHECK(test::read_file(box.path("a")) != test::read_file(box.path("c")));
}

TEST_CASE("a model file's options reach its program") {
  const Sandbox box;
  const auto result =
      box.program("scry init '" + test::source_dir() + "/examples/01_hmm.cpp' --seed 3 -o a");
  CAPTURE(result.err);
  REQUIRE(result.exit_code == 0);
  REQUIRE(box.program("lesson_01_hmm init --seed 3 -o b").exit_code == 0);
  CHECK(test::read_file(box.path("a")) == test::read_file(box.path("b")));
}

TEST_CASE("an output that cannot be written is one line, and leaves nothing behind") {
  const Sandbox box;
  const std::string long_name(253, 'n');  // the file beside it would have too long a name
  test::write_text(box.path(long_name), "old");
  const std::vector<std::pair<std::string, std::string>> cases{
      {"none/p", "none/p cannot be written: No such file or directory"},
      {".", ". is a folder"},
      {"/dev/full", "/dev/full cannot be written: No space left on device"},
      {long_name, long_name + " cannot be written: File name too long"},
  };
  for (const auto& [path, message] : cases) {
    const auto result = box.program("lesson_01_hmm init --overwrite -o " + path);
    CAPTURE(path);
    CHECK(result.exit_code == 1);
    CHECK(result.out.empty());
    CHECK(result.err == "scry: " + message + "\n");
  }
  CHECK(box.program("lesson_01_hmm init --seed many -o " + long_name).exit_code == 2);
  CHECK(names_in(box) == std::vector<std::string>{long_name});
  CHECK(test::read_file(box.path(long_name)) == "old");
}

TEST_CASE("a file that is there is replaced only by --overwrite, and keeps its mode") {
  const Sandbox box;
  REQUIRE(box.program("lesson_01_hmm init --seed 1 -o p").exit_code == 0);
  const std::string trained = test::read_file(box.path("p"));
  chmod(box.path("p").c_str(), 0600);
  const auto refused = box.program("lesson_01_hmm init --seed 2 -o p");
  CHECK(refused.exit_code == 2);
  CHECK(refused.out.empty());
  CHECK(refused.err == "scry: 'p' exists; give another file, or replace it by --overwrite\n");
  CHECK(test::read_file(box.path("p")) == trained);
  REQUIRE(box.program("lesson_01_hmm init --seed 2 -o p --overwrite").exit_code == 0);
  CHECK(test::read_file(box.path("p")) != trained);
  struct stat status {};
  REQUIRE(stat(box.path("p").c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0600);
}

TEST_CASE("a result replaces neither parameters nor what the command reads") {
  const Sandbox box;
  REQUIRE(box.program("lesson_01_hmm init -o p").exit_code == 0);
  const std::string parameters = test::read_file(box.path("p"));
  test::write_text(box.path("in.tsv"), "1 2\tC H\n");
  std::filesystem::create_symlink("in.tsv", box.path("link"));
  const std::vector<std::pair<std::string, std::string>> cases{
      {"score --input in.tsv -o p", "'p' holds parameters, which would be lost"},
      {"graph -o p", "'p' holds parameters, which would be lost"},
      {"sample --input in.tsv -o p", "'p' holds parameters, which would be lost"},
      {"score --input in.tsv --params p -o p", "--output and --params are the same file 'p'"},
      {"score --input in.tsv -o in.tsv", "--output and --input are the same file 'in.tsv'"},
      {"sample --input in.tsv -o ./link", "--output and --input are the same file './link'"},
  };
  for (const auto& [words, message] : cases) {
    const auto result = box.program("lesson_01_hmm " + words);
    CAPTURE(words, result.err);
    CHECK(result.exit_code == 2);
    CHECK(result.out.empty());
    CHECK(lines_of(result.err).size() == 1);
    CHECK(result.err.starts_with("scry: " + message));
    CHECK(test::read_file(box.path("p")) == parameters);
    CHECK(test::read_file(box.path("in.tsv")) == "1 2\tC H\n");
  }
  const std::string model = test::source_dir() + "/examples/01_hmm.cpp";
  test::write_text(box.path("m.cpp"), test::read_file(model));
  const auto source = box.program("scry graph m.cpp -o m.cpp");
  CHECK(source.exit_code == 2);
  CHECK(source.err.starts_with("scry: --output and MODEL are the same file 'm.cpp'"));
  CHECK(test::read_file(box.path("m.cpp")) == test::read_file(model));
}

TEST_CASE("a fault in a parameter file is one line, before anything is written") {
  const Sandbox box;
  test::write_text(box.path("in.tsv"), "1 2\tC H\n");
  test::write_text(box.path("out.tsv"), "old");
  REQUIRE(box.program("lesson_01_hmm init -o hmm").exit_code == 0);
  REQUIRE(box.program("lesson_03_stress_tagger init -o tagger").exit_code == 0);
  const std::string hmm = test::read_file(box.path("hmm"));
  test::write_text(box.path("short"), hmm.substr(0, hmm.size() - 1));
  test::write_text(box.path("text"), "1 2\tC H\n1 2\tC H\n");
  const std::string infinite = hmm.substr(0, hmm.size() - 4) + std::string("\0\0\x80\x7f", 4);
  test::write_text(box.path("infinite"), infinite);
  const std::vector<std::pair<std::string, std::string>> cases{
      {"short", "the file is cut short"},
      {"text", "it is cut short or no safetensors file"},
      {"tagger", "it was made for another input alphabet: symbol 0 is"},
      {"infinite", "has inf as its element"},
  };
  for (const auto& [file, message] : cases) {
    const auto result =
        box.program("lesson_01_hmm score --input in.tsv -o out.tsv --params " + file);
    CAPTURE(result.err);
    CHECK(result.exit_code == 1);
    CHECK(result.out.empty());
    CHECK(lines_of(result.err).size() == 1);
    CHECK(result.err.starts_with(file + ": "));
    CHECK(result.err.find(message) != std::string::npos);
    CHECK(test::read_file(box.path("out.tsv")) == "old");
  }
  CHECK(box.program("lesson_01_hmm score --input in.tsv --params .").err == ". is a folder\n");
}

}  // namespace
}  // namespace scry
