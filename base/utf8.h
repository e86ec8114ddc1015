// Whether bytes are text.
#pragma once
#include <cstdint>
#include <string_view>

namespace scry {

/// Whether all of it is UTF-8: no stray or missing bytes, no characters in more bytes than they
/// need, no surrogates, nothing beyond U+10FFFF.
constexpr bool is_utf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
    const uint32_t lead = byte(at);
    const size_t more = lead < 0x80            ? 0
                        : lead >> 5 == 0b110   ? 1
                        : lead >> 4 == 0b1110  ? 2
                        : lead >> 3 == 0b11110 ? 3
                                               : text.size();
    if (more >= text.size() - at) return false;
    uint32_t character = more == 0 ? lead : lead & (0x3fU >> more);
    for (size_t i = 1; i <= more; ++i) {
      if (byte(at + i) >> 6 != 0b10) return false;
      character = character << 6 | (byte(at + i) & 0x3f);
    }
    constexpr uint32_t kLeast[] = {0, 0x80, 0x800, 0x10000};
    if (character < kLeast[more] || character > 0x10ffff) return false;
    if (character >= 0xd800 && character < 0xe000) return false;
    at += more + 1;
  }
  return true;
}

}  // namespace scry
