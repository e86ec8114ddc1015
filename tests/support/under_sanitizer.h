// Tests under a sanitizer take many times as long. There they may repeat a check fewer times, and
// never leave one out.
#pragma once

namespace scry::test {

#ifdef SCRY_UNDER_SANITIZER
inline constexpr bool kUnderSanitizer = true;
#else
inline constexpr bool kUnderSanitizer = false;
#endif

}  // namespace scry::test
