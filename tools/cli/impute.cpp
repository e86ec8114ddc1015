#include "runtime/search/impute.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "compiler/compile.h"
#include "runtime/files/byte_source.h"
#include "runtime/files/examples_file.h"
#include "tools/cli/command.h"
#include "tools/cli/input_format.h"
#include "tools/cli/options.h"
#include "tools/cli/output_file.h"
#include "tools/cli/params_option.h"
#include "tools/cli/text.h"

namespace scry::cli {
namespace {

namespace fs = std::filesystem;

struct ImputeCommandOptions {
  std::string input, params, precision = "float", output;
  InputFormatOption input_format;
  ImputeOptions imputing;
  bool overwrite = false;
};

/// complete.tsv → complete.2.tsv
std::string path_of(const std::string& output, int version) {
  const fs::path path(output);
  return (path.parent_path() /
          fmt::format("{}.{}{}", path.stem().string(), version, path.extension().string()))
      .string();
}

/// Versions never replace what the command reads, nor other files unless that is asked for.
void check_outputs(const ImputeCommandOptions& options) {
  for (int version = 1; version <= options.imputing.versions; ++version) {
    const std::string path = path_of(options.output, version);
    std::error_code error;
    if (!fs::exists(path, error)) continue;
    for (const std::string& read : {options.input, options.params}) {
      if (!read.empty() && fs::equivalent(path, read, error))
        throw UsageError(fmt::format("'{}' is read and would be lost; give another -o", path));
    }
    if (!options.overwrite) {
      throw UsageError(
          fmt::format("'{}' exists; give another -o, or replace it by --overwrite", path));
    }
  }
}

/// A file of which the tags of some sequences are replaced, and all else stays as it is.
class PartlyTagged {
 public:
  PartlyTagged(const std::string& path, const FileFormat& format) {
    std::string text;
    ByteSource source(path);
    for (std::string_view piece; !(piece = source.read()).empty();) text += piece;
    for (size_t start = 0; start < text.size();) {
      const size_t end = std::min(text.find('\n', start), text.size());
      lines_.push_back(text.substr(start, end - start));
      start = end + 1;
    }
    read_sequences(path, format, TagColumn::kNeeded, [&](const RawSequence& raw) {
      Sequence& sequence = sequences_.emplace_back(Sequence{raw.line, {}, raw.in_columns});
      for (const RawSequence::Word& word : raw.tags)
        sequence.tags.push_back({word.line, word.offset, word.text.size()});
    });
  }

  /// With the given tags for the sequences that have some.
  std::string with(std::span<const std::vector<std::string>> tags) const {
    std::vector<std::string> lines = lines_;
    for (size_t s = 0; s < sequences_.size(); ++s) {
      if (tags[s].empty()) continue;
      if (sequences_[s].in_columns) {
        replace_columns(sequences_[s], tags[s], lines);
      } else {
        replace_line(lines[static_cast<size_t>(sequences_[s].line) - 1], tags[s]);
      }
    }
    return fmt::format("{}\n", fmt::join(lines, "\n"));
  }

  /// How many tags stand in the file: one more than there are symbols where EOS does.
  size_t num_tags(size_t sequence) const { return sequences_[sequence].tags.size(); }

 private:
  struct Place {
    int line;
    size_t offset, size;
  };
  struct Sequence {
    int line;
    std::vector<Place> tags;
    bool in_columns;
  };

  void replace_columns(const Sequence& sequence, const std::vector<std::string>& tags,
                       std::vector<std::string>& lines) const {
    for (size_t t = 0; t < tags.size(); ++t) {
      const Place& place = sequence.tags[t];
      std::string& line = lines[static_cast<size_t>(place.line) - 1];
      const size_t mark = place.line == 1 && line.starts_with("\xef\xbb\xbf") ? 3 : 0;
      line.replace(mark + place.offset, place.size, tags[t]);
    }
  }

  static void replace_line(std::string& line, const std::vector<std::string>& tags) {
    const bool has_return = line.ends_with('\r');
    line.resize(std::min(line.find('\t'), line.find_last_not_of('\r') + 1));
    line += fmt::format("\t{}{}", fmt::join(tags, " "), has_return ? "\r" : "");
  }

  std::vector<std::string> lines_;
  std::vector<Sequence> sequences_;
};

int run_impute(const ImputeCommandOptions& options, const Bundle& bundle) {
  check_outputs(options);
  const Task& task = bundle.model->task();
  const FileFormat format = options.input_format.format();
  const std::vector<Example> examples =
      read_examples(options.input, task, format, KnownTags::kSome);
  const PartlyTagged file(options.input, format);
  const Program program = compile(
      bundle, {.precision = options.precision == "double" ? Precision::kDouble : Precision::kFloat,
               .gradients = false});
  const Parameters parameters = parameters_of(program, options.params, options.imputing.seed);
  tell_of_random(program, options.params, options.imputing.seed);
  std::vector<SampleInput> inputs;
  std::vector<size_t> numbers;
  for (size_t i = 0; i < examples.size(); ++i) {
    if (!examples[i].y.empty() || examples[i].x.empty()) continue;
    inputs.emplace_back(examples[i].x, examples[i].allowed);
    numbers.push_back(i);
  }
  const std::vector<Imputed> imputed = impute(program, parameters, inputs, options.imputing);
  size_t num_exact = 0;
  for (size_t k = 0; k < imputed.size(); ++k) {
    num_exact += imputed[k].is_exact ? 1 : 0;
    if (!imputed[k].error) continue;
    const SamplingError& error = *imputed[k].error;
    throw DataError(fmt::format("{}:{}: {}{}", options.input, examples[numbers[k]].line,
                                error.step() > 0 ? fmt::format("step {}: ", error.step()) : "",
                                error.message()));
  }
  for (int version = 1; version <= options.imputing.versions; ++version) {
    std::vector<std::vector<std::string>> tags(examples.size());
    for (size_t k = 0; k < imputed.size(); ++k) {
      std::vector<std::string>& names = tags[numbers[k]];
      for (const int32_t tag : imputed[k].versions[static_cast<size_t>(version) - 1])
        names.push_back(task.y.name(tag));
      if (task.y.eos() && file.num_tags(numbers[k]) > names.size())
        names.push_back(task.y.name(*task.y.eos()));
    }
    write_result(path_of(options.output, version), file.with(tags));
  }
  const size_t num_sampled = imputed.size() - num_exact;
  std::string how;
  if (num_exact > 0) how = fmt::format(": exact draws for {}", num_exact);
  if (num_sampled > 0) {
    how += fmt::format("{} draws from discrete sets of {} for {}", num_exact > 0 ? "," : ":",
                       options.imputing.particles, num_sampled);
  }
  tell(fmt::format("impute: {} of {} had incomplete tags{}", imputed.size(),
                   count_of(examples.size(), "sequence"), how));
  const std::string first = path_of(options.output, 1),
                    last = path_of(options.output, options.imputing.versions);
  tell(fmt::format("impute: wrote {}", first == last ? first : first + " to " + last));
  return 0;
}

}  // namespace

Action declare_impute(CLI::App& app) {
  auto options = std::make_shared<ImputeCommandOptions>();
  app.add_option("--input", options->input,
                 "Sequences with tags, of which some are open: * for any, A|B for one of several; "
                 "a line without tags for all")
      ->type_name("FILE")
      ->required()
      ->check(CLI::ExistingFile);
  add_input_format(app, options->input_format);
  add_params(app, options->params);
  add_count(app, "-m,--versions", options->imputing.versions, 1, "Complete versions to write")
      ->capture_default_str();
  add_count(app, "-M,--particles", options->imputing.particles, 1,
            "Of the discrete sets that are drawn from where nothing exact can be had")
      ->capture_default_str();
  add_memory(app, options->imputing.memory);
  add_seed(app, options->imputing.seed, "Seed of the draws, and of fresh parameters");
  add_count(app, "--threads", options->imputing.threads, 0, "0 for all cores")
      ->capture_default_str();
  add_choice(app, "--precision", options->precision, {"float", "double"}, "Of the kernels");
  app.add_option("-o,--to", options->output,
                 "Where to: out.tsv stands for out.1.tsv, out.2.tsv, ...")
      ->type_name("NAME")
      ->required();
  app.add_flag("--overwrite", options->overwrite, "Replace versions that are there");
  return [options](const Bundle& bundle) { return run_impute(*options, bundle); };
}

}  // namespace scry::cli
