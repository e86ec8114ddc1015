// A model in which what stop_gradient is applied to does not move: what finite differences of a
// gradient need.
#pragma once
#include "dsl/trace.h"

namespace scry {

/// Whether the model calls stop_gradient. The maximum inside softmax and the like does not count:
/// its gradients cancel, so that it makes no difference whether it moves.
bool stops_gradients(const ModelGraphs& model);

/// The model beside a twin of itself: every parameter p and every real component of states and
/// encodings has a twin "held.p", made of twins alone, and stop_gradient(a) is the twin of a. With
/// twins equal to the parameters it is the same function; where only the parameters move, its
/// derivative is the gradient that differentiators give. The twins of parameters come last, in
/// order.
ModelGraphs hold_stopped(const ModelGraphs& model);

}  // namespace scry
