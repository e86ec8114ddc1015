#include "runtime/files/safetensors.h"

#include <cmath>
#include <cstring>

#include "runtime/files/examples_file.h"
#include "tests/catch.h"
#include "tests/support/temp_folder.h"

using namespace scry;

namespace {

using namespace std::string_literals;

/// 8 bytes, little-endian, spelt out so as not to trust the code under test.
std::string length_bytes(uint64_t length) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(length >> (8 * i) & 255);
  return bytes;
}

std::string file_of(const std::string& header, const std::string& data) {
  return length_bytes(header.size()) + header + data;
}

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

/// What is said of a file with these bytes, without its name; "" if it is read.
std::string fault_of(const std::string& bytes) {
  const test::TempFolder folder;
  const std::string path = folder.write("t", bytes);
  try {
    read_tensors(path);
    return "";
  } catch (const DataError& error) {
    const std::string message = error.what();
    CHECK(message.starts_with(path + ": "));
    CHECK(message.find('\n') == std::string::npos);
    return message.substr(path.size() + 2);
  }
}

TensorFile read_back(const std::string& bytes) {
  const test::TempFolder folder;
  return read_tensors(folder.write("t", bytes));
}

// [[1, 2], [-0.5, 4]] in F32 and 3 in F64, whose entry in the header stands first.
const std::string kHeader =
    R"({"__metadata__":{"format":"pt"},"b":{"dtype":"F64","shape":[],"data_offsets":[16,24]},)"
    R"("a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}})";
const std::string kData =
    "\x00\x00\x80\x3f\x00\x00\x00\x40\x00\x00\x00\xbf\x00\x00\x80\x40"
    "\x00\x00\x00\x00\x00\x00\x08\x40"s;

}  // namespace

TEST_CASE("a file made by hand is read, in the order of its data") {
  const TensorFile file = read_back(file_of(kHeader, kData));
  CHECK(file.metadata == std::map<std::string, std::string>{{"format", "pt"}});
  REQUIRE(file.tensors.size() == 2);
  const Tensor &a = file.tensors[0], &b = file.tensors[1];
  CHECK(a.name == "a");
  CHECK(a.type == TensorType::kF32);
  CHECK(a.shape == std::vector<int64_t>{2, 2});
  REQUIRE(a.size() == 4);
  CHECK(a.value(0) == 1);
  CHECK(a.value(1) == 2);
  CHECK(a.value(2) == -0.5);
  CHECK(a.value(3) == 4);
  CHECK(b.name == "b");
  CHECK(b.shape.empty());
  REQUIRE(b.size() == 1);
  CHECK(b.value(0) == 3);
}

TEST_CASE("tensors are written as the format says, byte for byte") {
  const TensorFile file{{{"w", TensorType::kF32, {2}, bytes_of<float>({1, -2})}}, {{"k", "v"}}};
  const std::string header =
      R"({"__metadata__":{"k":"v"},"w":{"data_offsets":[0,8],"dtype":"F32","shape":[2]}})";
  const std::string padding((8 - header.size() % 8) % 8, ' ');
  CHECK(to_bytes(file) == file_of(header + padding, "\0\0\x80\x3f\0\0\0\xc0"s));
  CHECK(to_bytes({}) == file_of("{}      ", ""));
}

TEST_CASE("data starts at a multiple of 8 bytes, whatever the names are") {
  for (size_t length = 1; length < 20; ++length) {
    const TensorFile file{{{std::string(length, 'n'), TensorType::kF64, {}, bytes_of<double>({7})}},
                          {}};
    const std::string bytes = to_bytes(file);
    CAPTURE(length);
    CHECK(bytes.size() % 8 == 0);
    CHECK(length_bytes(bytes.size() - 16) == bytes.substr(0, 8));
    CHECK(read_back(bytes).tensors.front().value(0) == 7);
  }
}

TEST_CASE("what is written is read again, of every type and shape") {
  const TensorFile file{
      {{"weights é \"quoted\"", TensorType::kF32, {1, 3}, bytes_of<float>({1, 2, 3})},
       {"half", TensorType::kF16, {2}, "\1\2\3\4"},
       {"brain", TensorType::kBf16, {1}, "\5\6"},
       {"none", TensorType::kF64, {0, 5}, ""},
       {"deep", TensorType::kF64, {1, 1, 1}, bytes_of<double>({0.1})}},
      {{"scry.x", "[\"a\",\"b\"]"}, {"note", "two\nlines"}}};
  const TensorFile again = read_back(to_bytes(file));
  CHECK(again.metadata == file.metadata);
  REQUIRE(again.tensors.size() == file.tensors.size());
  for (size_t i = 0; i < file.tensors.size(); ++i) {
    CHECK(again.tensors[i].name == file.tensors[i].name);
    CHECK(again.tensors[i].type == file.tensors[i].type);
    CHECK(again.tensors[i].shape == file.tensors[i].shape);
    CHECK(again.tensors[i].bytes == file.tensors[i].bytes);
  }
}

TEST_CASE("half precision is read exactly: normal, subnormal, zeros and infinities") {
  const std::vector<std::pair<uint16_t, double>> cases{
      {0x3c00, 1},        {0xc000, -2},      {0x3555, 0.333251953125},  {0x7bff, 65504},
      {0x0400, 0x1p-14},  {0x0001, 0x1p-24}, {0x83ff, -1023 * 0x1p-24}, {0x7c00, INFINITY},
      {0xfc00, -INFINITY}};
  for (const auto& [bits, value] : cases) {
    CAPTURE(bits);
    CHECK(Tensor{"h", TensorType::kF16, {1}, bytes_of<uint16_t>({bits})}.value(0) == value);
  }
  const Tensor odd{"h", TensorType::kF16, {2}, bytes_of<uint16_t>({0x8000, 0x7e00})};
  CHECK(odd.value(0) == 0);
  CHECK(std::signbit(odd.value(0)));
  CHECK(std::isnan(odd.value(1)));
  const Tensor brain{"b", TensorType::kBf16, {3}, bytes_of<uint16_t>({0x3f80, 0xc049, 0x0001})};
  CHECK(brain.value(0) == 1);
  CHECK(brain.value(1) == -3.140625);
  CHECK(brain.value(2) == 0x1p-133);
}

TEST_CASE("each fault of a file is one line that says what is wrong") {
  const auto one = [](const std::string& entry, size_t num_data = 8) {
    return file_of("{\"w\":" + entry + "}", std::string(num_data, '\0'));
  };
  const auto placed = [](const std::string& a, const std::string& b, size_t num_data) {
    const std::string start = R"({"dtype":"F32","shape":[2],"data_offsets":)";
    return file_of("{\"a\":" + start + a + "},\"b\":" + start + b + "}}",
                   std::string(num_data, '\0'));
  };
  std::string many;
  for (int i = 0; i < 64; ++i) many += ",1";
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", "it is no safetensors file: it has 0 bytes"},
      {"1234567", "it is no safetensors file: it has 7 bytes"},
      {length_bytes(9) + "{}",
       "it is cut short or no safetensors file: a header of 9 bytes in a "
       "file of 10"},
      {"#include <scry.h>",
       "it is cut short or no safetensors file: a header of "
       "7306093603886885155 bytes in a file of 17"},
      {std::string(8, '\xff') + "{}",
       "it is cut short or no safetensors file: a header of "
       "18446744073709551615 bytes in a file of 10"},
      {file_of("", ""), "its header is not JSON from byte 1 on"},
      {file_of("{\"w\":", ""), "its header is not JSON from byte 6 on"},
      {file_of("{\"\xff\":1}", ""), "its header is not JSON from byte 3 on"},
      {file_of("{\"w\":1e999}", ""), "its header has a number that is too large"},
      {file_of("[]", ""), "its header is not a JSON object"},
      {file_of("{\"w\":[[[[[[]]]]]]}", ""), "its header is nested too deeply"},
      {file_of("{\"w\":{\"shape\":[1" + many + "]}}", ""),
       "its header has a list of more than 64 numbers"},
      {file_of("{}", "x"), "bytes 0 to 1 of the data are no tensor's"},
      {file_of("{\"__metadata__\":1}", ""), "__metadata__ is not a JSON object"},
      {file_of("{\"__metadata__\":{\"k\":1}}", ""), "'k' in __metadata__ is not a string"},
      {file_of(R"({"w":{},"w":{}})", ""), "'w' stands twice in its header"},
      {file_of(R"({"w":{"dtype":"F32","dtype":"F64"}})", ""), "'dtype' stands twice in its header"},
      {one("7"), "tensor 'w' is not a JSON object"},
      {one("{}"), "tensor 'w' has no 'dtype'"},
      {one(R"({"dtype":"I64","shape":[1],"data_offsets":[0,8]})"),
       "tensor 'w' is of type 'I64'; only F16, BF16, F32 and F64 can be read"},
      {one(R"({"dtype":"F32","data_offsets":[0,8]})"), "tensor 'w' has no list 'shape'"},
      {one(R"({"dtype":"F32","shape":[2]})"), "tensor 'w' has no list 'data_offsets'"},
      {one(R"({"dtype":"F32","shape":[-2],"data_offsets":[0,8]})"),
       "tensor 'w': 'shape' has an entry that is not a whole number from 0 up"},
      {one(R"({"dtype":"F32","shape":[2.0],"data_offsets":[0,8]})"),
       "tensor 'w': 'shape' has an entry that is not a whole number from 0 up"},
      {one(R"({"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,8]})"),
       "tensor 'w': 'shape' has an entry that is not a whole number from 0 up"},
      {one(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8,9]})"),
       "tensor 'w': 'data_offsets' are not a begin and an end"},
      {one(R"({"dtype":"F32","shape":[2],"data_offsets":[8,0]})"),
       "tensor 'w': 'data_offsets' are not a begin and an end"},
      {one(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8]})", 7),
       "tensor 'w' ends at byte 8 of the data, which has 7: the file is cut short"},
      {one(R"({"dtype":"F32","shape":[3],"data_offsets":[0,8]})"),
       "tensor 'w' has 8 bytes, which is not [3] of F32"},
      {one(R"({"dtype":"F64","shape":[],"data_offsets":[0,4]})"),
       "tensor 'w' has 4 bytes, which is not scalar of F64"},
      {one(R"({"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]})"),
       "tensor 'w' has 0 bytes, which is not [4294967296, 4294967296] of F32"},
      {placed("[0,8]", "[4,12]", 12), "tensors 'a' and 'b' overlap"},
      {placed("[0,8]", "[0,8]", 8), "tensors 'a' and 'b' overlap"},
      {placed("[0,8]", "[10,18]", 18), "bytes 8 to 10 of the data are no tensor's"},
      {placed("[0,8]", "[8,16]", 20), "bytes 16 to 20 of the data are no tensor's"},
      {file_of("{\"\x7f\\u001b[2J\":1}", ""), "tensor '\\x7f\\x1b[2J' is not a JSON object"},
  };
  for (const auto& [bytes, fault] : cases) {
    CAPTURE(bytes);
    CHECK(fault_of(bytes) == fault);
  }
}

TEST_CASE("the time for a header is in proportion to its tensors") {
  // Where each name looked through those before, this took a quarter of an hour.
  TensorFile file;
  for (int i = 0; i < 100'000; ++i) {
    file.tensors.push_back({"tensor." + std::to_string(i),
                            TensorType::kF32,
                            {1},
                            bytes_of<float>({static_cast<float>(i)})});
  }
  const TensorFile again = read_back(to_bytes(file));
  REQUIRE(again.tensors.size() == file.tensors.size());
  CHECK(again.tensors.back().name == "tensor.99999");
  CHECK(again.tensors.back().value(0) == 99'999);
}

TEST_CASE("nests and lists of any length end the reading where they are too much") {
  const std::string deep(10'000'000, '[');
  CHECK(fault_of(file_of(deep, "")) == "its header is nested too deeply");
  CHECK(fault_of(file_of("{\"w\":" + deep, "")) == "its header is nested too deeply");
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  CHECK(fault_of(file_of(objects, "")) == "its header is nested too deeply");
  std::string numbers;
  for (int i = 0; i < 1'000'000; ++i) numbers += "1,";
  CHECK(fault_of(file_of("{\"w\":[" + numbers + "1]}", "")) == "tensor 'w' is not a JSON object");
  CHECK(fault_of(file_of("{\"w\":{\"shape\":[" + numbers + "1]}}", "")) ==
        "its header has a list of more than 64 numbers");
  CHECK(fault_of(file_of("[" + numbers + "1]", "")) == "its header is not a JSON object");
  CHECK(fault_of(file_of("[{\"w\":[1,\"a\"]},\"b\"]", "")) == "its header is not a JSON object");
  CHECK(fault_of(file_of("7", "")) == "its header is not a JSON object");
}

TEST_CASE("names that stand twice are found at every depth, and only within one object") {
  CHECK(fault_of(file_of(R"({"a":{"x":{"k":1,"k":2}}})", "")) == "'k' stands twice in its header");
  CHECK(fault_of(file_of(R"({"__metadata__":{"k":"1","k":"2"}})", "")) ==
        "'k' stands twice in its header");
  const std::string entry = R"("shape":[],"data_offsets":)";
  CHECK(fault_of(file_of(
            R"({"a":{"dtype":"F32",)" + entry + R"([0,4]},"b":{"dtype":"F32",)" + entry + "[4,8]}}",
            "12345678")) == "");
}

TEST_CASE("members that the format does not know are passed over") {
  const TensorFile file =
      read_back(file_of(R"({"a":{"note":[1,"x",null],"dtype":"F32","more":{"k":1},"shape":[],)"
                        R"("data_offsets":[0,4],"last":-1.5}})",
                        "\0\0\x80\x3f"s));
  REQUIRE(file.tensors.size() == 1);
  CHECK(file.tensors[0].value(0) == 1);
}

TEST_CASE("a file that is no file of tensors at all is named") {
  const test::TempFolder folder;
  CHECK_THROWS_WITH(read_tensors(folder.path()), folder.path() + " is a folder");
  CHECK_THROWS_WITH(read_tensors(folder.file("none")),
                    folder.file("none") + " cannot be read: No such file or directory");
  CHECK_THROWS_WITH(read_tensors("/dev/zero"), "/dev/zero is not a regular file");
}

TEST_CASE("a header beyond the format's limit is refused before it is read") {
  const test::TempFolder folder;
  const std::string path = folder.write("t", length_bytes(100'000'001));
  std::filesystem::resize_file(path, 100'000'100);  // with a hole: takes no room
  CHECK_THROWS_WITH(read_tensors(path), path +
                                            ": its header has 100000001 bytes, more than the "
                                            "100000000 that the format allows");
}

TEST_CASE("a file cut short at any byte is refused, and any changed byte of it is safe") {
  const std::string whole = file_of(kHeader, kData);
  CHECK(fault_of(whole).empty());
  for (size_t length = 0; length < whole.size(); ++length) {
    CHECK(!fault_of(whole.substr(0, length)).empty());
  }
  for (size_t i = 0; i < whole.size() - kData.size(); ++i) {
    for (const char c : {'\0', '\xff', '"', '}', '[', '9', '-', ' '}) {
      std::string changed = whole;
      changed[i] = c;
      CHECK_NOTHROW(fault_of(changed));
    }
  }
}

TEST_CASE("tensors that make no file are refused when they are written") {
  const Tensor w{"w", TensorType::kF32, {1}, "1234"};
  CHECK_THROWS_WITH(to_bytes({{w, w}, {}}), "a tensor cannot be named 'w': the name is taken");
  CHECK_THROWS_AS(to_bytes({{{"__metadata__", TensorType::kF32, {1}, "1234"}}, {}}), Error);
  CHECK_THROWS_WITH(to_bytes({{{"w", TensorType::kF32, {2}, "1234"}}, {}}),
                    "tensor 'w' has 4 bytes, which is not [2] of F32");
  CHECK_THROWS_WITH(to_bytes({{{"\xff", TensorType::kF32, {1}, "1234"}}, {}}),
                    "a name among the tensors or their metadata is not UTF-8");
}
