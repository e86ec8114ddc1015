#include "base/utf8.h"

#include "tests/catch.h"

using namespace scry;
using namespace std::string_view_literals;

TEST_CASE("text in UTF-8 is told from bytes that are none") {
  for (const std::string_view text :
       {""sv, "a"sv, "\0"sv, "\x7f"sv, "é"sv, "科"sv, "😀"sv, "a é 科 😀"sv, "\xed\x9f\xbf"sv,
        "\xee\x80\x80"sv, "\xf4\x8f\xbf\xbf"sv}) {
    CAPTURE(std::string(text));
    CHECK(is_utf8(text));
  }
  for (const std::string_view text :
       {"\x80"sv, "\xff"sv, "caf\xe9"sv, "\xc3"sv, "\xe7\xa7"sv, "\xf0\x9f\x98"sv, "\xc3 "sv,
        "\xe7\xa7 "sv, "\xc0\x80"sv, "\xc1\xbf"sv, "\xe0\x80\x80"sv, "\xe0\x9f\xbf"sv,
        "\xf0\x80\x80\x80"sv, "\xf0\x8f\xbf\xbf"sv, "\xed\xa0\x80"sv, "\xed\xbf\xbf"sv,
        "\xf4\x90\x80\x80"sv, "\xf8\x88\x80\x80\x80"sv, "\xfe"sv}) {
    CAPTURE(std::string(text));
    CHECK_FALSE(is_utf8(text));
  }
}
