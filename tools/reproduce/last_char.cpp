// The last-char table (app:lastchar): samplers of one model, with lookaheads that were trained in
// different ways, by their offset KL divergence on the same test sequences. z(x) is the same for
// all of them: it is summed over every distinct particle that any of them drew (sec:metrics).
#include <fmt/format.h>
#include <scry.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cmath>

#include "runtime/files/examples_file.h"

using namespace scry;

namespace {

struct Options {
  std::string theta, test;
  std::vector<std::string> cells;  // LABEL=FILE
  int particles = 32;
  uint64_t seed = 1;
};

struct Contender {
  std::string label;
  Parameters parameters;
  Method method = Method::kSmooth;
};

constexpr Trigger kTriggers[] = {Trigger::kNever, Trigger::kEss};

class Mean {
 public:
  void add(double x) {
    sum_ += x;
    squares_ += x * x;
    ++count_;
  }
  double value() const { return sum_ / count_; }
  /// Standard error over the test sequences; the random numbers are not redrawn.
  double error() const {
    const double variance = std::max(0.0, squares_ / count_ - value() * value());
    return count_ > 1 ? std::sqrt(variance / (count_ - 1)) : NAN;
  }
  std::string text() const { return fmt::format("{:.3f} ± {:.3f}", value(), error()); }

 private:
  double sum_ = 0, squares_ = 0, count_ = 0;
};

/// What the table says of a sampler.
struct Row {
  Mean kl[2];          // offset KL, by trigger
  Mean proposal_kl;    // KL(q ‖ p) with z(x) for log Z; this and what follows without resampling
  Mean ess;            // in parts of M
  Mean p_right;        // p̂(y* | x)
  Mean right_case[2];  // share of q's draws that begin in the right case, by the last symbol
};

void check_same_model(const Program& program, const Parameters& a, const Parameters& b,
                      const std::string& file) {
  for (const Block& block : program.params) {
    if (block.group != ParamGroup::kModel) continue;
    for (int64_t k = block.offset; k < block.offset + block.shape.size(); ++k) {
      if (a.values.get(k) != b.values.get(k))
        throw DataError(fmt::format("{}: has another model than --theta ({})", file, block.name));
    }
  }
}

std::vector<Contender> read_contenders(const Options& options, const Program& program) {
  const Parameters theta = read_parameters(options.theta, program);
  std::vector<Contender> contenders{{"filter", theta, Method::kFilter}, {"untrained", theta}};
  for (const std::string& cell : options.cells) {
    const size_t at = cell.find('=');
    const std::string file = cell.substr(at + 1);
    contenders.push_back({cell.substr(0, at), read_parameters(file, program)});
    check_same_model(program, theta, contenders.back().parameters, file);
  }
  return contenders;
}

bool is_lower(const std::string& tag) { return std::islower(static_cast<unsigned char>(tag[0])); }

/// The share of particles whose first tag is in the right case.
double share_in_right_case(const Ensemble& e, const Example& example, const Task& task) {
  double right = 0;
  for (size_t i = 0; i < e.size(); ++i) {
    if (is_lower(task.y.name(e.sequence(i)[0])) == is_lower(task.y.name(example.y[0])))
      right += e.count(i);
  }
  return right / e.info.particles;
}

/// The mean over the particles of log w = G_T - log q (eq:sis, not resampling).
double mean_log_weight(const Ensemble& e) {
  double sum = 0;
  for (size_t i = 0; i < e.size(); ++i) sum += e.count(i) * e.particle_log_weight(i);
  return sum / e.info.particles;
}

void run(const Options& options) {
  const Program program = compile(registered_model(), {.gradients = false});
  const Task& task = program.task;
  const std::vector<Example> examples = read_examples(options.test, task);
  const std::vector<SampleInput> inputs = [&] {
    std::vector<SampleInput> result;
    for (const Example& example : examples) result.emplace_back(example.x);
    return result;
  }();
  const std::vector<Contender> contenders = read_contenders(options, program);

  std::vector<ParticlePool> pools(inputs.size());
  std::vector<std::vector<Outcome>> outcomes[2];  // by trigger, sampler, input
  uint32_t num_runs = 0;
  for (const Contender& contender : contenders) {
    Sampler sampler(program, contender.parameters);
    for (size_t k = 0; k < 2; ++k) {
      // Resampled as in the paper: by multinomial draws, after the tag was drawn.
      const SampleOptions sampling{.method = contender.method,
                                   .particles = options.particles,
                                   .resampling = Resampling::kMultinomial,
                                   .resample_at = ResampleAt::kAfter,
                                   .trigger = kTriggers[k],
                                   .seed = derive_seed(options.seed, num_runs++),
                                   .error_bar = false};
      outcomes[k].push_back(sampler.sample(inputs, sampling));
      const std::vector<Outcome> extra = sample_extra(sampler, inputs, sampling);
      for (size_t i = 0; i < inputs.size(); ++i) {
        pools[i].add(outcomes[k].back()[i].value());
        pools[i].add(extra[i].value());
      }
    }
  }

  std::vector<Row> rows(contenders.size());
  for (size_t s = 0; s < contenders.size(); ++s) {
    Row& row = rows[s];
    for (size_t i = 0; i < inputs.size(); ++i) {
      for (size_t k = 0; k < 2; ++k)
        row.kl[k].add(to_bits(offset_kl(outcomes[k][s][i].value(), pools[i])));
      const Ensemble& e = outcomes[0][s][i].ensemble;
      const Example& example = examples[i];
      row.proposal_kl.add(to_bits(pools[i].log_z() - mean_log_weight(e)));
      row.ess.add(e.ess() / options.particles);
      row.p_right.add(
          e.expectation([&](auto tags) { return std::ranges::equal(tags, example.y) ? 1 : 0; }));
      row.right_case[task.x.name(example.x.back()) == "1"].add(
          share_in_right_case(e, example, task));
    }
  }

  fmt::print(
      "| sampler | offset KL, bits | the same, resampling | KL(q‖p), bits | ESS / M | p̂(y\\*) "
      "| right case, x ends in 0 | in 1 |\n|---|---|---|---|---|---|---|---|\n");
  for (size_t s = 0; s < contenders.size(); ++s) {
    const Row& row = rows[s];
    fmt::print("| {} | {} | {} | {} | {:.3f} | {:.3f} | {:.3f} | {:.3f} |\n", contenders[s].label,
               row.kl[0].text(), row.kl[1].text(), row.proposal_kl.text(), row.ess.value(),
               row.p_right.value(), row.right_case[0].value(), row.right_case[1].value());
  }

  // How much of Z the pool has, by a filter large enough to tell.
  Mean pool_size, missing;
  const std::vector<Outcome> large = sample(program, contenders[0].parameters, inputs,
                                            {.method = Method::kFilter,
                                             .particles = 64 * options.particles,
                                             .seed = derive_seed(options.seed, num_runs),
                                             .error_bar = false});
  for (size_t i = 0; i < inputs.size(); ++i) {
    pool_size.add(static_cast<double>(pools[i].size()));
    missing.add(to_bits(large[i].value().log_z - pools[i].log_z()));
  }
  fmt::print(
      "\n{} test sequences, M = {}. A pool has {:.0f} distinct taggings on average; log Z - "
      "z(x) is {} bits, with log Ẑ of filtering with {} particles for log Z.\n",
      inputs.size(), options.particles, pool_size.value(), missing.text(), 64 * options.particles);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Offset KL divergences of samplers of lesson 7's model, as a table");
  app.add_option("--theta", options.theta, "The model, with an untrained lookahead")->required();
  app.add_option("--test", options.test, "Test sequences")->required();
  app.add_option("-M,--particles", options.particles)->check(CLI::Range(1, 1 << 20));
  app.add_option("--seed", options.seed);
  app.add_option("cells", options.cells, "LABEL=FILE of each trained lookahead")
      ->check([](const std::string& cell) {
        return cell.find('=') == std::string::npos ? "'" + cell + "' is not LABEL=FILE" : "";
      });
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    fmt::print(stderr, "reproduce_last_char: {}\n", error.what());
    return 2;
  }
  try {
    run(options);
  } catch (const Error& error) {
    fmt::print(stderr, "reproduce_last_char: {}\n", error.what());
    return 1;
  }
}
