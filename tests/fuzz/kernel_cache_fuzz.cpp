#include <filesystem>

#include "compiler/cache.h"
#include "tests/fuzz/reader_fuzz.h"

using namespace scry;

/// The input is a whole kernel file, and then an object that is stored and loaded.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const test::TempFolder folder;
  static const KernelCache cache(folder.path());
  static const std::string key(64, 'a');
  const std::string bytes = test::text_of(data, size);
  const std::string path = cache.file_of(key);

  test::demand(cache.store(key, {}).empty(), "an empty object can be stored");  // makes folders
  std::ofstream(path, std::ios::binary) << bytes;
  std::string problem;
  if (const auto object = cache.load(key, problem)) {
    test::demand(bytes.ends_with(std::string_view(object->data(), object->size())),
                 "an object that is loaded is the file's");
    test::demand(bytes.size() > object->size(), "an object stands behind a header");
    test::demand(problem.empty(), "a file that is taken has no fault");
  } else {
    test::demand(!problem.empty() && problem.find('\n') == std::string::npos,
                 "a refused file is reported in one line");
    test::demand(!std::filesystem::exists(path), "a refused file is removed");
  }

  test::demand(cache.store(key, bytes).empty(), "an object can be stored");
  problem.clear();
  const auto loaded = cache.load(key, problem);
  test::demand(loaded && std::string(loaded->begin(), loaded->end()) == bytes,
               "an object that was stored is loaded");
  return 0;
}
