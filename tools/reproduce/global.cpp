// Conditional fits of globally normalized models by every gradient there is, against the exact one:
// the development perplexity after each epoch as it is (by enumeration) and as it was reported.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>

#include "runtime/files/safetensors.h"
#include "runtime/kernels/workers.h"
#include "runtime/smc/sampler.h"
#include "tools/reproduce/global_models.h"

using namespace scry;
using namespace scry::reproduce;

namespace {

struct Options {
  int epochs = 60, seeds = 3, length = 6, num_train = 300, num_dev = 50, threads = 0;
  double rate = 0.02;
  std::vector<double> l2 = {1e-2, 1e-3};
  std::vector<int> sizes = {8, 32, 128}, other_sizes = {8, 32};
  std::vector<std::string> models, ways;
  bool details = false;
};

struct Case {
  size_t model;
  bool looks_ahead;
  Contrast contrast;
  int particles;
  double l2;
  uint64_t seed;
};

struct Epoch {
  double exact = NAN, reported = NAN, gap = NAN, drift = NAN;
  bool is_reliable = false;
};
struct Result {
  std::vector<Epoch> epochs;  ///< from 0, the start
  std::string error;          ///< why it stopped
  double last() const { return error.empty() ? epochs.back().exact : INFINITY; }
};

/// exp of the mean of log Z - G(y*) a symbol, over every tagging.
class ExactPerplexity {
 public:
  ExactPerplexity(const Program& program, std::span<const Example> examples)
      : program_(program),
        examples_(examples),
        parameters_(program),
        sampler_(program, parameters_, 1) {
    for (const Example& example : examples) inputs_.emplace_back(example.x);
  }
  /// Of the parameters as they are now in a checkpoint.
  double read(const std::string& checkpoint) {
    const TensorFile file = read_tensors(checkpoint);
    for (const Block& block : program_.params) {
      if (block.group != ParamGroup::kModel) continue;
      const auto found = std::find_if(
          file.tensors.begin(), file.tensors.end(),
          [&](const Tensor& tensor) { return tensor.name == "train.now." + block.name; });
      for (int64_t k = 0; k < block.shape.size(); ++k)
        parameters_.values.set(block.offset + k, found->value(k));
    }
    parameters_.prepare(program_);
    return measure();
  }

 private:
  double measure() {
    double total = 0, num_symbols = 0;
    const auto outcomes =
        sampler_.sample(inputs_, {.method = Method::kEnumerate, .error_bar = false});
    for (size_t i = 0; i < outcomes.size(); ++i) {
      const Ensemble& all = outcomes[i].value();
      const std::vector<int>& y = examples_[i].y;
      for (size_t k = 0; k < all.size(); ++k) {
        if (!std::equal(y.begin(), y.end(), all.sequence(k).begin())) continue;
        total += all.log_z - all.log_scores[k];
      }
      num_symbols += static_cast<double>(y.size());
    }
    return std::exp(total / num_symbols);
  }

  const Program& program_;
  std::span<const Example> examples_;
  Parameters parameters_;
  Sampler sampler_;
  std::vector<SampleInput> inputs_;
};

Result run(const Program& program, const Case& item, const Options& options,
           const std::string& checkpoint) {
  const auto train = global_examples(options.num_train, options.length, 100 * item.seed + 1);
  const auto dev = global_examples(options.num_dev, options.length, 100 * item.seed + 2);
  ExactPerplexity exact(program, dev);
  TrainOptions training;
  training.likelihood = Likelihood::kConditional;
  training.contrast = item.contrast;
  training.particles = item.particles;
  training.epochs = options.epochs;
  training.adam.rate = options.rate;
  // To 0: else the last epoch is one point of a walk around where it leads, whatever the gradient.
  training.schedule = RateSchedule::kLinear;
  training.adam.l2 = item.l2;
  training.seed = item.seed;
  training.threads = 1;
  training.checkpoint = checkpoint;
  training.overwrite = true;
  Result result;
  TrainHooks hooks;
  hooks.epoch = [&](const EpochReport& report) {
    Epoch& epoch = result.epochs.emplace_back();
    if (report.epoch > 0) epoch.exact = exact.read(checkpoint);
    epoch.reported = report.perplexity;
    epoch.gap = report.dev_gap;
    epoch.drift = report.dev_drift;
    epoch.is_reliable = report.is_reliable;
  };
  try {
    fit(program, Parameters::fresh(program, item.seed), train, dev, training, hooks);
  } catch (const Error& error) {
    result.error = error.what();
  }
  return result;
}

double mean(const std::vector<double>& values) {
  double total = 0;
  for (double v : values) total += v / static_cast<double>(values.size());
  return total;
}

std::string number(double value) {
  return value < 1000 ? fmt::format("{:.2f}", value) : fmt::format("{:.0e}", value);
}

class Runs {
 public:
  explicit Runs(const Options& options) : options_(options), models_(global_models()) {
    for (const GlobalModel& model : models_) {
      programs_.push_back({compile(*model.model), compile(*model.model, *model.lookahead)});
    }
    for (size_t m = 0; m < models_.size(); ++m) {
      const auto& chosen = options.models;
      if (!chosen.empty() &&
          std::find(chosen.begin(), chosen.end(), models_[m].name) == chosen.end())
        continue;
      for (double l2 : options.l2) {
        add(m, false, Contrast::kEnumerate, {1}, l2);
        add(m, true, Contrast::kRanking, options.sizes, l2);
        add(m, false, Contrast::kDiscrete, options.sizes, l2);
        add(m, true, Contrast::kDiscrete, options.other_sizes, l2);
        add(m, false, Contrast::kSmc, options.other_sizes, l2);
        add(m, false, Contrast::kSample, options.other_sizes, l2);
      }
    }
  }

  void run() {
    results_.resize(cases_.size());
    Workers workers(options_.threads);
    const std::filesystem::path folder = std::filesystem::temp_directory_path();
    workers.for_each(static_cast<int64_t>(cases_.size()), [&](int, int64_t i) {
      const Case& item = cases_[static_cast<size_t>(i)];
      const std::string file =
          (folder / fmt::format("reproduce_global.{}.{}.safetensors", getpid(), i)).string();
      results_[static_cast<size_t>(i)] =
          ::run(programs_[item.model][item.looks_ahead ? 1 : 0], item, options_, file);
      std::filesystem::remove(file);
      if (options_.details) tell(item, results_[static_cast<size_t>(i)]);
    });
    std::fputs(
        "| model | l2 | gradient | M | perplexity at the end | of exact gradients' | worst epoch | "
        "unreliable | reported off by, at most |\n|---|---|---|---|---|---|---|---|---|\n",
        stdout);
    for (size_t i = 0; i < cases_.size(); i += static_cast<size_t>(options_.seeds)) print(i);
  }

 private:
  void add(size_t model, bool looks_ahead, Contrast contrast, std::vector<int> sizes, double l2) {
    const auto& ways = options_.ways;
    const std::string name = way_of({model, looks_ahead, contrast, 0, l2, 0});
    if (contrast != Contrast::kEnumerate && !ways.empty() &&
        std::find(ways.begin(), ways.end(), name) == ways.end())
      return;
    for (int size : sizes) {
      if (size < row_of(contrast).least_particles) continue;
      for (int seed = 1; seed <= options_.seeds; ++seed)
        cases_.push_back({model, looks_ahead, contrast, size, l2, static_cast<uint64_t>(seed)});
    }
  }

  static std::string way_of(const Case& item) {
    return std::string(name_of(item.contrast)) + (item.looks_ahead ? "+q" : "");
  }

  static void tell(const Case& item, const Result& result) {
    for (size_t e = 1; e < result.epochs.size(); ++e) {
      const Epoch& epoch = result.epochs[e];
      std::fputs(fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{:.5g}\t{:.5g}\t{:.5g}\t{:.5g}\n", item.model,
                             way_of(item), item.particles, item.l2, item.seed, e, epoch.exact,
                             epoch.reported, epoch.gap, epoch.drift)
                     .c_str(),
                 stderr);
    }
    if (!result.error.empty()) std::fputs((result.error + "\n").c_str(), stderr);
  }

  /// All seeds from this one on.
  void print(size_t first) {
    const Case& item = cases_[first];
    const auto num = static_cast<size_t>(options_.seeds);
    std::vector<double> last, ratios;
    double worst = 0, off = 0;
    size_t num_epochs = 0, num_unreliable = 0;
    for (size_t i = first; i < first + num; ++i) {
      const Result& result = results_[i];
      last.push_back(result.last());
      if (item.contrast == Contrast::kEnumerate)
        exact_[{item.model, item.l2, cases_[i].seed}] = last.back();
      ratios.push_back(last.back() / exact_[{item.model, item.l2, cases_[i].seed}]);
      for (size_t e = 1; e < result.epochs.size(); ++e) {
        const Epoch& epoch = result.epochs[e];
        ++num_epochs;
        worst = std::max(worst, epoch.exact);
        if (!epoch.is_reliable) {
          ++num_unreliable;
        } else {
          off = std::max(off, std::abs(epoch.reported / epoch.exact - 1));
        }
      }
    }
    const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
    const std::string size =
        item.contrast == Contrast::kEnumerate ? "" : std::to_string(item.particles);
    std::fputs(fmt::format("| {} | {:g} | {} | {} | {} | {} ({} to {}) | {} | {} of {} | {} |\n",
                           models_[item.model].name, item.l2, way_of(item), size,
                           number(mean(last)), number(mean(ratios)), number(*least), number(*most),
                           number(worst), num_unreliable, num_epochs,
                           num_unreliable == num_epochs ? "" : fmt::format("{:.1f} %", 100 * off))
                   .c_str(),
               stdout);
    std::fflush(stdout);
  }

  Options options_;
  std::vector<GlobalModel> models_;
  std::vector<std::array<Program, 2>> programs_;  // without the lookahead, and with it
  std::vector<Case> cases_;
  std::vector<Result> results_;
  std::map<std::tuple<size_t, double, uint64_t>, double> exact_;
};

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Conditional fits by every gradient, against exact ones");
  app.add_option("--epochs", options.epochs)->capture_default_str();
  app.add_option("--seeds", options.seeds)->capture_default_str();
  app.add_option("--length", options.length)->capture_default_str();
  app.add_option("--train", options.num_train, "Sequences")->capture_default_str();
  app.add_option("--dev", options.num_dev, "Sequences")->capture_default_str();
  app.add_option("--rate", options.rate)->capture_default_str();
  app.add_option("--l2", options.l2)->delimiter(',')->capture_default_str();
  app.add_option("-M", options.sizes, "Of the defaults")->delimiter(',')->capture_default_str();
  app.add_option("--others", options.other_sizes, "M of what is no default")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--models", options.models, "GRU, LSTM, encoder, table; all unless given")
      ->delimiter(',');
  app.add_option("--ways", options.ways, "As in the table's column gradient; all unless given")
      ->delimiter(',');
  app.add_option("--threads", options.threads)->capture_default_str();
  app.add_flag("--details", options.details, "Every epoch, on standard error");
  CLI11_PARSE(app, argc, argv);
  try {
    Runs(options).run();
  } catch (const std::exception& error) {
    std::fputs(fmt::format("reproduce_global: {}\n", error.what()).c_str(), stderr);
    return 1;
  }
  return 0;
}
