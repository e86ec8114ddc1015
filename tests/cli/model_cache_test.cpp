// Built programs on disk: who may put them there, what is run, what is removed.
#include <sys/stat.h>

#include <algorithm>
#include <chrono>

#include "tests/catch.h"
#include "tests/cli/shell.h"

namespace scry {
namespace {

using test::lines_of;
using test::Sandbox;
namespace fs = std::filesystem;

const char* const kModel = R"(#include <scry.h>
using namespace scry;
struct Unigram : Model {
  Parameter table;
  explicit Unigram(const Task& task)
      : Model(task, {}), table(param("table", {task.y.size()}, Init::normal(1))) {}
  Step step(const State&, const Input&, const Sym& y) const override {
    return {.score = table[y], .state = {}};
  }
};
SCRY_MODEL() { return {std::make_shared<Unigram>(Task{Alphabet::of("a b"), Alphabet::of("0 1")})}; }
)";
const std::string kGraph = "scry graph m.cpp --stage score";
const std::string kBuilding = "scry: building m.cpp …\n";
const std::string kRandomWeights =
    "scry: there is no --params: the weights are random, of seed 1\n";

struct ModelBox : Sandbox {
  ModelBox() { test::write_text(path("m.cpp"), kModel); }
  fs::path models() const { return cache() / "models"; }
  fs::path program_file() const {
    for (const auto& entry : fs::directory_iterator(models())) {
      if (entry.path().extension().empty()) return entry.path();
    }
    return {};
  }
};

mode_t mode_of(const fs::path& path) {
  struct stat status {};
  stat(path.c_str(), &status);
  return status.st_mode & 07777;
}

void set_age(const fs::path& path, int days) {
  fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(24 * days));
}

TEST_CASE("a user's own files in the cache outlive a build, and old programs do not") {
  const ModelBox box;
  REQUIRE(box.program(kGraph).exit_code == 0);
  const fs::path old = box.program_file();
  for (const auto& entry : fs::directory_iterator(box.models())) set_age(entry.path(), 40);
  const std::vector<std::string> own{"models/thesis.tex", "models/fitted.safetensors",
                                     "models/m-2.cpp", "models/m.cpp", "notes.kernels"};
  for (const std::string& name : own) {
    test::write_text(box.cache() / name, "mine");
    set_age(box.cache() / name, 400);
  }
  test::write_text(box.path("m.cpp"), std::string(kModel) + "\n");
  const auto built = box.program(kGraph);
  CHECK(built.exit_code == 0);
  CHECK(built.err == kBuilding);
  for (const std::string& name : own) CHECK(test::read_file(box.cache() / name) == "mine");
  CHECK_FALSE(fs::exists(old));
}

TEST_CASE("a damaged program in the cache is built again, with one line") {
  const ModelBox box;
  const auto first = box.program(kGraph);
  REQUIRE(first.exit_code == 0);
  const fs::path program = box.program_file();
  const std::string whole = test::read_file(program);
  const size_t size = whole.size();
  for (const size_t at : {size / 2, size - 1}) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ 16);
    test::write_text(program, bytes);
    const auto result = box.program(kGraph);
    CAPTURE(at, result.err);
    CHECK(result.exit_code == 0);
    CHECK(result.out == first.out);
    CHECK(lines_of(result.err).size() == 1);
    CHECK(result.err.find("damaged; building m.cpp again") != std::string::npos);
    CHECK(test::read_file(program).size() == size);
    CHECK(box.program(kGraph).err.empty());
  }
  test::write_text(program, "");
  const auto result = box.program(kGraph);
  CHECK(result.exit_code == 0);
  CHECK(lines_of(result.err).size() == 1);
  CHECK(result.out == first.out);
}

TEST_CASE("folders of the cache are made for their user alone") {
  const ModelBox box;
  REQUIRE(box.run("sh -c 'umask 0; " + test::bin_dir() + "/" + kGraph + "'").exit_code == 0);
  CHECK(mode_of(box.cache()) == 0700);
  CHECK(mode_of(box.models()) == 0700);
  CHECK((mode_of(box.program_file()) & 022) == 0);
}

TEST_CASE("a cache that others can write to is told of in one line, and nothing in it is run") {
  const ModelBox box;
  const auto first = box.program(kGraph);
  REQUIRE(first.exit_code == 0);
  const fs::path program = box.program_file();
  test::write_text(program, "#!/bin/sh\necho planted\n");
  for (const fs::path& folder : {box.cache(), box.models()}) {
    chmod(folder.c_str(), 0777);
    test::write_text(box.path("in.tsv"), "a b\t0 1\n");
    const auto result = box.program("scry score m.cpp --input in.tsv");
    CAPTURE(result.err);
    CHECK(result.exit_code == 0);
    CHECK(lines_of(result.out).size() == 2);
    REQUIRE(lines_of(result.err).size() == 3);
    CHECK(lines_of(result.err)[0].find("is not used, as it can be written by others (mode 0777)") !=
          std::string::npos);
    CHECK(lines_of(result.err)[1] + "\n" == kBuilding);
    CHECK(lines_of(result.err)[2] + "\n" == kRandomWeights);
    CHECK(test::read_file(program) == "#!/bin/sh\necho planted\n");
    chmod(folder.c_str(), 0700);
  }
}

TEST_CASE("a cache of another user is not used") {
  if (geteuid() != 0) {
    WARN("SKIPPED: only root can give folders away");
    return;
  }
  const ModelBox box;
  REQUIRE(box.program(kGraph).exit_code == 0);
  REQUIRE(chown(box.cache().c_str(), 4711, 4711) == 0);
  const auto result = box.program(kGraph);
  CHECK(result.exit_code == 0);
  CHECK(lines_of(result.err).size() == 2);
  CHECK(result.err.find("belongs to another user") != std::string::npos);
  REQUIRE(chown(box.cache().c_str(), geteuid(), getegid()) == 0);
  REQUIRE(chown(box.program_file().c_str(), 4711, 4711) == 0);
  const auto planted = box.program(kGraph);
  CHECK(planted.exit_code == 0);
  CHECK(lines_of(planted.err).size() == 1);
  CHECK(planted.err.find("belongs to another user; building m.cpp again") != std::string::npos);
}

TEST_CASE("without a cache a model is built for the one run, and nothing is left of it") {
  const ModelBox box;
  fs::create_directory(box.path("tmp"));
  for (const std::string set : {"SCRY_CACHE=off", "SCRY_CACHE= XDG_CACHE_HOME= HOME="}) {
    const auto result = box.program(kGraph, "SCRY_ENZYME=off TMPDIR=tmp " + set);
    CHECK(result.exit_code == 0);
    CHECK(result.err == kBuilding);
    CHECK(lines_of(result.out).size() > 2);
    CHECK(fs::is_empty(box.path("tmp")));
  }
  CHECK_FALSE(fs::exists(box.cache()));
}

TEST_CASE("what a build that was killed left in TMPDIR is removed by a later one") {
  const ModelBox box;
  // A child of the shell that is gone by then; "scry-build" is what Scry calls its folders.
  const auto left = box.run(
      "sh -c 'mkdir tmp && process=$(sh -c \"echo \\$\\$\") && "
      "mkdir tmp/scry-build-$process-abcdef tmp/scry-build-$process-recent tmp/scry-backup && "
      "touch tmp/scry-build-$process-abcdef/program && "
      "touch -d \"2 hours ago\" tmp/scry-build-$process-abcdef tmp/scry-backup'");
  CAPTURE(left.err);
  REQUIRE(left.exit_code == 0);
  REQUIRE(box.program(kGraph, "SCRY_ENZYME=off TMPDIR=tmp").exit_code == 0);
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(box.path("tmp")))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  REQUIRE(names.size() == 2);
  CHECK(names[0] == "scry-backup");
  CHECK(names[1].ends_with("-recent"));
}

TEST_CASE("a cache that is no folder is told of in one line, and the command succeeds") {
  const ModelBox box;
  test::write_text(box.cache(), "a file");
  test::write_text(box.path("in.tsv"), "a b\t0 1\n");
  const auto result = box.program("scry score m.cpp --input in.tsv");
  CHECK(result.exit_code == 0);
  REQUIRE(lines_of(result.err).size() == 3);
  CHECK(lines_of(result.err)[2] + "\n" == kRandomWeights);
  CHECK(lines_of(result.err)[0].find("cannot be written (Not a directory)") != std::string::npos);
  CHECK(test::read_file(box.cache()) == "a file");
}

TEST_CASE("caches with odd names are used like others") {
  const ModelBox box;
  for (const std::string name : {"relative", "it\\'s\\n\\\"quoted\\\""}) {
    const std::string set = "SCRY_ENZYME=off SCRY_CACHE=\"$(printf '%b' \"" + name + "\")\"";
    CAPTURE(name);
    CHECK(box.program(kGraph, set).err == kBuilding);
    CHECK(box.program(kGraph, set).err.empty());
  }
}

TEST_CASE("a complete cache that cannot be written is used") {
  const ModelBox box;
  test::write_text(box.path("in.tsv"), "a b\t0 1\n");
  const std::string score = "scry score m.cpp --input in.tsv";
  const auto first = box.program(score);
  REQUIRE(first.exit_code == 0);
  const std::string as_user =
      geteuid() == 0 ? "setpriv --reuid=65534 --regid=65534 --clear-groups " : "";
  if (!as_user.empty() && box.run(as_user + "true").exit_code != 0) {
    WARN("SKIPPED: setpriv is missing");
    return;
  }
  for (const fs::path& folder : {box.path(""), box.models(), box.cache()}) {
    chmod(folder.c_str(), 0555);
  }
  const auto result =
      box.run("sh -c '" + as_user + test::bin_dir() + "/" + score + "'", "SCRY_ENZYME=off");
  CHECK(result.exit_code == 0);
  CHECK(result.err == kRandomWeights);
  CHECK(result.out == first.out);
  for (const fs::path& folder : {box.path(""), box.models(), box.cache()}) {
    chmod(folder.c_str(), 0755);
  }
}

TEST_CASE("a cache on a file system without programs is told of, and the command succeeds") {
  const ModelBox box;
  fs::create_directory(box.cache());
  const auto mounted = box.run(
      "unshare -m sh -c 'mount -t tmpfs -o noexec none \"$SCRY_CACHE\" && "
      "chmod 700 \"$SCRY_CACHE\" && " +
      test::bin_dir() + "/" + kGraph + "'");
  if (mounted.err.find("unshare") != std::string::npos ||
      mounted.err.find("mount:") != std::string::npos) {
    WARN("SKIPPED: file systems cannot be mounted here");
    return;
  }
  CHECK(mounted.exit_code == 0);
  REQUIRE(lines_of(mounted.err).size() == 2);
  CHECK(lines_of(mounted.err)[0] ==
        "scry: " + box.models().string() +
            " is not used, as it is mounted noexec; set SCRY_CACHE to another folder");
  CHECK(lines_of(mounted.out).size() > 2);
}

TEST_CASE("a cache on a full disk is one line, and the command succeeds") {
  const ModelBox box;
  fs::create_directory(box.cache());
  const auto result = box.run(
      "unshare -m sh -c 'mount -t tmpfs -o size=1m none \"$SCRY_CACHE\" && "
      "chmod 700 \"$SCRY_CACHE\" && " +
      test::bin_dir() + "/" + kGraph + " && ls \"$SCRY_CACHE/models\" >left'");
  if (result.err.find("unshare") != std::string::npos ||
      result.err.find("mount:") != std::string::npos) {
    WARN("SKIPPED: file systems cannot be mounted here");
    return;
  }
  CHECK(result.exit_code == 0);
  REQUIRE(lines_of(result.err).size() == 2);
  CHECK(lines_of(result.err)[1] ==
        "scry: " + box.models().string() +
            " cannot be written (No space left on device); the next start builds again");
  CHECK(test::read_file(box.path("left")).find(".tmp") == std::string::npos);
}

TEST_CASE("sources with times in the future are built, and once") {
  const ModelBox box;
  test::write_text(box.path("future.h"), "\n");
  test::write_text(box.path("m.cpp"), std::string("#include \"future.h\"\n") + kModel);
  for (const char* name : {"m.cpp", "future.h"}) set_age(box.path(name), -1000);
  const auto result = box.program(kGraph);
  CHECK(result.exit_code == 0);
  CHECK(result.err == kBuilding);
  CHECK(box.program(kGraph).err.empty());
}

TEST_CASE("model files that look like options or have odd names are built as files") {
  const Sandbox box;
  for (const std::string name : {"@x.cpp", "-O3.cpp", "é $x#'\".cpp", "a\nb.cpp"}) {
    test::write_text(box.path(name), kModel);
    std::string quoted;
    for (const char c : name) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    const auto result = box.program("scry graph --stage score -- '" + quoted + "'");
    CAPTURE(name, result.err);
    CHECK(result.exit_code == 0);
    CHECK(lines_of(result.out).size() > 2);
    CHECK(lines_of(result.err).size() == 1);
  }
}

TEST_CASE("a build that is killed leaves nothing that is run") {
  const ModelBox box;
  for (const int wait_ms : {300, 1200}) {
    Sandbox::Background building(box, kGraph);
    usleep(static_cast<useconds_t>(wait_ms) * 1000);
    building.send(SIGKILL);
    building.wait();
  }
  const auto result = box.program(kGraph);
  CHECK(result.exit_code == 0);
  CHECK(lines_of(result.out).size() > 2);
  CHECK(box.program(kGraph).out == result.out);
}

TEST_CASE("an interrupted build ends by the interrupt and leaves nothing behind") {
  const ModelBox box;
  fs::create_directory(box.path("tmp"));
  const pid_t group = fork();
  if (group == 0) {  // a process group, as the terminal interrupts
    setpgid(0, 0);
    fs::current_path(box.path(""));
    setenv("TMPDIR", "tmp", 1);
    setenv("SCRY_CACHE", box.cache().c_str(), 1);
    execl((test::bin_dir() + "/scry").c_str(), "scry", "graph", "m.cpp", nullptr);
    _exit(127);
  }
  for (int tries = 0; tries < 2000 && fs::is_empty(box.path("tmp")); ++tries) usleep(1000);
  usleep(100'000);
  kill(-group, SIGINT);
  int status = 0;
  waitpid(group, &status, 0);
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGINT);
  CHECK(fs::is_empty(box.path("tmp")));
}

TEST_CASE("a compiler that is missing or crashes is one line") {
  const ModelBox box;
  fs::create_directories(box.path("inst/bin"));
  fs::create_directories(box.path("inst/share/scry"));
  fs::copy_file(test::bin_dir() + "/scry", box.path("inst/bin/scry"));
  test::write_text(box.path("crash"), "#!/bin/sh\nkill -SEGV $$\n");
  chmod(box.path("crash").c_str(), 0755);
  for (const std::string& compiler : {std::string("/nowhere/g++"), box.path("crash").string()}) {
    test::write_text(box.path("inst/share/scry/build.conf"), "compiler = " + compiler + "\n");
    const auto result = box.run("inst/bin/" + kGraph);
    CAPTURE(result.err);
    CHECK(result.exit_code == 1);
    REQUIRE(lines_of(result.err).size() == 2);
    CHECK(lines_of(result.err)[1].starts_with("m.cpp: "));
  }
}

}  // namespace
}  // namespace scry
