// A checksum: FNV-1a. Against accidents, not against intent.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

namespace scry {

/// Any change of one byte changes the hash, as every step is a bijection of it.
class FnvHash {
 public:
  void add(std::string_view bytes) {
    for (char byte : bytes) mix(static_cast<unsigned char>(byte));
  }
  void add(uint64_t number) {
    for (int shift = 0; shift < 64; shift += 8) mix(number >> shift & 0xff);
  }
  /// Their number too, so that lists end to end are told apart.
  void add(std::span<const int> numbers) {
    add(static_cast<uint64_t>(numbers.size()));
    for (int number : numbers) add(static_cast<uint64_t>(static_cast<int64_t>(number)));
  }
  uint64_t value() const { return value_; }

 private:
  void mix(uint64_t byte) { value_ = (value_ ^ byte) * 0x100000001b3; }
  uint64_t value_ = 0xcbf29ce484222325;
};

}  // namespace scry
