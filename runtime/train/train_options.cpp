#include <fmt/format.h>

#include "runtime/train/train.h"

namespace scry {
namespace {

void check_at_least(const char* name, double value, double least) {
  if (!(value >= least))
    throw Error(fmt::format("{}: {}, but at least {} is needed", name, value, least));
}
void check_finite(const char* name, double value) {
  if (!std::isfinite(value)) throw Error(fmt::format("{}: {}, but it must be finite", name, value));
}

}  // namespace

void check_options(const TrainOptions& options) {
  const AdamOptions& adam = options.adam;
  if (!(options.lambda >= 0 && options.lambda <= 1))
    throw Error(fmt::format("lambda: {}, but it must be between 0 and 1", options.lambda));
  check_at_least("calibrate", options.calibrate, 0);
  check_finite("calibrate", options.calibrate);
  check_at_least("particles", options.particles, 1);
  check_at_least("epochs", options.epochs, 0);
  check_at_least("patience", options.patience, 0);
  check_at_least("batch", options.batch, 1);
  check_at_least("shard", options.shard, 0);
  check_at_least("threads", options.threads, 0);
  check_at_least("memory", static_cast<double>(options.memory), 0);
  check_at_least("save_seconds", options.save_seconds, 0);
  check_at_least("save_updates", static_cast<double>(options.save_updates), 0);
  if (!(adam.rate > 0)) throw Error(fmt::format("rate: {}, but it must be above 0", adam.rate));
  if (!(adam.epsilon > 0))
    throw Error(fmt::format("epsilon: {}, but it must be above 0", adam.epsilon));
  for (const auto& [name, beta] :
       {std::pair{"beta1", adam.beta1}, std::pair{"beta2", adam.beta2}}) {
    if (!(beta >= 0 && beta < 1))
      throw Error(fmt::format("{}: {}, but it must be at least 0 and below 1", name, beta));
  }
  check_at_least("l2", adam.l2, 0);
  check_at_least("clip", adam.clip, 0);
  for (const auto& [name, value] :
       {std::pair{"rate", adam.rate}, std::pair{"epsilon", adam.epsilon}, std::pair{"l2", adam.l2},
        std::pair{"clip", adam.clip}}) {
    check_finite(name, value);
  }
  if (options.resume && options.overwrite)
    throw Error("a checkpoint can be resumed or overwritten, not both");
}

}  // namespace scry
