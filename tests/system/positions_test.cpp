// Positions, lengths and neighbours: what models see of where they are in x.
#include <scry.h>

#include <cmath>

#include "runtime/train/check.h"
#include "tests/catch.h"
#include "tests/support/neighbour_models.h"
#include "tests/support/replay.h"
#include "tests/support/run_kernel.h"
#include "tests/support/taggings.h"

using namespace scry;
using namespace scry::test;

namespace {

using Score = double (*)(const Program&, const Parameters&, std::span<const int>,
                         std::span<const int>);

Program compiled(const Model& model, const Proposal* proposal = nullptr,
                 Differentiator differentiator = Differentiator::kAdjoint,
                 Precision precision = Precision::kDouble) {
  return compile(model, proposal,
                 {.precision = precision, .differentiator = differentiator, .use_cache = false});
}

void check_scores(const Program& program, Score score) {
  Parameters parameters = Parameters::fresh(program, 4);
  Replay replay(program, parameters);
  for (int length = 1; length <= 9; ++length) {
    const std::vector<int> x = random_input(program.task, length, 2),
                           y = random_tagging(program.task, length, 2);
    INFO("T = " << length);
    CHECK(replay.run(x, y).log_score == Approx(score(program, parameters, x, y)).margin(1e-10));
  }
}

/// log Z of sequences of different lengths that stand in one batch, by enumeration.
void check_batch(const Program& program, Score score) {
  const Parameters parameters = Parameters::fresh(program, 4);
  std::vector<std::vector<int>> xs;
  for (const int length : {2, 6, 1, 5, 3}) xs.push_back(random_input(program.task, length, 3));
  std::vector<SampleInput> inputs;
  for (const std::vector<int>& x : xs) inputs.emplace_back(x);
  const std::vector<Outcome> outcomes =
      sample(program, parameters, inputs, {.method = Method::kEnumerate, .batch = 5});
  for (size_t i = 0; i < xs.size(); ++i) {
    double z = 0;
    for (const std::vector<int>& y :
         all_taggings(program.num_tags(), static_cast<int>(xs[i].size()))) {
      z += std::exp(score(program, parameters, xs[i], y));
    }
    INFO("T = " << xs[i].size());
    CHECK(outcomes[i].value().log_z == Approx(std::log(z)).margin(1e-9));
  }
}

void check_gradients_of(const Program& program) {
  for (int length = 1; length <= 5; ++length) {
    for (const GradientCheckRow& row : check_gradients(program, length, 1)) {
      INFO(row.differentiator << ", T = " << length << ", " << row.quantity << ", "
                              << row.worst_parameter << ": " << row.worst_error);
      CHECK(row.ok);
    }
  }
}

}  // namespace

TEST_CASE("the position is t - 1, the length T, and the ends are where they are") {
  struct Placed : Model {
    Placed() : Model(small_task(), state("h", 1)) {}
    Step step(const State& s, const Input& x, const Sym& y) const override {
      const Sym ends = x.is_first() * 10 + x.is_last() + y * 0;
      return {.score = to_real(x.position()) * 1000 + to_real(x.length() * 100 + ends),
              .state = {s["h"]}};
    }
  };
  const Program program = compiled(Placed());
  Parameters parameters = Parameters::fresh(program, 1);
  Replay replay(program, parameters);
  for (int length = 1; length <= 7; ++length) {
    const std::vector<int> x(static_cast<size_t>(length), 0);
    double expected = 0;
    for (int t = 0; t < length; ++t) {
      expected += t * 1000 + length * 100 + (t == 0 ? 10 : 0) + (t == length - 1 ? 1 : 0);
    }
    CHECK(replay.run(x, x).log_score == expected);
  }
}

TEST_CASE("a model that looks at its neighbours scores as plain C++ does, zeros beyond the ends") {
  const Neighbours model;
  const NeighbourLookahead lookahead;
  const Program program = compiled(model, &lookahead);
  check_scores(program, Neighbours::score);
  check_batch(program, Neighbours::score);
  check_gradients_of(program);
}

TEST_CASE("an index beyond the ends means the first or the last position, whatever made it") {
  const Wild model;
  const Program program = compiled(model);
  check_scores(program, Wild::score);
  check_batch(program, Wild::score);
  check_gradients_of(program);
}

TEST_CASE("Enzyme agrees about neighbours and indices beyond the ends", "[enzyme]") {
  if (skip_without_enzyme()) return;
  const Neighbours neighbours;
  const NeighbourLookahead lookahead;
  check_gradients_of(compiled(neighbours, &lookahead, Differentiator::kEnzyme));
  check_gradients_of(compiled(Wild(), nullptr, Differentiator::kEnzyme));
}

TEST_CASE("a sequence longer than positions can count is refused, and says so") {
  const Program program = compiled(Wild());
  Parameters parameters = Parameters::fresh(program, 1);
  const std::vector<int> x(static_cast<size_t>(kMaxLength) + 1, 0);
  const std::string message = "16777217 symbols, but a sequence has at most 16777216";
  const std::vector<SampleInput> inputs{x};
  const std::vector<Outcome> outcomes =
      sample(program, parameters, inputs, {.method = Method::kFilter});
  REQUIRE(outcomes[0].error.has_value());
  CHECK_THAT(outcomes[0].error->what(), Catch::Contains(message));
  CHECK_THROWS_WITH(TaggingScorer(program, parameters).score(x, x), message);
  const std::vector<Example> examples{{.x = x, .y = x, .symbols = {}, .tags = {}}};
  CHECK_THROWS_WITH(fit(program, parameters, examples, {}), Catch::Contains(message));
}

TEST_CASE("a tag that is the next symbol is learned from the next symbol") {
  struct Copier : Model {
    Embedding symbol;
    Linear next;
    Copier()
        : Model(small_task(3, 4), state("h", 1)),
          symbol(*this, "symbol", 3, kWidth),
          next(*this, "next", kWidth, 4) {}
    Encoding encode(const Sym& x) const override { return {{"e", symbol[x]}}; }
    Step step(const State& s, const Input& x, const Sym& y) const override {
      return {.score = log_softmax(next(x.at("e", +1)))[y], .state = {s["h"]}};
    }
  };
  const Program program = compiled(Copier(), nullptr, Differentiator::kAdjoint, Precision::kFloat);
  std::vector<Example> examples;
  for (int i = 0; i < 64; ++i) {
    Example example;
    example.x = random_symbols(3, 1 + i % 7, static_cast<uint64_t>(i));
    for (size_t t = 1; t < example.x.size(); ++t) example.y.push_back(example.x[t]);
    example.y.push_back(3);  // the end
    examples.push_back(example);
  }
  const TrainResult result =
      fit(program, Parameters::fresh(program, 1), examples, examples,
          {.likelihood = Likelihood::kJoint, .epochs = 40, .adam = {.rate = 0.05}, .threads = 1});
  // The tags are a function of x, so that the perplexity per symbol tends to 1.
  CHECK(result.history.back().perplexity < 1.05);
}
