#include "tools/cli/train_log.h"

#include "runtime/examples_file.h"
#include "tests/catch.h"
#include "tests/support/temp_folder.h"

using namespace scry;
using scry::cli::TrainLog;

namespace {

std::string line(int epoch, const std::string& more = "") {
  return "{\"epoch\":" + std::to_string(epoch) + more + "}\n";
}

}  // namespace

TEST_CASE("a log replaces what was there, but not before its first line") {
  const test::TempFolder folder;
  const std::string path = folder.write("log", "something else\n");
  TrainLog log(path, false);
  CHECK(test::read_bytes(path) == "something else\n");
  for (int epoch : {0, 1, 2}) log.add(epoch, line(epoch));
  CHECK(test::read_bytes(path) == line(0) + line(1) + line(2));
  CHECK(folder.names() == std::vector<std::string>{"log"});
}

TEST_CASE("a resumed log keeps earlier epochs and drops those that are computed again") {
  const test::TempFolder folder;
  const std::string cut = "{\"epoch\":3,\"lo";  // killed as it wrote
  const std::string path =
      folder.write("log", line(0) + line(1, ",\"old\":1") + line(2, ",\"old\":1") + cut);
  TrainLog log(path, true);
  log.add(2, line(2));
  log.add(3, line(3));
  CHECK(test::read_bytes(path) == line(0) + line(1, ",\"old\":1") + line(2) + line(3));
  TrainLog(path, true);
  CHECK(test::read_bytes(path) == line(0) + line(1, ",\"old\":1") + line(2) + line(3));
  TrainLog(folder.file("new"), true).add(5, line(5));
  CHECK(test::read_bytes(folder.file("new")) == line(5));
}

TEST_CASE("a file that is no log, or cannot be written, is told before training") {
  const test::TempFolder folder;
  const std::string path = folder.write("log", line(0) + "A\t1\n");
  CHECK_THROWS_WITH(TrainLog(path, true),
                    path + ":2: this is no line of a training log; give another file as --log");
  CHECK_THROWS_AS(TrainLog(path, true), DataError);
  CHECK_THROWS_WITH(TrainLog(folder.file("none/log"), false),
                    folder.file("none/log") + " cannot be written: No such file or directory");
  CHECK(test::read_bytes(path) == line(0) + "A\t1\n");
  TrainLog("", false).add(1, line(1));
}
