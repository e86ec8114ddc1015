#include <algorithm>

#include "runtime/files/parameters_file.h"
#include "runtime/train/checkpoint.h"
#include "tests/fuzz/reader_fuzz.h"
#include "tests/support/fake_training.h"

using namespace scry;

namespace {

const Program& program() {
  static const Program program = test::fake_program();
  return program;
}
const RunIdentity& identity() {
  static const RunIdentity identity = test::fake_identity(program(), {});
  return identity;
}

/// With the checksum that its content has, as else nothing is looked at but the checksum.
std::string signed_bytes(TensorFile file) {
  add_checksum(file);
  return to_bytes(file);
}

std::string write(const TrainState& state) {
  static const test::TempFolder folder;
  write_checkpoint(folder.file("written"), program(), identity(), state);
  return test::read_bytes(folder.file("written"));
}

void read(std::string_view bytes) {
  TrainState state(program(), Parameters::fresh(program(), 1));
  if (!test::is_read(
          [&] { state = read_checkpoint(test::write_input(bytes), program(), identity()); }))
    return;
  const std::string written = write(state);
  state = read_checkpoint(test::write_input(written), program(), identity());
  test::demand(write(state) == written, "a checkpoint comes back");
}

/// The tensors and metadata of a patch in the place of a checkpoint's own; an empty text removes an
/// entry. So seeds need not know what else a checkpoint has.
TensorFile patched(TensorFile file, const TensorFile& patch) {
  for (const Tensor& tensor : patch.tensors) {
    const auto found = std::find_if(file.tensors.begin(), file.tensors.end(),
                                    [&](const Tensor& each) { return each.name == tensor.name; });
    if (found == file.tensors.end()) {
      file.tensors.push_back(tensor);
    } else {
      *found = tensor;
    }
  }
  for (const auto& [key, text] : patch.metadata) {
    file.metadata[key] = text;
    if (text.empty()) file.metadata.erase(key);
  }
  return file;
}

}  // namespace

/// The input is read as a checkpoint, and as a patch of one.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string whole = write(TrainState(program(), Parameters::fresh(program(), 1)));
  static const TensorFile checkpoint = read_tensors(test::write_input(whole));
  test::demand(signed_bytes(checkpoint) == whole, "checkpoints are signed as signed_bytes() does");
  const std::string bytes = test::text_of(data, size);
  read(bytes);
  TensorFile patch;
  if (test::is_read([&] { patch = read_tensors(test::write_input(bytes)); }))
    read(signed_bytes(patched(checkpoint, patch)));
  return 0;
}
