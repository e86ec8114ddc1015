// `scry sample --report`: pictures of the runs of chosen inputs.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "tools/cli/report_run.h"

namespace scry::cli {

/// Runs the chosen inputs once more, which gives the same bits, and watches. So a report changes
/// nothing of what is drawn, and costs nothing where there is none.
class SamplePictures {
 public:
  static constexpr int kFirst = 4;  ///< sequences that are shown unless some are named
  static constexpr int kMost = 20;  ///< that can be

  struct Options {
    std::string path;    ///< to write to
    std::string inputs;  ///< such as "1,5,9", or empty
    std::string input_file, parameters_file;
    SampleOptions sampling;
    bool goes_step_by_step = true;
    std::string method;
    int runs = 1;
    int sweeps = 0;  ///< of chains, from the lines' own tags on; 0: there are none
  };

  /// Throws UsageError if the list makes no sense, Error if the file cannot be written.
  SamplePictures(Options options, const Program& program, const Parameters& parameters);
  /// Results in their order.
  void add(const SampleResult& result);
  /// False if a sequence that was named is not there, of which it tells.
  bool write();

 private:
  bool is_chosen(int64_t sequence) const;

  Options options_;
  const Program& program_;
  const Parameters& parameters_;
  std::vector<int64_t> chosen_;  // from 0; empty: the first
  int64_t num_sequences_ = 0;
  Report report_;
};

}  // namespace scry::cli
