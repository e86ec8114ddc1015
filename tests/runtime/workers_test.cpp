#include "runtime/workers.h"

#include <atomic>

#include "dsl/error.h"
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
