#include "runtime/files/parameters_file.h"

#include <cmath>
#include <cstring>

#include "runtime/files/examples_file.h"
#include "tests/catch.h"
#include "tests/support/hand_hmm.h"
#include "tests/support/temp_folder.h"

using namespace scry;

namespace {

std::vector<double> all(const RealBuffer& buffer) {
  std::vector<double> values;
  for (int64_t k = 0; k < buffer.size(); ++k) values.push_back(buffer.get(k));
  return values;
}

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

/// The HMM's parameters by a seed, as a file that a test may spoil.
TensorFile tensors_of(const Program& program, uint64_t seed = 1) {
  return to_tensors(program, Parameters::fresh(program, seed));
}

Parameters read_back(const TensorFile& file, const Program& program) {
  const test::TempFolder folder;
  return read_parameters(folder.write("p", to_bytes(file)), program);
}

std::string fault_of(const TensorFile& file, const Program& program) {
  const test::TempFolder folder;
  const std::string path = folder.write("p", to_bytes(file));
  try {
    read_parameters(path, program);
    return "";
  } catch (const DataError& error) {
    const std::string message = error.what();
    CHECK(message.starts_with(path + ": "));
    return message.substr(path.size() + 2);
  }
}

/// One parameter p of two numbers in float, and a table 2p.
Program float_program() {
  Program program;
  program.params = {{"p", {2}, 0, ParamGroup::kModel, Init::normal(1)}};
  program.num_param_elements = 16;
  program.tables = {{"table.0", {2}, 0, ParamGroup::kModel}};
  program.num_table_elements = 16;
  program.prepare.forward = {"prepare",
                             {{"p", SlotRole::kInput, Kind::kReal, {}, {2}},
                              {"table.0", SlotRole::kOutput, Kind::kReal, {}, {2}}},
                             [](const KernelCall* call) {
                               for (int k = 0; k < 2; ++k) {
                                 static_cast<float*>(call->args[1])[k] =
                                     2 * static_cast<float*>(call->args[0])[k];
                               }
                             }};
  return program;
}

}  // namespace

TEST_CASE("parameters come back from their file as they were, to the bit") {
  const test::TempFolder folder;
  const Program program = test::hand_hmm();
  const Parameters parameters = Parameters::fresh(program, 7);
  write_parameters(folder.file("p"), program, parameters);
  CHECK(all(read_parameters(folder.file("p"), program).values) == all(parameters.values));
  CHECK(folder.names() == std::vector<std::string>{"p"});
}

TEST_CASE("a parameter file holds names, shapes and alphabets, and no padding") {
  const Program program = test::hand_hmm();
  const TensorFile file = tensors_of(program);
  REQUIRE(file.tensors.size() == 4);
  CHECK(file.tensors[0].name == "model.trans");
  CHECK(file.tensors[0].shape == std::vector<int64_t>{3, 2});
  CHECK(file.tensors[3].name == "proposal.emit");
  CHECK(file.tensors[3].shape == std::vector<int64_t>{2, 3});
  CHECK(file.tensors[3].type == TensorType::kF64);
  CHECK(file.tensors[3].bytes.size() == 48);
  CHECK(file.metadata == std::map<std::string, std::string>{{"format", "scry"},
                                                            {"scry.x", R"(["0","1","2"])"},
                                                            {"scry.y", R"(["0","1"])"}});
}

TEST_CASE("tensors may stand in any order, be of any type and lack the alphabets") {
  const Program program = test::hand_hmm();
  TensorFile file = tensors_of(program);
  std::reverse(file.tensors.begin(), file.tensors.end());
  file.metadata = {{"format", "pt"}};
  Tensor& emit = file.tensors[2];
  REQUIRE(emit.name == "model.emit");
  emit.type = TensorType::kF16;
  emit.bytes = bytes_of<uint16_t>({0x3c00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600});  // 1, …, 6
  const Parameters parameters = read_back(file, program);
  std::vector<double> expected = all(Parameters::fresh(program, 1).values);
  for (size_t k = 0; k < 6; ++k) expected[16 + k] = static_cast<double>(k + 1);
  CHECK(all(parameters.values) == expected);
}

TEST_CASE("numbers are rounded to the program's precision, and their tables are made") {
  const Program program = float_program();
  const TensorFile file{{{"p", TensorType::kF64, {2}, bytes_of<double>({0.1, -3})}}, {}};
  const Parameters parameters = read_back(file, program);
  CHECK(parameters.values.get(0) == static_cast<double>(0.1f));
  CHECK(parameters.tables.get(0) == static_cast<double>(0.2f));
  CHECK(parameters.tables.get(1) == -6);
  CHECK(to_tensors(program, parameters).tensors.at(0).type == TensorType::kF32);
}

TEST_CASE("missing and unknown tensors are counted and named") {
  const Program program = test::hand_hmm();
  TensorFile file = tensors_of(program);
  file.tensors.erase(file.tensors.begin() + 1);
  CHECK(fault_of(file, program) ==
        "1 of the model's 4 parameters is missing, first 'model.emit' [2, 3]");
  file.tensors.erase(file.tensors.begin());
  CHECK(fault_of(file, program) ==
        "2 of the model's 4 parameters are missing, first 'model.trans' [3, 2]");
  file.tensors[0].name = "lookahead.trans";
  CHECK(fault_of(file, program) ==
        "3 of the model's 4 parameters are missing, first 'model.trans' [3, 2]; this model has no "
        "parameter 'lookahead.trans'");
  CHECK(fault_of({}, program) ==
        "4 of the model's 4 parameters are missing, first 'model.trans' [3, 2]");

  CHECK(fault_of(tensors_of(program), test::hand_hmm_without_proposal()) ==
        "this model has no parameter 'proposal.trans', 'proposal.emit'");
  file = tensors_of(program);
  for (int i = 0; i < 5; ++i) {
    file.tensors.push_back({"extra." + std::to_string(i), TensorType::kF32, {0}, ""});
  }
  CHECK(fault_of(file, program) ==
        "this model has no parameter 'extra.0', 'extra.1', 'extra.2' and 2 more");
}

TEST_CASE("a parameter of another shape is named with both shapes") {
  const Program program = test::hand_hmm();
  const auto with_shape = [&](std::vector<int64_t> shape) {
    TensorFile file = tensors_of(program);
    file.tensors[1].shape = std::move(shape);
    return fault_of(file, program);
  };
  CHECK(with_shape({3, 2}) == "tensor 'model.emit' is [3, 2] but the model's is [2, 3]");
  CHECK(with_shape({6}) == "tensor 'model.emit' is [6] but the model's is [2, 3]");
  CHECK(with_shape({1, 2, 3}) == "tensor 'model.emit' is [1, 2, 3] but the model's is [2, 3]");
  TensorFile file = tensors_of(program);
  file.tensors[1] = {"model.emit", TensorType::kF64, {}, bytes_of<double>({1})};
  CHECK(fault_of(file, program) == "tensor 'model.emit' is scalar but the model's is [2, 3]");
}

TEST_CASE("values that are not finite, or not in the program's precision, are refused") {
  const Program program = test::hand_hmm();
  for (const auto& [value, text] :
       std::vector<std::pair<double, std::string>>{{NAN, "nan"}, {INFINITY, "inf"}}) {
    TensorFile file = tensors_of(program);
    file.tensors[2].bytes = bytes_of<double>({0, 1, 2, value, 4, 5});
    CHECK(fault_of(file, program) ==
          "tensor 'proposal.trans' has " + text + " as its element 3; every value must be finite");
  }
  const TensorFile large{{{"p", TensorType::kF64, {2}, bytes_of<double>({0, -1e300})}}, {}};
  CHECK(fault_of(large, float_program()) ==
        "tensor 'p' has -1e+300 as its element 1, too large for float; use double precision");
}

TEST_CASE("a file for other alphabets is refused at the first difference") {
  const Program program = test::hand_hmm();
  const auto with = [&](const std::string& key, const std::string& symbols) {
    TensorFile file = tensors_of(program);
    file.metadata[key] = symbols;
    return fault_of(file, program);
  };
  CHECK(with("scry.x", R"(["0","b","c"])") ==
        "it was made for another input alphabet: symbol 1 is 'b' there but '1' in this model");
  CHECK(with("scry.y", R"(["0"])") ==
        "it was made for another output alphabet: its size is 1 there but 2 in this model");
  CHECK(with("scry.y", R"(["0","1","2"])") ==
        "it was made for another output alphabet: its size is 3 there but 2 in this model");
  CHECK(with("scry.x", "0 1 2") == "its metadata 'scry.x' is not a JSON list of strings");
  CHECK(with("scry.x", "[0, 1, 2]") == "its metadata 'scry.x' is not a JSON list of strings");
}

TEST_CASE("symbols may be any text, also such as is not UTF-8") {
  Program program = test::hand_hmm();
  program.task.x = Alphabet({"\"", "é", "\xe9\n"});
  CHECK(fault_of(tensors_of(program), program).empty());
  Program other = program;
  other.task.x = Alphabet({"\"", "e", "\xe9\n"});
  CHECK(fault_of(tensors_of(program), other) ==
        "it was made for another input alphabet: symbol 1 is 'é' there but 'e' in this model");
}

TEST_CASE("a file of the model alone is taken with a fresh proposal, where that is asked for") {
  const test::TempFolder folder;
  const Program program = test::hand_hmm();
  const Parameters fresh = Parameters::fresh(program, 5);
  const TensorFile whole = tensors_of(program, 7);
  const auto is_of_proposal = [](const Tensor& t) { return t.name.starts_with("proposal."); };
  const auto read = [&](const TensorFile& file) {
    return read_model_parameters(folder.write("p", to_bytes(file)), program, 5);
  };
  TensorFile model = whole;
  REQUIRE(std::erase_if(model.tensors, is_of_proposal) == 2);
  const ModelAndProposal half = read(model);
  CHECK(half.proposal_is_fresh);
  const Parameters seventh = Parameters::fresh(program, 7);
  for (const Block& block : program.params) {
    const Parameters& expected = block.group == ParamGroup::kProposal ? fresh : seventh;
    for (int64_t k = block.offset; k < block.offset + block.shape.size(); ++k) {
      CHECK(half.parameters.values.get(k) == expected.values.get(k));
    }
  }
  const ModelAndProposal both = read(whole);
  CHECK(!both.proposal_is_fresh);
  CHECK(all(both.parameters.values) == all(seventh.values));
  CHECK(fault_of(model, program).starts_with("2 of the model's 4 parameters are missing, first "));
  TensorFile part = whole;
  std::erase_if(part.tensors, [](const Tensor& t) { return t.name == "proposal.emit"; });
  CHECK_THROWS_AS(read(part), DataError);
  TensorFile proposal = whole;
  std::erase_if(proposal.tensors, [&](const Tensor& t) { return !is_of_proposal(t); });
  CHECK_THROWS_AS(read(proposal), DataError);
}

TEST_CASE("a file from before to_go had parameters is taken with them at 0, which is noted") {
  const test::TempFolder folder;
  Program program = test::hand_hmm();
  const TensorFile old = tensors_of(program, 7);
  // As the compiler would add them.
  const int64_t size = program.num_param_elements;
  program.params.push_back(
      {"proposal.to_go.weight", {1, 2}, size, ParamGroup::kProposal, Init::fill(0), true});
  program.params.push_back(
      {"proposal.to_go.bias", {1}, size + 16, ParamGroup::kProposal, Init::fill(0), true});
  program.num_param_elements += 32;
  std::vector<std::string> notes;
  const auto note = [&](const std::string& text) { notes.push_back(text); };
  const auto read = [&](const TensorFile& file) {
    notes.clear();
    return read_parameters(folder.write("p", to_bytes(file)), program, note);
  };
  const Parameters taken = read(old);
  REQUIRE(notes.size() == 1);
  CHECK(notes.front() == folder.file("p") +
                             " has no to_go, which the proposal gets by default: it is 0 until it "
                             "is learned, and samplers do not need it");
  const Parameters before = Parameters::fresh(test::hand_hmm(), 7);
  for (int64_t k = 0; k < program.num_param_elements; ++k)
    CHECK(taken.values.get(k) == (k < size ? before.values.get(k) : 0));
  CHECK_NOTHROW(read_model_parameters(folder.file("p"), program, 1, note));
  CHECK(notes.size() == 2);

  TensorFile whole = tensors_of(program, 7);
  CHECK_NOTHROW(read(whole));
  CHECK(notes.empty());
  whole.tensors.pop_back();
  CHECK(fault_of(whole, program) ==
        "1 of the model's 6 parameters is missing, first 'proposal.to_go.bias' [1]");
  TensorFile lacking = old;
  lacking.tensors.pop_back();
  CHECK(fault_of(lacking, program).starts_with("3 of the model's 6 parameters are missing"));
  // A layer of the model file's own that has this name is no such thing.
  program.params[4].is_automatic = program.params[5].is_automatic = false;
  CHECK(fault_of(old, program).starts_with("2 of the model's 6 parameters are missing"));
}
