// What `scry decode` does with one part of its input: samples, decides, and searches for what the
// decisions are compared with.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dsl/registry.h"
#include "runtime/decode/accuracy.h"
#include "runtime/decode/decide.h"
#include "runtime/files/examples_file.h"

namespace scry::cli {

struct DecodeChoice {
  std::string params, method, precision = "float";
  LossKind loss = LossKind::kHamming;
  SampleOptions sampling;
  int runs = 1;
  DecideOptions deciding;
  bool compares = true;  ///< where there are gold tags
};

/// Of one sequence.
struct DecodeResult {
  const InputLine* line = nullptr;
  int64_t sequence = 0;
  std::string method;  ///< by which p was known or sampled
  std::optional<Decision> decision;
  std::optional<double> gold_loss;
  /// With gold tags, of each way that is compared; empty if one of them failed.
  std::vector<AccuracyTally> tallies;
  std::string error;
};

class DecodeEngine {
 public:
  static constexpr size_t kPart = 512;  ///< lines held in memory at a time, at most

  /// Throws UsageError if the loss does not fit the model.
  DecodeEngine(const DecodeChoice& choice, const Bundle& bundle);
  ~DecodeEngine();

  /// Compiles the model and reads its parameters: before sequences, not for ensembles.
  void bind(const Bundle& bundle);
  /// How many of these lines to decide for at a time.
  size_t count_part(std::span<const InputLine> lines) const;
  /// Of lines that are sequences, or ensembles; the first of them has this number.
  std::vector<DecodeResult> decode(std::span<const InputLine> lines, size_t first);

  /// The names of the ways that tallies are of; the last one is the decision by least risk.
  std::vector<std::string> compared() const;
  const char* parameters_origin() const;  ///< "file", "random", "none"; null for ensembles

 private:
  struct Bound;
  void sample(std::span<const InputLine> lines, size_t first, std::vector<DecodeResult>& results);
  void decide_exactly(std::span<const InputLine> lines, std::vector<DecodeResult>& results);
  void decide(const InputLine& line, const Ensemble& ensemble, DecodeResult& result) const;
  void compare(std::span<const InputLine> lines, size_t first, std::vector<DecodeResult>& results);

  DecodeChoice choice_;
  const Task& task_;
  Decider decider_;
  std::optional<SpanTags> spans_;
  std::unique_ptr<Bound> bound_;
};

}  // namespace scry::cli
