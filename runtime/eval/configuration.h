// What an experiment compares: a method of the table, and when it resamples.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/smc/methods.h"

namespace scry {

struct Configuration {
  std::string name;     ///< such as "PS:R" or "beam+lookahead"
  std::string summary;  ///< in words
  Method method;
  Trigger trigger = Trigger::kNever;  ///< never kAuto
};

/// All that the table of methods has. A method that draws is there twice, without resampling and,
/// as NAME:R, resampled where ESS < αM; filtering and smoothing have the paper's names PF and PS. A
/// method that comes in two variants weighs by the score alone, or as NAME+lookahead by G_t + C_t.
/// "exact" are independent draws from p itself, or from what an experiment takes for it.
std::vector<Configuration> known_configurations();

/// By its name, in upper or lower case. A name of the table that is none of a configuration, such
/// as "filter", stands for what the method does unless told otherwise. Nothing if there is none.
std::optional<Configuration> find_configuration(std::string_view name);

/// What is compared where nothing else is asked for: all that a program with or without a lookahead
/// can do; of importance sampling, which without resampling is smoothing or filtering again, none.
std::vector<Configuration> default_configurations(bool has_lookahead);

}  // namespace scry
