#include "tests/catch.h"
#include "tests/cli/shell.h"

namespace scry {
namespace {

using test::Sandbox;
using test::write_text;

TEST_CASE("vocab writes the most frequent symbols first, and of equals the first in the file") {
  const Sandbox box;
  write_text(box.path("in.tsv"), "b a c\tX Y X\nc b d\tX X Z\nc e d\tX X Z\n");
  const auto all = box.program("scry vocab --input in.tsv");
  CHECK(all.exit_code == 0);
  CHECK(all.out == "c\nb\nd\na\ne\n");
  CHECK(all.err == "vocab: 5 of 5 symbols, which are 100.0 % of 9 in the file\n");
  CHECK(box.program("scry vocab --input in.tsv --column y").out == "X\nZ\nY\n");
  const auto frequent = box.program("scry vocab --input in.tsv --min-count 2 -o v.txt");
  CHECK(frequent.out.empty());
  CHECK(frequent.err == "vocab: 3 of 5 symbols, which are 77.8 % of 9 in the file\n");
  CHECK(test::read_file(box.path("v.txt")) == "c\nb\nd\n");
  CHECK(box.program("scry vocab --input in.tsv --max 1").out == "c\n");
}

TEST_CASE("vocab reads columns, comments and standard input as the other commands do") {
  const Sandbox box;
  write_text(box.path("in.conll"), "# text = b a\nb\tX\na\tY\n\nb\tX\n#\tX\n");
  CHECK(box.program("scry vocab --input in.conll --columns 1,2").out == "b\na\n#\n");
  CHECK(box.program("scry vocab --input - --input-format lines <in.conll").exit_code == 0);
  CHECK(box.program("scry vocab --input in.conll --columns 1,2 --column y").out == "X\nY\n");
}

TEST_CASE("what no vocabulary can be made of is refused in one line") {
  const Sandbox box;
  write_text(box.path("in.tsv"), "a b\tX X\nc caf\xe9\tX X\n");
  const auto bytes = box.program("scry vocab --input in.tsv -o v.txt");
  CHECK(bytes.exit_code == 1);
  CHECK(bytes.err.starts_with("in.tsv:2: 'caf\xe9' is not UTF-8, as a vocabulary must be; "));
  CHECK_FALSE(std::filesystem::exists(box.path("v.txt")));
  write_text(box.path("in.tsv"), "a b\n");
  CHECK(box.program("scry vocab --input in.tsv --column y").err == "in.tsv:1: there are no tags\n");
  CHECK(box.program("scry vocab --input in.tsv --min-count 2").err ==
        "in.tsv: no symbol stands there 2 times; lower --min-count\n");
  CHECK(box.program("scry vocab --input in.tsv -o in.tsv").exit_code == 2);
  CHECK(test::read_file(box.path("in.tsv")) == "a b\n");
}

}  // namespace
}  // namespace scry
