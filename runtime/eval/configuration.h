// What an experiment compares: a method of the table, and how it resamples, draws and weighs.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/smc/methods.h"

namespace scry {

struct Configuration {
  std::string name;     ///< such as "PS:R" or "discrete+lookahead"
  std::string summary;  ///< in words
  Method method;
  Trigger trigger = Trigger::kNever;  ///< never kAuto
  Draws draws = Draws::kIndependent;
  Weights weights = Weights::kSampler;
};

/// All that the table of methods has. A method that draws is there thrice: without resampling; as
/// NAME:R, resampled where ESS < αM; as NAME:A, with arithmetic draws. Filtering and smoothing have
/// the paper's names PF and PS. A method that comes in two variants weighs by the score alone, or
/// as NAME+lookahead by G_t + C_t. "exact" are independent draws from p itself, or from what an
/// experiment takes for it.
std::vector<Configuration> known_configurations();

/// By its name, in upper or lower case. With "+score" after it, the taggings that it finds are
/// weighted by exp G_T. A name of the table that is none of a configuration, such as "filter",
/// stands for what the method does unless told otherwise. Nothing if there is none.
std::optional<Configuration> find_configuration(std::string_view name);

/// What is compared where nothing else is asked for: all but importance sampling and arithmetic
/// draws, and what needs a lookahead that the program has not.
std::vector<Configuration> default_configurations(bool has_lookahead);

}  // namespace scry
