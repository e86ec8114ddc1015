// How benchmarks print: tables for people, or JSON.
#pragma once
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace scry::bench {

inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// One table for people, or one JSON object per figure.
class Table {
 public:
  struct Figure {
    const char* heading;  ///< in the table
    std::string what;     ///< in JSON
    const char* unit;
    double value;
  };

  Table(bool json, std::string title) : json_(json) {
    if (!json_) fmt::print("\n{}\n", title);
  }
  /// `keys` are the row's name: headings and values.
  void add(const std::vector<std::pair<const char*, std::string>>& keys,
           const std::vector<Figure>& figures) {
    if (!json_ && std::exchange(is_new_, false)) {
      for (const auto& key : keys) fmt::print("{:<{}} ", key.first, kKeyWidth);
      for (const Figure& figure : figures) fmt::print("{:>14}", figure.heading);
      fmt::print("\n");
    }
    std::string name;
    for (const auto& key : keys) {
      if (!json_) fmt::print("{:<{}} ", key.second, kKeyWidth);
      if (key.second == kNothing) continue;
      const std::string_view heading(key.first);
      if (!name.empty()) name += ", ";
      if (heading == "M" || heading == "T") name += key.first + std::string(" = ");
      name += key.second;
    }
    for (const Figure& figure : figures) {
      if (!json_) {
        fmt::print("{:>14}", std::isnan(figure.value) ? kNothing : format(figure.value));
      } else if (!std::isnan(figure.value)) {
        fmt::print("{{\"name\": \"{}: {}\", \"value\": {:.6g}, \"unit\": \"{}\"}}\n", name,
                   figure.what, figure.value, figure.unit);
      }
    }
    if (!json_) fmt::print("\n");
    std::fflush(stdout);
  }

  static constexpr const char* kNothing = "-";

 private:
  static std::string format(double value) {
    return value >= 1e4 ? fmt::format("{:.0f}", value) : fmt::format("{:#.4g}", value);
  }
  static constexpr int kKeyWidth = 19;
  bool json_, is_new_ = true;
};

}  // namespace scry::bench
