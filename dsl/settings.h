// What a model file leaves open until it runs: which vocabulary, how many units.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "base/error.h"

namespace scry {

/// A value that a setting cannot have, or none where there must be one: the fault of who gave it,
/// not of the model file.
class SettingError : public Error {
 public:
  using Error::Error;
};

/// One that a model file asked for.
struct Setting {
  std::string name = {}, value = {}, help = {};
  std::string fallback = {};  ///< its value if it is not given; empty if it must be
  bool is_given = false, is_file = false;
};

/// The settings of a model, as `scry ... --set vocab=chars.txt --set d=64` gives them: a model file
/// with SCRY_MODEL(Settings& settings) asks for each by its name, which makes it known. Asking
/// twice for one is the same as once; for two different ones of the same name, a ModelError.
class Settings {
 public:
  /// Gives one, before it is asked for.
  Settings& set(const std::string& name, std::string value) {
    given_[name] = std::move(value);
    return *this;
  }

  /// A whole number. Throws SettingError if it is given as something else; so do the others.
  int number(const std::string& name, int fallback, const std::string& help,
             Where where = Where::here());
  std::string text(const std::string& name, const std::string& fallback, const std::string& help,
                   Where where = Where::here());
  /// The path of a file. If the fallback is empty, the user must give one.
  std::string file(const std::string& name, const std::string& fallback, const std::string& help,
                   Where where = Where::here());

  /// All that were asked for, in that order.
  const std::vector<Setting>& known() const { return known_; }
  /// Names that were given and not asked for.
  std::vector<std::string> unknown() const;

 private:
  const Setting& ask(Setting setting, Where where);
  std::map<std::string, std::string> given_;
  std::vector<Setting> known_;
};

}  // namespace scry
