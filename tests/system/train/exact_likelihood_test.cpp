// Exact conditional likelihood over finite states, against enumeration and against an optimizer of
// the test's own.
#include "runtime/train/exact_likelihood.h"

#include <scry.h>

#include <Eigen/Dense>
#include <cmath>
#include <deque>

#include "runtime/smc/end_of_sequence.h"
#include "runtime/train/train.h"
#include "tests/catch.h"
#include "tests/support/gradient_estimates.h"
#include "tests/support/replay.h"
#include "tests/support/taggings.h"

using namespace scry;
using namespace scry::test;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Emissions from a bidirectional encoder, and a table of transitions.
struct EncoderCrf : Model {
  Embedding symbol;
  BiGru encoder;
  Linear out;
  Parameter transition;
  explicit EncoderCrf(const Task& task)
      : Model(task, symbol_state("tag", task.y.size() + 1)),
        symbol(*this, "symbol", task.x.size(), 3),
        encoder(*this, "encoder", 3, 3),
        out(*this, "out", 6, task.y.size()),
        transition(param("transition", {task.y.size() + 1, task.y.size()}, Init::normal(1))) {}
  Encoding encode(const Sym& x) const override { return {{"e", out(encoder(symbol[x]))}}; }
  State start(const Encoding&) const override { return {task().y.size()}; }
  Step step(const State& s, const Input& x, const Sym& y) const override {
    return {.score = transition[s.sym("tag")][y] + x.at("e")[y], .state = {y}};
  }
};

/// The last two tags and how often tag 0 was used, up to 3; a network of them scores. Tag 0 may not
/// be used a fourth time, and no tag three times in a row.
struct CountingCrf : Model {
  Embedding before, tag, count;
  Linear hidden, out;
  explicit CountingCrf(const Task& task)
      : Model(task, symbol_state("before", task.y.size() + 1)
                        .and_symbol("tag", task.y.size() + 1)
                        .and_symbol("count", 4)),
        before(*this, "before", task.y.size() + 1, 3),
        tag(*this, "tag", task.y.size() + 1, 3),
        count(*this, "count", 4, 2),
        hidden(*this, "hidden", 8, 5),
        out(*this, "out", 5, task.x.size() * task.y.size()) {}
  State start(const Encoding&) const override { return {task().y.size(), task().y.size(), 0}; }
  Step step(const State& s, const Input& x, const Sym& y) const override {
    const Sym b = s.sym("before"), t = s.sym("tag"), n = s.sym("count");
    const Expr h = tanh(hidden(concat({before[b], tag[t], count[n]})));
    const Expr score = out(h)[x * task().y.size() + y];
    const auto forbidden = (b == y && t == y) || (y == 0 && n == 3);
    return {.score = select(forbidden, -kInfinity, score),
            .state = {t, y, select(y == 0, (n + 1) % 4, n)}};
  }
};

/// With an end: of which the bigram's weights know.
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

Task plain_task() { return {Alphabet::numbered(4), Alphabet::numbered(3)}; }
Task ending_task() { return {Alphabet::of("a b").with_eos(), Alphabet::of("A B").with_eos()}; }

std::vector<Bundle> models() {
  return {{std::make_shared<EncoderCrf>(plain_task()), nullptr},
          {std::make_shared<CountingCrf>(plain_task()), nullptr},
          {std::make_shared<EndingCrf>(ending_task()), nullptr}};
}

/// -Σ log p(y | x) and its gradient, every tagging by Replay.
double enumerate_loss(const Program& program, Parameters& parameters,
                      std::span<const Example> examples, Gradients* gradients) {
  double loss = 0;
  Replay replay(program, parameters);
  for (const Example& example : examples) {
    const std::vector<std::vector<int>> ys =
        all_taggings(program.task, static_cast<int>(example.x.size()));
    std::vector<double> scores;
    for (const std::vector<int>& y : ys) scores.push_back(replay.run(example.x, y).log_score);
    const double log_z = log_sum_exp(scores);
    for (size_t i = 0; gradients != nullptr && i < ys.size(); ++i) {
      if (scores[i] == -INFINITY) continue;
      replay.run(example.x, ys[i]);
      replay.add_gradient(*gradients, std::exp(scores[i] - log_z));
    }
    loss += log_z - replay.run(example.x, example.y).log_score;
    if (gradients != nullptr) replay.add_gradient(*gradients, -1);
  }
  if (gradients != nullptr) gradients->finish(program, parameters);
  return loss;
}

std::vector<Example> some_examples(const Task& task, std::initializer_list<int> lengths) {
  std::vector<Example> examples;
  for (const int length : lengths) {
    Example& example = examples.emplace_back();
    example.x = random_input(task, length, 7 + static_cast<uint64_t>(length));
    example.y = random_symbols(task.y, length, 11);
    for (size_t t = 2; t < example.y.size(); ++t) {  // no tag three times in a row
      if (example.y[t] == example.y[t - 1] && example.y[t] == example.y[t - 2])
        example.y[t] = 1 - std::min(1, example.y[t]);
    }
  }
  return examples;
}

struct Ended {
  std::vector<std::vector<int>> symbols;
  std::vector<TrainExample> examples;
  Ended(const Task& task, std::span<const Example> given) {
    symbols.reserve(2 * given.size());
    for (const Example& example : given) {
      const std::vector<int>& x = symbols.emplace_back(with_end(example.x, task.x));
      const std::vector<int>& y = symbols.emplace_back(with_end(example.y, task.y));
      examples.push_back({x, y, static_cast<int64_t>(examples.size())});
    }
  }
};

struct Computed {
  Vector gradient;
  double loss;
};
Computed compute(const Program& program, const Parameters& parameters,
                 std::span<const Example> examples) {
  const Ended ended(program.task, examples);
  const auto worker = make_exact_likelihood()->make_worker(program, parameters);
  Gradients gradients(program);
  Tally tally, measured;
  worker->measure(ended.examples, 1, measured);
  worker->add_gradient(ended.examples, 1, 1, gradients, tally);
  gradients.finish(program, parameters);
  CHECK(tally[Tally::kLoss] == measured[Tally::kLoss]);
  return {flatten(program, gradients, ParamGroup::kModel), tally[Tally::kLoss]};
}

}  // namespace

TEST_CASE("exact gradients of log p(y | x) are those of enumeration, whatever the states") {
  for (const Differentiator differentiator : differentiators()) {
    for (const Bundle& bundle : models()) {
      const Program program =
          compile(bundle, {.precision = Precision::kDouble, .differentiator = differentiator});
      Parameters parameters = Parameters::fresh(program, 3);
      const std::vector<Example> examples = some_examples(program.task, {6, 5, 3, 1});
      Gradients enumerated(program);
      const double loss = enumerate_loss(program, parameters, examples, &enumerated);
      const Vector expected = flatten(program, enumerated, ParamGroup::kModel);
      const Computed exact = compute(program, parameters, examples);
      INFO(program.params.front().name << " by " << program.differentiator);
      CHECK(std::abs(exact.loss - loss) < 1e-10);
      CHECK(norm(expected) > 0.1);
      REQUIRE(exact.gradient.size() == expected.size());
      for (size_t k = 0; k < expected.size(); ++k)
        CHECK(std::abs(exact.gradient[k] - expected[k]) < 1e-10);
    }
  }
}

TEST_CASE("the enumerated gradients are finite differences of the enumerated likelihood") {
  for (const Bundle& bundle : models()) {
    const Program program = compile(bundle, {.precision = Precision::kDouble});
    Parameters parameters = Parameters::fresh(program, 3);
    const std::vector<Example> examples = some_examples(program.task, {3, 2});
    Gradients enumerated(program);
    enumerate_loss(program, parameters, examples, &enumerated);
    for (const Block& block : program.params) {
      for (int64_t i = 0; i < block.shape.size(); i += 1 + block.shape.size() / 4) {
        const int64_t k = block.offset + i;
        const auto value = [&](double by) {
          Parameters moved = parameters;
          moved.values.add(k, by);
          moved.prepare(program);
          return enumerate_loss(program, moved, examples, nullptr);
        };
        const double slope =
            (8 * (value(1e-4) - value(-1e-4)) - (value(2e-4) - value(-2e-4))) / 12e-4;
        INFO(block.name << "[" << i << "]");
        CHECK(std::abs(enumerated.values.get(k) - slope) < 1e-8);
      }
    }
  }
}

TEST_CASE("exact gradients in float are those in double up to its rounding") {
  for (const Bundle& bundle : models()) {
    const Program in_double = compile(bundle, {.precision = Precision::kDouble}),
                  in_float = compile(bundle, {.precision = Precision::kFloat});
    const Parameters fine = Parameters::fresh(in_double, 3),
                     coarse = Parameters::fresh(in_float, 3);
    const std::vector<Example> examples = some_examples(in_double.task, {6, 5, 3, 1});
    const Computed expected = compute(in_double, fine, examples),
                   found = compute(in_float, coarse, examples);
    CHECK(found.loss == Approx(expected.loss).epsilon(1e-5));
    CHECK(squared_distance(found.gradient, expected.gradient) <
          1e-9 * squared_distance(expected.gradient, Vector(expected.gradient.size(), 0.0)));
  }
}

TEST_CASE("a given tagging that the model forbids is named, with its step") {
  const Program program = compile(models()[1], {.precision = Precision::kDouble});
  const Parameters parameters = Parameters::fresh(program, 3);
  Example example;
  example.x = {0, 1, 2, 3};
  example.y = {2, 1, 1, 1};
  CHECK_THROWS_WITH(compute(program, parameters, std::vector{example}),
                    "example 1: step 4: the model gives tag '1' probability 0");
}

namespace {

/// A CRF in plain arithmetic: θ = (transitions [|Y| + 1, |Y|], emissions [|X|, |Y|]), its mean
/// -log p(y | x) and gradient by forward and backward sums, all in logarithms.
struct PlainCrf {
  int num_symbols, num_tags;
  std::vector<Example> examples;

  Eigen::Index size() const { return (num_tags + 1 + num_symbols) * num_tags; }
  double operator()(const Eigen::VectorXd& theta, Eigen::VectorXd& gradient) const {
    const int Y = num_tags;
    const auto trans = [&](int a, int b) { return a * Y + b; };
    const auto emit = [&](int x, int b) { return (Y + 1 + x) * Y + b; };
    const auto lse = [](const Eigen::VectorXd& v) {
      const double top = v.maxCoeff();
      return top + std::log((v.array() - top).exp().sum());
    };
    gradient.setZero(size());
    double loss = 0;
    for (const Example& example : examples) {
      const auto T = static_cast<int>(example.x.size());
      std::vector<Eigen::VectorXd> alpha(at(T), Eigen::VectorXd(Y)), beta = alpha;
      for (int t = 0; t < T; ++t) {
        for (int b = 0; b < Y; ++b) {
          Eigen::VectorXd from(t == 0 ? 1 : Y);
          if (t == 0) from[0] = theta[trans(Y, b)];
          for (int a = 0; t > 0 && a < Y; ++a) from[a] = alpha[at(t - 1)][a] + theta[trans(a, b)];
          alpha[at(t)][b] = lse(from) + theta[emit(example.x[at(t)], b)];
        }
      }
      beta[at(T - 1)].setZero();
      for (int t = T - 2; t >= 0; --t) {
        for (int a = 0; a < Y; ++a) {
          Eigen::VectorXd to(Y);
          for (int b = 0; b < Y; ++b)
            to[b] = theta[trans(a, b)] + theta[emit(example.x[at(t + 1)], b)] + beta[at(t + 1)][b];
          beta[at(t)][a] = lse(to);
        }
      }
      const double log_z = lse(alpha[at(T - 1)]);
      loss += log_z;
      for (int t = 0; t < T; ++t) {
        const int x = example.x[at(t)], y = example.y[at(t)];
        const int before = t == 0 ? Y : example.y[at(t - 1)];
        loss -= theta[trans(before, y)] + theta[emit(x, y)];
        gradient[trans(before, y)] -= 1;
        gradient[emit(x, y)] -= 1;
        for (int b = 0; b < Y; ++b) {
          const double p = std::exp(alpha[at(t)][b] + beta[at(t)][b] - log_z);
          gradient[emit(x, b)] += p;
          if (t == 0) gradient[trans(Y, b)] += p;
          for (int a = 0; t > 0 && a < Y; ++a) {
            gradient[trans(a, b)] += std::exp(alpha[at(t - 1)][a] + theta[trans(a, b)] +
                                              theta[emit(x, b)] + beta[at(t)][b] - log_z);
          }
        }
      }
    }
    gradient /= static_cast<double>(examples.size());
    return loss / static_cast<double>(examples.size());
  }

 private:
  static size_t at(int i) { return static_cast<size_t>(i); }
};

/// L-BFGS with a backtracking line search, until the gradient is as small as rounding allows.
double minimize(const PlainCrf& f) {
  Eigen::VectorXd theta = Eigen::VectorXd::Zero(f.size()), gradient, next_gradient;
  double value = f(theta, gradient);
  std::deque<std::pair<Eigen::VectorXd, Eigen::VectorXd>> pairs;  // steps, changes of gradient
  for (int i = 0; i < 2000 && gradient.norm() > 1e-9; ++i) {
    Eigen::VectorXd direction = -gradient;
    std::vector<double> alphas;
    for (auto it = pairs.rbegin(); it != pairs.rend(); ++it) {
      alphas.push_back(it->first.dot(direction) / it->first.dot(it->second));
      direction -= alphas.back() * it->second;
    }
    if (!pairs.empty())
      direction *= pairs.back().first.dot(pairs.back().second) / pairs.back().second.squaredNorm();
    for (auto& [s, y] : pairs) {
      direction += (alphas.back() - y.dot(direction) / s.dot(y)) * s;
      alphas.pop_back();
    }
    double step = 1, next = 0;
    for (; step > 1e-12; step /= 2) {
      next = f(theta + step * direction, next_gradient);
      if (next <= value + 1e-4 * step * gradient.dot(direction)) break;
    }
    if (step <= 1e-12) break;
    const Eigen::VectorXd s = step * direction, y = next_gradient - gradient;
    if (s.dot(y) > 1e-14) pairs.emplace_back(s, y);
    if (pairs.size() > 12) pairs.pop_front();
    theta += s;
    gradient = next_gradient;
    value = next;
  }
  return value;
}

/// Tags that mostly follow the symbol and the tag before, with so much noise that weights stay
/// finite.
PlainCrf noisy_chain() {
  PlainCrf crf{3, 3, {}};
  Random random(5, 1);
  const auto below = [&](int n) {
    return static_cast<int>(random.word() % static_cast<uint32_t>(n));
  };
  for (int i = 0; i < 48; ++i) {
    Example& example = crf.examples.emplace_back();
    const int length = 3 + below(6);
    for (int t = 0; t < length; ++t) {
      example.x.push_back(below(3));
      const int kind = below(4), before = t == 0 ? 0 : example.y.back();
      example.y.push_back(kind < 2 ? example.x.back() : kind == 2 ? (before + 1) % 3 : below(3));
    }
  }
  return crf;
}

struct TableCrf : Model {
  Parameter transition, emission;
  TableCrf()
      : Model({Alphabet::numbered(3), Alphabet::numbered(3)}, symbol_state("tag", 4)),
        transition(param("transition", {4, 3}, Init::normal(0.1))),
        emission(param("emission", {3, 3}, Init::normal(0.1))) {}
  State start(const Encoding&) const override { return {3}; }
  Step step(const State& s, const Input& x, const Sym& y) const override {
    return {.score = transition[s.sym("tag")][y] + emission[x][y], .state = {y}};
  }
};

}  // namespace

TEST_CASE("the oracle's CRF has the gradient of its own finite differences") {
  const PlainCrf crf = noisy_chain();
  Eigen::VectorXd theta(crf.size()), gradient, ignored;
  for (Eigen::Index k = 0; k < theta.size(); ++k) theta[k] = std::sin(static_cast<double>(k));
  crf(theta, gradient);
  for (Eigen::Index k = 0; k < theta.size(); ++k) {
    Eigen::VectorXd above = theta, below = theta;
    above[k] += 1e-5;
    below[k] -= 1e-5;
    CHECK(std::abs((crf(above, ignored) - crf(below, ignored)) / 2e-5 - gradient[k]) < 1e-8);
  }
}

TEST_CASE("fit brings a CRF to the exact optimum, by itself, on any number of threads") {
  const PlainCrf crf = noisy_chain();
  const double optimum = minimize(crf);
  const Program program = compile({std::make_shared<TableCrf>(), nullptr}, {});
  TrainOptions options;
  options.epochs = 400;
  options.batch = 48;
  options.adam.rate = 0.1;
  options.schedule = RateSchedule::kLinear;
  std::vector<TrainResult> results;
  std::string notes;
  for (const int threads : {1, 3}) {
    options.threads = threads;
    notes.clear();
    results.push_back(fit(program, Parameters::fresh(program, 1), crf.examples, crf.examples,
                          options, {.note = [&](const std::string& text) { notes += text; }}));
  }
  CHECK(notes.starts_with(
      "likelihood: conditional, with exact gradients over finite states, as the model is not "
      "locally normalized: the tags have mass"));
  const EpochReport& last = results.front().history.back();
  CHECK(last.likelihood == Likelihood::kExact);
  double symbols = 0;
  for (const Example& example : crf.examples) symbols += static_cast<double>(example.x.size());
  const double reached =
      std::log(last.perplexity) * symbols / static_cast<double>(crf.examples.size());
  INFO("reached " << reached << " nats a sequence, the optimum is " << optimum);
  CHECK(reached > optimum - 1e-5);
  CHECK(reached < optimum + 1e-4);
  for (int64_t k = 0; k < program.num_param_elements; ++k)
    CHECK(results[0].parameters.values.get(k) == results[1].parameters.values.get(k));
  for (const EpochReport& report : results.front().history) CHECK(report.perplexity >= 1);
}
