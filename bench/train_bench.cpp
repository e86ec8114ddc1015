// What training costs with the paper's tagger (lesson 3), trained: sequences per second of fitting
// θ, learning φ and sampling, by each differentiator, beside the PyTorch program that --peer names.
// One thread each, measured in turns in one run. Prints tables; --json prints one object a line.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <optional>

#include "bench/table.h"
#include "compiler/enzyme.h"
#include "examples/03_stress_tagger.cpp"
#include "runtime/files/examples_file.h"
#include "runtime/train/conditional_likelihood.h"
#include "runtime/train/exact_likelihood.h"
#include "runtime/train/sharded_objective.h"
#include "runtime/train/train.h"
#include "runtime/train/train_data.h"

using namespace scry::bench;

namespace {

constexpr const char* kData = SCRY_SOURCE_DIR "/data/stress/train.tsv";
constexpr int kBatch = 16;
constexpr const char* kExactCrf = "CRF, exact";
constexpr const char* kUncalibrated = "learn, uncalibrated";

/// A CRF on the same words: emissions from a bidirectional GRU, and a table of transitions.
struct Crf : Model {
  Embedding symbol;
  BiGru encoder;
  Linear out;
  Parameter transition;
  explicit Crf(const Task& task)
      : Model(task, symbol_state("tag", task.y.size() + 1)),
        symbol(*this, "symbol", task.x.size(), 16),
        encoder(*this, "encoder", 16, 16),
        out(*this, "out", 32, task.y.size()),
        transition(param("transition", {task.y.size() + 1, task.y.size()}, Init::normal(0.1))) {}
  Encoding encode(const Sym& x) const override { return {{"e", out(encoder(symbol[x]))}}; }
  State start(const Encoding&) const override { return {task().y.size()}; }
  Step step(const State& s, const Input& x, const Sym& y) const override {
    return {.score = transition[s.sym("tag")][y] + x.at("e")[y], .state = {y}};
  }
};

/// Something measured: sequences per second, at best.
struct Case {
  std::string task;  ///< "fit", "learn M = 32", …
  std::string by;    ///< "enzyme", "adjoint", "scry" where nothing is differentiated, "pytorch"
  std::function<double()> run;  ///< → sequences per second
  double best = 0;
  void take() { best = std::max(best, run()); }
};

/// Sequences per second of `work` on so many.
double speed_of(size_t num_sequences, const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return static_cast<double>(num_sequences) / seconds_since(start);
}

TrainOptions one_epoch() {
  TrainOptions options;
  options.epochs = 1;
  options.batch = kBatch;
  options.particles = 32;
  options.threads = 1;
  return options;
}

SampleOptions sampling(int particles, Trigger trigger) {
  return {.particles = particles, .trigger = trigger, .threads = 1};
}

class TrainBench {
 public:
  TrainBench(std::string peer, std::string python, bool json)
      : peer_(std::move(peer)), python_(std::move(python)), json_(json) {
    const Bundle bundle = registered_model();
    if (!find_enzyme().path.empty()) programs_.push_back(compile(bundle, {.use_cache = false}));
    programs_.push_back(
        compile(bundle, {.differentiator = Differentiator::kAdjoint, .use_cache = false}));
    examples_ = read_examples(kData, bundle.model->task());
    crf_.emplace(
        compile({std::make_shared<Crf>(bundle.model->task()), nullptr}, {.use_cache = false}));
    crf_parameters_.emplace(Parameters::fresh(*crf_, 1));
    dev_ = read_examples(SCRY_SOURCE_DIR "/data/stress/dev2.tsv", bundle.model->task());
  }

  void run() {
    const Parameters trained = train();
    make_cases(trained);
    for (int round = 0; round < kRounds; ++round) {
      for (Case& one : cases_) one.take();
    }
    report();
  }

 private:
  static constexpr int kRounds = 3;

  /// θ by three epochs, φ by five, which takes it most of the way.
  Parameters train() const {
    const Program& program = programs_.front();
    TrainOptions options;
    const auto start = std::chrono::steady_clock::now();
    const TrainResult fitted =
        fit(program, Parameters::fresh(program, 1), examples_, dev_, options);
    options.epochs = 5;
    const TrainResult learned = learn(program, fitted.parameters, examples_, dev_, options);
    Table table(json_, fmt::format("The parameters: {} words, 3 epochs for θ, 5 for φ, all cores",
                                   examples_.size()));
    const EpochReport& before = learned.history.front();
    const EpochReport& after = learned.history.back();
    table.add(
        {{"training", "of both"}},
        {{"perplexity", "development perplexity", "per symbol", fitted.history.back().perplexity},
         {"KL before", "offset KL before learning", "bits", to_bits(before.offset_kl)},
         {"KL after", "offset KL after learning", "bits", to_bits(after.offset_kl)},
         {"ESS after", "effective sample size over M", "ratio", after.dev_ess},
         {"rows/(M T)", "rows over particle-steps of the last epoch", "ratio",
          after.train[Tally::kRows] / after.train[Tally::kParticleSteps]},
         {"seconds", "time", "s", seconds_since(start)}});
    return learned.parameters;
  }

  void make_cases(const Parameters& trained) {
    // Tables differ between differentiators.
    for (const Program& program : programs_) {
      Parameters& mine = parameters_.emplace_back(program);
      mine.values = trained.values;
      mine.prepare(program);
    }
    for (size_t p = 0; p < programs_.size(); ++p) {
      add_training("fit", p, 4000, fit);
    }
    add_peer("fit", "--task fit --steps 60");
    for (size_t p = 0; p < programs_.size(); ++p) add_training("learn M = 32", p, 2000, learn);
    for (size_t p = 0; p < programs_.size(); ++p)
      add_training(kUncalibrated, p, 2000, learn, [](TrainOptions& o) { o.calibrate = 0; });
    add_peer("learn M = 32", "--task train --particles 32 --steps 20");
    add_crf(kExactCrf, make_exact_likelihood());
    for (const int particles : {8, 32, 128})
      add_crf(fmt::format("CRF, M = {}", particles),
              make_conditional_likelihood({.particles = particles}));
    add_sampling("sample M = 32", sampling(32, Trigger::kNever));
    add_peer("sample M = 32", "--task sample --particles 32 --steps 30");
    add_sampling("sample M = 128, ESS", sampling(128, Trigger::kEss));
    add_peer("sample M = 128, ESS", "--task sample --particles 128 --resample --steps 12");
  }

  /// One gradient of log p(y | x) for every minibatch, exactly or with M particles.
  void add_crf(const std::string& name, std::unique_ptr<Objective> objective) {
    const auto goal = std::make_shared<ShardedObjective>(*crf_, *crf_parameters_,
                                                         std::move(objective), 0, one_thread_);
    cases_.push_back(
        {name, crf_->differentiator, [this, goal] {
           constexpr size_t kSequences = 2000;
           return speed_of(kSequences, [&] {
             for (size_t first = 0; first < kSequences; first += kBatch) {
               std::vector<TrainExample> part;
               for (size_t i = first; i < first + kBatch; ++i)
                 part.push_back({examples_[i].x, examples_[i].y, static_cast<int64_t>(i)});
               sort_by_length(part);
               goal->compute_gradient(part, first, 1);
             }
           });
         }});
  }

  using Training = decltype(fit);
  void add_training(const std::string& name, size_t p, size_t num_sequences, Training* train,
                    const std::function<void(TrainOptions&)>& change = {}) {
    TrainOptions options = one_epoch();
    if (change) change(options);
    cases_.push_back({name, programs_[p].differentiator, [this, p, num_sequences, train, options] {
                        const auto part = std::span(examples_).first(num_sequences);
                        return speed_of(num_sequences, [&] {
                          (void)train(programs_[p], parameters_[p], part, {}, options, {});
                        });
                      }});
  }

  void add_sampling(const std::string& name, const SampleOptions& options) {
    cases_.push_back({name, "scry", [options, this] {
                        std::vector<SampleInput> inputs;
                        for (size_t i = 0; i < 2000; ++i) inputs.emplace_back(examples_[i].x);
                        return speed_of(inputs.size(), [&] {
                          (void)sample(programs_.front(), parameters_.front(), inputs, options);
                        });
                      }});
  }

  void add_peer(const std::string& task, const std::string& arguments) {
    if (peer_.empty()) return;
    const std::string command = fmt::format("'{}' '{}' '{}' --batch {} --threads 1 {}", python_,
                                            peer_, kData, kBatch, arguments);
    cases_.push_back({task, "pytorch", [command] { return run_peer(command); }});
  }

  /// The peer's last line is "<task> sequences_per_second=<number>".
  static double run_peer(const std::string& command) {
    FILE* pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) throw Error("the peer cannot be started: " + command);
    std::string output;
    std::array<char, 256> part{};
    while (std::fgets(part.data(), part.size(), pipe) != nullptr) output += part.data();
    const int status = pclose(pipe);
    const std::string key = "sequences_per_second=";
    const size_t at = output.rfind(key);
    if (status != 0 || at == std::string::npos)
      throw Error(fmt::format("the peer printed no speed; it was run as: {}", command));
    return std::stod(output.substr(at + key.size()));
  }

  void report() const {
    Table speed(json_, fmt::format("Speed on one thread, minibatches of {}", kBatch));
    for (const Case& one : cases_) {
      speed.add({{"task", one.task}, {"by", one.by}},
                {{"sequences/s", "speed", "sequences/s", one.best}});
    }
    Table ratios(json_, "Ratios of speeds");
    for (const Case& one : cases_) {
      if (one.by == "pytorch") continue;
      for (const Case& other : cases_) {
        const bool is_worth_it =
            other.by == "pytorch" || (one.by == "enzyme" && other.by == "adjoint");
        if (other.task != one.task || !is_worth_it) continue;
        ratios.add({{"task", one.task}, {"by", one.by + " over " + other.by}},
                   {{"ratio", "ratio of speeds", "ratio", one.best / other.best}});
      }
    }
    for (const Case& exact : cases_) {
      for (const Case& sampled : cases_) {
        if (exact.task != kExactCrf || !sampled.task.starts_with("CRF, M")) continue;
        ratios.add({{"task", "CRF, exact over " + sampled.task.substr(5)}, {"by", exact.by}},
                   {{"ratio", "ratio of speeds", "ratio", exact.best / sampled.best}});
      }
    }
    for (const Case& without : cases_) {
      for (const Case& with : cases_) {
        if (without.task != kUncalibrated || with.task != "learn M = 32" || with.by != without.by)
          continue;
        ratios.add({{"task", "time of calibration"}, {"by", with.by}},
                   {{"ratio", "ratio of speeds", "ratio", without.best / with.best}});
      }
    }
  }

  std::string peer_, python_;
  bool json_;
  std::vector<Program> programs_;
  std::vector<Parameters> parameters_;  // trained, of each program
  std::vector<Example> examples_, dev_;
  Workers one_thread_{1};
  std::optional<Program> crf_;
  std::optional<Parameters> crf_parameters_;
  std::vector<Case> cases_;
};

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("What training and sampling cost with the paper's tagger");
  std::string peer, python = "python3";
  bool json = false;
  app.add_option("--peer", peer, "A PyTorch program to compare with, such as torch_smoother.py")
      ->check(CLI::ExistingFile);
  app.add_option("--python", python, "The Python that runs it")->capture_default_str();
  app.add_flag("--json", json, "One object a line");
  CLI11_PARSE(app, argc, argv);
  try {
    TrainBench(peer, python, json).run();
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench train: {}\n", error.what());
    return 1;
  }
}
