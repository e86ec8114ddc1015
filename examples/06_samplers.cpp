// Lesson 6: one program, every method. This is no model file but a program of your own: it takes
// the model file it is linked with, lesson 1 or 2, and asks it the same question in every way.
//
// Every sampler leaves an Ensemble: weighted taggings p̂(y) ≈ p(y|x) (eq:phat), and Ẑ ≈ Σ_y exp G_T.
// They differ in what they draw tags from, and what they weigh prefixes by (sec:sis). These models
// can be summed exactly, so that each estimate is held against the truth; and their lookahead is
// exact, too, so that particle smoothing is exact sampling (sec:exact).
#include <fmt/format.h>
#include <scry.h>

#include <Eigen/Core>  // where matrices are used, parameters' or marginals
#include <algorithm>
#include <cmath>

using namespace scry;

void promise(bool kept, const char* what) {  // a lesson is a test, too
  if (!kept) throw Error(fmt::format("a promise was broken: {}", what));
}

void print_tagging(const char* label, const Task& task, std::span<const int32_t> tags) {
  fmt::print("{:12}", label);
  for (int32_t tag : tags) fmt::print(" {}", task.y.name(tag));
}

// A row of the table: log Ẑ, the effective sample size, how many distinct taggings there are, how
// many distinct prefixes were computed for them, and how far p̂ is from p (sec:metrics).
Ensemble show(const char* method, Ensemble e, double log_z) {
  const bool sampled = e.info.particles > 0;                // else there is no sample size
  const bool spread = e.certainty != Certainty::kNoSpread;  // equal weights have no error bar
  const std::string error = e.certainty == Certainty::kLowerBound ? "≤ log Z"
                            : !e.log_z_error ? "± ?"  // of one run; see sample_runs
                            : spread         ? fmt::format("± {:.4f}", *e.log_z_error)
                                             : "± ?";
  fmt::print("{:24}{:>9.4f} {:9}{:>6}{:>10}{:>10}{:>9.2f}\n", method, e.log_z, error,
             sampled ? fmt::format("{:.1f}", e.ess()) : "", e.size(), e.num_rows(),
             to_bits(kl_divergence(e, log_z)));
  return e;
}

void run() {
  const Program program = compile(registered_model(), {.gradients = false});  // sampling needs none
  const Task& task = program.task;
  Parameters parameters = Parameters::fresh(program, 1);  // by seed: logits from N(0, 1)
  for (const char* name : {"model.transition", "model.emission"}) {
    parameters.matrix<float>(program, name) *= 4;  // sharper, to tell the methods apart
  }
  parameters.prepare(program);  // after every change

  const std::vector<int> x{2, 0, 0, 1, 2, 2, 0, 1, 0, 0, 2, 1};  // the diary, as symbol numbers
  const Ensemble all = exact(program, parameters, x);            // every tagging, and Z itself
  const double log_z = all.log_z;
  const int M = 32;  // particles; a beam's width

  fmt::print("{:24}{:>9} {:9}{:>6}{:>10}{:>10}{:>9}\n", fmt::format("method, M = {}", M), "log Ẑ",
             "", "ESS", "taggings", "prefixes", "KL/bits");
  show("exact", all, log_z);
  // Tags are drawn from q ∝ exp(g + C) (eq:q-local). A tagging's weight is exp G_T / q (eq:sis).
  show("importance sampling", importance(program, parameters, x, {.particles = M}), log_z);
  // Tags are drawn from q ∝ exp g, blind to what is to come of x: weights differ, ESS falls …
  show("filter, not resampling",
       filter(program, parameters, x, {.particles = M, .trigger = Trigger::kNever}), log_z);
  // … and when it falls below M/2, resampling drops light prefixes and copies heavy ones.
  const Ensemble filtered = show("filter", filter(program, parameters, x, {.particles = M}), log_z);
  // q ∝ exp(g + C) again; prefixes are weighed by G + C, so that resampling looks ahead as well.
  const Ensemble smoothed = show("smooth", smooth(program, parameters, x, {.particles = M}), log_z);
  // M prefixes that are all different, chosen of all children without bias: heavy ones stay, and of
  // the light ones some are drawn, to weigh more. The sum of G + C stays, and here that is Z.
  const Ensemble reduced =
      show("discrete set", discrete(program, parameters, x, {.particles = M}), log_z);
  show("discrete set by G",
       discrete(program, parameters, x, {.method = Method::kDiscrete, .particles = M}), log_z);
  // No sample but the M best prefixes of each length: p̂ is p cut off, and KL(p̂‖p) is log Z/Ẑ.
  const Ensemble beamed = show("beam by G", beam(program, parameters, x, {.particles = M}), log_z);
  show("beam by G + C",
       beam(program, parameters, x, {.method = Method::kBeamAhead, .particles = M}), log_z);

  // A run is a draw, and so is its KL: to compare methods, take many runs. Copies of an input are
  // independent runs, because each draws with random numbers of its own.
  const std::vector<SampleInput> copies(500, x);
  fmt::print("\nmean KL/bits of {} runs:", copies.size());
  for (const Method method : {Method::kFilter, Method::kSmooth}) {
    for (const Trigger trigger : {Trigger::kNever, Trigger::kEss}) {
      double total = 0;
      for (const Outcome& outcome :
           sample(program, parameters, copies,
                  {.method = method, .particles = M, .trigger = trigger})) {
        total += to_bits(kl_divergence(outcome.value(), log_z));
      }
      fmt::print("  {}{} {:.2f}", method == Method::kFilter ? "filter" : "smooth",
                 trigger == Trigger::kEss ? "" : ", not resampling",
                 total / static_cast<double>(copies.size()));
    }
  }
  fmt::print("\n");

  for (size_t i = 0; i < smoothed.size(); ++i) {
    promise(std::abs(smoothed.particle_log_weight(i) - log_z) < 1e-4, "every weight is Z");
  }
  promise(*smoothed.log_z_error < 1e-4, "smoothing has no error");
  promise(std::abs(filtered.log_z - log_z) < 5 * *filtered.log_z_error, "the filter's error bar");
  promise(std::abs(reduced.log_z - log_z) < 1e-4, "a discrete set has no error");
  promise(beamed.log_z < log_z + 1e-4, "a beam's Ẑ is at most Z");

  // A temperature τ asks for exp(G_T / τ): the lookahead is not exact for that, and weights differ.
  const double log_z_2 = exact(program, parameters, x, {.temperature = 2}).log_z;
  fmt::print("\nat temperature 2, log Z is {:.4f}\n", log_z_2);
  show("smooth", smooth(program, parameters, x, {.particles = M, .temperature = 2}), log_z_2);

  // Constraints say which tags are allowed at which step: Z is a sum over fewer taggings. The
  // lookahead does not foresee them, and weights differ.
  TagSets allowed(static_cast<int>(x.size()), task.y.size());
  allowed.allow_only(7, {0});  // steps are counted from 1
  const double log_z_7 = exact(program, parameters, {x, allowed}).log_z;
  fmt::print("\nif y_7 = {}, of probability {:.4f}, log Z is {:.4f}\n", task.y.name(0),
             std::exp(log_z_7 - log_z), log_z_7);
  const Ensemble kept =
      show("smooth", smooth(program, parameters, {x, allowed}, {.particles = M}), log_z_7);
  for (size_t i = 0; i < kept.size(); ++i) promise(kept.sequence(i)[6] == 0, "y_7 is as asked");

  fmt::print("\n");
  print_tagging("best of all", task, all.sequence(0));  // an ensemble has its heaviest first
  fmt::print("   p = {:.4f}\n", all.probability(0));
  const Best best = search_best_first(program, parameters, x);  // A* (sec:astar)
  print_tagging("by A*", task, best.tags);
  fmt::print("   extended {} prefixes\n", best.num_rows);
  promise(best.optimal && std::ranges::equal(best.tags, all.sequence(0)), "A* finds the best");
  if (has_finite_states(program)) {  // an HMM's states are tags, an OOHMM's are vectors
    const Best same = viterbi(program, parameters, x);
    print_tagging("by Viterbi", task, same.tags);
    fmt::print("   extended {} states\n", same.num_rows);
    promise(std::ranges::equal(same.tags, all.sequence(0)), "Viterbi finds the best");
  }
  Random random(1, 0);
  print_tagging("a draw", task, smoothed.sequence(smoothed.draw(random)));

  // What ensembles are for: the expectation of whatever depends on the tagging.
  fmt::print("\n\np(y_t = {} | x) for each t, and p(y_6 ≠ y_7 | x)\n", task.y.name(0));
  for (const Ensemble* e : {&all, &filtered, &smoothed}) {
    fmt::print("{:10}", e->info.method);
    const Eigen::MatrixXd marginals = e->tag_marginals(task.y.size());  // [T, 2]
    for (const double p : marginals.col(0)) fmt::print("{:5.2f}", p);
    fmt::print("{:8.2f}\n", e->expectation([](auto y) { return y[5] != y[6] ? 1 : 0; }));
  }
  // Of vectors, too: the covariance of the indicators of y_t = the first tag, E[hhᵀ] − E[h]E[h]ᵀ.
  const auto hot = [](auto y) {
    Eigen::VectorXd h(y.size());
    for (Eigen::Index t = 0; t < h.size(); ++t) h(t) = y[static_cast<size_t>(t)] == 0;
    return h;
  };
  const Eigen::VectorXd mean = all.expectation(hot);
  const Eigen::MatrixXd second =
      all.expectation([&](auto y) -> Eigen::MatrixXd { return hot(y) * hot(y).transpose(); });
  const Eigen::MatrixXd covariance = second - mean * mean.transpose();
  fmt::print("neighbours' correlation is {:.2f} at t = 6\n",
             covariance(5, 6) / std::sqrt(covariance(5, 5) * covariance(6, 6)));
  promise(mean.isApprox(all.tag_marginals(task.y.size()).col(0)), "marginals are expectations");
}

int main() {
  try {
    run();
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
