#include "runtime/smc/memory.h"

#include "tests/catch.h"
#include "tests/support/hand_hmm.h"
#include "tests/support/sampling_methods.h"

using namespace scry;
using namespace scry::test;

TEST_CASE("bytes are written for people, and as --memory takes them") {
  CHECK(format_memory(0) == "0 bytes");
  CHECK(format_memory(999) == "999 bytes");
  CHECK(format_memory(1500) == "1.5 kB");
  CHECK(format_memory(38.2e9) == "38 GB");
  CHECK(suggest_memory(1) == "1K");
  CHECK(suggest_memory(1024) == "1K");
  CHECK(suggest_memory(1025) == "2K");
  CHECK(suggest_memory(38.2e9) == "36G");
}

TEST_CASE("the machine has memory, and a quarter of it is less") {
  CHECK(default_memory() > 1 << 20);
  CHECK(default_memory() < int64_t{1} << 50);
}

TEST_CASE("more particles, symbols or prefixes need more memory") {
  const Program program = hand_hmm();
  const std::vector<int> small(6, 1), large(60, 1);
  const auto bytes = [&](const std::vector<int>& x, Method method, int particles) {
    return sampling_bytes(program, {x},
                          {.method = method, .particles = particles, .max_rows = particles});
  };
  for (Method method : sampling_methods()) {
    CHECK(bytes(small, method, 100'000) > bytes(small, method, 10));
    CHECK(bytes(large, method, 1000) > bytes(small, method, 1000));
    // No more prefixes than there are, 64 and all before them.
    CHECK(bytes(small, Method::kEnumerate, 1 << 30) == bytes(small, Method::kEnumerate, 64));
  }
}

TEST_CASE("what would not fit is refused with an estimate, and the others are sampled") {
  const Program program = hand_hmm();
  const Parameters parameters = Parameters::fresh(program, 1);
  const std::vector<int> small(3, 1), large(30'000, 1);
  const SampleOptions options{.particles = 1000, .memory = 1 << 20};
  const std::vector<SampleInput> inputs{small, large, small};
  const std::vector<Outcome> outcomes = sample(program, parameters, inputs, options);
  CHECK(outcomes[0].value().size() > 1);
  CHECK(outcomes[2].value().size() > 1);
  REQUIRE(outcomes[1].error);
  CHECK(outcomes[1].error->trouble() == Trouble::kTooMuchMemory);
  const double needed = sampling_bytes(program, inputs[1], options);
  CHECK(outcomes[1].error->what() ==
        "sequence 2: 30000 symbols with 1000 particles may need about " + format_memory(needed) +
            ", and 1.0 MB are allowed; allow more (--memory " + suggest_memory(needed) +
            "), or use fewer particles");
  SampleOptions more = options;
  more.memory = static_cast<int64_t>(needed) + 1;
  CHECK(sample(program, parameters, inputs[1], more).length == 30'000);
}

TEST_CASE("a limit for enumeration limits nothing else") {
  const Program program = hand_hmm();
  const Parameters parameters = Parameters::fresh(program, 1);
  const std::vector<int> x(5, 1);
  for (Method method : sampling_methods()) {
    const SampleOptions options{
        .method = method, .particles = 7, .max_rows = std::numeric_limits<int64_t>::max()};
    CHECK(sample(program, parameters, {x}, options).size() > 1);
  }
}

TEST_CASE("what a worker's share of the memory does not hold gets all of it, alone") {
  for (const int threads : {1, 2, 3}) {
    Workers workers(threads);
    std::vector<std::vector<int64_t>> given(5);
    run_in_memory(workers, 5, 600, [&](int, int64_t i, int64_t bytes) {
      given[static_cast<size_t>(i)].push_back(bytes);
      return bytes >= (i == 3 ? 500 : i == 4 ? 1000 : 100);
    });
    for (size_t i = 0; i < 5; ++i) {
      const bool again = threads > 1 && i >= 3;
      CHECK(given[i].front() == 600 / threads);
      CHECK(given[i].back() == (again ? 600 : 600 / threads));
      CHECK(given[i].size() == (again ? 2 : 1));
    }
  }
}
