// `scry sample` while its input is still being written.
#include <fcntl.h>
#include <sys/stat.h>

#include <chrono>
#include <thread>

#include "base/descriptor.h"
#include "tests/catch.h"
#include "tests/cli/shell.h"

namespace scry {
namespace {

using test::lines_of;
using test::Sandbox;
using test::write_text;

/// A pipe with a name, which the command reads and the test writes.
class Pipe {
 public:
  explicit Pipe(const Sandbox& box) : path_(box.path("pipe")) {
    REQUIRE(mkfifo(path_.c_str(), 0600) == 0);
  }
  /// Waits for the reader the first time.
  void write(const std::string& text) {
    if (!end_.is_open()) end_ = Descriptor(open(path_.c_str(), O_WRONLY | O_CLOEXEC));
    REQUIRE(::write(end_.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  }
  void close() { end_.close(); }

 private:
  std::string path_;
  Descriptor end_;
};

/// The lines of the command's output, once there are `count`; or those that are there after a
/// minute.
std::vector<std::string> wait_for_lines(const Sandbox& box, size_t count) {
  std::vector<std::string> lines;
  for (int attempt = 0; attempt < 3000 && lines.size() < count; ++attempt) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    lines = lines_of(test::read_file(box.path(".out")));
  }
  return lines;
}

const std::string kSample = "lesson_01_hmm sample -M 8 --precision double ";

TEST_CASE("results are printed while the input is still being written, and are those of a file") {
  const Sandbox box;
  const std::vector<std::string> pieces{"1 2 3 1\n3", " 3\n1 9\n", "2\n\n1 1\n"};
  const std::string options = "--format jsonl --stats --input ";
  Pipe pipe(box);
  Sandbox::Background command(box, kSample + options + "pipe");
  pipe.write(pieces[0]);
  pipe.write(pieces[1]);  // two lengths: these are no columns
  CHECK(wait_for_lines(box, 3).size() == 3);
  pipe.write(pieces[2]);
  CHECK(wait_for_lines(box, 5).size() == 5);
  pipe.close();
  const auto streamed = command.wait();

  write_text(box.path("file"), pieces[0] + pieces[1] + pieces[2]);
  const auto whole = box.program(kSample + options + "file");
  CHECK(streamed.exit_code == 1);
  CHECK(whole.exit_code == 1);
  CHECK(lines_of(whole.out).size() == 5);
  CHECK(streamed.out == whole.out);
  // All of what is told but the input's name and the time.
  const std::vector<std::string> told = lines_of(streamed.err), expected = lines_of(whole.err);
  REQUIRE(told.size() == expected.size());
  REQUIRE(told.size() > 5);
  CHECK(told[1] == "pipe:3: step 2: '9' is not in the input alphabet");
  CHECK(expected[1] == "file:3: step 2: '9' is not in the input alphabet");
  for (size_t i = 2; i + 1 < told.size(); ++i) CHECK(told[i] == expected[i]);
}

TEST_CASE("a table and columns are written by parts while the input goes on") {
  const Sandbox box;
  std::string lines, columns;
  for (int i = 0; i < 600; ++i) {
    lines += i % 2 == 0 ? "1 2\n" : "3\n";
    columns += i % 2 == 0 ? "1\n2\n\n" : "3\n\n";
  }
  const auto check = [&](const std::string& options, const std::string& text, size_t num_early) {
    Pipe pipe(box);
    Sandbox::Background command(box, kSample + options + " --input pipe");
    pipe.write(text);
    CHECK(wait_for_lines(box, num_early).size() >= num_early);
    pipe.close();
    const auto streamed = command.wait();
    CHECK(streamed.exit_code == 0);
    std::filesystem::remove(box.path("pipe"));
    write_text(box.path("file"), text);
    CHECK(box.program(kSample + options + " --input file").out == streamed.out);
  };
  check("--top 1", lines, 513);  // 512 sequences and the headers
  check("--format jsonl --input-format conll", columns, 600);
}

TEST_CASE("a file whose layout shows at its end only is read before anything is printed") {
  const Sandbox box;
  write_text(box.path("in"), "1 2\n3 3\n\n1 1\n");
  const auto refused = box.program(kSample + "--input in");
  CHECK(refused.exit_code == 1);
  CHECK(refused.out.empty());
  CHECK(lines_of(refused.err).size() == 1);
  CHECK(refused.err.starts_with("in: every line has 2 words, with blank lines between groups"));
  write_text(box.path("in"), "\n\n");
  const auto empty = box.program(kSample + "--input in -o out");
  CHECK(empty.exit_code == 1);
  CHECK(empty.err == "in: there is no example in it\n");
  CHECK_FALSE(std::filesystem::exists(box.path("out")));
}

TEST_CASE("decisions and rescored ensembles come while ensembles are still being written") {
  const Sandbox box;
  write_text(box.path("in"), "1 2 3 1\n3 3\n");
  const auto sampled = box.program(kSample + "--format jsonl --input in");
  REQUIRE(sampled.exit_code == 0);
  const std::vector<std::string> records = lines_of(sampled.out);
  for (const std::string name : {"decode --format jsonl", "rescore"}) {
    Pipe pipe(box);
    Sandbox::Background command(box, "lesson_01_hmm " + name + " --input pipe");
    pipe.write(records.at(0) + "\n");
    CHECK(wait_for_lines(box, 1).size() == 1);
    pipe.write(records.at(1) + "\n");
    CHECK(wait_for_lines(box, 2).size() == 2);
    pipe.close();
    CHECK(command.wait().exit_code == 0);
    std::filesystem::remove(box.path("pipe"));
  }
}

}  // namespace
}  // namespace scry
