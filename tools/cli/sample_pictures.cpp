#include "tools/cli/sample_pictures.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/write_file.h"
#include "runtime/files/examples_file.h"
#include "runtime/smc/chain.h"
#include "tools/cli/command.h"
#include "tools/cli/output_file.h"
#include "tools/cli/text.h"

namespace scry::cli {
namespace {

std::vector<int64_t> parse_sequences(const std::string& list) {
  std::vector<int64_t> sequences;
  for (size_t at = 0; at <= list.size() && !list.empty();) {
    const size_t end = std::min(list.find(',', at), list.size());
    int64_t number = 0;
    const auto [last, error] = std::from_chars(list.data() + at, list.data() + end, number);
    if (error != std::errc() || last != list.data() + end || number < 1)
      throw UsageError(fmt::format(
          "--report-inputs: '{}' is not a list of numbers of sequences such as 1,5,9", list));
    sequences.push_back(number - 1);
    at = end + 1;
  }
  std::sort(sequences.begin(), sequences.end());
  sequences.erase(std::unique(sequences.begin(), sequences.end()), sequences.end());
  if (sequences.size() > static_cast<size_t>(SamplePictures::kMost))
    throw UsageError(fmt::format("--report-inputs: {} sequences, but a page shows at most {}",
                                 sequences.size(), SamplePictures::kMost));
  return sequences;
}

/// The lines' tags, of which each is one; they were read before.
std::vector<int> given_of(const InputLine& line) {
  std::vector<int> given;
  for (int step = 1; step <= line.allowed.length(); ++step) {
    for (int tag = 0; tag < line.allowed.num_tags(); ++tag) {
      if (line.allowed.allows(step, tag)) given.push_back(tag);
    }
  }
  return given;
}

}  // namespace

SamplePictures::SamplePictures(Options options, const Program& program,
                               const Parameters& parameters)
    : options_(std::move(options)),
      program_(program),
      parameters_(parameters),
      chosen_(parse_sequences(options_.inputs)) {
  check_writable(options_.path);
  options_.sampling.progress = {};
  report_.title = fmt::format("scry sample: {}", options_.input_file);
  report_.facts = {{"parameters", program.params.empty()             ? "none"
                                  : options_.parameters_file.empty() ? "random"
                                                                     : options_.parameters_file},
                   {"method", options_.method},
                   {"seed", fmt::format("{}", options_.sampling.seed)}};
}

bool SamplePictures::is_chosen(int64_t sequence) const {
  return chosen_.empty() ? sequence < kFirst : std::ranges::binary_search(chosen_, sequence);
}

void SamplePictures::add(const SampleResult& result) {
  num_sequences_ = std::max(num_sequences_, result.sequence + 1);
  if (!is_chosen(result.sequence)) return;
  SampleOptions sampling = options_.sampling;
  sampling.first_sequence = result.sequence;
  if (!options_.goes_step_by_step || !result.line->error.empty()) {
    const std::string note = fmt::format(
        "{} has no particles and goes not step by step: there are no lanes and no forest.",
        options_.method);
    report_.sections.push_back(run_section(result, program_.task, note, nullptr, sampling));
    return;
  }
  std::string note;
  SampleInput input(result.line->x, result.line->allowed);
  std::vector<int> given;
  if (options_.sweeps > 0) {
    given = given_of(*result.line);
    input = SampleInput(result.line->x, TagSets(), given);
    if (options_.sweeps > 1 && !given.empty()) {
      Sampler sampler(program_, parameters_, 1);
      const std::vector<Chain> before =
          run_chains(sampler, std::span(&input, 1), sampling, options_.sweeps - 1);
      given.assign(before[0].state.begin(), before[0].state.end());
    }
    sampling.seed = derive_seed(sampling.seed, static_cast<uint32_t>(options_.sweeps));
    sampling.weights = Weights::kSampler;
    note = fmt::format("The pictures are of the last of {}, which retains the tagging before it.",
                       count_of(static_cast<uint64_t>(options_.sweeps), "sweep"));
  } else if (options_.runs > 1) {
    sampling.weights = Weights::kSampler;
    note =
        fmt::format("The pictures are of the first of {} runs; log Z and the taggings are of all.",
                    options_.runs);
  }
  if (input.given.empty() && options_.sweeps > 0) {
    report_.sections.push_back(run_section(result, program_.task, "", nullptr, sampling));
    return;
  }
  const Lineage lineage = trace_lineage(program_, parameters_, input, sampling);
  report_.sections.push_back(run_section(result, program_.task, note, &lineage, sampling));
}

bool SamplePictures::write() {
  const std::string shown = report_.sections.size() == static_cast<size_t>(num_sequences_)
                                ? "all"
                                : fmt::format("{} of {}", report_.sections.size(), num_sequences_);
  report_.facts.emplace_back("sequences shown",
                             shown == "all" ? shown : shown + "; --report-inputs chooses others");
  bool all_there = true;
  for (int64_t sequence : chosen_) {
    if (sequence < num_sequences_) continue;
    all_there = false;
    tell(fmt::format("--report-inputs: there is no sequence {}; {} has {}", sequence + 1,
                     options_.input_file == "-" ? "standard input" : options_.input_file,
                     num_sequences_));
  }
  write_file(options_.path, to_html(report_));
  return all_there;
}

}  // namespace scry::cli
