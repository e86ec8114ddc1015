// docs/reference.md against the headers: what a model file can be written with is on the page.
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "dsl/type.h"
#include "tests/catch.h"
#include "tests/support/places.h"

using namespace scry;

namespace {

std::string read(const std::string& path) {
  std::ifstream file(test::source_dir() + "/" + path);
  REQUIRE(file);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// A header without comments, bodies of functions and private parts.
std::string declarations(const std::string& header) {
  std::string text = std::regex_replace(read(header), std::regex("//[^\n]*"), "");
  text = std::regex_replace(text, std::regex("\n private:[^}]*\n\\};"), "\n};");
  return std::regex_replace(text, std::regex("\\{[^{}\n]*\\}"), ";");
}

std::set<std::string> matches(const std::string& text, const std::string& pattern) {
  std::set<std::string> found;
  const std::regex regex(pattern);
  for (std::sregex_iterator at(text.begin(), text.end(), regex), end; at != end; ++at)
    found.insert(at->str(1));
  return found;
}

const char* const kHeaders[] = {"dsl/expr.h",
                                "dsl/model.h",
                                "dsl/state.h",
                                "dsl/task.h",
                                "dsl/registry.h",
                                "dsl/layers.h",
                                "dsl/layers_recurrent.h",
                                "dsl/settings.h"};

/// What a model file does not write itself.
const std::set<std::string> kInternal{
    // Handles and how they are made.
    "apply", "leaf", "node", "is_defined", "Traced", "Operand", "SymOperand", "NameAt", "Value",
    "Sym", "Expr", "info", "expr", "Scan", "values", "checked", "components", "Component",
    "ParamInfo", "StateSpec",
    // What the tracer asks.
    "ParamOwner", "size", "shape", "operator", "next_state"};

}  // namespace

TEST_CASE("every function, class and layer of the language is on the reference page", "[docs]") {
  const std::string page = read("docs/reference.md");
  size_t num_functions = 0;
  for (const char* header : kHeaders) {
    const std::string text = declarations(header);
    const std::set<std::string> functions =
        matches(text,
                "\n *(?:virtual |static |const |constexpr |\\[\\[gnu::weak\\]\\] )*"
                "(?:std::)?\\w+(?:<[^;(]*>)?&? (\\w+)\\(");
    num_functions += functions.size();
    for (const std::string& name : functions) {
      if (kInternal.contains(name)) continue;
      INFO(header << ": " << name << "()");
      CHECK(std::regex_search(page, std::regex("\\b" + name + "(\\(|`)")));
    }
    for (const std::string& name : matches(text, "\n(?:class|struct) (\\w+)[^;]*\\{")) {
      if (kInternal.contains(name)) continue;
      INFO(header << ": " << name);
      CHECK(std::regex_search(page, std::regex("\\b" + name + "\\b")));
    }
  }
  CHECK(num_functions > 90);  // the headers were read as meant
}

TEST_CASE("every choice that a layer or scan offers is on the reference page", "[docs]") {
  const std::string page = read("docs/reference.md");
  std::set<std::string> choices;
  for (const char* header : {"dsl/model.h", "dsl/layers.h"}) {
    const std::string text = read(header);
    for (const std::string& list : matches(text, "\nenum class \\w+ : uint8_t \\{([^}]*)\\}"))
      choices.merge(matches(list, "(k\\w+)"));
  }
  choices.erase("kYes");  // what there is without a choice
  CHECK(choices == std::set<std::string>{"kLeftToRight", "kRightToLeft", "kNo", "kRelu", "kTanh"});
  for (const std::string& name : choices) CHECK(page.find(name) != std::string::npos);
}

TEST_CASE("every operator of reals and symbols is on the reference page", "[docs]") {
  const std::string page = read("docs/reference.md"), text = declarations("dsl/expr.h");
  const size_t symbols = page.find("\n## Symbols");
  REQUIRE(symbols != std::string::npos);
  const auto operators = [&](const std::string& type) {
    return matches(text, "\n" + type + " operator(\\S+)\\(");
  };
  CHECK(operators("Expr") == std::set<std::string>{"+", "-", "*", "/"});
  CHECK(operators("Sym").size() == 14);
  for (const auto& [type, part] :
       {std::pair("Expr", page.substr(0, symbols)), std::pair("Sym", page.substr(symbols))}) {
    for (std::string name : operators(type)) {
      INFO(type << ": " << name);
      if (name == "||") name = "\\|\\|";  // as tables of Markdown have it
      CHECK((part.find("a " + name + " b`") != std::string::npos ||
             part.find(name + "a`") != std::string::npos));
    }
  }
}

TEST_CASE("the reference page's limits are the code's", "[docs]") {
  const std::string page = read("docs/reference.md");
  CHECK(page.find("2²⁴ = " + std::to_string(kMaxLength)) != std::string::npos);
  CHECK(page.find("at most " + std::to_string(kMaxLength) + " symbols") != std::string::npos);
}
