#include "runtime/kernels/workers.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>

#include "base/error.h"
#include "tests/catch.h"

using namespace scry;

TEST_CASE("every task is done once, whatever the number of workers") {
  for (int size : {1, 2, 5}) {
    Workers workers(size);
    CHECK(workers.size() == size);
    for (int64_t count : {0, 1, 3, 1000}) {
      std::vector<std::atomic<int>> done(static_cast<size_t>(count));
      std::atomic<bool> strange = false;
      workers.for_each(count, [&](int worker, int64_t i) {
        if (worker < 0 || worker >= size) strange = true;
        ++done[static_cast<size_t>(i)];
      });
      for (const std::atomic<int>& times : done) CHECK(times == 1);
      CHECK(!strange);
    }
  }
}

TEST_CASE("a task's exception reaches the caller, and the workers go on working") {
  for (int size : {1, 3}) {
    Workers workers(size);
    CHECK_THROWS_WITH(workers.for_each(50,
                                       [](int, int64_t i) {
                                         if (i == 7) throw Error("seven");
                                       }),
                      "seven");
    std::atomic<int> done = 0;
    workers.for_each(50, [&](int, int64_t) { ++done; });
    CHECK(done == 50);
  }
}

TEST_CASE("no number of workers means all cores") { CHECK(Workers(0).size() >= 1); }

TEST_CASE("where threads cannot be started, those that could do all tasks") {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {  // room for some stacks, and not for 4,000
    rlim_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const rlim_t bytes = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + (rlim_t{256} << 20);
    const rlimit limit{bytes, bytes};
    if (setrlimit(RLIMIT_AS, &limit) != 0) _exit(2);
    std::atomic<int> done = 0;
    bool fewer = false;
    {
      Workers workers(4000);
      fewer = workers.size() < 4000;
      workers.for_each(500, [&](int, int64_t) { ++done; });
    }
    _exit(fewer && done == 500 ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}
