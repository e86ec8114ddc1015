#include "runtime/kernels/buffer.h"

#include "tests/catch.h"

using namespace scry;

namespace {

/// "1 2 3": the bytes as numbers.
std::string shown(const AlignedBytes& bytes) {
  std::string text;
  for (size_t i = 0; i < bytes.size(); ++i)
    text += (i == 0 ? "" : " ") + std::to_string(std::to_integer<int>(bytes.data()[i]));
  return text;
}

AlignedBytes counted(size_t size) {
  AlignedBytes bytes(size);
  for (size_t i = 0; i < size; ++i) bytes.data()[i] = static_cast<std::byte>(i + 1);
  return bytes;
}

}  // namespace

TEST_CASE("bytes are zero where they are new, and stay where they are not") {
  AlignedBytes bytes;
  CHECK(bytes.empty());
  CHECK(bytes.data() == nullptr);
  bytes.clear();
  bytes.grow(0);
  bytes = counted(3);
  CHECK(reinterpret_cast<uintptr_t>(bytes.data()) % 64 == 0);
  bytes.grow(5);
  CHECK(shown(bytes) == "1 2 3 0 0");
  bytes.grow(2);
  CHECK(shown(bytes) == "1 2 3 0 0");
  bytes.data()[4] = std::byte{9};
  bytes.reset(2);
  CHECK(shown(bytes) == "0 0");
  bytes.grow(6);
  CHECK(shown(bytes) == "0 0 0 0 0 0");
  bytes = counted(2);
  bytes.clear();
  CHECK(shown(bytes) == "0 0");
}

TEST_CASE("bytes are copied and moved as values") {
  AlignedBytes first = counted(3);
  AlignedBytes second = first;
  second.data()[0] = std::byte{7};
  CHECK(shown(first) == "1 2 3");
  CHECK(shown(second) == "7 2 3");
  second = counted(2);
  second = first;
  CHECK(shown(second) == "1 2 3");
  first = AlignedBytes(std::move(second));
  CHECK(shown(first) == "1 2 3");
  CHECK(second.empty());  // NOLINT: it is as new
  second.grow(1);
  CHECK(shown(second) == "0");
  const AlignedBytes& same = first;
  first = same;
  CHECK(shown(first) == "1 2 3");
  first = AlignedBytes();
  CHECK(first.empty());
}

TEST_CASE("numbers of one buffer are added to those of another, and to no others") {
  for (Precision precision : {Precision::kFloat, Precision::kDouble}) {
    for (int64_t count : {0, 1, 7, 32, 100}) {
      RealBuffer to(precision, 120), from(precision, 150);
      for (int64_t k = 0; k < to.size(); ++k) to.set(k, 0.1 * static_cast<double>(k));
      for (int64_t k = 0; k < from.size(); ++k) from.set(k, 0.7 * static_cast<double>(k));
      const RealBuffer before = to;
      to.add(3, from, 5, count);
      for (int64_t k = 0; k < to.size(); ++k) {
        RealBuffer sum(precision, 1);  // rounded once
        sum.set(0, before.get(k) + (k >= 3 && k < 3 + count ? from.get(k + 2) : 0));
        CHECK(to.get(k) == sum.get(0));
      }
    }
  }
}
