// Fitting by what is known of incomplete taggings, against enumeration and against exact EM.
#include <scry.h>

#include <Eigen/Dense>
#include <cmath>

#include "runtime/search/search.h"
#include "runtime/train/exact_likelihood.h"
#include "runtime/train/imputed_objective.h"
#include "runtime/train/joint_likelihood.h"
#include "runtime/train/train.h"
#include "runtime/train/train_data.h"
#include "tests/catch.h"
#include "tests/support/gradient_estimates.h"
#include "tests/support/replay.h"
#include "tests/support/taggings.h"

using namespace scry;
using namespace scry::test;

namespace {

struct FiniteHmm : Model {
  Parameter transition, emission;  // logits; the last row of `transition` is the start's
  explicit FiniteHmm(const Task& task)
      : Model(task, symbol_state("tag", task.y.size() + 1)),
        transition(param("transition", {task.y.size() + 1, task.y.size()}, Init::normal(1))),
        emission(param("emission", {task.y.size(), task.x.size()}, Init::normal(1))) {}
  State start(const Encoding&) const override { return {task().y.size()}; }
  Step step(const State& s, const Input& x, const Sym& y) const override {
    return {.score = log_softmax(transition)[s.sym("tag")][y] + log_softmax(emission)[y][x],
            .state = {y}};
  }
};

/// The same distribution, but its state is a row of numbers: nothing can be merged.
struct VectorHmm : Model {
  Parameter transition, emission;
  explicit VectorHmm(const Task& task)
      : Model(task, state("row", task.y.size())),
        transition(param("transition", {task.y.size() + 1, task.y.size()}, Init::normal(1))),
        emission(param("emission", {task.y.size(), task.x.size()}, Init::normal(1))) {}
  State start(const Encoding&) const override { return {log_softmax(transition)[task().y.size()]}; }
  Step step(const State& s, const Input& x, const Sym& y) const override {
    return {.score = s["row"][y] + log_softmax(emission)[y][x],
            .state = {log_softmax(transition)[y]}};
  }
};

/// Not normalized, with an end.
struct EndingCrf : Model {
  Parameter weights, emission;
  explicit EndingCrf(const Task& task)
      : Model(task, symbol_state("tag", task.y.size() + 1)),
        weights(param("weights", {task.y.size() + 1, task.y.size()}, Init::normal(1))),
        emission(param("emission", {task.x.size(), task.y.size()}, Init::normal(1))) {}
  State start(const Encoding&) const override { return {task().y.size()}; }
  Step step(const State& s, const Input& x, const Sym& y) const override {
    return {.score = weights[s.sym("tag")][y] + emission[x][y], .state = {y}};
  }
};

const Task kTask{Alphabet::numbered(4), Alphabet::numbered(3)};
const Task kEnding{Alphabet::of("a b").with_eos(), Alphabet::of("A B").with_eos()};

/// Leaves each tag open with this probability, or leaves two of them.
void hide(Example& example, const Task& task, double probability, Random& random) {
  TagSets allowed(static_cast<int>(example.x.size()), task.y.size());
  bool any = false;
  for (size_t t = 0; t < example.y.size(); ++t) {
    const int step = static_cast<int>(t) + 1, tag = example.y[t];
    if (random.uniform() >= probability) {
      allowed.allow_only(step, {tag});
    } else {
      any = true;
      if (random.uniform() < 0.2) allowed.allow_only(step, {tag, (tag + 1) % 2});
    }
  }
  if (!any) return;
  example.y.clear();
  example.allowed = allowed;
}

bool agrees(const Example& example, const std::vector<int>& y) {
  if (!example.y.empty()) return y == example.y;
  for (size_t t = 0; t < y.size(); ++t) {
    if (!example.allowed.allows(static_cast<int>(t) + 1, y[t])) return false;
  }
  return true;
}

enum class Normalized : uint8_t { kYes, kNo };

/// -Σ log Σ_{y ∈ O} exp G_T, or with log Z where the model is not normalized; every tagging by
/// Replay.
double enumerate_loss(const Program& program, Parameters& parameters,
                      std::span<const Example> examples, Normalized normalized,
                      Gradients* gradients) {
  double loss = 0;
  Replay replay(program, parameters);
  for (const Example& example : examples) {
    std::vector<std::vector<int>> all =
        all_taggings(program.task, static_cast<int>(example.x.size()));
    for (const double sign : {-1.0, 1.0}) {
      if (sign > 0 && normalized == Normalized::kYes) continue;
      std::vector<double> scores;
      std::vector<std::vector<int>> ys;
      for (const std::vector<int>& y : all) {
        if (sign > 0 || agrees(example, y)) {
          ys.push_back(y);
          scores.push_back(replay.run(example.x, y).log_score);
        }
      }
      const double log_sum = log_sum_exp(scores);
      loss += sign * log_sum;
      for (size_t i = 0; gradients != nullptr && i < ys.size(); ++i) {
        replay.run(example.x, ys[i]);
        replay.add_gradient(*gradients, sign * std::exp(scores[i] - log_sum));
      }
    }
  }
  if (gradients != nullptr) gradients->finish(program, parameters);
  return loss;
}

std::vector<Example> some_examples(const Task& task) {
  std::vector<Example> examples;
  Random random(5, 1);
  for (const int length : {6, 5, 4, 3, 1}) {
    Example& example = examples.emplace_back();
    example.x = random_input(task, length, 7 + static_cast<uint64_t>(length));
    example.y = random_symbols(task.y, length, 11);
    if (length != 4) hide(example, task, 0.7, random);
  }
  examples[3].y.clear();  // nothing is known
  examples[3].allowed = {};
  return examples;
}

struct Computed {
  Vector gradient;
  double loss;
  int64_t num_estimated;
};
Computed compute(const Program& program, const Parameters& parameters,
                 std::span<const Example> examples, const Objective& objective, uint64_t seed = 1) {
  const TrainData data = check_examples(program, examples, TagUse::kNeeded, ExampleSet::kTraining);
  const auto worker = objective.make_worker(program, parameters);
  Gradients gradients(program);
  Tally tally, measured;
  worker->measure(data.examples, seed, measured);
  worker->add_gradient(data.examples, seed, 1, gradients, tally);
  gradients.finish(program, parameters);
  CHECK(tally[Tally::kLoss] == Approx(measured[Tally::kLoss]).epsilon(1e-12));
  return {flatten(program, gradients, ParamGroup::kModel), tally[Tally::kLoss],
          tally.count(Tally::kEstimated)};
}

struct Case {
  Bundle bundle;
  Normalized normalized;
};
std::vector<Case> cases() {
  return {{{std::make_shared<FiniteHmm>(kTask), nullptr}, Normalized::kYes},
          {{std::make_shared<EndingCrf>(kEnding), nullptr}, Normalized::kNo}};
}

}  // namespace

TEST_CASE("the enumerated gradients of what is known are finite differences of its likelihood") {
  for (const Case& each : cases()) {
    const Program program = compile(each.bundle, {.precision = Precision::kDouble});
    Parameters parameters = Parameters::fresh(program, 3);
    const std::vector<Example> examples = some_examples(program.task);
    Gradients enumerated(program);
    enumerate_loss(program, parameters, examples, each.normalized, &enumerated);
    for (const Block& block : program.params) {
      for (int64_t i = 0; i < block.shape.size(); i += 3) {
        const int64_t k = block.offset + i;
        const auto value = [&](double by) {
          Parameters moved = parameters;
          moved.values.add(k, by);
          moved.prepare(program);
          return enumerate_loss(program, moved, examples, each.normalized, nullptr);
        };
        const double slope =
            (8 * (value(1e-3) - value(-1e-3)) - (value(2e-3) - value(-2e-3))) / 12e-3;
        CHECK(std::abs(enumerated.values.get(k) - slope) < 1e-8);
      }
    }
  }
}

TEST_CASE("exact gradients of what is known are those of enumeration, with and without log Z") {
  for (const Differentiator differentiator : differentiators()) {
    for (const Case& each : cases()) {
      const Program program =
          compile(each.bundle, {.precision = Precision::kDouble, .differentiator = differentiator});
      Parameters parameters = Parameters::fresh(program, 3);
      const std::vector<Example> examples = some_examples(program.task);
      Gradients enumerated(program);
      const double loss =
          enumerate_loss(program, parameters, examples, each.normalized, &enumerated);
      const Vector expected = flatten(program, enumerated, ParamGroup::kModel);
      const Computed exact =
          compute(program, parameters, examples,
                  each.normalized == Normalized::kYes ? *make_joint_likelihood({.is_exact = true})
                                                      : *make_exact_likelihood());
      CHECK(std::abs(exact.loss - loss) < 1e-10);
      CHECK(exact.num_estimated == 0);
      CHECK(norm(expected) > 0.1);
      REQUIRE(exact.gradient.size() == expected.size());
      for (size_t k = 0; k < expected.size(); ++k)
        CHECK(std::abs(exact.gradient[k] - expected[k]) < 1e-10);
    }
  }
}

TEST_CASE("discrete sets that hold all that may be are exact, and smaller ones are so on average") {
  const VectorHmm model(kTask);
  const Program program = compile(model, {.precision = Precision::kDouble});
  REQUIRE_FALSE(has_finite_states(program));
  Parameters parameters = Parameters::fresh(program, 3);
  const std::vector<Example> examples = some_examples(program.task);
  Gradients enumerated(program);
  const double loss = enumerate_loss(program, parameters, examples, Normalized::kYes, &enumerated);
  const Vector expected = flatten(program, enumerated, ParamGroup::kModel);
  const Computed all =
      compute(program, parameters, examples, *make_joint_likelihood({.particles = 1000}));
  CHECK(std::abs(all.loss - loss) < 1e-10);
  CHECK(all.num_estimated == 4);
  CHECK(squared_distance(all.gradient, expected) < 1e-20);

  const auto objective = make_joint_likelihood({.particles = 24});
  Moments losses;
  const Unbiasedness bias = measure_bias(expected, 300, [&](int n) {
    const Computed some =
        compute(program, parameters, examples, *objective, static_cast<uint64_t>(n) + 1);
    losses.add(some.loss);
    return some.gradient;
  });
  CHECK(bias.variance > 1e-10);  // they are no enumerations
  CHECK(bias.worst_element < 4);
  CHECK(bias.worst_direction < 4);
  CHECK(losses.mean > loss - 4 * losses.standard_error());  // too high, if anything
}

TEST_CASE("taggings that are completed by draws have the gradient of what is known on average") {
  const VectorHmm model(kTask);
  const Program program = compile(model, {.precision = Precision::kDouble});
  Parameters parameters = Parameters::fresh(program, 3);
  const std::vector<Example> examples = some_examples(program.task);
  Gradients enumerated(program);
  const double loss = enumerate_loss(program, parameters, examples, Normalized::kYes, &enumerated);
  const auto objective = make_imputed(make_joint_likelihood(), 1000);
  Moments losses;
  const Unbiasedness bias =
      measure_bias(flatten(program, enumerated, ParamGroup::kModel), 1000, [&](int n) {
        const Computed drawn =
            compute(program, parameters, examples, *objective, static_cast<uint64_t>(n) + 1);
        losses.add(drawn.loss);
        return drawn.gradient;
      });
  CHECK(bias.variance > 0.01);
  CHECK(bias.worst_element < 4);
  CHECK(bias.worst_direction < 4);
  CHECK(losses.mean > loss + 4 * losses.standard_error());
}

namespace {

/// The HMM as probabilities.
struct PlainHmm {
  Eigen::MatrixXd transition, emission;

  static PlainHmm of(const Program& program, const Parameters& parameters) {
    const auto rows = [&](const std::string& name) {
      for (const Block& block : program.params) {
        if (!block.name.ends_with(name)) continue;
        const int height = block.shape[0], width = block.shape[1];
        Eigen::MatrixXd m(height, width);
        for (int i = 0; i < height; ++i) {
          for (int j = 0; j < width; ++j)
            m(i, j) = std::exp(parameters.values.get(block.offset + i * width + j));
          m.row(i) /= m.row(i).sum();
        }
        return m;
      }
      throw Error("no parameter " + name);
    };
    return {rows("transition"), rows("emission")};
  }

  /// α_t and what is known of the tag, by step; scaled to log p(x, O).
  double log_likelihood(const Example& example, PlainHmm* counts = nullptr) const {
    const auto T = static_cast<int>(example.x.size());
    const auto Y = static_cast<int>(emission.rows());
    Eigen::MatrixXd fits(T, Y), alpha(T, Y), beta = Eigen::MatrixXd::Ones(T, Y);
    for (int t = 0; t < T; ++t) {
      for (int y = 0; y < Y; ++y) {
        const auto at = static_cast<size_t>(t);
        const bool may_be =
            example.y.empty() ? example.allowed.allows(t + 1, y) : example.y[at] == y;
        fits(t, y) = may_be ? emission(y, example.x[at]) : 0;
      }
    }
    const Eigen::MatrixXd inner = transition.topRows(Y);
    alpha.row(0) = transition.row(Y).cwiseProduct(fits.row(0));
    for (int t = 1; t < T; ++t) alpha.row(t) = (alpha.row(t - 1) * inner).cwiseProduct(fits.row(t));
    for (int t = T - 2; t >= 0; --t)
      beta.row(t) = (inner * beta.row(t + 1).cwiseProduct(fits.row(t + 1)).transpose()).transpose();
    const double total = alpha.row(T - 1).sum();
    for (int t = 0; counts != nullptr && t < T; ++t) {
      counts->emission.col(example.x[static_cast<size_t>(t)]) +=
          alpha.row(t).cwiseProduct(beta.row(t)).transpose() / total;
      const Eigen::RowVectorXd ahead = fits.row(t).cwiseProduct(beta.row(t));
      if (t == 0) {
        counts->transition.row(Y) += transition.row(Y).cwiseProduct(ahead) / total;
      } else {
        counts->transition.topRows(Y) +=
            inner.cwiseProduct(alpha.row(t - 1).transpose() * ahead) / total;
      }
    }
    return std::log(total);
  }
  double log_likelihood(std::span<const Example> examples) const {
    double total = 0;
    for (const Example& example : examples) total += log_likelihood(example);
    return total;
  }

  /// Baum & Welch's step.
  PlainHmm improved(std::span<const Example> examples) const {
    PlainHmm counts{Eigen::MatrixXd::Zero(transition.rows(), transition.cols()),
                    Eigen::MatrixXd::Zero(emission.rows(), emission.cols())};
    for (const Example& example : examples) log_likelihood(example, &counts);
    for (Eigen::MatrixXd* m : {&counts.transition, &counts.emission}) {
      for (Eigen::Index i = 0; i < m->rows(); ++i) m->row(i) /= m->row(i).sum();
    }
    return counts;
  }

  Example draw(int length, Random& random) const {
    const auto choose = [&](const Eigen::RowVectorXd& p) {
      double left = random.uniform();
      int i = 0;
      while (i + 1 < p.size() && (left -= p(i)) > 0) ++i;
      return i;
    };
    Example example;
    auto row = static_cast<int>(emission.rows());
    for (int t = 0; t < length; ++t) {
      row = choose(transition.row(row));
      example.y.push_back(row);
      example.x.push_back(choose(emission.row(row)));
    }
    return example;
  }
};

PlainHmm true_hmm() {
  PlainHmm hmm{Eigen::MatrixXd(4, 3), Eigen::MatrixXd(3, 4)};
  hmm.transition << .1, .8, .1, .1, .1, .8, .7, .2, .1, .5, .3, .2;
  hmm.emission << .7, .1, .1, .1, .1, .6, .2, .1, .1, .1, .2, .6;
  return hmm;
}

std::vector<Example> draw_examples(int count, uint32_t stream, double hidden) {
  Random random(23, stream);
  std::vector<Example> examples;
  for (int i = 0; i < count; ++i) {
    examples.push_back(true_hmm().draw(2 + i % 5, random));
    if (random.uniform() >= 0.1) hide(examples.back(), kTask, hidden, random);
  }
  return examples;
}

TrainOptions whole_batches(size_t count, int epochs) {
  TrainOptions options;
  options.batch = static_cast<int>(count);
  options.epochs = epochs;
  options.adam.rate = 0.1;
  options.adam.l2 = 0;
  options.schedule = RateSchedule::kCosine;
  options.threads = 2;
  return options;
}

double nats_per_sequence(const Program& program, const Parameters& parameters,
                         std::span<const Example> examples) {
  return PlainHmm::of(program, parameters).log_likelihood(examples) /
         static_cast<double>(examples.size());
}

}  // namespace

TEST_CASE("the test's own likelihood of an HMM is the enumerated one, and its EM climbs") {
  const FiniteHmm model(kTask);
  const Program program = compile(model, {.precision = Precision::kDouble});
  Parameters parameters = Parameters::fresh(program, 3);
  PlainHmm hmm = PlainHmm::of(program, parameters);
  const std::vector<Example> examples = some_examples(kTask);
  CHECK(hmm.log_likelihood(examples) ==
        Approx(-enumerate_loss(program, parameters, examples, Normalized::kYes, nullptr))
            .epsilon(1e-12));
  for (int i = 0; i < 20; ++i) {
    const PlainHmm next = hmm.improved(examples);
    CHECK(next.log_likelihood(examples) > hmm.log_likelihood(examples) - 1e-12);
    hmm = next;
  }
}

TEST_CASE("fits by what is known end where exact EM does: exactly, or within their error") {
  const FiniteHmm finite(kTask);
  const VectorHmm vector(kTask);
  const std::vector<Example> examples = draw_examples(80, 1, 0.6);
  for (const Model* model : std::initializer_list<const Model*>{&finite, &vector}) {
    const Program program = compile(*model, {.precision = Precision::kDouble});
    const Parameters start = Parameters::fresh(program, 1);
    PlainHmm em = PlainHmm::of(program, start);
    for (int i = 0; i < 1500; ++i) em = em.improved(examples);
    const double best = em.log_likelihood(examples) / 80;
    TrainOptions options = whole_batches(examples.size(), 2000);
    options.particles = 4;
    std::string notes;
    TrainHooks hooks;
    hooks.note = [&](const std::string& text) { notes += text + "\n"; };
    const TrainResult result = fit(program, start, examples, {}, options, hooks);
    const double found = nats_per_sequence(program, result.parameters, examples);
    const bool is_exact = has_finite_states(program);
    INFO("EM " << best << ", fit " << found << "; " << notes);
    CHECK(notes.find(is_exact ? "exact sums" : "estimated by discrete sets of 4") !=
          std::string::npos);
    CHECK(nats_per_sequence(program, start, examples) < best - 1);
    // What EM makes 0, a softmax comes near to.
    CHECK(std::abs(found - best) < (is_exact ? 2e-4 : 5e-3));
    const PlainHmm fitted = PlainHmm::of(program, result.parameters);
    CHECK((fitted.transition - em.transition).cwiseAbs().maxCoeff() < (is_exact ? 0.01 : 0.1));
    CHECK((fitted.emission - em.emission).cwiseAbs().maxCoeff() < (is_exact ? 0.01 : 0.1));
  }
}

TEST_CASE("with most tags hidden, partly tagged lines beat the complete ones alone") {
  const FiniteHmm finite(kTask);
  const VectorHmm vector(kTask);
  for (const Model* model : std::initializer_list<const Model*>{&finite, &vector}) {
    const Program program = compile(*model, {.precision = Precision::kDouble});
    for (const uint32_t seed : {1, 2, 3}) {
      const std::vector<Example> examples = draw_examples(200, 10 + seed, 0.95),
                                 held_out = draw_examples(200, 20 + seed, 0);
      std::vector<Example> complete;
      double num_known = 0, num_tags = 0;
      for (const Example& example : examples) {
        num_tags += static_cast<double>(example.x.size());
        if (!example.y.empty()) complete.push_back(example);
        for (int step = 1; step <= example.allowed.length(); ++step) {
          int count = 0;
          for (int tag = 0; tag < 3; ++tag) count += example.allowed.allows(step, tag) ? 1 : 0;
          num_known += count == 1 ? 1 : 0;
        }
        num_known += static_cast<double>(example.y.size());
      }
      CHECK(num_known / num_tags < 0.2);
      const Parameters start = Parameters::fresh(program, seed);
      const double with_partial = nats_per_sequence(
          program,
          fit(program, start, examples, {}, whole_batches(examples.size(), 150)).parameters,
          held_out);
      const double with_complete = nats_per_sequence(
          program,
          fit(program, start, complete, {}, whole_batches(complete.size(), 150)).parameters,
          held_out);
      INFO(with_partial << " against " << with_complete << " nats; " << num_known / num_tags
                        << " of the tags known");
      CHECK(with_partial > with_complete + 0.05);
    }
  }
}
