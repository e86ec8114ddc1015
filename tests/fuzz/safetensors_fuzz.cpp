#include <cmath>

#include "runtime/files/safetensors.h"
#include "tests/fuzz/reader_fuzz.h"

using namespace scry;

namespace {

/// That every element can be looked at, and that what is written comes back as it is.
void check(const TensorFile& file) {
  for (const Tensor& tensor : file.tensors) {
    double sum = 0;
    for (int64_t k = 0; k < tensor.size(); ++k) sum += std::isfinite(tensor.value(k)) ? 1 : 0;
    test::demand(sum <= static_cast<double>(tensor.bytes.size()), "a tensor has its elements");
  }
  const TensorFile again = read_tensors(test::write_input(to_bytes(file)));
  test::demand(again.metadata == file.metadata, "metadata comes back");
  test::demand(again.tensors.size() == file.tensors.size(), "every tensor comes back");
  test::demand(to_bytes(again) == to_bytes(file), "a file that was written comes back");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  TensorFile file;
  if (test::is_read([&] { file = read_tensors(test::write_input(test::text_of(data, size))); }))
    check(file);
  return 0;
}
