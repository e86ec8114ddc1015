#include "runtime/safetensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "runtime/examples_file.h"
#include "runtime/quote.h"

namespace scry {
namespace {

using Json = nlohmann::json;
static_assert(std::endian::native == std::endian::little, "tensors are copied as they are");

constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // the format's own limit
constexpr int kMaxRank = 64;
constexpr const char* kMetadata = "__metadata__";

struct TypeRow {
  TensorType type;
  const char* name;
  int64_t num_bytes;
};
constexpr std::array kTypes{
    TypeRow{TensorType::kF16, "F16", 2}, TypeRow{TensorType::kBf16, "BF16", 2},
    TypeRow{TensorType::kF32, "F32", 4}, TypeRow{TensorType::kF64, "F64", 8}};

const TypeRow& row_of(TensorType type) { return kTypes[static_cast<size_t>(type)]; }

/// Nothing if it is beyond any file.
std::optional<int64_t> bytes_of(TensorType type, const std::vector<int64_t>& shape) {
  int64_t bytes = row_of(type).num_bytes;
  for (int64_t dim : shape) {
    if (dim < 0 || __builtin_mul_overflow(bytes, dim, &bytes)) return std::nullopt;
  }
  return bytes;
}

template <class T>
T load(const std::string& bytes, int64_t i) {
  T value;
  std::memcpy(&value, bytes.data() + static_cast<size_t>(i) * sizeof(T), sizeof(T));
  return value;
}

double from_f16(uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  double magnitude = std::ldexp(1024 + fraction, exponent - 25);
  if (exponent == 0) magnitude = std::ldexp(fraction, -24);
  if (exponent == 31) magnitude = fraction == 0 ? INFINITY : NAN;
  return bits >> 15 == 0 ? magnitude : -magnitude;
}

/// A tensor without its bytes, and where in the data they are.
struct Place {
  Tensor tensor;
  uint64_t begin = 0, end = 0;
};

class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path) {
    std::error_code error;
    if (std::filesystem::is_directory(path, error))
      throw DataError(fmt::format("{} is a folder", path));
    if (std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error)) {
      throw DataError(fmt::format("{} is not a regular file", path));
    }
    errno = 0;
    file_.open(path, std::ios::binary | std::ios::ate);
    if (!file_) {
      throw DataError(fmt::format("{} cannot be read: {}", path, std::strerror(errno)));
    }
    num_bytes_ = static_cast<uint64_t>(std::max<std::streamoff>(0, file_.tellg()));
    file_.seekg(0);
  }

  TensorFile read() {
    const Json header = read_header();
    TensorFile result;
    std::vector<Place> places;
    for (const auto& [name, value] : header.items()) {
      if (name == kMetadata) {
        result.metadata = metadata_of(value);
      } else {
        places.push_back(place_of(name, value));
      }
    }
    std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
      return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
    });
    check(places);
    for (Place& place : places) {
      place.tensor.bytes = take(place.end - place.begin);
      result.tensors.push_back(std::move(place.tensor));
    }
    return result;
  }

 private:
  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    throw DataError(fmt::format("{}: {}", path_, fmt::format(format, std::forward<Args>(args)...)));
  }

  /// The next bytes; there are that many unless the file changes under our hands.
  std::string take(uint64_t count) {
    std::string bytes(count, '\0');
    if (!file_.read(bytes.data(), static_cast<std::streamsize>(count)))
      fail("it ended while it was read");
    return bytes;
  }

  Json read_header() {
    if (num_bytes_ < 8) {
      fail("it is no safetensors file: it has {} byte{}", num_bytes_, num_bytes_ == 1 ? "" : "s");
    }
    const auto length = load<uint64_t>(take(8), 0);
    if (length > num_bytes_ - 8) {
      fail("it is cut short or no safetensors file: a header of {} bytes in a file of {}", length,
           num_bytes_);
    }
    if (length > kMaxHeaderBytes) {
      fail("its header has {} bytes, more than the {} that the format allows", length,
           kMaxHeaderBytes);
    }
    num_data_bytes_ = num_bytes_ - 8 - length;
    Json header = parse(take(length));
    if (!header.is_object()) fail("its header is not a JSON object");
    return header;
  }

  /// Refuses what the JSON library would take: names that stand twice, deep nests and long lists.
  Json parse(const std::string& text) const {
    std::array<std::set<std::string>, 4> names;  // of the object at each depth
    int num_entries = 0;                         // of the list that is being read
    const auto check = [&](int depth, Json::parse_event_t event, Json& parsed) {
      const auto level = static_cast<size_t>(depth);
      const bool opens =
          event == Json::parse_event_t::object_start || event == Json::parse_event_t::array_start;
      if (opens && level >= 3) fail("its header is nested too deeply");
      if (opens) {
        names[level + 1].clear();
        num_entries = 0;
      }
      if (level == 3 && event == Json::parse_event_t::value && ++num_entries > kMaxRank) {
        fail("its header has a list of more than {} numbers", kMaxRank);
      }
      if (event == Json::parse_event_t::key) {
        const auto& name = parsed.get_ref<const std::string&>();
        if (!names[level].insert(name).second) fail("{} stands twice in its header", shown(name));
      }
      return true;
    };
    try {
      return Json::parse(text, check);
    } catch (const Json::parse_error& error) {
      fail("its header is not JSON from byte {} on", error.byte);
    } catch (const Json::exception&) {
      fail("its header has a number that is too large");
    }
  }

  static std::string shown(const std::string& name) { return quote(name, 100); }

  std::map<std::string, std::string> metadata_of(const Json& value) const {
    std::map<std::string, std::string> metadata;
    if (!value.is_object()) fail("{} is not a JSON object", kMetadata);
    for (const auto& [key, text] : value.items()) {
      if (!text.is_string()) fail("{} in {} is not a string", shown(key), kMetadata);
      metadata.emplace(key, text.get<std::string>());
    }
    return metadata;
  }

  /// The member `key` as whole numbers from 0 up.
  std::vector<int64_t> numbers(const std::string& name, const Json& value, const char* key) const {
    std::vector<int64_t> result;
    const auto found = value.find(key);
    if (found == value.end() || !found->is_array()) {
      fail("tensor {} has no list '{}'", shown(name), key);
    }
    for (const Json& number : *found) {
      if (!number.is_number_unsigned() || number.get<uint64_t>() > uint64_t{INT64_MAX}) {
        fail("tensor {}: '{}' has an entry that is not a whole number from 0 up", shown(name), key);
      }
      result.push_back(number.get<int64_t>());
    }
    return result;
  }

  Place place_of(const std::string& name, const Json& value) const {
    if (!value.is_object()) fail("tensor {} is not a JSON object", shown(name));
    const auto type = value.find("dtype");
    if (type == value.end() || !type->is_string()) fail("tensor {} has no 'dtype'", shown(name));
    const auto& type_name = type->get_ref<const std::string&>();
    const auto* row = std::find_if(kTypes.begin(), kTypes.end(),
                                   [&](const TypeRow& each) { return each.name == type_name; });
    if (row == kTypes.end()) {
      fail("tensor {} is of type {}; only F16, BF16, F32 and F64 can be read", shown(name),
           quote(type_name));
    }
    Place place{{name, row->type, numbers(name, value, "shape"), ""}};
    const std::vector<int64_t> offsets = numbers(name, value, "data_offsets");
    if (offsets.size() != 2 || offsets[0] > offsets[1]) {
      fail("tensor {}: 'data_offsets' are not a begin and an end", shown(name));
    }
    place.begin = static_cast<uint64_t>(offsets[0]);
    place.end = static_cast<uint64_t>(offsets[1]);
    if (place.end > num_data_bytes_) {
      fail("tensor {} ends at byte {} of the data, which has {}: the file is cut short",
           shown(name), place.end, num_data_bytes_);
    }
    const std::optional<int64_t> wanted = bytes_of(row->type, place.tensor.shape);
    if (!wanted || *wanted != offsets[1] - offsets[0]) {
      fail("tensor {} has {} bytes, which is not {} of {}", shown(name), offsets[1] - offsets[0],
           shape_text(place.tensor.shape), row->name);
    }
    return place;
  }

  /// That the places, in order, are all of the data.
  void check(const std::vector<Place>& places) const {
    const Place* before = nullptr;
    uint64_t end = 0;
    for (const Place& place : places) {
      if (place.begin < end) {
        fail("tensors {} and {} overlap", shown(before->tensor.name), shown(place.tensor.name));
      }
      if (place.begin > end) fail("bytes {} to {} of the data are no tensor's", end, place.begin);
      before = &place;
      end = place.end;
    }
    if (end < num_data_bytes_) {
      fail("bytes {} to {} of the data are no tensor's", end, num_data_bytes_);
    }
  }

  std::string path_;
  std::ifstream file_;
  uint64_t num_bytes_ = 0, num_data_bytes_ = 0;
};

}  // namespace

int64_t Tensor::size() const { return static_cast<int64_t>(bytes.size()) / row_of(type).num_bytes; }

double Tensor::value(int64_t i) const {
  switch (type) {
    case TensorType::kF16:
      return from_f16(load<uint16_t>(bytes, i));
    case TensorType::kBf16:
      return std::bit_cast<float>(static_cast<uint32_t>(load<uint16_t>(bytes, i)) << 16);
    case TensorType::kF32:
      return load<float>(bytes, i);
    default:
      return load<double>(bytes, i);
  }
}

std::string shape_text(const std::vector<int64_t>& shape) {
  if (shape.empty()) return "scalar";
  constexpr size_t kMaxShown = 8;
  const size_t shown = std::min(shape.size(), kMaxShown);
  return fmt::format("[{}{}]", fmt::join(shape.begin(), shape.begin() + shown, ", "),
                     shown < shape.size() ? ", …" : "");
}

TensorFile read_tensors(const std::string& path) { return Reader(path).read(); }

std::string to_bytes(const TensorFile& file) {
  Json header = Json::object();
  if (!file.metadata.empty()) header[kMetadata] = file.metadata;
  size_t num_data_bytes = 0;
  for (const Tensor& tensor : file.tensors) {
    const size_t begin = num_data_bytes;
    num_data_bytes += tensor.bytes.size();
    const std::optional<int64_t> wanted = bytes_of(tensor.type, tensor.shape);
    if (!wanted || static_cast<size_t>(*wanted) != tensor.bytes.size()) {
      throw Error(fmt::format("tensor {} has {} bytes, which is not {} of {}", quote(tensor.name),
                              tensor.bytes.size(), shape_text(tensor.shape),
                              row_of(tensor.type).name));
    }
    const Json entry{{"dtype", row_of(tensor.type).name},
                     {"shape", tensor.shape},
                     {"data_offsets", {begin, num_data_bytes}}};
    if (tensor.name == kMetadata || !header.emplace(tensor.name, entry).second) {
      throw Error(
          fmt::format("a tensor cannot be named {}: the name is taken", quote(tensor.name)));
    }
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const Json::exception&) {
    throw Error("a name among the tensors or their metadata is not UTF-8");
  }
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const uint64_t length = text.size();
  if (length > kMaxHeaderBytes) {
    throw Error(fmt::format("a safetensors header of {} bytes is more than the {} allowed", length,
                            kMaxHeaderBytes));
  }
  std::string bytes(sizeof(length), '\0');
  std::memcpy(bytes.data(), &length, sizeof(length));
  bytes.reserve(bytes.size() + text.size() + num_data_bytes);
  bytes += text;
  for (const Tensor& tensor : file.tensors) bytes += tensor.bytes;
  return bytes;
}

}  // namespace scry
