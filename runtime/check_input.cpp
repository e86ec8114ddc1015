#include "runtime/check_input.h"

#include <fmt/format.h>

namespace scry {

void check_input(const Program& program, const SampleInput& input, int64_t sequence) {
  const auto length = static_cast<int>(input.x.size());
  const TagSets& allowed = input.allowed;
  if (!allowed.empty() &&
      (allowed.length() != length || allowed.num_tags() != program.num_tags())) {
    throw SamplingError(Trouble::kBadInput, sequence, 0,
                        fmt::format("{} symbols and {} tags, but constraints for {} and {}", length,
                                    program.num_tags(), allowed.length(), allowed.num_tags()));
  }
  for (int step = 1; step <= length; ++step) {
    const int symbol = input.x[static_cast<size_t>(step - 1)];
    if (symbol < 0 || symbol >= program.task.x.size()) {
      throw SamplingError(Trouble::kBadInput, sequence, step,
                          fmt::format("the symbol {} is outside the alphabet of {}", symbol,
                                      program.task.x.size()));
    }
    bool any = allowed.empty();
    for (int tag = 0; !any && tag < program.num_tags(); ++tag) any = allowed.allows(step, tag);
    if (!any) throw SamplingError(Trouble::kForbidden, sequence, step, "every tag is forbidden");
  }
}

}  // namespace scry
