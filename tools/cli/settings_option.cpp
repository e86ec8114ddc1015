#include "tools/cli/settings_option.h"

#include <fmt/format.h>

#include <set>

#include "tools/cli/command.h"
#include "tools/cli/nearest.h"

namespace scry::cli {
namespace {

Settings read(const std::vector<std::string>& given) {
  Settings settings;
  std::set<std::string> names;
  for (const std::string& text : given) {
    const size_t at = text.find('=');  // there is one, as the option checks
    const std::string name = text.substr(0, at);
    if (!names.insert(name).second) throw UsageError(fmt::format("--set: {} is given twice", name));
    settings.set(name, text.substr(at + 1));
  }
  return settings;
}

std::string explain_unknown(const std::string& name, const std::vector<Setting>& known) {
  if (known.empty()) {
    return fmt::format(
        "--set: the model has no setting '{}', nor any other: its SCRY_MODEL() takes no Settings&",
        name);
  }
  std::vector<std::string> names;
  for (const Setting& setting : known) names.push_back(setting.name);
  const std::string meant = nearest(name, names);
  return fmt::format("--set: the model has no setting '{}'{}; it has {}", name,
                     meant.empty() ? "" : fmt::format(", did you mean {}?", meant),
                     fmt::join(names, ", "));
}

/// Which setting named the file that the message begins with.
std::string advice_for(const std::string& message, const std::vector<Setting>& known) {
  for (const Setting& setting : known) {
    if (setting.is_file && message.starts_with(setting.value + ":"))
      return fmt::format("; --set {}=FILE names another ({})", setting.name, setting.help);
  }
  return "";
}

}  // namespace

void add_settings(CLI::App& app, std::vector<std::string>& given) {
  app.add_option("--set", given,
                 "A setting of the model, such as d=64; repeatable; scry graph shows all that a "
                 "model has")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false)
      ->check([](const std::string& text) {
        const size_t at = text.find('=');
        return at != std::string::npos && at > 0
                   ? std::string()
                   : fmt::format("'{}' is not a setting and its value, such as d=64", text);
      });
}

Bundle make_model_with(Bundle (*make_model)(Settings&), const std::vector<std::string>& given) {
  Settings settings = read(given);
  try {
    Bundle bundle = make_model(settings);
    const std::vector<std::string> unknown = settings.unknown();
    if (!unknown.empty()) throw UsageError(explain_unknown(unknown.front(), settings.known()));
    return bundle;
  } catch (const SettingError& error) {
    throw UsageError(error.what());
  } catch (const DataError& error) {
    throw DataError(error.what() + advice_for(error.what(), settings.known()));
  }
}

std::string words_of(const std::vector<Setting>& settings) {
  std::string words;
  for (const Setting& setting : settings) {
    if (setting.is_given) words += fmt::format(" --set {}={}", setting.name, setting.value);
  }
  return words;
}

}  // namespace scry::cli
