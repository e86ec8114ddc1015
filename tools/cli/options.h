// Options that several commands have, with help and errors of one kind.
#pragma once
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

namespace scry::cli {

/// `--name a|b|c`.
inline CLI::Option* add_choice(CLI::App& app, const std::string& name, std::string& value,
                               const std::vector<std::string>& choices, const std::string& help) {
  return app.add_option(name, value, help)
      ->capture_default_str()
      ->type_name(fmt::format("{}", fmt::join(choices, "|")))
      ->check([choices](const std::string& given) {
        const bool known = std::find(choices.begin(), choices.end(), given) != choices.end();
        return known ? std::string()
                     : fmt::format("'{}' is none of {}", given, fmt::join(choices, ", "));
      });
}

inline CLI::Option* add_output(CLI::App& app, std::string& path) {
  return app.add_option("-o,--output", path, "Write here instead of standard output")
      ->type_name("FILE");
}

inline CLI::Option* add_seed(CLI::App& app, uint64_t& seed, const std::string& help) {
  return app.add_option("--seed", seed, help)
      ->capture_default_str()
      ->type_name("N")
      ->check([](const std::string& given) {
        const bool digits =
            given.find_first_not_of("0123456789") == std::string::npos && given.size() < 20;
        return digits ? std::string() : fmt::format("'{}' is not a number such as 1", given);
      });
}

/// `--memory SIZE`: bytes, or with a suffix K, M, G or T.
inline CLI::Option* add_memory(CLI::App& app, int64_t& bytes) {
  const auto parse = [](const std::string& given, int64_t& value) {
    constexpr std::string_view kSuffixes = "KMGT";
    size_t used = 0;
    double number = -1;
    try {
      number = std::stod(given, &used);
    } catch (const std::exception&) {
    }
    double unit = 1;
    if (used + 1 == given.size()) {
      const size_t power = kSuffixes.find(static_cast<char>(std::toupper(given[used])));
      if (power != std::string_view::npos) {
        unit = std::pow(1024.0, static_cast<double>(power + 1));
        ++used;
      }
    }
    const double wanted = number * unit;
    if (used != given.size() || !(wanted >= 1) || wanted > 1e18) return false;
    value = static_cast<int64_t>(wanted);
    return true;
  };
  return app
      .add_option_function<std::string>(
          "--memory", [&bytes, parse](const std::string& given) { parse(given, bytes); },
          "Memory to work in, about, such as 500M or 8G; a quarter of the machine's unless given")
      ->type_name("SIZE")
      ->check([parse](const std::string& given) {
        int64_t ignored = 0;
        return parse(given, ignored) ? std::string()
                                     : fmt::format("'{}' is not a size such as 500M or 8G", given);
      });
}

/// A check for CLI11: a number for which `fits` holds.
template <class Fits>
CLI::Option* check_number(CLI::Option* option, const char* wanted, Fits fits) {
  return option->check([=](const std::string& given) {
    try {
      size_t used = 0;
      const double value = std::stod(given, &used);
      if (used == given.size() && fits(value)) return std::string();
    } catch (const std::exception&) {
    }
    return fmt::format("'{}' is not {}", given, wanted);
  });
}

inline CLI::Option* add_count(CLI::App& app, const std::string& name, int& value, int least,
                              const std::string& help) {
  return check_number(app.add_option(name, value, help)->type_name("N"),
                      least > 0 ? "a whole number above 0" : "a whole number", [=](double given) {
                        return given >= least && given <= 1e9 && given == std::floor(given);
                      });
}

/// `--name X`, a number for which `fits` holds, with its default in the help.
template <class Fits>
CLI::Option* add_number(CLI::App& app, const std::string& name, double& value, const char* wanted,
                        Fits fits, const std::string& help) {
  return check_number(app.add_option(name, value, help)->capture_default_str()->type_name("X"),
                      wanted, fits);
}

/// The library's advice in words of the command line: what it calls max_rows is --max-rows there.
inline std::string in_option_words(std::string message) {
  const std::string member = "max_rows", option = "--max-rows";
  for (size_t at = message.find(member); at != std::string::npos;
       at = message.find(member, at + option.size())) {
    message.replace(at, member.size(), option);
  }
  return message;
}

/// `--tolerance X`, of discrete sets.
inline CLI::Option* add_tolerance(CLI::App& app, double& tolerance) {
  return add_number(
      app, "--tolerance", tolerance, "between 0 and 1", [](double x) { return x >= 0 && x <= 1; },
      "Discrete sets have fewer than M prefixes where the others would weigh less than X times an "
      "M-th of all; 0 for never");
}

}  // namespace scry::cli
