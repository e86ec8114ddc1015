// Gives every file of some folders to a fuzz target, once and without libFuzzer: NAME FOLDER...
// A target that finds something ends the program, after the file's name was printed.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <vector>

#include "tests/fuzz/reader_fuzz.h"

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  std::vector<fs::path> files;
  for (int i = 1; i < argc; ++i) {
    for (const fs::directory_entry& entry : fs::directory_iterator(argv[i]))
      files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  LLVMFuzzerTestOneInput(nullptr, 0);
  for (const fs::path& file : files) {
    std::fprintf(stderr, "%s\n", file.filename().c_str());
    const std::string bytes = scry::test::read_bytes(file.string());
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  }
  std::printf("%zu files read\n", files.size());
  return files.empty() ? 1 : 0;
}
