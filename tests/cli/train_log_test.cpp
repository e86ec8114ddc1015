#include "tools/cli/train_log.h"

#include "runtime/files/examples_file.h"
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
  for (int epoch : {0, 1, 2}) log.add(line(epoch));
  CHECK(test::read_bytes(path) == line(0) + line(1) + line(2));
  CHECK(folder.names() == std::vector<std::string>{"log"});
}

TEST_CASE("a resumed log keeps the run's epochs, gets those that it lacks and drops others") {
  const test::TempFolder folder;
  const std::string cut = "{\"epoch\":3,\"lo";  // killed as it wrote
  const std::string path =
      folder.write("log", line(0) + line(1, ",\"old\":1") + line(2, ",\"old\":1") + cut);
  folder.write("log.999999999.tmp", "killed as it wrote the whole");
  TrainLog log(path, true);
  CHECK(folder.names() == std::vector<std::string>{"log"});
  log.restore({{0, line(0)}, {1, line(1)}});
  CHECK(test::read_bytes(path) == line(0) + line(1, ",\"old\":1"));
  log.add(line(2));
  log.add(line(3));
  const std::string whole = line(0) + line(1, ",\"old\":1") + line(2) + line(3);
  CHECK(test::read_bytes(path) == whole);

  TrainLog late(path, true);  // killed between the checkpoint and the log
  late.restore({{0, line(0)}, {1, line(1)}, {2, line(2)}, {3, line(3)}, {4, line(4)}});
  late.add(line(5));
  CHECK(test::read_bytes(path) == whole + line(4) + line(5));

  TrainLog fresh(folder.file("new"), true);  // there was no run to go on with
  fresh.add(line(0));
  CHECK(test::read_bytes(folder.file("new")) == line(0));
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
  TrainLog("", false).add(line(1));
  for (const char* epoch : {"-1", "1.0", "4294967296", "1e400", "null"}) {
    folder.write("odd", std::string("{\"epoch\":") + epoch + "}\n");
    CHECK_THROWS_AS(TrainLog(folder.file("odd"), true), DataError);
  }
}
