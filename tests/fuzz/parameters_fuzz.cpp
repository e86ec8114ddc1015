#include <cmath>

#include "runtime/files/parameters_file.h"
#include "tests/fuzz/reader_fuzz.h"
#include "tests/support/fake_training.h"
#include "tests/support/hand_hmm.h"

using namespace scry;

namespace {

void check(const Program& program, const Parameters& read) {
  for (const Block& block : program.params) {
    for (int64_t k = 0; k < block.shape.size(); ++k)
      test::demand(std::isfinite(read.values.get(block.offset + k)), "parameters are finite");
  }
  const std::string bytes = to_bytes(to_tensors(program, read));
  const Parameters again = read_parameters(test::write_input(bytes), program);
  test::demand(to_bytes(to_tensors(program, again)) == bytes, "parameters come back");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Program programs[] = {test::hand_hmm(), test::fake_program()};  // double, float
  const std::string bytes = test::text_of(data, size);
  for (const Program& program : programs) {
    for (const bool may_lack_proposal : {false, true}) {
      Parameters read(program);
      const std::string& path = test::write_input(bytes);
      if (test::is_read([&] {
            read = may_lack_proposal ? read_model_parameters(path, program, 1).parameters
                                     : read_parameters(path, program);
          })) {
        check(program, read);
      }
    }
  }
  return 0;
}
