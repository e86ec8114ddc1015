// Resampling: weights become numbers of copies.
#pragma once
#include <span>

#include "runtime/smc/sample.h"

namespace scry {

/// Chooses an ancestor for each of M places, such that particle i is chosen M·w_i/Σw times in
/// expectation, which keeps Ẑ unbiased (Douc et al. 2005). Weights are not negative and not all 0;
/// `uniforms` are M numbers in (0, 1), of which systematic resampling needs one only. A particle of
/// weight 0 is never chosen.
void resample(Resampling scheme, std::span<const double> weights, std::span<const double> uniforms,
              std::span<int32_t> ancestors);

}  // namespace scry
