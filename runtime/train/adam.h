// The optimizer: Adam (Kingma & Ba 2014) with L2 regularization and clipping.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/kernels/parameters.h"

namespace scry {

struct AdamOptions {
  double rate = 1e-3, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double l2 = 1e-5;  ///< adds l2·w to the gradient of w, after clipping
  double clip = 5;   ///< the gradient's norm is at most this; 0: no limit
};

/// Moments of the gradient. A pure state: what an update does depends on this, the gradient and the
/// options alone.
struct AdamState {
  explicit AdamState(const Program& program);
  RealBuffer first, second;  ///< laid out as Parameters::values
  int64_t num_updates = 0;
};

/// What went wrong with a number of a parameter.
struct BadNumber {
  std::string parameter;
  double value;
};

/// The norm of the gradient over these blocks of Program::params, summed in double and in a fixed
/// order; not finite if a number of it is not.
double gradient_norm(const Program& program, const Gradients& gradients,
                     std::span<const size_t> blocks);

/// The first number in these blocks that is not finite or is larger than `limit`.
std::optional<BadNumber> find_bad_number(const Program& program, const RealBuffer& values,
                                         std::span<const size_t> blocks, double limit);

/// One update of these blocks, by a gradient whose norm is `norm`. Tables are left to
/// Parameters::prepare. L2 and clipping as PyTorch's clip_grad_norm_ and Adam(weight_decay) do it.
void update(const Program& program, std::span<const size_t> blocks, const AdamOptions& options,
            const Gradients& gradients, double norm, AdamState& state, Parameters& parameters);

}  // namespace scry
