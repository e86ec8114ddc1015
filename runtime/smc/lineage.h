// A run in full: every prefix that it kept, and what each weighed when it was there.
#pragma once
#include <span>
#include <vector>

#include "runtime/smc/sample.h"

namespace scry {

/// The forest of one run on one input, as the interpreter grew it: equal prefixes are one row.
struct Lineage {
  struct Row {
    int32_t parent;     ///< the number of its row; -1 of the root
    int32_t tag;        ///< y_t; -1 of the root
    int32_t count;      ///< particles on it, before any resampling that follows; 1 in weighted sets
    double log_score;   ///< G_t
    double compat;      ///< C_t; 0 where nothing looks ahead
    double log_weight;  ///< by which the method compares it with others of its level
  };
  std::vector<Row> rows;      ///< level by level, from the root on
  std::vector<int32_t> ends;  ///< of each level: the first row beyond it
  std::vector<int64_t>
      left_out;  ///< of each level: children of positive weight that a set left out
  std::vector<double> log_totals;  ///< of each level: log Σ of the weights, that is log Ẑ_t
  std::vector<double> to_go;  ///< Ĥ_t of each level (eq:Hhat); empty where nothing looks ahead
  std::vector<int> x;         ///< what the model saw: with EOS if the task has it
  Outcome outcome;            ///< what the run came to; if it failed, levels end there

  int num_levels() const { return static_cast<int>(ends.size()); }
  std::span<const Row> level(int t) const {
    const auto begin = static_cast<size_t>(t == 0 ? 0 : ends[static_cast<size_t>(t) - 1]);
    return std::span(rows).subspan(begin,
                                   static_cast<size_t>(ends[static_cast<size_t>(t)]) - begin);
  }
  /// For each row, the share of the final weight that its descendants have: p̂(y_{:t}). 0 of dead
  /// branches, and of all where the run failed.
  std::vector<double> final_shares() const;
  /// For each row, its share of its level's weight: what the run thought of it when it was there.
  std::vector<double> shares() const;
};

/// The run of sample() with these options on the input number `options.first_sequence`, once more:
/// as its draws depend on the seed and on that number alone, it is the same to the bit. A method
/// that does not go step by step is an Error.
Lineage trace_lineage(const Program& program, const Parameters& parameters,
                      const SampleInput& input, const SampleOptions& options);

}  // namespace scry
