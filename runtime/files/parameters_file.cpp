#include "runtime/files/parameters_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "base/fnv_hash.h"
#include "base/quote.h"
#include "base/write_file.h"
#include "runtime/files/examples_file.h"

namespace scry {
namespace {

using Json = nlohmann::json;

struct AlphabetRow {
  const char* key;   ///< of the metadata
  const char* name;  ///< in messages
  Alphabet Task::*alphabet;
};
constexpr std::array kAlphabets{AlphabetRow{"scry.x", "input", &Task::x},
                                AlphabetRow{"scry.y", "output", &Task::y}};

constexpr const char* kChecksum = "scry.checksum";

/// Of all but the checksum itself.
std::string checksum_of(TensorFile file) {
  file.metadata.erase(kChecksum);
  FnvHash hash;
  hash.add(to_bytes(file));
  return fmt::format("{:016x}", hash.value());
}

/// Bytes that are not UTF-8 become U+FFFD, as JSON has no others; comparing two such lists still
/// compares the alphabets.
std::string json_of(const std::vector<std::string>& symbols) {
  return Json(symbols).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::vector<int64_t> dims_of(const Shape& shape) {
  std::vector<int64_t> dims(static_cast<size_t>(shape.rank()));
  for (int axis = 0; axis < shape.rank(); ++axis) dims[static_cast<size_t>(axis)] = shape[axis];
  return dims;
}

std::string shown(const std::string& name) { return quote(name, 100); }

class ParametersReader {
 public:
  ParametersReader(const TensorFile& file, const Program& program, const std::string& path)
      : path_(path), program_(program), file_(file) {
    for (const Tensor& tensor : file_.tensors) tensors_.emplace(tensor.name, &tensor);
    for (const Block& block : program_.params) blocks_.push_back(&block);
  }

  /// Sets the parameters that are read and prepares the tables of all.
  void read(Parameters& parameters, const ParametersNote& note) {
    check_checksum(file_, path_);
    for (const AlphabetRow& row : kAlphabets) check_alphabet(row);
    accept_no_to_go(note);
    check_names();
    for (const Block* block : blocks_) check_shape(*block);
    for (const Block* block : blocks_) copy(*block, parameters);
    parameters.prepare(program_);
  }

  /// Leaves out those of the proposal if the file has none of them; says whether it did.
  bool accept_no_proposal() {
    const auto is_of_proposal = [](const Block* block) {
      return block->group == ParamGroup::kProposal;
    };
    const bool has_any = std::any_of(blocks_.begin(), blocks_.end(), [&](const Block* block) {
      return is_of_proposal(block) && tensors_.contains(block->name);
    });
    return !has_any && std::erase_if(blocks_, is_of_proposal) > 0;
  }

 private:
  /// Leaves out those of the default to_go if they are all that the file lacks.
  void accept_no_to_go(const ParametersNote& note) {
    bool lacks_any = false;
    for (const Block* block : blocks_) {
      const bool is_there = tensors_.contains(block->name);
      if (is_there == block->is_automatic) return;
      lacks_any = lacks_any || !is_there;
    }
    if (!lacks_any) return;
    std::erase_if(blocks_, [](const Block* block) { return block->is_automatic; });
    if (note) {
      note(
          fmt::format("{} has no to_go, which the proposal gets by default: it is 0 until it is "
                      "learned, and samplers do not need it",
                      path_));
    }
  }

  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    throw DataError(fmt::format("{}: {}", path_, fmt::format(format, std::forward<Args>(args)...)));
  }

  void check_alphabet(const AlphabetRow& row) const {
    const auto found = file_.metadata.find(row.key);
    if (found == file_.metadata.end()) return;
    std::vector<std::string> theirs, ours;
    try {
      theirs = Json::parse(found->second).get<std::vector<std::string>>();
      ours = Json::parse(json_of((program_.task.*row.alphabet).symbols()))
                 .get<std::vector<std::string>>();
    } catch (const Json::exception&) {
      fail("its metadata '{}' is not a JSON list of strings", row.key);
    }
    for (size_t i = 0; i < std::min(theirs.size(), ours.size()); ++i) {
      if (theirs[i] == ours[i]) continue;
      fail("it was made for another {} alphabet: symbol {} is {} there but {} in this model",
           row.name, i, quote(theirs[i]), quote(ours[i]));
    }
    if (theirs.size() != ours.size()) {
      fail("it was made for another {} alphabet: its size is {} there but {} in this model",
           row.name, theirs.size(), ours.size());
    }
  }

  /// That the names are those of the parameters to be read, all of them and no others.
  void check_names() const {
    std::vector<const Block*> missing;
    std::unordered_map<std::string, const Tensor*> others = tensors_;
    for (const Block* block : blocks_) {
      if (others.erase(block->name) == 0) missing.push_back(block);
    }
    std::erase_if(others, [](const auto& other) { return other.first.starts_with("train."); });
    std::string strangers;  // in the file's order
    int num_shown = 0;
    for (const Tensor& tensor : file_.tensors) {
      if (!others.contains(tensor.name)) continue;
      if (num_shown == 3) {
        strangers += fmt::format(" and {} more", others.size() - 3);
        break;
      }
      strangers += (num_shown++ > 0 ? ", " : "") + shown(tensor.name);
    }
    const std::string unknown =
        strangers.empty() ? "" : fmt::format("this model has no parameter {}", strangers);
    if (missing.empty() && unknown.empty()) return;
    if (missing.empty()) fail("{}", unknown);
    fail("{} of the model's {} parameters {} missing, first {} {}{}{}", missing.size(),
         blocks_.size(), missing.size() == 1 ? "is" : "are", shown(missing.front()->name),
         shape_text(dims_of(missing.front()->shape)), unknown.empty() ? "" : "; ", unknown);
  }

  void check_shape(const Block& block) const {
    const Tensor& tensor = *tensors_.at(block.name);
    if (tensor.shape == dims_of(block.shape)) return;
    fail("tensor {} is {} but the model's is {}", shown(block.name), shape_text(tensor.shape),
         shape_text(dims_of(block.shape)));
  }

  void copy(const Block& block, Parameters& parameters) const {
    const Tensor& tensor = *tensors_.at(block.name);
    for (int64_t k = 0; k < tensor.size(); ++k) {
      const double value = tensor.value(k);
      if (!std::isfinite(value)) {
        fail("tensor {} has {} as its element {}; every value must be finite", shown(block.name),
             value, k);
      }
      parameters.values.set(block.offset + k, value);
      if (!std::isfinite(parameters.values.get(block.offset + k))) {
        fail("tensor {} has {} as its element {}, too large for float; use double precision",
             shown(block.name), value, k);
      }
    }
  }

  const std::string& path_;
  const Program& program_;
  const TensorFile& file_;
  std::unordered_map<std::string, const Tensor*> tensors_;  // by name
  std::vector<const Block*> blocks_;                        // that are read
};

}  // namespace

Parameters read_parameters(const std::string& path, const Program& program,
                           const ParametersNote& note) {
  return to_parameters(read_tensors(path), program, path, note);
}

Parameters to_parameters(const TensorFile& file, const Program& program, const std::string& path,
                         const ParametersNote& note) {
  Parameters parameters(program);
  ParametersReader(file, program, path).read(parameters, note);
  return parameters;
}

ModelAndProposal read_model_parameters(const std::string& path, const Program& program,
                                       uint64_t proposal_seed, const ParametersNote& note) {
  const TensorFile file = read_tensors(path);
  ParametersReader reader(file, program, path);
  ModelAndProposal result{Parameters::fresh(program, proposal_seed), reader.accept_no_proposal()};
  reader.read(result.parameters, note);
  return result;
}

void add_checksum(TensorFile& file) { file.metadata[kChecksum] = checksum_of(file); }

void check_checksum(const TensorFile& file, const std::string& path) {
  const auto found = file.metadata.find(kChecksum);
  if (found == file.metadata.end()) {
    if (!file.metadata.contains("scry.training")) return;
    throw DataError(fmt::format("{}: the checkpoint is damaged (its checksum is missing)", path));
  }
  if (checksum_of(file) != found->second) {
    throw DataError(
        fmt::format("{}: the file is damaged: it is not what its checksum was made of", path));
  }
}

TensorFile to_tensors(const Program& program, const Parameters& parameters) {
  TensorFile file;
  file.metadata = {{"format", "scry"}};
  for (const AlphabetRow& row : kAlphabets) {
    file.metadata.emplace(row.key, json_of((program.task.*row.alphabet).symbols()));
  }
  const TensorType type =
      program.precision == Precision::kDouble ? TensorType::kF64 : TensorType::kF32;
  for (const Block& block : program.params) {
    const auto* begin = static_cast<const char*>(parameters.values.at(block.offset));
    const size_t num_bytes = static_cast<size_t>(block.shape.size()) * program.real_size();
    file.tensors.push_back({block.name, type, dims_of(block.shape), std::string(begin, num_bytes)});
  }
  return file;
}

void write_parameters(const std::string& path, const Program& program,
                      const Parameters& parameters) {
  write_file(path, to_bytes(to_tensors(program, parameters)));
}

}  // namespace scry
