#include "runtime/fnv_hash.h"
#include "runtime/safetensors.h"
#include "runtime/train/checkpoint.h"
#include "runtime/train/run_record.h"
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
  file.metadata.erase("scry.checksum");
  FnvHash hash;
  hash.add(to_bytes(file));
  file.metadata["scry.checksum"] = hash_text(hash.value());
  return to_bytes(file);
}

std::string write(const TrainState& state) {
  static const test::TempFolder folder;
  write_checkpoint(folder.file("written"), program(), identity(), state);
  return test::read_bytes(folder.file("written"));
}

bool read(std::string_view bytes) {
  TrainState state(program(), Parameters::fresh(program(), 1));
  if (!test::is_read(
          [&] { state = read_checkpoint(test::write_input(bytes), program(), identity()); }))
    return false;
  const std::string written = write(state);
  state = read_checkpoint(test::write_input(written), program(), identity());
  test::demand(write(state) == written, "a checkpoint comes back");
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const bool can_sign = [] {
    const std::string bytes = write(TrainState(program(), Parameters::fresh(program(), 1)));
    return signed_bytes(read_tensors(test::write_input(bytes))) == bytes;
  }();
  test::demand(can_sign, "checkpoints are signed as signed_bytes() does");
  const std::string bytes = test::text_of(data, size);
  if (read(bytes)) return 0;
  TensorFile file;
  if (test::is_read([&] { file = read_tensors(test::write_input(bytes)); }))
    read(signed_bytes(std::move(file)));
  return 0;
}
