// What training tells: a JSON line an epoch, a progress bar, and a summary.
#pragma once
#include <string>
#include <vector>

#include "runtime/train/train.h"
#include "tools/cli/progress_bar.h"

namespace scry::cli {

enum class TrainGoal : uint8_t { kFit, kLearn, kFitAndLearn };

/// `{"epoch":1,"updates":500,"loss":4.2,…}` with a newline: the fields that make sense for the
/// goal; a number that is not finite is null, and so is a likelihood that cannot be trusted, beside
/// "unreliable": true. `seconds` are the epoch's; NaN if nobody knows.
std::string epoch_json(const EpochReport& report, TrainGoal goal, bool has_dev, double seconds);

/// What the bar shows after an update; `first_update` of all updates was the first of this process.
Progress progress_of(const TrainProgress& progress, TrainGoal goal, int64_t first_update);

/// "epoch 2 of 3 was the best: development perplexity 8.12". The history is not empty.
std::string summary_of(const std::vector<EpochReport>& history, TrainGoal goal, int num_epochs);

}  // namespace scry::cli
