// Parameters in safetensors files, under their names in the program, such as "model.emb.weight".
#pragma once
#include <functional>
#include <string>

#include "runtime/files/safetensors.h"
#include "runtime/kernels/parameters.h"

namespace scry {

/// Called with a line for a person.
using ParametersNote = std::function<void(const std::string& text)>;

/// Reads exactly the program's parameters, converted to its precision, and prepares their tables.
/// Throws DataError if the file is damaged, lacks a parameter or has one of another shape, has a
/// tensor that the program does not know, a number that is not finite, or the alphabets of another
/// task, or is not what its checksum was made of. Files without alphabets or a checksum, such as
/// PyTorch's, are taken as they are. Other tensors whose names start with "train." are passed over:
/// they are a training run's (train/checkpoint.h). Files from before proposals had a to_go by
/// default, or from elsewhere, may lack its parameters: they are then at their start, 0, which is
/// noted.
Parameters read_parameters(const std::string& path, const Program& program,
                           const ParametersNote& note = {});
/// Likewise of a file that has been read; `path` is its name in messages.
Parameters to_parameters(const TensorFile& file, const Program& program, const std::string& path,
                         const ParametersNote& note = {});

/// Likewise, but a file that has none of the proposal's parameters is taken, too: they are then
/// fresh, by the seed.
struct ModelAndProposal {
  Parameters parameters;
  bool proposal_is_fresh;
};
ModelAndProposal read_model_parameters(const std::string& path, const Program& program,
                                       uint64_t proposal_seed, const ParametersNote& note = {});

/// Puts a checksum of all the rest into the file's metadata, as "scry.checksum".
void add_checksum(TensorFile& file);
/// Throws DataError if there is one and it is wrong, or if there is none in a training run's file;
/// `path` is the file's name in messages.
void check_checksum(const TensorFile& file, const std::string& path);

/// The parameters in the program's precision, with the alphabets' symbols as metadata: "scry.x" and
/// "scry.y" are JSON lists.
TensorFile to_tensors(const Program& program, const Parameters& parameters);

/// Replaces the file, whole or not at all. Throws Error.
void write_parameters(const std::string& path, const Program& program,
                      const Parameters& parameters);

}  // namespace scry
