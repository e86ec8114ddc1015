// Experiments on the hand-written HMM, and what tests ask of their tables.
#pragma once
#include <algorithm>
#include <initializer_list>
#include <string>
#include <vector>

#include "runtime/eval/experiment.h"
#include "tests/catch.h"
#include "tests/support/scored_hmm.h"

namespace scry::test {

inline std::vector<Configuration> configurations_named(std::initializer_list<const char*> names) {
  std::vector<Configuration> configurations;
  for (const char* name : names) configurations.push_back(find_configuration(name).value());
  return configurations;
}

inline EvalTable run_experiment(const ScoredHmm& hmm, const std::vector<SampleInput>& inputs,
                                const Experiment& experiment) {
  return evaluate(hmm.program, hmm.parameters, inputs, experiment);
}

inline const EvalRow& find_row(const EvalTable& table, const std::string& name, int particles) {
  const auto found = std::ranges::find_if(table.rows, [&](const EvalRow& row) {
    return row.configuration.name == name && row.particles == particles;
  });
  REQUIRE(found != table.rows.end());
  return *found;
}

}  // namespace scry::test
