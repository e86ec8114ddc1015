// How fast chains of particle Gibbs forget: autocorrelations of G_T and of tags, by method and M.
#include <fmt/format.h>
#include <scry.h>

#include <CLI/CLI.hpp>
#include <cmath>

#include "runtime/smc/chain.h"
#include "tools/reproduce/global_models.h"

using namespace scry;
using namespace scry::reproduce;

namespace {

struct Options {
  int chains = 24, sweeps = 200, burn_in = 20, threads = 0;
  std::vector<int> lengths = {6, 20}, sizes = {2, 8, 32, 128};
};

/// Autocorrelation at lag 1 over chains, each about its own mean.
double lag_one(const std::vector<std::vector<double>>& chains) {
  double products = 0, squares = 0;
  for (const std::vector<double>& chain : chains) {
    double mean = 0;
    for (double value : chain) mean += value / static_cast<double>(chain.size());
    for (size_t k = 0; k + 1 < chain.size(); ++k) {
      products += (chain[k] - mean) * (chain[k + 1] - mean);
      squares +=
          ((chain[k] - mean) * (chain[k] - mean) + (chain[k + 1] - mean) * (chain[k + 1] - mean)) /
          2;
    }
  }
  return squares > 0 ? products / squares : NAN;
}

class Mixing {
 public:
  explicit Mixing(const Options& options)
      : options_(options),
        global_(global_models().front()),
        program_(compile(*global_.model, *global_.lookahead)),
        parameters_(fitted()),
        sampler_(program_, parameters_, options.threads) {}

  void run() {
    fmt::print(
        "| T | method | M | sweeps that move | tags that change | lag-1 autocorrelation of G_T "
        "| of the first tag |\n|---|---|---|---|---|---|---|\n");
    for (int length : options_.lengths) {
      for (Method method : {Method::kFilter, Method::kSmooth, Method::kDiscrete}) {
        for (int size : options_.sizes) print(length, method, size);
      }
    }
  }

 private:
  /// As a user would: by the default.
  Parameters fitted() const {
    TrainOptions training;
    training.likelihood = Likelihood::kConditional;
    training.epochs = 20;
    training.adam.rate = 0.02;
    training.adam.l2 = 0.01;
    training.threads = options_.threads;
    return fit(program_, Parameters::fresh(program_, 1), global_examples(300, 6, 101), {}, training)
        .parameters;
  }

  void print(int length, Method method, int size) {
    const auto examples = global_examples(options_.chains, length, 7);
    std::vector<std::vector<int>> states;
    for (const Example& example : examples) states.push_back(example.y);
    const size_t num = examples.size();
    std::vector<std::vector<double>> scores(num), first_tags(num);
    double num_moves = 0, num_changes = 0;
    for (int sweep = 1; sweep <= options_.burn_in + options_.sweeps; ++sweep) {
      std::vector<SampleInput> inputs;
      for (size_t i = 0; i < num; ++i) inputs.emplace_back(examples[i].x, TagSets(), states[i]);
      const std::vector<Chain> chains =
          run_chains(sampler_, inputs,
                     {.method = method,
                      .particles = size,
                      .seed = derive_seed(3, static_cast<uint32_t>(sweep))},
                     1);
      for (size_t i = 0; i < num; ++i) {
        if (chains[i].error) throw SamplingError(*chains[i].error);
        if (sweep > options_.burn_in) {
          num_moves += chains[i].num_moves;
          for (size_t t = 0; t < states[i].size(); ++t)
            num_changes += chains[i].state[t] != states[i][t] ? 1.0 / length : 0;
          scores[i].push_back(chains[i].log_score);
          first_tags[i].push_back(chains[i].state[0] == examples[i].y[0] ? 1 : 0);
        }
        states[i].assign(chains[i].state.begin(), chains[i].state.end());
      }
    }
    const double total = static_cast<double>(num) * options_.sweeps;
    fmt::print("| {} | {} | {} | {:.2f} | {:.2f} | {:.2f} | {:.2f} |\n", length,
               row_of(method).name, size, num_moves / total, num_changes / total, lag_one(scores),
               lag_one(first_tags));
    std::fflush(stdout);
  }

  Options options_;
  GlobalModel global_;
  Program program_;
  Parameters parameters_;
  Sampler sampler_;
};

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Autocorrelations of particle Gibbs on a globally normalized GRU");
  app.add_option("--chains", options.chains)->capture_default_str();
  app.add_option("--sweeps", options.sweeps)->capture_default_str();
  app.add_option("--lengths", options.lengths)->delimiter(',')->capture_default_str();
  app.add_option("-M", options.sizes)->delimiter(',')->capture_default_str();
  app.add_option("--threads", options.threads)->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    Mixing(options).run();
  } catch (const std::exception& error) {
    fmt::print(stderr, "reproduce_mixing: {}\n", error.what());
    return 1;
  }
  return 0;
}
