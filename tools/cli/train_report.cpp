#include "tools/cli/train_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runtime/smc/metrics.h"

namespace scry::cli {
namespace {

using Json = nlohmann::ordered_json;

/// Six digits, which is more than such estimates have; null where JSON has no number.
Json number(double value) {
  if (!std::isfinite(value)) return nullptr;
  return std::stod(fmt::format("{:.6g}", value));
}

double ratio(double sum, double count) { return count == 0 ? NAN : sum / count; }

/// Averages of a tally.
struct Averages {
  explicit Averages(const Tally& tally)
      : is_reliable(tally.is_reliable()),
        loss(is_reliable ? ratio(tally[Tally::kLoss], tally[Tally::kSequences]) : NAN),
        perplexity(is_reliable
                       ? std::exp(ratio(tally[Tally::kNegativeLogP], tally[Tally::kSymbols]))
                       : NAN),
        kl_bits(to_bits(ratio(tally[Tally::kKl], tally[Tally::kSequences]))),
        residual_rms(tally.residual_rms()),
        to_go_rmse(tally.to_go_rmse()),
        ess(ratio(tally[Tally::kEss], tally[Tally::kSequences])),
        rows(ratio(tally[Tally::kRows], tally[Tally::kParticleSteps])),
        has_particles(tally[Tally::kParticleSteps] > 0) {}
  bool is_reliable;  // if not, loss and perplexity are NaN
  double loss, perplexity, kl_bits, residual_rms, to_go_rmse, ess, rows;
  bool has_particles;
};

bool fits(TrainGoal goal) { return goal != TrainGoal::kLearn; }
bool learns(TrainGoal goal) { return goal != TrainGoal::kFit; }
/// A fit may learn the proposal along.
bool learns(TrainGoal goal, const Tally& tally) {
  return learns(goal) || tally.contains(Tally::kKl);
}

std::string score_text(const EpochReport& report, TrainGoal goal) {
  std::string text;
  if (fits(goal)) {
    text = fmt::format("{}perplexity {:.4g}", report.dev_estimated > 0 ? "estimated " : "",
                       report.perplexity);
  }
  if (learns(goal)) {
    text += fmt::format("{}offset KL {:.3g} bits, KL(q||p) {:.3g} bits, ESS {:.0f} %",
                        text.empty() ? "" : ", ", to_bits(report.offset_kl), to_bits(report.dev_kl),
                        100 * report.dev_ess);
    if (!std::isnan(report.dev_residual_rms))
      text += fmt::format(", rms r {:.3g} nats", report.dev_residual_rms);
  }
  return text;
}

}  // namespace

std::string epoch_json(const EpochReport& report, TrainGoal goal, bool has_dev, double seconds) {
  const Averages averages(report.train);
  const bool is_start = report.epoch == 0;
  Json json{{"epoch", report.epoch}, {"updates", report.total_updates}};
  if (!is_start) json["loss"] = number(averages.loss);
  if (!is_start && fits(goal)) json["perplexity"] = number(averages.perplexity);
  if (fits(goal) && has_dev) json["dev_perplexity"] = number(report.perplexity);
  if (report.train.count(Tally::kEstimated) > 0)
    json["estimated"] = report.train.count(Tally::kEstimated);
  if (report.dev_estimated > 0) json["dev_estimated"] = report.dev_estimated;
  if (fits(goal) && report.likelihood != Likelihood::kAuto)
    json["likelihood"] = name_of(report.likelihood);
  if (report.likelihood == Likelihood::kConditional) {
    if (!is_start) json["overshot"] = report.train.count(Tally::kOvershot);
    if (!is_start) json["unreliable"] = !averages.is_reliable;
    if (has_dev) json["dev_overshot"] = report.dev_overshot;
    if (has_dev) json["dev_gap"] = number(report.dev_gap);
    if (has_dev) json["dev_drift"] = number(report.dev_drift);
    if (has_dev) json["dev_unreliable"] = !report.is_reliable;
  }
  if (!is_start && learns(goal, report.train)) {
    json["kl_bits"] = number(averages.kl_bits);
    json["residual_rms"] = number(averages.residual_rms);
    json["to_go_rmse"] = number(averages.to_go_rmse);
  }
  if (learns(goal) && has_dev) {
    json["dev_offset_kl_bits"] = number(to_bits(report.offset_kl));
    json["dev_kl_bits"] = number(to_bits(report.dev_kl));
    json["dev_ess"] = number(report.dev_ess);
    json["dev_residual_rms"] = number(report.dev_residual_rms);
    json["dev_to_go_rmse"] = number(report.dev_to_go_rmse);
  }
  if (averages.has_particles) {
    json["ess"] = number(averages.ess);
    json["rows_per_particle_step"] = number(averages.rows);
  }
  if (!is_start) json["failed"] = report.train.count(Tally::kFailed);
  if (has_dev && report.dev_failed > 0) json["dev_failed"] = report.dev_failed;
  json["seconds"] = number(std::round(seconds * 1000) / 1000);
  json["best"] = report.is_best;
  return json.dump() + "\n";
}

Progress progress_of(const TrainProgress& progress, TrainGoal goal, int64_t first_update) {
  const Averages averages(progress.tally);
  std::vector<std::string> details;
  if (averages.is_reliable) {
    details.push_back(fmt::format("loss {:.4g}", averages.loss));
    if (fits(goal)) details.push_back(fmt::format("perplexity {:.4g}", averages.perplexity));
  } else {
    details.push_back(
        fmt::format("perplexity unreliable ({} overshot)", progress.tally.count(Tally::kOvershot)));
  }
  const bool learns_too = learns(goal, progress.tally);
  if (learns_too) details.push_back(fmt::format("KL {:.2f} bits", averages.kl_bits));
  if (learns_too && !std::isnan(averages.residual_rms))
    details.push_back(fmt::format("rms r {:.2f}", averages.residual_rms));
  if (averages.has_particles) details.push_back(fmt::format("ESS {:.0f} %", 100 * averages.ess));
  const int64_t to_come = progress.num_updates - progress.update +
                          (progress.num_epochs - progress.epoch) * progress.num_updates;
  const int64_t done = progress.total_updates - first_update + 1;
  return {.done = static_cast<size_t>(progress.update),
          .total = static_cast<size_t>(progress.num_updates),
          .heading = fmt::format("epoch {:>{}}/{}", progress.epoch,
                                 std::to_string(progress.num_epochs).size(), progress.num_epochs),
          .details = std::move(details),
          .part = ratio(static_cast<double>(done), done + to_come)};
}

std::string summary_of(const std::vector<EpochReport>& history, TrainGoal goal, int num_epochs) {
  const auto best = std::find_if(history.rbegin(), history.rend(),
                                 [](const EpochReport& report) { return report.is_best; });
  const auto num_unreliable =
      std::count_if(history.begin() + 1, history.end(),
                    [](const EpochReport& report) { return !report.is_reliable; });
  if (best == history.rend() && !history.back().is_reliable) {
    return fmt::format(
        "no epoch of {} could be judged, as the estimates of log Z are too bad; the parameters of "
        "epoch {} are kept, as the last",
        num_epochs, history.back().epoch);
  }
  if (best == history.rend() || std::isnan(best->dev_score)) {
    const Averages averages(history.back().train);
    const std::string loss =
        averages.is_reliable ? fmt::format("loss {:.4g}", averages.loss) : "its loss is unreliable";
    return fmt::format("epoch {} of {} is done: {}", history.back().epoch, num_epochs, loss);
  }
  const int last = history.back().epoch;
  std::string early =
      last < num_epochs ? fmt::format(", stopped after epoch {}", last) : std::string();
  if (num_unreliable > 0) {
    early +=
        fmt::format(", {} that could not be judged left out",
                    num_unreliable == 1 ? "1 epoch" : fmt::format("{} epochs", num_unreliable));
  }
  if (best->epoch == 0) {
    return fmt::format("no epoch of {} was better than the start{}: development {}", num_epochs,
                       early, score_text(*best, goal));
  }
  return fmt::format("epoch {} of {} was the best{}: development {}", best->epoch, num_epochs,
                     early, score_text(*best, goal));
}

}  // namespace scry::cli
