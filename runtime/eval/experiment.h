// Comparing methods on given inputs: an experiment in, a table out.
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/eval/calibration_point.h"
#include "runtime/eval/configuration.h"
#include "runtime/eval/measures.h"
#include "runtime/smc/sample.h"

namespace scry {

struct Experiment {
  std::vector<Configuration> configurations = {};  ///< none: default_configurations
  std::vector<int> particles = {8, 32, 128};       ///< M, or the beam's width
  int runs = 10;                                   ///< of each, where the seed decides
  /// What all of them have in common: seed, temperature, scheme and place of resampling, α,
  /// threads, batch, memory. Run r has the seed derive_seed(seed, r), whatever else is compared.
  /// What configurations and `particles` say, max_rows, first_sequence and progress are not used.
  SampleOptions sampling = {};
  int64_t max_taggings = int64_t{1} << 16;  ///< enumerated for an exact reference, at most
  int64_t max_states = int64_t{1} << 20;    ///< of all steps, where states are finite; likewise
  int reference_particles = 4096;           ///< of the large set where nothing exact can be had
  /// Prefixes at which the lookahead is compared with the truth, at most, over some of the inputs
  /// that are enumerated; 0: none.
  int calibration_points = 0;
  /// Called from time to time with the part that is done.
  std::function<void(double part)> progress = {};
};

/// One configuration at one M.
struct EvalRow {
  Configuration configuration;
  int particles = 0;
  int runs = 0;              ///< 1 where the seed decides nothing
  int inputs = 0;            ///< measured: at least one run found something
  int exact_references = 0;  ///< of these, those whose p(y | x) is known
  int references = 0;        ///< of these, those with a reference of any kind
  int failed_inputs = 0;     ///< on which no run found anything, or that could not be run
  int64_t empty_runs = 0;    ///< without mass: Ẑ = 0 there, and nothing else is measured
  std::array<Estimate, kNumMeasures> values;
  double seconds_per_input = NAN;  ///< of one run, on all threads together

  const Estimate& operator[](Measure measure) const { return values[static_cast<size_t>(measure)]; }
};

/// How well the lookahead compares prefixes (calibration.h), over the inputs that were enumerated:
/// within-(x, t) standard deviations, nats.
struct LookaheadReport {
  int inputs = 0;
  Estimate deviation;        ///< of C_t − H_t
  Estimate blind_deviation;  ///< of H_t: what no lookahead has
};

/// An input that could not be evaluated.
struct LeftOut {
  size_t input;         ///< its number, from 0
  std::string message;  ///< why, in words
};

struct EvalTable {
  std::vector<EvalRow> rows;  ///< M by M, in the order of configurations
  int num_inputs = 0;         ///< that were given
  std::vector<LeftOut> left_out;
  int num_enumerated = 0, num_finite = 0;  ///< whose reference is exact, by which way
  int num_estimated = 0;                   ///< whose reference is a large set
  int num_without_reference = 0;
  std::string estimated_by;  ///< such as "4 runs of discrete with M = 4096"; or empty
  Estimate reference_error;  ///< of estimated references' log Z, nats: by the scatter of runs
  int num_raised = 0;        ///< estimated references below what was found later
  bool has_lookahead = false;
  LookaheadReport lookahead;
  std::vector<CalibrationPoint> calibration_points;  ///< as many as were asked for
  int runs = 0;
  double temperature = 1;
  uint64_t seed = 0;
  int threads = 0;
};

/// Runs all configurations with all M on all inputs, and measures them against a reference for each
/// input: p(y | x) itself by enumeration, or over finite states; else a large set, and then log Z
/// is an estimate, and offset KLs are by the paper's z(x) (sec:metrics). Rows are the same to the
/// bit for any threads, batches and memory, but for time. Throws Error if the experiment makes no
/// sense, or a configuration needs a lookahead that the program has not.
EvalTable evaluate(const Program& program, const Parameters& parameters,
                   std::span<const SampleInput> inputs, const Experiment& experiment);

/// All of it as one JSON object, and the rows alone as CSV: docs/output.md has the keys. What is
/// not known is null in JSON and empty in CSV.
std::string to_json(const EvalTable& table);
std::string to_csv(const EvalTable& table);

}  // namespace scry
