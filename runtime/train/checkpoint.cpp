#include "runtime/train/checkpoint.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <unordered_map>

#include "base/quote.h"
#include "base/stale_files.h"
#include "base/write_file.h"
#include "runtime/files/parameters_file.h"
#include "runtime/train/run_record.h"

namespace scry {
namespace {

namespace fs = std::filesystem;

constexpr const char* kOptions = "scry.options";
constexpr const char* kTraining = "scry.training";

/// The run's tensors, each laid out as Parameters::values.
struct Part {
  const char* prefix;
  RealBuffer& values;
  bool is_square = false;
};

class CheckpointReader {
 public:
  CheckpointReader(const std::string& path, const Program& program, const RunIdentity& identity,
                   const TrainHooks& hooks)
      : path_(path),
        program_(program),
        identity_(identity),
        hooks_(hooks),
        file_(read_tensors(path)) {
    for (const Tensor& tensor : file_.tensors) tensors_.emplace(tensor.name, &tensor);
  }

  TrainState read() {
    if (!file_.metadata.contains(kTraining)) {
      fail("it holds no training run that could go on; give another output file");
    }
    check_checksum(file_, path_);
    const RecordHead head = read_head();
    check_maker(head);
    TrainState state(program_, to_parameters(file_, program_, path_));
    check_identity(head);
    read_record(state);
    for (const Part& part :
         {Part{"train.now.", state.parameters.values}, Part{"train.first.", state.adam.first},
          Part{"train.second.", state.adam.second, true}}) {
      for (size_t block : identity_.blocks) copy(part, program_.params[block]);
    }
    state.parameters.prepare(program_);
    return state;
  }

 private:
  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    throw DataError(fmt::format("{}: {}", path_, fmt::format(format, std::forward<Args>(args)...)));
  }
  [[noreturn]] void fail_damaged(const std::string& what) const {
    fail("the checkpoint is damaged ({})", what);
  }

  const std::string& metadata(const char* key) const {
    const auto found = file_.metadata.find(key);
    if (found == file_.metadata.end()) fail_damaged(fmt::format("'{}' is missing", key));
    return found->second;
  }

  RecordHead read_head() const {
    try {
      return scry::read_head(metadata(kTraining));
    } catch (const DataError&) {
      throw;
    } catch (const Error& error) {
      fail_damaged(error.what());
    }
  }

  /// That the run would go on as it began. What another Scry or another model computes is another
  /// run, whatever the shapes.
  void check_maker(const RecordHead& head) const {
    const char* const advice =
        "start a new one from its parameters by --params and another output file";
    if (head.format != kCheckpointFormat) {
      fail("its run is of another version of Scry (format {}, not {}); {}", head.format,
           kCheckpointFormat, advice);
    }
    if (head.differentiator != program_.differentiator) {
      fail("its run has gradients by {}, not {}; use that again, or {}", quote(head.differentiator),
           quote(program_.differentiator), advice);
    }
    if (head.build != describe_build(program_))
      fail("its run is of another build of Scry; {}", advice);
    if (head.model != program_.origin.model) {
      fail("its run is of another model, or of this one before it was changed; {}", advice);
    }
    if (head.machine != program_.origin.machine && hooks_.note) {
      hooks_.note(fmt::format(
          "{}: the run began on another CPU ({}); it goes on, but not to the last bit as it would "
          "have there",
          path_, quote(head.machine)));
    }
  }

  void check_identity(const RecordHead& head) const {
    std::string difference;
    try {
      difference = find_difference(metadata(kOptions), options_json(program_, identity_.options));
    } catch (const DataError&) {
      throw;
    } catch (const Error& error) {
      fail_damaged(error.what());
    }
    if (head.goal != identity_.goal) {
      fail("it is of a run to {}, not to {}; give another output file", quote(head.goal),
           quote(identity_.goal));
    }
    if (!difference.empty()) {
      fail("it was trained with {}; give the same options or another output file", difference);
    }
    if (head.data_hash != hash_text(identity_.data_hash)) {
      fail("it was trained on other examples; give the same files or another output file");
    }
  }

  void read_record(TrainState& state) const {
    try {
      read_training(metadata(kTraining), identity_.updates_per_epoch, state);
    } catch (const Error& error) {
      fail_damaged(error.what());
    }
    const Likelihood asked = identity_.options.likelihood;
    if (asked != Likelihood::kAuto && state.likelihood != Likelihood::kAuto &&
        asked != state.likelihood &&
        !(asked == Likelihood::kConditional && state.likelihood == Likelihood::kExact)) {
      fail(
          "it was trained with --objective {}, not {}; give the same options or another output "
          "file",
          name_of(state.likelihood), name_of(asked));
    }
  }

  void copy(const Part& part, const Block& block) const {
    const std::string name = part.prefix + block.name;
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) fail_damaged(quote(name, 100) + " is missing");
    const Tensor& tensor = *found->second;
    if (tensor.size() != block.shape.size()) fail_damaged(quote(name, 100) + " has a wrong size");
    for (int64_t k = 0; k < tensor.size(); ++k) {
      const double value = tensor.value(k);
      if (!std::isfinite(value)) fail_damaged(quote(name, 100) + " is not finite");
      if (value < 0 && part.is_square) fail_damaged(quote(name, 100) + " is negative");
      part.values.set(block.offset + k, value);
    }
  }

  const std::string& path_;
  const Program& program_;
  const RunIdentity& identity_;
  const TrainHooks& hooks_;
  TensorFile file_;
  std::unordered_map<std::string_view, const Tensor*> tensors_;  // by name
};

/// So that hours of work do not end in a file that cannot be written.
void check_place(const std::string& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) throw Error(fmt::format("{} is a folder", path));
  const fs::path target = fs::weakly_canonical(path, ignored);
  const bool is_special = fs::exists(target, ignored) && !fs::is_regular_file(target, ignored);
  const fs::path place = is_special ? target : fs::absolute(target, ignored).parent_path();
  if (access(place.c_str(), is_special ? W_OK : W_OK | X_OK) != 0) {
    throw Error(
        fmt::format("{} cannot be written: {}: {}", path, place.string(), std::strerror(errno)));
  }
}

}  // namespace

TrainState::TrainState(const Program& program, Parameters start)
    : parameters(std::move(start)), best(parameters), adam(program) {}

void write_checkpoint(const std::string& path, const Program& program, const RunIdentity& identity,
                      const TrainState& state) {
  TensorFile file = to_tensors(program, state.best);
  const auto add = [&](const char* prefix, const RealBuffer& values) {
    for (size_t index : identity.blocks) {
      Tensor tensor = file.tensors[index];  // for its type and shape
      tensor.name = prefix + tensor.name;
      std::memcpy(tensor.bytes.data(), values.at(program.params[index].offset),
                  tensor.bytes.size());
      file.tensors.push_back(std::move(tensor));
    }
  };
  add("train.now.", state.parameters.values);
  add("train.first.", state.adam.first);
  add("train.second.", state.adam.second);
  file.metadata[kOptions] = options_json(program, identity.options);
  file.metadata[kTraining] = training_json(program, identity, state);
  add_checksum(file);
  remove_stale_temporaries(path);
  write_file(path, to_bytes(file));
}

TrainState read_checkpoint(const std::string& path, const Program& program,
                           const RunIdentity& identity, const TrainHooks& hooks) {
  return CheckpointReader(path, program, identity, hooks).read();
}

std::optional<Likelihood> peek_likelihood(const std::string& path) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return std::nullopt;
  try {
    const TensorFile file = read_tensors(path);
    const auto found = file.metadata.find(kTraining);
    if (found != file.metadata.end()) return read_likelihood(found->second);
  } catch (const Error&) {
  }
  return Likelihood::kAuto;
}

TrainState begin_run(const Program& program, const Parameters& start, const RunIdentity& identity,
                     const TrainHooks& hooks) {
  const std::string& path = identity.options.checkpoint;
  if (path.empty()) {
    if (identity.options.resume) throw Error("there is no checkpoint file to resume from");
    return TrainState(program, start);
  }
  check_place(path);
  remove_stale_temporaries(path);
  std::error_code ignored;
  const bool exists = fs::is_regular_file(path, ignored);
  if (exists && identity.options.resume) return read_checkpoint(path, program, identity, hooks);
  if (exists && !identity.options.overwrite) {
    throw Error(
        fmt::format("{}: exists already; --resume goes on with it, --overwrite replaces it", path));
  }
  if (identity.options.resume && hooks.note)
    hooks.note(fmt::format("{}: no such file yet; training starts afresh", path));
  return TrainState(program, start);
}

}  // namespace scry
