// What `scry sample` makes of the table of methods: names, help, and which option serves which.
#pragma once
#include <span>
#include <string>

#include "runtime/smc/methods.h"

namespace CLI {
class App;
}

namespace scry::cli {

/// The help of --method: a line for each that is offered.
std::string method_help();
/// The help of --resample, --rank-by and --max-rows, which name methods.
std::string resample_help();
std::string rank_by_help();
std::string max_rows_help();

/// The row that --method and --rank-by ask for. An empty `name` is the default; an empty `rank_by`
/// asks for the lookahead, if the model has one.
const MethodRow& chosen_method(const std::string& name, const std::string& rank_by,
                               bool has_lookahead);

/// Throws UsageError if an option was given that the method, or another option, leaves without use.
/// An empty method is the model's default, which samples.
void check_method_options(const CLI::App& app, const std::string& method);

/// The name of an enumeration's value.
template <class Enum>
std::string name_of(std::span<const char* const> names, Enum value) {
  return names[static_cast<size_t>(value)];
}
/// The value of an enumeration whose names these are; one of them is `name`.
template <class Enum>
Enum named(std::span<const char* const> names, const std::string& name) {
  size_t i = 0;
  while (names[i] != name) ++i;
  return static_cast<Enum>(i);
}

}  // namespace scry::cli
