// Text from files, as messages show it.
#pragma once
#include <string>
#include <string_view>

namespace scry {

/// In quotes, cut at a character after `max_bytes`, and without bytes that would upset a terminal.
std::string quote(std::string_view text, size_t max_bytes = 40);

}  // namespace scry
