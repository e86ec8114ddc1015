#include "tests/runtime/files/safetensors_layout.h"

#include "runtime/files/parameters_file.h"
#include "tests/catch.h"
#include "tests/support/hand_hmm.h"
#include "tests/support/temp_folder.h"

using namespace scry;
using test::LayoutTensor;
using test::read_safetensors_layout;
using test::SafetensorsLayout;

namespace {

using namespace std::string_literals;

std::string file_of(std::string header, const std::string& data) {
  header.resize((header.size() + 7) / 8 * 8, ' ');
  return std::string(1, static_cast<char>(header.size())) + std::string(7, '\0') + header + data;
}

std::string broken_rule(const std::string& file) {
  try {
    read_safetensors_layout(file);
    return "";
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

/// The file that a program's fresh parameters are written to.
SafetensorsLayout layout_of(const Program& program, const Parameters& parameters) {
  const test::TempFolder folder;
  write_parameters(folder.file("p"), program, parameters);
  return read_safetensors_layout(test::read_bytes(folder.file("p")));
}

void check_layout(const Program& program, const std::string& dtype) {
  const Parameters parameters = Parameters::fresh(program, 5);
  const SafetensorsLayout layout = layout_of(program, parameters);
  CHECK(layout.tensors.size() == program.params.size());
  for (const Block& block : program.params) {
    CAPTURE(block.name);
    REQUIRE(layout.tensors.contains(block.name));
    const LayoutTensor& tensor = layout.tensors.at(block.name);
    CHECK(tensor.dtype == dtype);
    std::vector<int64_t> shape;
    for (int axis = 0; axis < block.shape.rank(); ++axis) shape.push_back(block.shape[axis]);
    CHECK(tensor.shape == shape);
    std::vector<double> values;
    for (int64_t k = 0; k < block.shape.size(); ++k)
      values.push_back(parameters.values.get(block.offset + k));
    CHECK(tensor.values() == values);
  }
}

}  // namespace

TEST_CASE("the tests' reader reads a layout made by hand") {
  const SafetensorsLayout layout = read_safetensors_layout(
      file_of(R"({"__metadata__":{"k":"v"},"d":{"dtype":"F64","shape":[],"data_offsets":[8,16]},)"
              R"("f":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},)"
              R"("none":{"dtype":"I64","shape":[0],"data_offsets":[8,8]}})",
              "\x00\x00\x80\x3f\x00\x00\x00\xc0\x00\x00\x00\x00\x00\x00\x08\x40"s));
  CHECK(layout.metadata == std::map<std::string, std::string>{{"k", "v"}});
  CHECK(layout.tensors.at("f").shape == std::vector<int64_t>{1, 2});
  CHECK(layout.tensors.at("f").values() == std::vector<double>{1, -2});
  CHECK(layout.tensors.at("d").shape.empty());
  CHECK(layout.tensors.at("d").values() == std::vector<double>{3});
  CHECK(layout.tensors.at("none").bytes.empty());
}

TEST_CASE("the tests' reader names the rule that a file breaks") {
  const std::string a = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]})";
  const std::string eight(8, '\0');
  CHECK(broken_rule(file_of(a + "}", eight)).empty());
  CHECK(broken_rule("1234") == "a file has a length of 8 bytes");
  CHECK(broken_rule("\x08\0\0\0\0\0\0\0{}"s) == "the header is inside the file");
  CHECK(broken_rule("\x02\0\0\0\0\0\0\0{}"s) == "the data is aligned to 8 bytes");
  CHECK(broken_rule(file_of(" {}", "")) == "the header starts with {");
  CHECK(broken_rule(file_of("{}\n", "")) == "the header is padded with spaces");
  CHECK(broken_rule(file_of("{}", "x")) == "tensors take up all of the data");
  CHECK(broken_rule(file_of(a + "," + a.substr(1) + "}", eight)) == "no name stands twice");
  CHECK(broken_rule(file_of(a + "}", "1234")) == "offsets are inside the data");
  CHECK(broken_rule(file_of(a + "}", eight + eight)) == "tensors take up all of the data");
  const auto with_b = [&](const std::string& entry, const std::string& data) {
    return broken_rule(file_of(a + ",\"b\":{" + entry + "}}", data));
  };
  CHECK(with_b(R"("dtype":"F32","shape":[2],"data_offsets":[0,8])", eight) ==
        "no two tensors are in one place");
  CHECK(with_b(R"("dtype":"F32","shape":[2],"data_offsets":[4,12])", eight + "1234") ==
        "tensors follow each other without gaps");
  CHECK(with_b(R"("dtype":"F32","shape":[1],"data_offsets":[12,16])", eight + eight) ==
        "tensors follow each other without gaps");
  CHECK(with_b(R"("dtype":"F32","shape":[2],"data_offsets":[8,12])", eight + "1234") ==
        "bytes are as many as dtype and shape say");
  CHECK(with_b(R"("dtype":"F31","shape":[2],"data_offsets":[8,16])", eight + eight) ==
        "the dtype is one of the format's");
  CHECK(with_b(R"("dtype":"F64","shape":[-1],"data_offsets":[8,16])", eight + eight) ==
        "a shape is of whole numbers");
}

TEST_CASE("parameters are written in the layout that other readers of safetensors expect") {
  Program program = test::hand_hmm();
  check_layout(program, "F64");
  CHECK(layout_of(program, Parameters::fresh(program, 1)).metadata ==
        std::map<std::string, std::string>{
            {"format", "scry"}, {"scry.x", R"(["0","1","2"])"}, {"scry.y", R"(["0","1"])"}});
  program.precision = Precision::kFloat;
  check_layout(program, "F32");
  program.params.push_back({"model.bias", {5}, 64, ParamGroup::kModel, Init::normal(1)});
  program.params.push_back({"model.scale", {}, 80, ParamGroup::kModel, Init::normal(1)});
  program.num_param_elements = 96;
  check_layout(program, "F32");
}
