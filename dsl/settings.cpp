#include "dsl/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/quote.h"

namespace scry {

const Setting& Settings::ask(Setting setting, Where where) {
  const auto old = std::find_if(known_.begin(), known_.end(),
                                [&](const Setting& each) { return each.name == setting.name; });
  if (old != known_.end()) {
    if (old->fallback == setting.fallback && old->is_file == setting.is_file) return *old;
    throw ModelError(
        where, fmt::format("settings: '{}' is asked for twice, as '{}' and as '{}' by default",
                           setting.name, old->fallback, setting.fallback));
  }
  const bool is_name =
      !setting.name.empty() && setting.name.find_first_of("= \t\n") == std::string::npos;
  if (!is_name) {
    throw ModelError(where, fmt::format("settings: {} is no name", quote(setting.name)));
  }
  const auto given = given_.find(setting.name);
  setting.is_given = given != given_.end();
  setting.value = setting.is_given ? given->second : setting.fallback;
  return known_.emplace_back(std::move(setting));
}

int Settings::number(const std::string& name, int fallback, const std::string& help, Where where) {
  const std::string& text =
      ask({.name = name, .help = help, .fallback = std::to_string(fallback)}, where).value;
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw SettingError(
        fmt::format("the setting {} ({}) is {}, not a whole number", name, help, quote(text)));
  }
  return value;
}

std::string Settings::text(const std::string& name, const std::string& fallback,
                           const std::string& help, Where where) {
  return ask({.name = name, .help = help, .fallback = fallback}, where).value;
}

std::string Settings::file(const std::string& name, const std::string& fallback,
                           const std::string& help, Where where) {
  const Setting& setting =
      ask({.name = name, .help = help, .fallback = fallback, .is_file = true}, where);
  if (setting.value.empty()) {
    throw SettingError(fmt::format("the model needs a file for its setting {} ({}): --set {}=FILE",
                                   name, help, name));
  }
  return setting.value;
}

std::vector<std::string> Settings::unknown() const {
  std::vector<std::string> names;
  for (const auto& given : given_) {
    const bool is_known = std::any_of(known_.begin(), known_.end(), [&](const Setting& each) {
      return each.name == given.first;
    });
    if (!is_known) names.push_back(given.first);
  }
  return names;
}

}  // namespace scry
