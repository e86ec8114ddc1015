#include <cmath>
#include <vector>

#include "runtime/files/embeddings_file.h"
#include "tests/fuzz/reader_fuzz.h"
#include "tests/support/fake_training.h"
#include "tests/support/hand_hmm.h"

using namespace scry;

namespace {

std::vector<double> values_of(const Parameters& parameters) {
  std::vector<double> values;
  for (int64_t k = 0; k < parameters.values.size(); ++k) values.push_back(parameters.values.get(k));
  return values;
}

void read(const std::string& path, const Program& program, const char* parameter) {
  Parameters parameters = Parameters::fresh(program, 1);
  const std::vector<double> before = values_of(parameters);
  EmbeddingCoverage coverage;
  const bool taken =
      test::is_read([&] { coverage = read_embeddings(path, program, parameter, parameters); });
  const std::vector<double> after = values_of(parameters);
  if (!taken) test::demand(after == before, "a refused file changes nothing");
  test::demand(coverage.num_found <= coverage.num_symbols, "what is found is of the alphabet");
  for (double value : after) test::demand(std::isfinite(value), "parameters stay finite");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Program hmm = test::hand_hmm();       // double
  static const Program fake = test::fake_program();  // float
  const std::string& path = test::write_input(test::text_of(data, size));
  read(path, hmm, "model.trans");  // [3 input symbols, 2]
  read(path, hmm, "model.emit");   // [2 tags, 3]
  read(path, fake, "proposal.c");  // [2 tags, 2]
  return 0;
}
