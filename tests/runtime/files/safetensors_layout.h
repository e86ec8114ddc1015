// A small reader of safetensors files, written from the format's description alone, so as to check
// what Scry writes with nothing that Scry reads with.
//
//   8 bytes     N, the header's length, little-endian
//   N bytes     a JSON object, then spaces; it starts with "{":
//               "NAME": {"dtype": "F32", "shape": [2, 3], "data_offsets": [BEGIN, END]}, …,
//               "__metadata__": {"KEY": "TEXT", …} may be there
//   the rest    the tensors' bytes, little-endian, in C order. Offsets count from here; the tensors
//               take up all of it, without gaps.
#pragma once
#include <cstdint>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace scry::test {

struct LayoutTensor {
  std::string dtype;
  std::vector<int64_t> shape;
  std::string bytes;

  /// For dtype F32 and F64.
  std::vector<double> values() const {
    std::vector<double> result;
    const size_t width = dtype == "F32" ? 4 : 8;
    if (dtype != "F32" && dtype != "F64") throw std::runtime_error("no values of " + dtype);
    for (size_t at = 0; at < bytes.size(); at += width) {
      uint64_t bits = 0;
      for (size_t i = 0; i < width; ++i)
        bits |= static_cast<uint64_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
      const auto low = static_cast<uint32_t>(bits);
      float single;
      double whole;
      std::memcpy(&single, &low, 4);
      std::memcpy(&whole, &bits, 8);
      result.push_back(width == 4 ? static_cast<double>(single) : whole);
    }
    return result;
  }
};

struct SafetensorsLayout {
  std::map<std::string, std::string> metadata;
  std::map<std::string, LayoutTensor> tensors;
};

/// Throws std::runtime_error with the rule that the file breaks.
inline SafetensorsLayout read_safetensors_layout(const std::string& file) {
  const auto demand = [](bool holds, const std::string& rule) {
    if (!holds) throw std::runtime_error(rule);
  };
  demand(file.size() >= 8, "a file has a length of 8 bytes");
  uint64_t num_header_bytes = 0;
  for (size_t i = 0; i < 8; ++i)
    num_header_bytes |= static_cast<uint64_t>(static_cast<unsigned char>(file[i])) << (8 * i);
  demand(num_header_bytes <= file.size() - 8, "the header is inside the file");
  demand(num_header_bytes % 8 == 0, "the data is aligned to 8 bytes");
  const std::string header = file.substr(8, num_header_bytes);
  const std::string data = file.substr(8 + num_header_bytes);

  demand(header.starts_with('{'), "the header starts with {");
  demand(header.find_last_not_of(' ') == header.rfind('}'), "the header is padded with spaces");
  std::set<std::string> names;
  const auto json = nlohmann::json::parse(header, [&](int depth, auto event, auto& parsed) {
    if (depth == 1 && event == nlohmann::json::parse_event_t::key)
      demand(names.insert(parsed.template get<std::string>()).second, "no name stands twice");
    return true;
  });

  static const std::map<std::string, int64_t> widths{
      {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"I16", 2}, {"U16", 2}, {"F16", 2}, {"BF16", 2},
      {"I32", 4},  {"U32", 4}, {"F32", 4}, {"F64", 8}, {"I64", 8}, {"U64", 8}};
  SafetensorsLayout layout;
  std::map<std::pair<size_t, size_t>, std::string> places;  // empty tensors may share one
  for (const auto& [name, entry] : json.items()) {
    if (name == "__metadata__") {
      layout.metadata = entry.get<std::map<std::string, std::string>>();
      continue;
    }
    demand(entry.size() == 3, "a tensor has dtype, shape and data_offsets, and no more");
    LayoutTensor tensor{entry.at("dtype").get<std::string>(), {}, ""};
    demand(widths.contains(tensor.dtype), "the dtype is one of the format's");
    int64_t num_bytes = widths.at(tensor.dtype);
    for (const auto& dim : entry.at("shape")) {
      demand(dim.is_number_unsigned(), "a shape is of whole numbers");
      tensor.shape.push_back(dim.get<int64_t>());
      num_bytes *= tensor.shape.back();
    }
    demand(entry.at("data_offsets").size() == 2, "data_offsets are two");
    const auto begin = entry["data_offsets"][0].get<size_t>();
    const auto end = entry["data_offsets"][1].get<size_t>();
    demand(begin <= end && end <= data.size(), "offsets are inside the data");
    demand(end - begin == static_cast<size_t>(num_bytes),
           "bytes are as many as dtype and shape say");
    tensor.bytes = data.substr(begin, end - begin);
    demand(places.emplace(std::pair(begin, end), name).second || begin == end,
           "no two tensors are in one place");
    layout.tensors.emplace(name, std::move(tensor));
  }
  size_t covered = 0;
  for (const auto& [place, name] : places) {
    demand(place.first == covered, "tensors follow each other without gaps");
    covered = place.second;
  }
  demand(covered == data.size(), "tensors take up all of the data");
  return layout;
}

}  // namespace scry::test
