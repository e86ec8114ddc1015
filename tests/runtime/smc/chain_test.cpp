#include "runtime/smc/chain.h"

#include <cmath>
#include <cstring>
#include <map>

#include "tests/catch.h"
#include "tests/support/scored_hmm.h"

using namespace scry;
using namespace scry::test;

namespace {

const std::vector<int> kX{2, 0, 1, 2};

using Tagging = std::vector<int>;
using Law = std::map<Tagging, double>;

/// p(y | x).
Law posterior(const ScoredHmm& hmm, const std::vector<int>& x, double temperature = 1,
              const TagSets& allowed = {}) {
  Law law;
  const auto scores = all_scores(hmm, x, allowed);
  for (const auto& [y, score] : scores)
    law[y] = std::exp(score / temperature - log_total(scores, temperature));
  return law;
}

/// Conditional SMC with ancestor sampling and two particles, by filtering, resampled at every step
/// but the first and the last: the law of a draw from its end, all choices written out.
class ExactKernel {
 public:
  ExactKernel(const ScoredHmm& hmm, const std::vector<int>& x) : hmm_(hmm), x_(x) {}
  Law from(const Tagging& given) {
    given_ = given;
    law_.clear();
    step({}, 1, {}, 1, 1);
    return law_;
  }

 private:
  double prefix_score(const Tagging& y) const {
    return y.empty() ? 0 : hmm_.score({x_.begin(), x_.begin() + static_cast<long>(y.size())}, y);
  }
  static Tagging with(Tagging y, int tag) {
    y.push_back(tag);
    return y;
  }
  double total(const Tagging& y) const {
    double sum = 0;
    for (int tag = 0; tag < kHmmTags; ++tag)
      sum += std::exp(prefix_score(with(y, tag)) - prefix_score(y));
    return sum;
  }
  /// exp of the score of the given tags to come after a prefix.
  double future(const Tagging& y) const {
    Tagging whole = y;
    whole.insert(whole.end(), given_.begin() + static_cast<long>(y.size()), given_.end());
    return std::exp(prefix_score(whole) - prefix_score(y));
  }
  /// Particles with their weights before this step; the first is the retained one.
  void step(const Tagging& a, double weight_a, const Tagging& b, double weight_b,
            double probability) {
    const size_t t = a.size() + 1;
    const double now_a = weight_a * total(a), now_b = weight_b * total(b);
    if (t == 1 || t == x_.size()) return draw(a, now_a, b, now_b, probability);
    const double share = now_a / (now_a + now_b);
    const double ancestor = weight_a * future(a) / (weight_a * future(a) + weight_b * future(b));
    for (const bool other_is_a : {true, false}) {
      for (const bool retained_is_a : {true, false}) {
        draw(retained_is_a ? a : b, 1, other_is_a ? a : b, 1,
             probability * (other_is_a ? share : 1 - share) *
                 (retained_is_a ? ancestor : 1 - ancestor));
      }
    }
  }
  void draw(const Tagging& a, double weight_a, const Tagging& b, double weight_b,
            double probability) {
    const Tagging next_a = with(a, given_[a.size()]);
    for (int tag = 0; tag < kHmmTags; ++tag) {
      const Tagging next_b = with(b, tag);
      const double q = std::exp(prefix_score(next_b) - prefix_score(b)) / total(b);
      if (next_a.size() < x_.size()) {
        step(next_a, weight_a, next_b, weight_b, probability * q);
        continue;
      }
      law_[next_a] += probability * q * weight_a / (weight_a + weight_b);
      law_[next_b] += probability * q * weight_b / (weight_a + weight_b);
    }
  }

  const ScoredHmm& hmm_;
  const std::vector<int>& x_;
  Tagging given_;
  Law law_;
};

struct Moment {
  double mean = 0, variance = 0;  ///< the variance of the mean
};

/// Of p̂(y) over runs that retain one tagging.
std::map<Tagging, Moment> ensemble_law(const ScoredHmm& hmm, const SampleInput& input,
                                       const SampleOptions& options, int num_runs) {
  std::map<Tagging, Moment> law;
  std::map<Tagging, double> squares;
  const std::vector<SampleInput> inputs(static_cast<size_t>(num_runs), input);
  for (const Outcome& outcome : sample(hmm.program, hmm.parameters, inputs, options)) {
    const Ensemble& run = outcome.value();
    for (size_t i = 0; i < run.size(); ++i) {
      law[ints(run.sequence(i))].mean += run.probability(i) / num_runs;
      squares[ints(run.sequence(i))] += run.probability(i) * run.probability(i) / num_runs;
    }
  }
  for (auto& [y, moment] : law)
    moment.variance = std::max(0.0, squares[y] - moment.mean * moment.mean) / num_runs;
  return law;
}

/// That Σ p(y*) K(y | y*) is p(y). Taggings that are too rare for a standard error to be one are
/// taken together.
void check_invariant(const ScoredHmm& hmm, const std::vector<int>& x, const SampleOptions& options,
                     const TagSets& allowed = {}) {
  constexpr double kRare = 0.01;
  const Law p = posterior(hmm, x, options.temperature, allowed);
  const auto kind_of = [&](const Tagging& y) { return p.at(y) < kRare ? Tagging() : y; };
  std::map<Tagging, Moment> after;
  Law before;
  SampleOptions mine = options;
  for (const auto& [given, probability] : p) {
    before[kind_of(given)] += probability;
    if (probability == 0) continue;
    ++mine.seed;
    for (const auto& [y, moment] :
         ensemble_law(hmm, {x, allowed, given}, mine, probability < kRare ? 200 : 3000)) {
      after[kind_of(y)].mean += probability * moment.mean;
      after[kind_of(y)].variance += probability * probability * moment.variance;
    }
  }
  for (const auto& [y, probability] : before) {
    INFO("p = " << probability << ", after a sweep " << after[y].mean << " ± "
                << std::sqrt(after[y].variance));
    CHECK(std::abs(after[y].mean - probability) < 4 * std::sqrt(after[y].variance) + 1e-9);
  }
}

}  // namespace

TEST_CASE("conditional SMC with ancestor sampling leaves p as it is: all choices enumerated") {
  const ScoredHmm hmm(5);
  ExactKernel kernel(hmm, kX);
  const Law p = posterior(hmm, kX);
  Law after;
  for (const auto& [given, probability] : p) {
    for (const auto& [y, share] : kernel.from(given)) after[y] += probability * share;
  }
  for (const auto& [y, probability] : p) CHECK(std::abs(after[y] - probability) < 1e-12);
}

// Of 256 numbers one is beyond 4 standard errors once in 60 times; the seed is fixed.
TEST_CASE("a run that retains a tagging draws from the kernel whose choices were enumerated") {
  const ScoredHmm hmm(5);
  constexpr int kRuns = 4000;
  ExactKernel kernel(hmm, kX);
  for (const auto& [given, ignored] : posterior(hmm, kX)) {
    const SampleOptions options{
        .method = Method::kFilter, .particles = 2, .trigger = Trigger::kAlways};
    auto law = ensemble_law(hmm, {kX, {}, given}, options, kRuns);
    for (const auto& [y, probability] : kernel.from(given)) {
      // What lies between 0 and 1 varies no more than what is 0 or 1.
      const double error = std::sqrt(probability * (1 - probability) / kRuns);
      INFO(probability << " and " << law[y].mean << " ± " << error);
      CHECK(std::abs(law[y].mean - probability) < 4 * error);
    }
  }
}

TEST_CASE("every method that retains leaves p as it is, for every M") {
  const ScoredHmm hmm(5);
  const std::vector<int> x{2, 0, 1, 2, 1};
  for (const Method method :
       {Method::kFilter, Method::kSmooth, Method::kDiscrete, Method::kDiscreteAhead}) {
    for (const int particles : {1, 2, 3, 6}) {
      INFO(row_of(method).name << ", M = " << particles);
      check_invariant(hmm, x, {.method = method, .particles = particles});
    }
    check_invariant(hmm, x, {.method = method, .particles = 3, .temperature = 0.5});
    TagSets allowed(5, kHmmTags);
    allowed.forbid(2, 1);
    check_invariant(hmm, x, {.method = method, .particles = 3}, allowed);
  }
  for (const Method method : {Method::kFilter, Method::kSmooth})
    check_invariant(hmm, x, {.method = method, .particles = 4, .trigger = Trigger::kAlways});
}

TEST_CASE("what is retained is found, and log Z is at least its score") {
  const ScoredHmm hmm(5);
  const std::vector<int> x{2, 0, 1, 2, 1, 1, 0, 2};
  for (const auto& [given, score] : all_scores(hmm, x)) {
    for (const Method method : {Method::kDiscrete, Method::kDiscreteAhead}) {
      const Ensemble set =
          sample(hmm.program, hmm.parameters, {x, {}, given}, {.method = method, .particles = 5});
      bool is_found = false;
      for (size_t i = 0; i < set.size(); ++i) is_found |= ints(set.sequence(i)) == given;
      CHECK(is_found);
      CHECK(set.log_z >= score - 1e-9);
      CHECK(set.certainty == Certainty::kUnknown);
      CHECK(set.caution.starts_with("a given tagging was retained"));
    }
    // Nothing is resampled: it is one of the particles, whose weights are exp G / q.
    const Ensemble run = smooth(hmm.program, hmm.parameters, {x, {}, given},
                                {.particles = 3, .trigger = Trigger::kNever});
    bool is_found = false;
    for (size_t i = 0; i < run.size(); ++i) is_found |= ints(run.sequence(i)) == given;
    CHECK(is_found);
  }
}

TEST_CASE("retaining gives the same bits for any number of threads, batches and bytes of memory") {
  const ScoredHmm hmm(5);
  std::vector<std::vector<int>> xs, given;
  for (int i = 0; i < 9; ++i) {
    xs.push_back(random_symbols(kHmmSymbols, 3 + 5 * (i % 4), static_cast<uint64_t>(i + 1)));
    given.push_back(random_symbols(kHmmTags, static_cast<int>(xs.back().size()),
                                   static_cast<uint64_t>(i + 50)));
  }
  for (const Method method : {Method::kFilter, Method::kSmooth, Method::kDiscreteAhead}) {
    std::vector<Chain> first;
    for (const int threads : {1, 2, 5}) {
      for (const int batch : {1, 4}) {
        std::vector<SampleInput> inputs;
        for (size_t i = 0; i < xs.size(); ++i) inputs.emplace_back(xs[i], TagSets(), given[i]);
        Sampler sampler(hmm.program, hmm.parameters, threads);
        const std::vector<Chain> chains = run_chains(
            sampler, inputs,
            {.method = method, .particles = 7, .trigger = Trigger::kAlways, .batch = batch}, 3);
        if (first.empty()) first = chains;
        for (size_t i = 0; i < xs.size(); ++i) {
          REQUIRE_FALSE(chains[i].error);
          CHECK(chains[i].state == first[i].state);
          CHECK(chains[i].ensemble.log_weights == first[i].ensemble.log_weights);
          CHECK(chains[i].log_score == Approx(hmm.score(xs[i], ints(chains[i].state))));
        }
      }
    }
  }
}

TEST_CASE("a chain forgets where it began") {
  const ScoredHmm hmm(5);
  const Law p = posterior(hmm, kX);
  const Tagging* least = nullptr;
  for (const auto& [y, probability] : p) {
    if (least == nullptr || probability < p.at(*least)) least = &y;
  }
  constexpr int kChains = 4000;
  const std::vector<SampleInput> inputs(kChains, SampleInput{kX, {}, *least});
  Sampler sampler(hmm.program, hmm.parameters);
  for (const Method method : {Method::kFilter, Method::kDiscrete}) {
    Law found;
    for (const Chain& chain : run_chains(sampler, inputs, {.method = method, .particles = 4}, 12)) {
      found[ints(chain.state)] += 1.0 / kChains;
      CHECK(chain.num_moves > 0);
    }
    for (const auto& [y, probability] : p)
      CHECK(std::abs(found[y] - probability) <
            4 * std::sqrt(probability * (1 - probability) / kChains));
  }
}

TEST_CASE("what cannot be retained is refused, or an error of its sequence") {
  ScoredHmm hmm(5);
  const Tagging given{0, 1, 0, 1};
  const SampleInput input{kX, {}, given};
  for (const Method method : {Method::kImportance, Method::kBeam, Method::kEnumerate}) {
    CHECK_THROWS_WITH(sample(hmm.program, hmm.parameters, input, {.method = method}),
                      Catch::Contains("cannot retain a given tagging"));
  }
  CHECK_THROWS_WITH(sample(hmm.program, hmm.parameters, input,
                           {.method = Method::kFilter, .draws = Draws::kArithmetic}),
                    Catch::StartsWith("arithmetic draws cannot retain"));
  const auto trouble = [&](const Tagging& y, Method method, const TagSets& allowed = {}) {
    const SampleInput bad{kX, allowed, y};
    const auto outcomes =
        sample(hmm.program, hmm.parameters, std::span(&bad, 1), {.method = method, .particles = 3});
    REQUIRE(outcomes[0].error);
    return outcomes[0].error->trouble();
  };
  CHECK(trouble({0, 1}, Method::kFilter) == Trouble::kBadInput);
  CHECK(trouble({0, 1, 7, 0}, Method::kFilter) == Trouble::kBadInput);
  TagSets allowed(4, kHmmTags);
  allowed.forbid(2, 1);
  CHECK(trouble(given, Method::kDiscrete, allowed) == Trouble::kForbidden);
  hmm.set_trans(0, 1, -INFINITY);
  for (const Method method : {Method::kFilter, Method::kSmooth, Method::kDiscrete})
    CHECK(trouble(given, method) == Trouble::kImpossible);
  Sampler sampler(hmm.program, hmm.parameters);
  const SampleInput without{kX};
  CHECK_THROWS_AS(run_chains(sampler, std::span(&without, 1), {}, 1), Error);
  CHECK_THROWS_AS(run_chains(sampler, std::span(&input, 1), {}, 0), Error);
}
