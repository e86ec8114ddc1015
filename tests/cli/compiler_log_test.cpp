#include "tools/cli/compiler_log.h"

#include "tests/catch.h"

namespace scry::cli {
namespace {

const char* const kUseSelect =
    "a symbol has no value while the model is traced, so if, ?:, while and switch cannot test it: "
    "use select(condition, a, b)";

TEST_CASE("lines and files of any length are read") {
  const std::string huge(5'000'000, 'x');
  CHECK(first_error("m.cpp:7:30: error: " + huge + "\n", "m.cpp") == "m.cpp:7: " + huge);
  CHECK(first_error(huge + ":7:30: error: bad\n", "m.cpp") == huge + ":7: bad");
  CHECK(first_error(huge + "\nm.cpp:7:30: error: bad\n", "m.cpp") == "m.cpp:7: bad");
  CHECK(first_error("ld: undefined reference to `" + huge + "'\n", "m.cpp") ==
        "m.cpp: undefined reference to `" + huge + "'");
  std::string nested, colons, digits = "m.cpp:", blank(1'000'000, '\n');
  for (int i = 0; i < 200'000; ++i) nested += "std::vector<", colons += ":1", digits += "7";
  CHECK(first_error("m.cpp:7:30: error: no '" + nested + "'\n", "m.cpp") ==
        "m.cpp:7: no '" + nested + "'");
  CHECK(first_error(colons + "\n" + digits + ": error: bad\nm.cpp:9: error: other\n", "m.cpp") ==
        digits + ": bad");
  CHECK(first_error(blank + "m.cpp:7:30: error: bad", "m.cpp") == "m.cpp:7: bad");
}

TEST_CASE("a log of anything is answered with one line") {
  for (const std::string log :
       {":", "::", ":1:", "m.cpp:", "m.cpp:1", "m.cpp:1:", "m.cpp:1: ", "m.cpp:1:2:",
        "m.cpp:x: error", "m.cpp:1:error: no space", "\n\n", "error: ", "m.cpp:1:1: error:"}) {
    const std::string answer = first_error(log, "m.cpp");
    CAPTURE(log, answer);
    CHECK(answer.starts_with("m.cpp: "));
    CHECK(answer.find('\n') == std::string::npos);
  }
  CHECK(first_error("m.cpp:1:1: error: \n", "m.cpp") == "m.cpp:1: ");
  CHECK(first_error(std::string("m.cpp:1:1: error: a\0b\n", 22), "m.cpp") ==
        std::string("m.cpp:1: a\0b", 12));
  CHECK(first_error("C:/m.cpp:4:1: error: bad\n", "C:/m.cpp") == "C:/m.cpp:4: bad");
}

TEST_CASE("an error in a header is not blamed on a line that asked for something else") {
  CHECK(first_error("m.cpp:5:2:   required from here\na.h:1:1: warning: unused\n"
                    "a.h:80:7: error: bad\n",
                    "m.cpp") == "a.h:80: bad");
  CHECK(first_error("a.h:80:7: error: bad\na.h:81:1: error: other\nm.cpp:5:2:   required from "
                    "here\n",
                    "m.cpp") == "a.h:80: bad");
}

TEST_CASE("a symbol where C++ wants a value is told to use select") {
  for (const char* message :
       {"could not convert 'scry::operator==(SymOperand, SymOperand)' from 'scry::Sym' to 'bool'",
        "could not convert ‘x’ from ‘const scry::Input’ to ‘bool’",
        "cannot convert 'scry::Sym' to 'bool' in initialization",
        "value of type 'scry::Sym' is not contextually convertible to 'bool'",
        "switch quantity not an integer",
        "statement requires expression of integer type ('const scry::Sym' invalid)"}) {
    CHECK(first_error("m.cpp:12:9: error: " + std::string(message) + "\n", "m.cpp") ==
          "m.cpp:12: " + std::string(kUseSelect));
  }
  CHECK_THAT(first_error("m.cpp:3:1: error: no matching function for call to ‘min(const "
                         "scry::Sym&, int)’\n",
                         "m.cpp"),
             Catch::Contains("m.cpp:3: std::min, std::max and std::clamp do not know symbols: use "
                             "min(…)"));
  CHECK_THAT(first_error("m.cpp:3:1: error: no match for ‘operator*’ (operand types are "
                         "‘scry::Expr’ and ‘const scry::Sym’)\n",
                         "m.cpp"),
             Catch::Contains("use to_real(symbol)"));
  CHECK_THAT(first_error("m.cpp:3:1: error: cannot convert ‘const scry::Sym’ to ‘int’ in "
                         "initialization\n",
                         "m.cpp"),
             Catch::Contains("keep it a Sym"));
  // What is not about symbols is left as it is.
  CHECK(first_error("m.cpp:3:1: error: could not convert 'f' from 'std::string' to 'bool'\n",
                    "m.cpp") == "m.cpp:3: could not convert 'f' from 'std::string' to 'bool'");
}

TEST_CASE("two models are told by both their lines") {
  CHECK(first_error("dsl/registry.h:29:21: error: redefinition of ‘const scry::Where "
                    "scry_model_place’\n"
                    "   29 |   const scry::Where scry_model_place = scry::Where::here();\n"
                    "m.cpp:40:1: note: in expansion of macro ‘SCRY_MODEL’\n"
                    "dsl/registry.h:29:21: note: ‘const scry::Where scry_model_place’ previously "
                    "defined here\n"
                    "m.cpp:31:1: note: in expansion of macro ‘SCRY_MODEL’\n"
                    "dsl/registry.h:30:15: error: redefinition of ‘scry::Where "
                    "scry::registered_at()’\n",
                    "m.cpp") ==
        "m.cpp:40: there are two SCRY_MODEL(): leave one (the other is at line 31)");
  CHECK(first_error("m.cpp:40:1: error: redefinition of 'scry_model_place'\n"
                    "dsl/registry.h:29:21: note: expanded from macro 'SCRY_MODEL'\n"
                    "m.cpp:31:1: note: previous definition is here\n",
                    "m.cpp") ==
        "m.cpp:40: there are two SCRY_MODEL(): leave one (the other is at line 31)");
  CHECK(first_error("/usr/bin/ld: b.o: multiple definition of `scry_model_place'\n", "m.cpp") ==
        "m.cpp: another file that is linked has a SCRY_MODEL() too: leave one");
}

}  // namespace
}  // namespace scry::cli
