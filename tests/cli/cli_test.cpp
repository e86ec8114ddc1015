// What is the same for all commands.
#include "tests/catch.h"
#include "tests/cli/shell.h"

namespace scry {
namespace {

using test::lines_of;
using test::Sandbox;

TEST_CASE("a mistyped command or option is answered by the nearest, in one line") {
  const Sandbox box;
  const std::vector<std::pair<std::string, std::string>> cases{
      {"scry smaple m.cpp", "there is no command 'smaple'; did you mean sample? See scry --help"},
      {"lesson_01_hmm smaple",
       "there is no command 'smaple'; did you mean sample? See lesson_01_hmm --help"},
      {"scry sample m.cpp --mehtod exact --input x",
       "there is no option '--mehtod'; did you mean --method? See scry sample --help"},
      {"scry sample m.cpp --mehtod=exact",
       "there is no option '--mehtod'; did you mean --method? See scry sample --help"},
      {"lesson_01_hmm sample --mehtod exact",
       "there is no option '--mehtod'; did you mean --method? See lesson_01_hmm sample --help"},
      {"lesson_01_hmm init --ouput p",
       "there is no option '--ouput'; did you mean --output? See lesson_01_hmm init --help"},
      {"lesson_01_hmm sample -m 3",
       "there is no option '-m'; did you mean -M? See lesson_01_hmm sample --help"},
      {"scry --verison", "there is no option '--verison'; did you mean --version? See scry --help"},
      {"scry help smaple", "there is no command 'smaple'; did you mean sample? See scry --help"},
  };
  for (const auto& [command, message] : cases) {
    const auto result = box.program(command);
    CAPTURE(command);
    CHECK(result.exit_code == 2);
    CHECK(result.out.empty());
    CHECK(result.err == "scry: " + message + "\n");
  }
}

TEST_CASE("what is near to nothing is answered as before") {
  const Sandbox box;
  CHECK(box.program("scry sing").err.starts_with("scry: give one of the commands info, graph,"));
  const auto option = box.program("scry info --loud");
  CHECK(option.exit_code == 2);
  CHECK(option.err.find("--loud") != std::string::npos);
  CHECK(option.err.find("did you mean") == std::string::npos);
}

TEST_CASE("help is a command, too") {
  const Sandbox box;
  for (const std::string program : {"scry", "lesson_01_hmm"}) {
    const auto all = box.program(program + " help");
    CHECK(all.exit_code == 0);
    CHECK(all.err.empty());
    CHECK(all.out == box.program(program + " --help").out);
    CHECK(all.out.find("sample") != std::string::npos);
    CHECK(all.out == box.program(program + " help help").out);
    for (const std::string command : {"sample", "info", "fit"}) {
      const auto one = box.program(program + " help " + command);
      CAPTURE(program, command);
      CHECK(one.exit_code == 0);
      CHECK(one.out == box.program(program + " " + command + " --help").out);
    }
  }
  CHECK(box.program("scry help sing").exit_code == 2);
  CHECK(box.program("scry help sample fit").exit_code == 2);
}

TEST_CASE("a standard error that cannot be written changes no exit code") {
  const Sandbox box;
  test::write_text(box.path("in.tsv"), "1 2\tC H\n");
  const auto run = [&](const std::string& words, const std::string& to) {
    return box.run("sh -c '" + test::bin_dir() + "/" + words + " 2" + to + "'", "SCRY_ENZYME=off");
  };
  for (const std::string to : {">/dev/full", ">&-"}) {
    CAPTURE(to);
    CHECK(run("scry", to).exit_code == 2);
    CHECK(run("lesson_01_hmm score --input in.tsv --params in.tsv", to).exit_code == 1);
    const auto score = run("lesson_01_hmm score --input in.tsv", to);
    CHECK(score.exit_code == 0);
    CHECK(lines_of(score.out).size() == 2);
    CHECK(run("lesson_01_hmm sample --input in.tsv --stats -M 4", to).exit_code == 0);
    // A warning that nobody can read: the cache is no folder.
    test::write_text(box.path("file"), "");
    const auto warned =
        box.run("sh -c '" + test::bin_dir() + "/lesson_01_hmm score --input in.tsv 2" + to + "'",
                "SCRY_CACHE=file");
    CHECK(warned.exit_code == 0);
    CHECK(warned.out == score.out);
  }
  // Nor does one whose reader is gone end the command.
  const auto piped = box.run("bash -c '" + test::bin_dir() +
                             "/scry 2> >(exec true) ; echo $?; sleep 0.2; " + test::bin_dir() +
                             "/lesson_01_hmm score --params in.tsv --input in.tsv "
                             "2> >(exec <&-; exec sleep 0.5); echo $?'");
  CHECK(piped.out == "2\n1\n");
}

TEST_CASE("advice to raise a limit names the option") {
  const Sandbox box;
  test::write_text(box.path("in.txt"), "1 2 3 1 2 3\n");
  for (const std::string format : {"table", "jsonl"}) {
    const auto result = box.program(
        "lesson_01_hmm sample --input in.txt --method viterbi --max-rows 2 --format " + format);
    CAPTURE(result.err);
    CHECK(result.exit_code == 1);
    CHECK(result.err.find("raise --max-rows") != std::string::npos);
    CHECK((result.out + result.err).find("max_rows") == std::string::npos);
  }
}

TEST_CASE("no file is written in the place of a closed standard one") {
  const Sandbox box;
  const auto init = box.run("sh -c '" + test::bin_dir() + "/lesson_01_hmm init -o p <&- >&- 2>&-'",
                            "SCRY_CACHE=file");
  CHECK(init.exit_code == 1);  // as its last line cannot be written
  CHECK(box.program("lesson_01_hmm init -o q").exit_code == 0);
  CHECK(test::read_file(box.path("p")) == test::read_file(box.path("q")));
  CHECK(box.run("sh -c '" + test::bin_dir() + "/scry version >&-'").err ==
        "scry: standard output cannot be written: Bad file descriptor\n");
}

TEST_CASE("where nobody reads the results, a command ends without a word") {
  const Sandbox box;
  const auto result = box.run("bash -c '" + test::bin_dir() +
                              "/lesson_01_hmm graph --gradients --passes | true; "
                              "echo ${PIPESTATUS[0]}'");
  CHECK(result.err.empty());
  CHECK((result.out == "141\n" || result.out == "0\n"));  // 0 if the pipe took it all
}

TEST_CASE("a file beyond the user's limit is one line, and nothing is left of it") {
  const Sandbox box;
  // Enough for what a sanitizer writes before the program begins, and not for the parameters.
  const auto result =
      box.run("bash -c 'ulimit -f 600; exec " + test::bin_dir() + "/lesson_07_last_char init -o p'",
              "SCRY_CACHE=off");
  CHECK(result.exit_code == 1);
  for (const auto& entry : std::filesystem::directory_iterator(box.path(""))) {
    CHECK(entry.path().filename().string().find(".tmp") == std::string::npos);
  }
  CHECK_FALSE(std::filesystem::exists(box.path("p")));
}

}  // namespace
}  // namespace scry
