#include "runtime/smc/lineage.h"

#include <cmath>
#include <numeric>

#include "runtime/smc/check_input.h"
#include "runtime/smc/end_of_sequence.h"
#include "runtime/smc/interpreter.h"
#include "runtime/smc/sampler.h"

namespace scry {
namespace {

/// Takes the rows of each level as they come. They stand in the forest one after the other, as it
/// is of one sequence.
class LineageKeeper {
 public:
  explicit LineageKeeper(Lineage& lineage) : lineage_(lineage) {
    lineage_.rows.push_back({-1, -1, 1, 0, 0, 0});
    end_level(0, 0);
  }

  void add(const Forest& forest, RowId begin, RowId end, const Population& population) {
    rows_.resize(static_cast<size_t>(end - begin));
    std::iota(rows_.begin(), rows_.end(), begin);
    population.weigh_rows(forest, rows_, counts_, log_weights_);
    for (size_t i = 0; i < rows_.size(); ++i) {
      const RowId row = rows_[i];
      lineage_.rows.push_back({forest.parent(row), forest.tag(row),
                               counts_.empty() ? 1 : counts_[i], forest.log_score(row),
                               forest.compat(row), log_weights_[i]});
    }
    end_level(population.num_left_out(), log_sum_exp(log_weights_));
  }

 private:
  void end_level(int64_t left_out, double log_total) {
    lineage_.ends.push_back(static_cast<int32_t>(lineage_.rows.size()));
    lineage_.left_out.push_back(left_out);
    lineage_.log_totals.push_back(log_total);
  }

  Lineage& lineage_;
  std::vector<RowId> rows_;
  std::vector<int32_t> counts_;
  std::vector<double> log_weights_;
};

}  // namespace

std::vector<double> Lineage::shares() const {
  std::vector<double> shares;
  shares.reserve(rows.size());
  for (int t = 0; t < num_levels(); ++t) {
    const double log_total = log_totals[static_cast<size_t>(t)];
    for (const Row& row : level(t))
      shares.push_back(row.log_weight == -INFINITY ? 0 : std::exp(row.log_weight - log_total));
  }
  return shares;
}

std::vector<double> Lineage::final_shares() const {
  std::vector<double> shares(rows.size(), 0.0);
  if (outcome.error || ends.empty()) return shares;
  const std::vector<double> own = this->shares();
  const size_t last = ends.size() < 2 ? 0 : static_cast<size_t>(ends[ends.size() - 2]);
  for (size_t i = rows.size(); i-- > 0;) {
    if (i >= last) shares[i] = own[i];
    if (rows[i].parent >= 0) shares[static_cast<size_t>(rows[i].parent)] += shares[i];
  }
  return shares;
}

Lineage trace_lineage(const Program& program, const Parameters& parameters,
                      const SampleInput& input, const SampleOptions& options) {
  check_options(options);
  if (row_of(options.method).make == nullptr)
    throw Error("this method does not go step by step, so there is no lineage to trace");
  const SampleOptions mine = with_defaults(options);
  Lineage lineage;
  const EndedInputs ended(program.task, std::span(&input, 1));
  lineage.x.assign(ended.front().x.begin(), ended.front().x.end());
  LineageKeeper keeper(lineage);
  try {
    check_input(program, ended.front(), mine.first_sequence);
  } catch (const SamplingError& error) {
    lineage.outcome.error = error;
    return lineage;
  }
  if (lineage.x.empty()) {
    lineage.outcome.ensemble = Sampler(program, parameters, 1).sample(input, options);
    return lineage;
  }
  Interpreter interpreter(program, parameters, mine);
  const Job job{&ended.front(), mine.first_sequence, &lineage.outcome};
  interpreter.run(
      std::span(&job, 1), nullptr,
      [&](int, const Forest& forest, RowId begin, RowId end, const Population& population) {
        keeper.add(forest, begin, end, population);
      });
  if (row_of(mine.method).looks_ahead() && program.has_proposal()) {
    for (int t = 0; t < lineage.num_levels(); ++t)
      lineage.to_go.push_back(interpreter.batch().to_go(0, t));
  }
  if (lineage.outcome.error) return lineage;
  drop_end(program.task, lineage.outcome.ensemble);
  if (mine.weights == Weights::kScore) weigh_by_score(lineage.outcome.ensemble);
  return lineage;
}

}  // namespace scry
