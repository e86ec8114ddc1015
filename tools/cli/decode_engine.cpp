#include "tools/cli/decode_engine.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/compile.h"
#include "dsl/ask.h"
#include "runtime/search/exact.h"
#include "runtime/search/search.h"
#include "runtime/smc/memory.h"
#include "runtime/smc/sampler.h"
#include "tools/cli/command.h"
#include "tools/cli/method_options.h"
#include "tools/cli/options.h"
#include "tools/cli/params_option.h"
#include "tools/cli/part_size.h"

namespace scry::cli {
namespace {

/// The model file's loss, whose exceptions name it.
Loss own_loss(const Bundle& bundle) {
  if (!bundle.loss) return {};
  return [loss = bundle.loss](std::span<const int32_t> decided, std::span<const int32_t> truth) {
    return ask("the loss of SCRY_MODEL", registered_at(), [&] { return loss(decided, truth); });
  };
}

Decider make_decider(LossKind loss, const Bundle& bundle) {
  try {
    return {loss, bundle.model->task(), own_loss(bundle)};
  } catch (const Error& error) {
    throw UsageError(
        fmt::format("--loss {}: {}", loss_names()[static_cast<size_t>(loss)], error.what()));
  }
}

std::string explain(const SamplingError& error) {
  const std::string message = in_option_words(error.message());
  return error.step() == 0 ? message : fmt::format("step {}: {}", error.step(), message);
}

double count_taggings_of(const InputLine& line, const Task& task) {
  return count_taggings({line.x, line.allowed}, task);
}

}  // namespace

struct DecodeEngine::Bound {
  Bound(const DecodeChoice& choice, const Bundle& bundle, const Decider& decider)
      : program(compile(bundle, {.precision = choice.precision == "double" ? Precision::kDouble
                                                                           : Precision::kFloat,
                                 .gradients = false})),
        parameters(parameters_of(program, choice.params, choice.sampling.seed)),
        method(chosen_method(choice.method, "", program.has_proposal())),
        has_viterbi(has_finite_states(program)),
        is_by_states(method.method == Method::kExact && has_viterbi && decider.is_decomposable()),
        sampler(program, parameters, choice.sampling.threads),
        workers(choice.sampling.threads) {}

  Program program;
  Parameters parameters;
  const MethodRow& method;
  bool has_viterbi, is_by_states;
  Sampler sampler;
  Workers workers;
};

DecodeEngine::DecodeEngine(const DecodeChoice& choice, const Bundle& bundle)
    : choice_(choice),
      task_(bundle.model->task()),
      decider_(make_decider(choice.loss, bundle)),
      spans_(SpanTags::fits(task_.y) ? std::optional(SpanTags(task_.y)) : std::nullopt) {}
DecodeEngine::~DecodeEngine() = default;

void DecodeEngine::bind(const Bundle& bundle) {
  bound_ = std::make_unique<Bound>(choice_, bundle, decider_);
  if (bound_->method.make != nullptr) choice_.sampling.method = bound_->method.method;
}

size_t DecodeEngine::count_part(std::span<const InputLine> lines) const {
  if (bound_ == nullptr) return lines.size();
  return cli::count_part(bound_->program, lines, choice_.sampling, choice_.runs, kPart);
}

const char* DecodeEngine::parameters_origin() const {
  if (bound_ == nullptr) return nullptr;
  return bound_->program.params.empty() ? "none" : choice_.params.empty() ? "random" : "file";
}

std::vector<std::string> DecodeEngine::compared() const {
  std::vector<std::string> names;
  if (bound_ == nullptr || !choice_.compares) return names;
  const bool is_beam = bound_->method.selects == Selects::kBest;
  if (bound_->has_viterbi) names.emplace_back("viterbi");
  names.emplace_back("beam");
  if (!bound_->is_by_states && !is_beam) names.emplace_back("best particle");
  names.push_back(
      fmt::format("least risk ({})", loss_names()[static_cast<size_t>(decider_.kind())]));
  return names;
}

std::vector<DecodeResult> DecodeEngine::decode(std::span<const InputLine> lines, size_t first) {
  std::vector<DecodeResult> results(lines.size());
  for (size_t i = 0; i < lines.size(); ++i) {
    results[i].line = &lines[i];
    results[i].sequence = static_cast<int64_t>(first + i);
    results[i].error = lines[i].error;
  }
  if (bound_ != nullptr) {
    bound_->is_by_states ? decide_exactly(lines, results) : sample(lines, first, results);
  } else {
    Workers workers(choice_.sampling.threads);
    workers.for_each(static_cast<int64_t>(lines.size()), [&](int, int64_t at) {
      const auto i = static_cast<size_t>(at);
      if (lines[i].ensemble) decide(lines[i], *lines[i].ensemble, results[i]);
    });
  }
  if (bound_ != nullptr && choice_.compares) compare(lines, first, results);
  return results;
}

void DecodeEngine::decide(const InputLine& line, const Ensemble& ensemble,
                          DecodeResult& result) const {
  result.method = ensemble.info.method;
  DecideOptions options = choice_.deciding;
  options.num_taggings = count_taggings_of(line, task_);
  try {
    result.decision = decider_.decide(ensemble, options);
  } catch (const ModelError&) {
    throw;  // of the user's loss
  } catch (const Error& error) {
    result.error = error.what();
    return;
  }
  if (!line.gold) return;
  const std::vector<int32_t>& gold = *line.gold;
  result.gold_loss = decider_.loss(result.decision->tags, gold);
  if (bound_ == nullptr || !choice_.compares || bound_->method.selects == Selects::kBest) return;
  const std::span<const int32_t> heaviest = ensemble.sequence(ensemble.top(1).front());
  result.tallies.push_back(
      tally(heaviest, gold, decider_.loss(heaviest, gold), spans_ ? &*spans_ : nullptr));
}

void DecodeEngine::sample(std::span<const InputLine> lines, size_t first,
                          std::vector<DecodeResult>& results) {
  SampleOptions& options = choice_.sampling;
  options.first_sequence = static_cast<int64_t>(first);
  std::vector<SampleInput> inputs(lines.size());
  for (size_t i = 0; i < lines.size(); ++i)
    if (lines[i].error.empty()) inputs[i] = {lines[i].x, lines[i].allowed};
  const std::vector<Outcome> outcomes =
      bound_->method.make == nullptr ? exact(bound_->program, bound_->parameters, inputs, options)
      : choice_.runs > 1             ? bound_->sampler.sample_runs(inputs, options, choice_.runs)
                                     : bound_->sampler.sample(inputs, options);
  bound_->workers.for_each(static_cast<int64_t>(lines.size()), [&](int, int64_t at) {
    const auto i = static_cast<size_t>(at);
    if (!results[i].error.empty()) return;
    if (outcomes[i].error) {
      results[i].error = explain(*outcomes[i].error);
    } else {
      decide(lines[i], outcomes[i].ensemble, results[i]);
    }
  });
}

void DecodeEngine::decide_exactly(std::span<const InputLine> lines,
                                  std::vector<DecodeResult>& results) {
  std::vector<char> is_bad(lines.size());  // as it was read
  for (size_t i = 0; i < lines.size(); ++i) is_bad[i] = lines[i].error.empty() ? 0 : 1;
  run_in_memory(bound_->workers, static_cast<int64_t>(lines.size()), choice_.sampling.memory,
                [&](int, int64_t at, int64_t bytes) {
                  const auto i = static_cast<size_t>(at);
                  DecodeResult& result = results[i];
                  if (is_bad[i] != 0) return true;
                  SampleOptions options = choice_.sampling;
                  options.first_sequence = result.sequence;
                  options.memory = bytes;
                  result.method = bound_->method.name;
                  try {
                    result.error.clear();
                    result.decision =
                        decider_.decide_exactly(bound_->program, bound_->parameters,
                                                {lines[i].x, lines[i].allowed}, options);
                    if (lines[i].gold)
                      result.gold_loss = decider_.loss(result.decision->tags, *lines[i].gold);
                    return true;
                  } catch (const SamplingError& error) {
                    result.error = explain(error);
                    return error.trouble() != Trouble::kTooMuchMemory;
                  }
                });
}

/// The other ways to decide, by the same number of prefixes, put before those that are there.
void DecodeEngine::compare(std::span<const InputLine> lines, size_t first,
                           std::vector<DecodeResult>& results) {
  std::vector<SampleInput> inputs(lines.size());
  std::vector<char> is_compared(lines.size());
  for (size_t i = 0; i < lines.size(); ++i) {
    is_compared[i] = lines[i].gold && results[i].decision ? 1 : 0;
    if (is_compared[i] != 0) inputs[i] = {lines[i].x, lines[i].allowed};
  }
  if (std::ranges::count(is_compared, 1) == 0) return;
  SampleOptions options = choice_.sampling;
  options.method = bound_->program.has_proposal() ? Method::kBeamAhead : Method::kBeam;
  options.first_sequence = static_cast<int64_t>(first);
  const std::vector<Outcome> beams = bound_->sampler.sample(inputs, options);
  bound_->workers.for_each(static_cast<int64_t>(lines.size()), [&](int, int64_t at) {
    const auto i = static_cast<size_t>(at);
    if (is_compared[i] == 0) return;
    DecodeResult& result = results[i];
    const std::vector<int32_t>& gold = *lines[i].gold;
    std::vector<AccuracyTally> tallies;
    const auto add = [&](std::span<const int32_t> tags) {
      tallies.push_back(tally(tags, gold, decider_.loss(tags, gold), spans_ ? &*spans_ : nullptr));
    };
    try {
      if (bound_->has_viterbi) {
        add(viterbi(bound_->program, bound_->parameters, inputs[i],
                    {result.sequence, options.max_rows, 0})
                .tags);
      }
      add(beams[i].value().sequence(beams[i].value().top(1).front()));
    } catch (const SamplingError&) {  // one that has no answer is compared with none
      result.tallies.clear();
      return;
    }
    tallies.insert(tallies.end(), result.tallies.begin(), result.tallies.end());
    result.tallies = std::move(tallies);
    result.tallies.push_back(
        tally(result.decision->tags, gold, *result.gold_loss, spans_ ? &*spans_ : nullptr));
  });
}

}  // namespace scry::cli
