#include "runtime/train/train.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/train/choose_likelihood.h"
#include "runtime/train/conditional_likelihood.h"
#include "runtime/train/development.h"
#include "runtime/train/exact_likelihood.h"
#include "runtime/train/imputed_objective.h"
#include "runtime/train/joint_likelihood.h"
#include "runtime/train/minibatches.h"
#include "runtime/train/observed_sum.h"
#include "runtime/train/proposal_divergence.h"
#include "runtime/train/train_data.h"
#include "runtime/train/trainer.h"

namespace scry {
namespace {

/// Where the bias of the default h stands, if it is trained and h is 0 as it starts.
std::optional<int64_t> find_untouched_bias(const Program& program, const Parameters& parameters,
                                           const RunIdentity& identity) {
  std::optional<int64_t> bias;
  for (const size_t index : identity.blocks) {
    const Block& block = program.params[index];
    if (block.is_automatic && block.name.ends_with(Proposal::kToGoBias)) bias = block.offset;
  }
  for (const Block& block : program.params) {
    if (!block.is_automatic) continue;
    for (int64_t k = 0; k < block.shape.size(); ++k) {
      if (parameters.values.get(block.offset + k) != 0) return std::nullopt;
    }
  }
  return bias;
}

/// How the gradient is sampled, and what is wrong with it.
std::string describe(const ConditionalOptions& options, int asked) {
  std::string text =
      fmt::format("gradient: {}, {}", name_of(options.contrast), row_of(options.contrast).summary);
  if (options.particles != asked)
    text += fmt::format("; M is raised from {} to {}", asked, options.particles);
  if (options.contrast == Contrast::kSample) {
    return "warning: " + text +
           ": perplexity may get worse while it is said to get better; see --gradient";
  }
  return text;
}

/// What a run trains.
struct Goal {
  const char* name;
  bool fits, learns;
};

/// What the three entry points have in common: checked data, the state to begin with, and threads.
class Run {
 public:
  Run(const Program& program, const Parameters& start, std::span<const Example> train,
      std::span<const Example> dev, const TrainOptions& options, const TrainHooks& hooks,
      const Goal& goal)
      : program_(program),
        options_(options),
        hooks_(hooks),
        goal_(goal),
        train_(check_data(train, ExampleSet::kTraining)),
        dev_(check_data(dev, ExampleSet::kDevelopment)),
        likelihood_(choose(start)),
        identity_(identify()),
        state_(begin_run(program, start, identity_, hooks)),
        workers_(options.threads) {
    state_.likelihood = likelihood_;
    if (likelihood_ == Likelihood::kConditional && state_.history.empty() && hooks.note) {
      const bool along = learns() && !goal.learns;
      hooks.note(describe(conditional(), options.particles) +
                 (along ? "; the proposal is learned along" : ""));
    }
  }

  /// Whether φ is trained.
  bool learns() const {
    return std::any_of(identity_.blocks.begin(), identity_.blocks.end(), [&](size_t index) {
      return program_.params[index].group == ParamGroup::kProposal;
    });
  }
  TrainState& state() { return state_; }
  std::span<const TrainExample> dev() const { return dev_.examples; }

  std::unique_ptr<ShardedObjective> make_goal(std::unique_ptr<Objective> objective) {
    return std::make_unique<ShardedObjective>(program_, state_.parameters, std::move(objective),
                                              options_.shard, workers_, options_.memory);
  }
  std::unique_ptr<ShardedObjective> make_likelihood() {
    const bool is_exact = describe_incomplete();
    if (likelihood_ == Likelihood::kJoint) {
      return make_goal(
          make_joint_likelihood({.is_exact = is_exact, .particles = options_.particles}));
    }
    if (likelihood_ == Likelihood::kExact) return make_goal(make_exact_likelihood());
    std::unique_ptr<Objective> conditionally = make_conditional_likelihood(conditional());
    if (train_.num_incomplete == 0) return make_goal(std::move(conditionally));
    return make_goal(make_imputed(std::move(conditionally), conditional().particles));
  }
  std::unique_ptr<ShardedObjective> make_divergence() {
    return make_goal(make_proposal_divergence({.particles = options_.particles,
                                               .lambda = options_.lambda,
                                               .calibrate = options_.calibrate,
                                               .baseline = options_.baseline}));
  }
  /// The bias of the default h, where nothing has moved it yet, to the mean log Ẑ per symbol of the
  /// first minibatch: Adam would take a thousand updates to get there.
  void start_to_go(ShardedObjective& divergence) {
    if (!state_.history.empty() || options_.calibrate == 0) return;
    const std::optional<int64_t> bias = find_untouched_bias(program_, state_.parameters, identity_);
    if (!bias) return;
    std::vector<size_t> lengths;
    for (const TrainExample& example : train_.examples) lengths.push_back(example.x.size());
    const auto minibatches = make_minibatches(lengths, options_.batch, options_.seed, 1);
    std::vector<TrainExample> first;
    for (size_t i : minibatches.front()) first.push_back(train_.examples[i]);
    const Tally tally = divergence.measure(first, derive_seed(options_.seed, 1));
    if (tally[Tally::kSymbols] == 0) return;
    const double log_z = tally[Tally::kLogZ] / tally[Tally::kSymbols];
    if (!std::isfinite(log_z)) return;  // as what comes next will say
    state_.parameters.values.set(*bias, log_z);
    state_.parameters.prepare(program_);
    state_.best = state_.parameters;
  }
  DevelopmentDivergence make_development_divergence(DevelopmentDivergence::Offset offset) const {
    return {program_, state_.parameters, dev(), options_, offset};
  }

  TrainResult train(std::vector<ShardedObjective*> goals, Evaluate evaluate,
                    StartCounts start_counts) {
    if (dev().empty()) evaluate = nullptr;
    // A user who asks for G_T has been warned.
    const bool must_be_local =
        likelihood_ == Likelihood::kJoint && options_.likelihood == Likelihood::kAuto;
    Inspect inspect;
    if (must_be_local) {
      inspect = [this](int epoch) {
        check_normalization(program_, state_.parameters, train_.examples, epoch);
      };
    }
    Trainer trainer(program_, state_, identity_, hooks_, train_.examples, std::move(goals),
                    std::move(evaluate), start_counts, std::move(inspect));
    const bool was_interrupted = trainer.run();
    return {std::move(state_.best), std::move(state_.history), was_interrupted};
  }

 private:
  /// Notes how many examples are incomplete and what is done about it. Whether that is exact.
  /// Throws Error if nothing can be done about it.
  bool describe_incomplete() const {
    if (train_.num_incomplete + dev_.num_incomplete == 0) return false;
    const bool is_sampled = likelihood_ == Likelihood::kConditional;
    if (is_sampled && dev_.num_incomplete > 0) {
      throw Error(
          "some development tags are incomplete (* or A|B, or none), of which conditional "
          "likelihood with sampled gradients cannot tell the perplexity: leave those sequences "
          "out");
    }
    // By parameters that a run that goes on has, too: what is chosen must be the same.
    const Parameters fresh = Parameters::fresh(program_, options_.seed);
    std::vector<TrainExample> incomplete = select_examples(train_.examples, false);
    for (const TrainExample& example : select_examples(dev_.examples, false))
      incomplete.push_back(example);
    const bool is_exact = !is_sampled && (likelihood_ == Likelihood::kExact ||
                                          has_exact_likelihood(program_, fresh, incomplete));
    std::string text;
    if (train_.num_incomplete > 0)
      text = fmt::format("{} of {} examples", train_.num_incomplete, train_.examples.size());
    if (dev_.num_incomplete > 0) {
      text += fmt::format("{}{} of {} development examples", text.empty() ? "" : " and ",
                          dev_.num_incomplete, dev_.examples.size());
    }
    if (hooks_.note) {
      hooks_.note(fmt::format(
          "{} have incomplete tags, {}", text,
          is_exact ? "and count by the likelihood of what is known: exact sums over finite states"
          : is_sampled
              ? fmt::format("which every update draws anew from discrete sets of {}; losses are "
                            "those of the draws, on average too high",
                            options_.particles)
              : fmt::format("and count by the likelihood of what is known: estimated by discrete "
                            "sets of {}, on average too low",
                            options_.particles)));
    }
    return is_exact;
  }

  TrainData check_data(std::span<const Example> given, ExampleSet set) const {
    const bool is_training = set == ExampleSet::kTraining;
    TrainData data =
        check_examples(program_, given, goal_.fits ? TagUse::kNeeded : TagUse::kIgnored, set);
    if (is_training && data.examples.empty()) throw Error("there are no examples to train on");
    if (data.num_empty > 0 && hooks_.note) {
      hooks_.note(fmt::format("{} empty {}example{} passed over", data.num_empty,
                              is_training ? "" : "development ",
                              data.num_empty == 1 ? " is" : "s are"));
    }
    if (!is_training) sort_by_length(data.examples);
    return data;
  }

  ConditionalOptions conditional() const {
    return settle({.contrast = options_.contrast, .particles = options_.particles}, program_);
  }

  /// A run that goes on has chosen.
  Likelihood choose(const Parameters& start) const {
    check_options(options_);
    if (!goal_.fits) return Likelihood::kAuto;
    if (options_.resume) {
      if (const auto chosen = peek_likelihood(options_.checkpoint)) return *chosen;
    }
    const Likelihood chosen =
        choose_likelihood(program_, start, train_.examples, options_.likelihood, hooks_,
                          options_.contrast == Contrast::kAuto);
    if (chosen == Likelihood::kJoint && options_.contrast != Contrast::kAuto) {
      throw Error(
          fmt::format("--gradient {} has no use: the likelihood is joint, which samples nothing; "
                      "leave it out, or ask for --objective conditional",
                      name_of(options_.contrast)));
    }
    return chosen;
  }

  RunIdentity identify() const {
    std::vector<ParamGroup> groups;
    if (goal_.fits) groups.push_back(ParamGroup::kModel);
    const bool learns_along = goal_.fits && likelihood_ == Likelihood::kConditional &&
                              program_.has_proposal() && row_of(conditional().contrast).retains;
    RunIdentity identity;
    identity.goal = goal_.name;
    if (goal_.fits && !goal_.learns) {  // there must be something of the model's own
      find_trained_blocks(program_, groups, options_.frozen);
    }
    if (goal_.learns || learns_along) groups.push_back(ParamGroup::kProposal);
    identity.blocks = find_trained_blocks(program_, groups, options_.frozen);
    identity.data_hash = hash_examples(train_.examples, dev_.examples);
    identity.updates_per_epoch = count_minibatches(train_.examples.size(), options_.batch);
    identity.options = options_;
    return identity;
  }

  const Program& program_;
  const TrainOptions& options_;
  const TrainHooks& hooks_;
  Goal goal_;
  TrainData train_, dev_;
  Likelihood likelihood_;
  RunIdentity identity_;
  TrainState state_;
  Workers workers_;
};

void check_has_gradients(const Program& program) {
  if (program.differentiator == "none")
    throw Error("the program was compiled without gradients, which training needs");
}

void check_has_proposal(const Program& program) {
  if (!program.has_proposal()) throw Error("this model has no proposal that could be learned");
}

double divergence_of(const EpochReport& report, const TrainOptions& options) {
  return options.selection == Selection::kKl ? report.dev_kl : report.offset_kl;
}

}  // namespace

TrainResult fit(const Program& program, const Parameters& start, std::span<const Example> train,
                std::span<const Example> dev, const TrainOptions& options,
                const TrainHooks& hooks) {
  check_has_gradients(program);
  Run run(program, start, train, dev, options, hooks,
          {.name = "fit", .fits = true, .learns = false});
  const auto likelihood = run.make_likelihood();
  const auto divergence = run.learns() ? run.make_divergence() : nullptr;
  std::vector<ShardedObjective*> goals{likelihood.get()};
  if (divergence != nullptr) {
    run.start_to_go(*divergence);
    goals.push_back(divergence.get());
  }
  return run.train(
      std::move(goals),
      [&](EpochReport& report) {
        measure_likelihood(*likelihood, run.dev(), options, report);
        report.dev_score = report.is_reliable ? report.perplexity : INFINITY;
      },
      StartCounts::kYes);
}

TrainResult learn(const Program& program, const Parameters& start, std::span<const Example> train,
                  std::span<const Example> dev, const TrainOptions& options,
                  const TrainHooks& hooks) {
  check_has_proposal(program);
  check_has_gradients(program);
  Run run(program, start, train, dev, options, hooks,
          {.name = "learn", .fits = false, .learns = true});
  const auto divergence = run.make_divergence();
  run.start_to_go(*divergence);
  DevelopmentDivergence development =
      run.make_development_divergence(DevelopmentDivergence::Offset::kOnce);
  // A proposal flatter than p has an offset KL that flatters it, as p̂ then has more distinct
  // sequences: the untrained lookahead is no candidate.
  return run.train(
      {divergence.get()},
      [&](EpochReport& report) {
        development.measure(report);
        measure_calibration(*divergence, run.dev(), options, report);
        report.dev_score = divergence_of(report, options);
      },
      StartCounts::kNo);
}

TrainResult fit_and_learn(const Program& program, const Parameters& start,
                          std::span<const Example> train, std::span<const Example> dev,
                          const TrainOptions& options, const TrainHooks& hooks) {
  check_has_proposal(program);
  check_has_gradients(program);
  Run run(program, start, train, dev, options, hooks,
          {.name = "fit and learn", .fits = true, .learns = true});
  const auto likelihood = run.make_likelihood(), divergence = run.make_divergence();
  run.start_to_go(*divergence);
  DevelopmentDivergence development =
      run.make_development_divergence(DevelopmentDivergence::Offset::kEveryEpoch);
  return run.train(
      {likelihood.get(), divergence.get()},
      [&](EpochReport& report) {
        const double loss = measure_likelihood(*likelihood, run.dev(), options, report);
        development.measure(report);
        measure_calibration(*divergence, run.dev(), options, report);
        report.dev_score = loss + divergence_of(report, options);
      },
      StartCounts::kNo);
}

}  // namespace scry
