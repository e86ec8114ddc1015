// Seeds of every kind: what they begin is the gradient of what they say, and an exact lookahead is
// consistent in all that they are of.
#include "runtime/train/seeds.h"

#include <scry.h>

#include <cmath>
#include <functional>

#include "runtime/train/forest_gradient.h"
#include "tests/catch.h"
#include "tests/support/forward_algorithm.h"
#include "tests/support/lessons.h"
#include "tests/support/neighbour_models.h"
#include "tests/support/run_kernel.h"
#include "tests/support/small_models.h"
#include "tests/support/taggings.h"

using namespace scry;
using namespace scry::test;

namespace {

constexpr int kLengths[] = {6, 4, 4, 1};

/// Given taggings with the cells of all tags, of four inputs.
struct Followed {
  Followed(const Program& program, const Parameters& parameters)
      : program(program), batch(program), taggings(program, parameters, true) {
    for (const int length : kLengths) {
      xs.push_back(random_input(program.task, length, 5));
      ys.push_back(random_tagging(program.task, length, 5));
    }
    std::vector<std::span<const int>> inputs;
    std::vector<TrainExample> examples;
    for (size_t i = 0; i < xs.size(); ++i) {
      inputs.emplace_back(xs[i]);
      examples.push_back({xs[i], ys[i], static_cast<int64_t>(i)});
    }
    BatchEncoder(program, parameters).run(inputs, true, batch);
    taggings.follow(batch, examples);
    run = &taggings.score(batch);
  }
  /// log Σ_y exp(g + C_t) after a row that goes on; C_T = 0.
  double log_sum(int level, int64_t i) const {
    const Recording::Level& at = run->levels[static_cast<size_t>(level)];
    std::vector<double> logits;
    for (int tag = 0; tag < program.num_tags(); ++tag) {
      const int64_t cell = (at.first_cells + i) * program.num_tags() + tag;
      logits.push_back(run->scores.get(cell) + (i < at.num_ahead ? run->compats.get(cell) : 0));
    }
    return log_sum_exp(logits);
  }
  /// C_t of a row.
  double compat(int level, int64_t i) const {
    if (level == 0) return batch.root_compat(static_cast<int>(i));
    return run->forest.compat(run->forest.level_begin(level) + static_cast<RowId>(i));
  }

  const Program& program;
  std::vector<std::vector<int>> xs, ys;
  Batch batch;
  GivenTaggings taggings;
  const Recording* run = nullptr;
};

/// Different numbers for different rows.
double weight(size_t i) { return std::sin(static_cast<double>(3 * i + 1)); }

/// Σ weight · number, over all numbers that φ moves.
double value_of(const Followed& followed) {
  double total = 0;
  const Forest& forest = followed.run->forest;
  for (int level = 0; level < static_cast<int>(followed.run->levels.size()); ++level) {
    const Recording::Level& at = followed.run->levels[static_cast<size_t>(level)];
    for (int64_t i = 0; i < at.count; ++i) {
      const auto row = static_cast<size_t>(forest.level_begin(level)) + static_cast<size_t>(i);
      total += weight(row) * followed.compat(level, i);
      if (i < at.num_ahead) total += weight(row + 100) * followed.log_sum(level, i);
    }
  }
  for (int s = 0; s < followed.batch.num_sequences(); ++s) {
    for (int t = 0; t <= followed.batch.length(s); ++t) {
      const auto row = static_cast<size_t>(followed.batch.later_row(t, s));
      total += weight(row + 200) * followed.batch.to_go(s, t);
    }
  }
  return total;
}

Seeds seeds_of(const Followed& followed) {
  Seeds seeds;
  for (RowId row = 0; row < followed.run->forest.size(); ++row) {
    seeds.d_compat.push_back(weight(static_cast<size_t>(row)));
    seeds.d_log_sum.push_back(weight(static_cast<size_t>(row) + 100));
  }
  for (int64_t row = 0; row < followed.batch.num_later_rows(); ++row)
    seeds.d_to_go.push_back(weight(static_cast<size_t>(row) + 200));
  return seeds;
}

/// A lookahead that is learned and asks for no candidates.
struct PlainLookahead : Proposal {
  Embedding symbol;
  Gru gru;
  Linear layer, h;
  explicit PlainLookahead(const Task& task)
      : Proposal(state("later", 4)),
        symbol(*this, "symbol", task.x.size(), 4),
        gru(*this, "gru", 4, 4),
        layer(*this, "layer", 4, 5),
        h(*this, "h", 4, 1) {}
  State end() const override { return {constant({0.5, -0.25, 0.125, 1})}; }
  State back(const State& later, const Input& x) const override {
    return {gru(later["later"], symbol[x])};
  }
  Expr to_go(const State& later, const Input& x) const override {
    return h(later["later"] * symbol[x])[0];
  }
  Expr compat(const State& s, const State& later, const Candidates&) const override {
    return dot(tanh(s["h"]), tanh(layer(later["later"])));
  }
};

void check_seeds(const Model& model, const Proposal& proposal, Differentiator differentiator) {
  const Program program =
      compile(model, proposal, {.precision = Precision::kDouble, .differentiator = differentiator});
  Parameters parameters = Parameters::fresh(program, 4);
  Gradients gradients(program);
  {
    const Followed followed(program, parameters);
    BatchGradient batch_gradient(program, parameters);
    ForestGradient forest_gradient(program, parameters, batch_gradient);
    batch_gradient.begin(followed.batch);
    forest_gradient.add(followed.batch, *followed.run, seeds_of(followed), batch_gradient,
                        gradients);
    batch_gradient.finish_lookahead(gradients);
    gradients.finish(program, parameters);
  }
  const auto value_at = [&](int64_t k, double by) {
    Parameters moved = parameters;
    moved.values.add(k, by);
    moved.prepare(program);
    return value_of(Followed(program, moved));
  };
  for (const Block& block : program.params) {
    if (block.group != ParamGroup::kProposal) continue;
    const int64_t step = std::max<int64_t>(1, block.shape.size() / 4);
    for (int64_t k = block.offset; k < block.offset + block.shape.size(); k += step) {
      const double h = 1e-4;
      const double slope =
          (8 * (value_at(k, h) - value_at(k, -h)) - (value_at(k, 2 * h) - value_at(k, -2 * h))) /
          (12 * h);
      INFO(block.name << ", " << program.differentiator);
      CHECK(std::abs(gradients.values.get(k) - slope) < 1e-7 * std::max(1.0, std::abs(slope)));
    }
  }
}

void check_all(Differentiator differentiator) {
  const SmallTagger tagger;
  const PlainLookahead plain(tagger.task());
  const SmallLookahead with_candidates(tagger.task());
  check_seeds(tagger, plain, differentiator);
  check_seeds(tagger, with_candidates, differentiator);
  const Neighbours neighbours;
  const NeighbourLookahead around;
  check_seeds(neighbours, around, differentiator);
}

}  // namespace

TEST_CASE("seeds of C, C_0, log Σ exp(g + C) and Ĥ begin their gradients, by the adjoint") {
  check_all(Differentiator::kAdjoint);
}

TEST_CASE("seeds of C, C_0, log Σ exp(g + C) and Ĥ begin their gradients, by Enzyme", "[enzyme]") {
  if (skip_without_enzyme()) return;
  check_all(Differentiator::kEnzyme);
}

TEST_CASE("with an exact lookahead C_0 + Ĥ_0 is log Z, and every prefix is consistent") {
  for (const bool is_hmm : {true, false}) {
    const Program program = compile(is_hmm ? lesson_01() : lesson_02(),
                                    {.precision = Precision::kDouble, .gradients = false});
    const Parameters parameters = Parameters::fresh(program, 7);
    const Followed followed(program, parameters);
    for (int s = 0; s < followed.batch.num_sequences(); ++s) {
      const std::vector<int>& x = followed.xs[static_cast<size_t>(s)];
      const double log_z =
          is_hmm ? hmm_log_z(program, parameters, x) : oohmm_log_z(program, parameters, x);
      CHECK(std::abs(followed.batch.root_compat(s) + followed.batch.to_go(s, 0) - log_z) < 1e-12);
    }
    // r_t = C_{t-1} + h - log Σ_y exp(g + C_t) = 0, where h = Ĥ_{t-1} - Ĥ_t.
    for (int level = 0; level < static_cast<int>(followed.run->levels.size()); ++level) {
      const Recording::Level& at = followed.run->levels[static_cast<size_t>(level)];
      for (int64_t i = 0; i < at.count; ++i) {
        const int s = static_cast<int>(i);
        // At t = T, C counts as 0, as the lookahead says too: β_T = 1.
        const double h = followed.batch.to_go(s, level) - followed.batch.to_go(s, level + 1);
        CHECK(std::abs(followed.compat(level, i) + h - followed.log_sum(level, i)) < 1e-12);
      }
    }
  }
}

TEST_CASE("a lookahead that asks for candidates has C_0 = 0") {
  const Program program = compile(lesson_03(), {.precision = Precision::kDouble});
  CHECK_FALSE(static_cast<bool>(program.root.forward));
  const Followed followed(program, Parameters::fresh(program, 7));
  CHECK(followed.batch.root_compat(0) == 0);
}
