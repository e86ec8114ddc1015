#include "base/quote.h"

#include <fmt/format.h>

#include <algorithm>

namespace scry {

std::string quote(std::string_view text, size_t max_bytes) {
  size_t shown_bytes = std::min(text.size(), max_bytes);
  const auto continues = [&](size_t i) {
    return i < text.size() && (static_cast<unsigned char>(text[i]) & 0xc0) == 0x80;
  };
  for (int back = 0; back < 3 && shown_bytes > 0 && continues(shown_bytes); ++back) --shown_bytes;
  std::string shown = "'";
  for (char c : text.substr(0, shown_bytes)) {
    const auto byte = static_cast<unsigned char>(c);
    shown += byte < 0x20 || byte == 0x7f ? fmt::format("\\x{:02x}", byte) : std::string(1, c);
  }
  return shown + (shown_bytes < text.size() ? "…'" : "'");
}

}  // namespace scry
