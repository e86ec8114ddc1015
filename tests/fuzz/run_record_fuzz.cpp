#include "runtime/train/run_record.h"
#include "tests/fuzz/reader_fuzz.h"
#include "tests/support/fake_training.h"

using namespace scry;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Program program = test::fake_program();
  static const RunIdentity identity = test::fake_identity(program, {});
  static const std::string options = options_json(program, identity.options);
  const std::string text = test::text_of(data, size);
  test::is_read([&] { read_head(text); });
  test::is_read([&] {
    const std::string difference = find_difference(text, options);
    test::demand(difference.find('\n') == std::string::npos, "a difference is one line");
  });
  const TrainState start(program, Parameters::fresh(program, 1));
  TrainState state = start;
  if (test::is_read([&] { read_training(text, state); })) {
    const std::string written = training_json(identity, state);
    TrainState again = start;
    read_training(written, again);
    test::demand(training_json(identity, again) == written, "a record comes back");
  }
  return 0;
}
