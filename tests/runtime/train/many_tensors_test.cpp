#include <fmt/format.h>

#include <ctime>

#include "runtime/train/checkpoint.h"
#include "tests/catch.h"
#include "tests/support/fake_training.h"
#include "tests/support/temp_folder.h"
#include "tests/support/under_sanitizer.h"

using namespace scry;

TEST_CASE("a checkpoint of 20,000 parameters is read in linear time") {
  constexpr int kParameters = 20000;
  Program program = test::fake_program();
  for (int i = 0; i < kParameters; ++i) {
    program.params.push_back({fmt::format("model.p{:05}", i),
                              {1},
                              program.num_param_elements,
                              ParamGroup::kModel,
                              Init::normal(1)});
    program.num_param_elements += 16;
  }
  const RunIdentity identity = test::fake_identity(program, {});
  TrainState state(program, Parameters::fresh(program, 1));
  state.parameters = Parameters::fresh(program, 2);
  state.history.emplace_back();  // of the start
  const test::TempFolder folder;
  write_checkpoint(folder.file("c"), program, identity, state);
  const std::clock_t start = std::clock();
  const TrainState read = read_checkpoint(folder.file("c"), program, identity);
  // Comparing every name with every other takes 60,000 times 80,000 comparisons.
  CHECK(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC <
        (test::kUnderSanitizer ? 20 : 4));
  CHECK(test::bits_of(program, read) == test::bits_of(program, state));
}
