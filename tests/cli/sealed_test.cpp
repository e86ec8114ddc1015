#include "tools/cli/sealed.h"

#include "compiler/cache.h"
#include "tests/catch.h"

using namespace scry;
using namespace scry::cli;

TEST_CASE("a sealed program with any byte changed, lost or added is found out") {
  const std::string key = cache_key(std::vector<std::string>{"a"});
  const std::string whole = seal(
      "\x7f"
      "ELF and more",
      key);
  CHECK(fault_of_sealed(whole, key) == "");
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const int bit : {1, 128}) {
      std::string bytes = whole;
      bytes[at] = static_cast<char>(bytes[at] ^ bit);
      CAPTURE(at, bit);
      CHECK(fault_of_sealed(bytes, key) != "");
    }
    CHECK(fault_of_sealed(whole.substr(0, at), key) != "");
  }
  CHECK(fault_of_sealed(whole + "x", key) != "");
  CHECK(fault_of_sealed("", key) == "is cut off");
}

TEST_CASE("a program sealed for other sources is not taken for these") {
  const std::string key = cache_key(std::vector<std::string>{"a"});
  const std::string other = cache_key(std::vector<std::string>{"b"});
  CHECK(fault_of_sealed(seal("program", other), key) == "belongs to other sources");
}
