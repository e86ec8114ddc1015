// The safetensors format: named tensors behind a JSON header, as PyTorch and others write them.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace scry {

enum class TensorType : uint8_t { kF16, kBf16, kF32, kF64 };

struct Tensor {
  std::string name;
  TensorType type = TensorType::kF32;
  std::vector<int64_t> shape;  ///< empty for a scalar
  std::string bytes;           ///< rows first, little-endian; as many as type and shape say

  int64_t size() const;         ///< in elements
  double value(int64_t) const;  ///< of one element; exact for every type
};

/// Tensors have different names and are in the order of their data.
struct TensorFile {
  std::vector<Tensor> tensors;
  std::map<std::string, std::string> metadata;
};

/// "[2, 3]", "scalar".
std::string shape_text(const std::vector<int64_t>& shape);

/// Throws DataError ("m.safetensors: tensor 'w' …") unless the file is whole and right: then every
/// byte of its data belongs to one tensor. Takes no more memory than in proportion to the file.
TensorFile read_tensors(const std::string& path);

/// The file's content; tensor data starts at a multiple of 8 bytes. Throws Error if a name stands
/// twice or is not UTF-8, or a tensor's bytes do not fit its type and shape.
std::string to_bytes(const TensorFile& file);

}  // namespace scry
