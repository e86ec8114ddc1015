#include "runtime/files/safetensors.h"

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
#include <unordered_set>

#include "base/quote.h"
#include "runtime/files/examples_file.h"

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

std::string shown(const std::string& name) { return quote(name, 100); }

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

/// A value of the header as far as it matters: a text, a list of whole numbers, or another.
struct Member {
  std::optional<std::string> text;
  bool is_list = false;
  std::vector<int64_t> numbers;
  bool has_other = false;  ///< in the list: an entry that is no whole number from 0 up
};

/// What stands under one name in the header.
struct Entry {
  std::string name;
  bool is_object = false;
  std::map<std::string, Member, std::less<>> members;
};

/// Gathers the header in one pass, in memory in proportion to its tensors. Refuses what the JSON
/// library would take: names that stand twice, deep nests and long lists. `fail` throws.
template <class Fail>
class HeaderParser : public nlohmann::json_sax<Json> {
 public:
  explicit HeaderParser(Fail fail) : fail_(fail) {}

  std::vector<Entry> parse(const std::string& text) {
    Json::sax_parse(text, this);
    if (!is_object_) fail_("its header is not a JSON object");
    return std::move(entries_);
  }

  bool null() override { return add_other(); }
  bool boolean(bool) override { return add_other(); }
  bool number_integer(number_integer_t) override { return add_other(); }
  bool number_float(number_float_t, const string_t&) override { return add_other(); }
  bool binary(binary_t&) override { return add_other(); }
  bool number_unsigned(number_unsigned_t value) override {
    if (!in_list() || value > uint64_t{INT64_MAX}) return add_other();
    check_list();
    member_->numbers.push_back(static_cast<int64_t>(value));
    return true;
  }
  bool string(string_t& value) override {
    if (depth_ != 2 || !entry().is_object) return add_other();
    member_->text = std::move(value);
    return true;
  }

  bool start_object(std::size_t) override {
    if (depth_ == 0) is_object_ = true;
    if (depth_ == 1 && is_object_) entry().is_object = true;
    return open();
  }
  bool start_array(std::size_t) override {
    if (depth_ == 2 && entry().is_object) member_->is_list = true;
    return open();
  }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    if (!names_[static_cast<size_t>(depth_)].insert(name).second)
      fail_(fmt::format("{} stands twice in its header", shown(name)));
    if (depth_ == 1) entries_.push_back({std::move(name), false, {}});
    if (depth_ == 2) member_ = &entry().members[std::move(name)];
    return true;
  }

  bool parse_error(std::size_t byte, const std::string&, const Json::exception& error) override {
    constexpr int kOutOfRange = 406;
    if (error.id == kOutOfRange) fail_("its header has a number that is too large");
    fail_(fmt::format("its header is not JSON from byte {} on", byte));
    return false;
  }

 private:
  static constexpr int kMaxDepth = 3;  // the header, a tensor, its shape

  Entry& entry() {
    if (entries_.empty()) entries_.emplace_back();  // the header is a list, and refused at its end
    return entries_.back();
  }
  bool in_list() { return depth_ == 3 && member_ != nullptr && member_->is_list; }
  void check_list() {
    if (++num_numbers_ > kMaxRank)
      fail_(fmt::format("its header has a list of more than {} numbers", kMaxRank));
  }
  bool add_other() {
    if (in_list()) {
      check_list();
      member_->has_other = true;
    }
    return true;
  }
  bool open() {
    if (++depth_ > kMaxDepth) fail_("its header is nested too deeply");
    names_[static_cast<size_t>(depth_)].clear();
    num_numbers_ = 0;
    return true;
  }
  bool close() {
    --depth_;
    return true;
  }

  Fail fail_;
  int depth_ = 0, num_numbers_ = 0;
  bool is_object_ = false;
  std::array<std::unordered_set<std::string>, kMaxDepth + 1> names_;  // of the object at each depth
  std::vector<Entry> entries_;
  Member* member_ = nullptr;  // that is being read
};

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
    TensorFile result;
    std::vector<Place> places;
    for (Entry& entry : read_header()) {
      if (entry.name == kMetadata) {
        result.metadata = metadata_of(entry);
      } else {
        places.push_back(place_of(entry));
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

  std::vector<Entry> read_header() {
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
    const auto refuse = [this](const std::string& fault) { fail("{}", fault); };
    return HeaderParser(refuse).parse(take(length));
  }

  std::map<std::string, std::string> metadata_of(Entry& entry) const {
    std::map<std::string, std::string> metadata;
    if (!entry.is_object) fail("{} is not a JSON object", kMetadata);
    for (auto& [key, member] : entry.members) {
      if (!member.text) fail("{} in {} is not a string", shown(key), kMetadata);
      metadata.emplace(key, std::move(*member.text));
    }
    return metadata;
  }

  /// The member `key` as whole numbers from 0 up.
  const std::vector<int64_t>& numbers(const Entry& entry, const char* key) const {
    const auto found = entry.members.find(key);
    if (found == entry.members.end() || !found->second.is_list) {
      fail("tensor {} has no list '{}'", shown(entry.name), key);
    }
    if (found->second.has_other) {
      fail("tensor {}: '{}' has an entry that is not a whole number from 0 up", shown(entry.name),
           key);
    }
    return found->second.numbers;
  }

  Place place_of(const Entry& entry) const {
    const std::string& name = entry.name;
    if (!entry.is_object) fail("tensor {} is not a JSON object", shown(name));
    const auto type = entry.members.find("dtype");
    if (type == entry.members.end() || !type->second.text)
      fail("tensor {} has no 'dtype'", shown(name));
    const std::string& type_name = *type->second.text;
    const auto* row = std::find_if(kTypes.begin(), kTypes.end(),
                                   [&](const TypeRow& each) { return each.name == type_name; });
    if (row == kTypes.end()) {
      fail("tensor {} is of type {}; only F16, BF16, F32 and F64 can be read", shown(name),
           quote(type_name));
    }
    Place place{{name, row->type, numbers(entry, "shape"), ""}};
    const std::vector<int64_t>& offsets = numbers(entry, "data_offsets");
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
