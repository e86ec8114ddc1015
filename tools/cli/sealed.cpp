#include "tools/cli/sealed.h"

#include <string_view>

#include "compiler/cache.h"

namespace scry::cli {
namespace {

constexpr std::string_view kMagic = "\nscry model 1\n";
constexpr size_t kKeySize = 64, kDigestSize = 32;
constexpr size_t kSealSize = kMagic.size() + kKeySize + kDigestSize;

}  // namespace

std::string seal(std::string program, const std::string& key) {
  const std::string digest = quick_digest(program);
  program += kMagic;
  program += key;
  program += digest;
  return program;
}

std::string fault_of_sealed(const std::string& bytes, const std::string& key) {
  if (bytes.size() < kSealSize) return "is cut off";
  const std::string_view program(bytes.data(), bytes.size() - kSealSize);
  const std::string_view seal(bytes.data() + program.size(), kSealSize);
  if (!seal.starts_with(kMagic)) return "is cut off or damaged";
  if (seal.substr(kMagic.size() + kKeySize) != quick_digest(program)) return "is damaged";
  return seal.substr(kMagic.size(), kKeySize) == key ? "" : "belongs to other sources";
}

}  // namespace scry::cli
