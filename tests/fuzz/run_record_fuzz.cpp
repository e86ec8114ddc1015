#include "runtime/train/run_record.h"
#include "tests/fuzz/reader_fuzz.h"
#include "tests/support/fake_training.h"

using namespace scry;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr int64_t kUpdates = 6;  // of an epoch, as the seeds have
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
  if (test::is_read([&] { read_training(text, kUpdates, state); })) {
    const std::string written = training_json(program, identity, state);
    TrainState again = start;
    read_training(written, kUpdates, again);
    test::demand(training_json(program, identity, again) == written, "a record comes back");
  }
  return 0;
}
