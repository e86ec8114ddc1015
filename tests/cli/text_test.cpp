#include "tools/cli/text.h"

#include "tests/catch.h"
#include "tests/cli/shell.h"
#include "tools/cli/build_conf.h"
#include "tools/cli/compiler_log.h"
#include "tools/cli/flops.h"
#include "tools/cli/process.h"

namespace scry::cli {
namespace {

TEST_CASE("a text is as wide as its characters, with marks above them taking no room") {
  CHECK(display_width("prefix×tag") == 10);
  CHECK(display_width("s̄, s₀ → Ĥ") == 9);
  CHECK(pad_left("θ", 3) == "  θ");
  CHECK(pad_right("θ", 3) == "θ  ");
}

TEST_CASE("a table in pieces keeps its columns, and repeats headers only for a new one") {
  TextTable::Layout layout;
  const auto piece = [&](std::vector<std::vector<std::string>> rows) {
    TextTable table({{"n", true}, {"word"}, {"note"}});
    for (std::vector<std::string>& row : rows) table.add(std::move(row));
    return table.str(Style(false), "", layout);
  };
  CHECK(piece({{"1", "a", ""}, {"22", "bcdefg", ""}}) ==
        " n  word\n"
        " 1  a\n"
        "22  bcdefg\n");
  CHECK(piece({{"3", "h", ""}}) == " 3  h\n");
  CHECK(piece({{"444", "i", "!"}}) ==
        "  n  word    note\n"
        "444  i       !\n");
  CHECK(piece({{"5", "j", ""}}) == "  5  j\n");
}

TEST_CASE("numbers are written for people") {
  CHECK(group_digits(0) == "0");
  CHECK(group_digits(999) == "999");
  CHECK(group_digits(1216800) == "1,216,800");
  CHECK(format_bytes(1) == "1 byte");
  CHECK(format_bytes(999) == "999 bytes");
  CHECK(format_bytes(3400000) == "3.4 MB");
  CHECK(format_bytes(999999) == "1.0 MB");
  CHECK(to_string(Flops{{3, 128, 0}}) == "3 + 128·T");
  CHECK(to_string(Flops{{0, 1, 2}}) == "T + 2·T²");
  CHECK(to_string(Flops{}) == "0");
}

TEST_CASE("a table leaves out empty columns and the spaces at the ends of lines") {
  TextTable table({{"a"}, {"none"}, {"n", true}, {"b"}});
  table.add({"x", "", "10", ""});
  table.add({"yy", "", "7", "z"});
  CHECK(table.str(Style(false), "") == "a    n  b\nx   10\nyy   7  z\n");
}

TEST_CASE("the FLOPs of products with the sequence are found for every length") {
  Graph graph;
  const NodeId all = graph.add_leaf(Op::kInput, Type::real({kLength, 4}), Axes::sequence(),
                                    {.name = "e", .axes = Axes::sequence()}, {});
  const NodeId self = graph.add(Op::kMatMul, {all, all}, {.j = 1}, {});  // [T, T]
  CHECK(flops_of(graph, self).by_power == std::array<double, 3>{0, 0, 8});
  CHECK(flops_of(graph, self).at(5) == 200);
  const NodeId sum = graph.add(Op::kMatMulSum, {all, self}, {.axes = Axes::none()}, {});  // [4, T]
  CHECK(flops_of(graph, sum).by_power == std::array<double, 3>{0, 0, 8});
}

TEST_CASE("the compiler's first error is found at the model file's line") {
  CHECK(first_error("m.cpp: In function 'f':\nm.cpp:7:30: error: no 'x'\nm.cpp:9:1: error: other\n",
                    "m.cpp") == "m.cpp:7: no 'x'");
  CHECK(first_error("m.cpp:1:10: fatal error: a.h: No such file or directory\n", "m.cpp") ==
        "m.cpp:1: a.h: No such file or directory");
  CHECK(first_error("/usr/include/a.h: In instantiation of 'f':\nm.cpp:5:2:   required from here\n"
                    "/usr/include/a.h:80:7: error: bad\n",
                    "m.cpp") == "m.cpp:5: bad");
  CHECK(first_error("/usr/include/a.h:80:7: error: bad\nm.cpp:5:2: note: in instantiation of 'f'\n",
                    "m.cpp") == "m.cpp:5: bad");
  CHECK(first_error("helper.h:3:1: error: bad\n", "m.cpp") == "helper.h:3: bad");
  CHECK(first_error("/usr/bin/ld: /tmp/x.o: in function `g':\nm.cpp:(.text+0x9): undefined "
                    "reference to `f()'\n"
                    "collect2: error: ld returned 1 exit status\n",
                    "m.cpp") == "m.cpp: undefined reference to `f()'");
  CHECK(first_error("", "m.cpp") == "m.cpp: the compiler failed");
}

TEST_CASE("dependencies are read with their escapes and continued lines") {
  CHECK(parse_dependencies("model: a\\ b.cpp \\\n c$$.h \\\n  d\\#.h\n") ==
        std::vector<std::string>{"a b.cpp", "c$.h", "d#.h"});
  CHECK(parse_dependencies("").empty());
}

TEST_CASE("the build recipe is read with comments, lists and the prefix") {
  const BuildConf conf = parse_build_conf(
      "# how\ncompiler = /usr/bin/c++\nflags = -O2;-std=c++20\ninclude = @PREFIX@/include\nlibs = "
      ";a;;b\n",
      "x.conf", "/opt/scry");
  CHECK(conf.compiler == "/usr/bin/c++");
  CHECK(conf.flags == std::vector<std::string>{"-O2", "-std=c++20"});
  CHECK(conf.include == std::vector<std::string>{"/opt/scry/include"});
  CHECK(conf.libs == std::vector<std::string>{"a", "b"});
  CHECK_THROWS_WITH(parse_build_conf("compiler = c\nflag = x\n", "x.conf", ""),
                    "x.conf:2: 'flag' is none of compiler, flags, include, libs");
  CHECK_THROWS_WITH(parse_build_conf("", "x.conf", ""), "x.conf names no compiler");
}

TEST_CASE("a program's output and exit code come back, also if there is no such program") {
  const ProcessResult result = run_process({"sh", "-c", "echo out; echo err >&2; exit 3"});
  CHECK(result.exit_code == 3);
  CHECK(result.output == "out\nerr\n");
  CHECK(run_process({"/no/such/program"}).exit_code == 127);
  CHECK(run_process({"sh", "-c", "kill -9 $$"}).exit_code == 137);
}

}  // namespace
}  // namespace scry::cli
