#include "runtime/files/embeddings_file.h"

#include "runtime/files/examples_file.h"
#include "tests/catch.h"
#include "tests/support/temp_folder.h"

using namespace scry;

namespace {

/// Embeddings of 3 input symbols and 2 output symbols, of 2 numbers each. The table is 2 · model.x.
Program embedding_program(Precision precision = Precision::kDouble) {
  Program program;
  program.task = {Alphabet::of("the cat é"), Alphabet::of("N V")};
  program.precision = precision;
  program.params = {{"model.x", {3, 2}, 0, ParamGroup::kModel, Init::normal(1)},
                    {"model.y", {2, 2}, 16, ParamGroup::kModel, Init::normal(1)},
                    {"model.bias", {2}, 32, ParamGroup::kModel, Init::normal(1)},
                    {"model.out", {4, 2}, 48, ParamGroup::kModel, Init::normal(1)}};
  program.num_param_elements = 64;
  return program;
}

std::vector<double> values_of(const Parameters& parameters, int64_t offset, int64_t count) {
  std::vector<double> values;
  for (int64_t k = offset; k < offset + count; ++k) values.push_back(parameters.values.get(k));
  return values;
}

struct Loaded {
  EmbeddingCoverage coverage;
  std::vector<double> rows;
};

/// The parameter's rows after reading a file of this text, where all parameters were 9.
Loaded load(const std::string& text, const std::string& name = "model.x",
            const Program& program = embedding_program()) {
  const test::TempFolder folder;
  Parameters parameters(program);
  for (int64_t k = 0; k < parameters.values.size(); ++k) parameters.values.set(k, 9);
  Loaded loaded;
  loaded.coverage = read_embeddings(folder.write("v.txt", text), program, name, parameters);
  int64_t num_changed = 0;
  for (const Block& block : program.params) {
    if (block.name == name) loaded.rows = values_of(parameters, block.offset, block.shape.size());
  }
  for (double value : values_of(parameters, 0, parameters.values.size())) num_changed += value != 9;
  for (double value : loaded.rows) num_changed -= value != 9;
  CHECK(num_changed == 0);  // elsewhere
  return loaded;
}

/// What is said of a file, without its name; the parameters must be as they were.
std::string fault_of(const std::string& text, const Program& program = embedding_program()) {
  const test::TempFolder folder;
  const std::string path = folder.write("v.txt", text);
  Parameters parameters = Parameters::fresh(program, 3);
  const std::vector<double> before = values_of(parameters, 0, parameters.values.size());
  try {
    read_embeddings(path, program, "model.x", parameters);
    return "";
  } catch (const DataError& error) {
    const std::string message = error.what();
    CHECK(message.starts_with(path + ":"));
    CHECK(message.find('\n') == std::string::npos);
    CHECK(values_of(parameters, 0, parameters.values.size()) == before);
    return message.substr(path.size() + 1);
  }
}

using Numbers = std::vector<double>;

}  // namespace

TEST_CASE("vectors as GloVe writes them are the rows of their symbols, and other words are none") {
  const Loaded loaded = load("dog 7 7\ncat 0.5 -1e-3\né 3 4\nthe 1 2\n");
  CHECK(loaded.rows == Numbers{1, 2, 0.5, -0.001, 3, 4});
  CHECK(loaded.coverage.num_found == 3);
  CHECK(loaded.coverage.num_symbols == 3);
}

TEST_CASE(
    "vectors as word2vec writes them have a first line of two numbers and spaces at the end") {
  CHECK(load("2 2\nthe 1 2 \ncat 3 4 \n").rows == Numbers{1, 2, 3, 4, 9, 9});
  CHECK(load("0000002 02\nthe 1 2\ncat 3 4").rows == Numbers{1, 2, 3, 4, 9, 9});
}

TEST_CASE("symbols that the file does not have keep their rows") {
  const Loaded loaded = load("cat 1 2\n");
  CHECK(loaded.rows == Numbers{9, 9, 1, 2, 9, 9});
  CHECK(loaded.coverage.num_found == 1);
  CHECK(load("dog 1 2\n").coverage.num_found == 0);
}

TEST_CASE("an embedding of the output alphabet is found by its number of rows") {
  const Loaded loaded = load("the 1 1\nV 3 4\n", "model.y");
  CHECK(loaded.rows == Numbers{9, 9, 3, 4});
  CHECK(loaded.coverage.num_symbols == 2);
}

TEST_CASE("where both alphabets have as many symbols the input alphabet is meant") {
  Program program = embedding_program();
  program.task.y = Alphabet::of("A B C");
  const Loaded loaded = load("A 1 2\nthe 3 4\n", "model.x", program);
  CHECK(loaded.rows == Numbers{3, 4, 9, 9, 9, 9});
}

TEST_CASE("of a word that stands twice the first vector counts, and both are checked") {
  CHECK(load("the 1 2\nthe 3 4\n").rows == Numbers{1, 2, 9, 9, 9, 9});
  CHECK(fault_of("the 1 2\nthe 3\ncat 1 2\n").starts_with("2: the vector of 'the' has 1 number"));
}

TEST_CASE("an unknown word is not the unknown symbol, unless the file has a vector for that") {
  Program program = embedding_program();
  program.task.x = Alphabet::of("the cat").with_unknown();
  CHECK(load("dog 1 2\n", "model.x", program).coverage.num_found == 0);
  CHECK(load("dog 1 2\n<unk> 3 4\n", "model.x", program).rows == Numbers{9, 9, 9, 9, 3, 4});
}

TEST_CASE("blank lines, tabs, carriage returns, a byte order mark and a last line without end") {
  CHECK(load("\xef\xbb\xbfthe 1 2\r\n\r\n \ncat\t3\t4").rows == Numbers{1, 2, 3, 4, 9, 9});
  CHECK(load("\xef\xbb\xbf"
             "1 2\r\nthe 1 2\r\n")
            .rows == Numbers{1, 2, 9, 9, 9, 9});
}

TEST_CASE("a vector of one number is told from a header by its word") {
  Program program = embedding_program();
  program.params = {{"model.x", {3, 1}, 0, ParamGroup::kModel, Init::normal(1)}};
  CHECK(load("the 5\ncat 6\n", "model.x", program).rows == Numbers{5, 6, 9});
  CHECK(load("2 1\nthe 5\ncat 6\n", "model.x", program).rows == Numbers{5, 6, 9});
}

TEST_CASE("numbers too small are zero, and the rows' tables are made") {
  CHECK(load("the 1e-999 -1e-310\n").rows == Numbers{0, -1e-310, 9, 9, 9, 9});
  Program program = embedding_program(Precision::kFloat);
  program.tables = {{"table.0", {3, 2}, 0, ParamGroup::kModel}};
  program.num_table_elements = 16;
  program.prepare.forward = {"prepare",
                             {{"model.x", SlotRole::kInput, Kind::kReal, {}, {3, 2}},
                              {"table.0", SlotRole::kOutput, Kind::kReal, {}, {3, 2}}},
                             [](const KernelCall* call) {
                               for (int k = 0; k < 6; ++k) {
                                 static_cast<float*>(call->args[1])[k] =
                                     2 * static_cast<float*>(call->args[0])[k];
                               }
                             }};
  const test::TempFolder folder;
  Parameters parameters(program);
  read_embeddings(folder.write("v", "cat 0.1 5\n"), program, "model.x", parameters);
  CHECK(parameters.values.get(2) == static_cast<double>(0.1f));
  CHECK(parameters.tables.get(3) == 10);
}

TEST_CASE("each fault of a file of vectors is one line with its place") {
  const std::string needs = "but parameter 'model.x' [3, 2] needs 2";
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", " there is no vector in it"},
      {"\n \n", " there is no vector in it"},
      {"0 2\n", " there is no vector in it"},
      {"3 2\nthe 1 2\ndog 1 2\n", " its first line says 3 words, but it has 2: it is cut short"},
      {"1 2\nthe 1 2\ndog 1 2\n", " its first line says 1 words, but it has 2"},
      {"2 300\nthe 1 2\n", "1: its vectors have 300 numbers, " + needs},
      {"2 1\nthe 1\n", "1: its vectors have 1 number, " + needs},
      {"the 1 2\ndog 1 2 3\n", "2: the vector of 'dog' has 3 numbers, " + needs},
      {"the 1 2\ndog 1\ncat 1 2\n", "2: the vector of 'dog' has 1 number, " + needs},
      {"the 1 2\ndog\n", "2: the vector of 'dog' has 0 numbers, " + needs},
      {"the 1 2\n 1 2\n", "2: the vector of '1' has 1 number, " + needs},
      {"the 1 2\ncat 1",
       "2: the vector of 'cat' has 1 number, " + needs + "; is the file cut short?"},
      {"the 1 2\nnew york 1 2\n", "2: 'york' is not a number; a word cannot have spaces in it"},
      {"the 1 2\n. . 1 2\n", "2: '.' is not a number; a word cannot have spaces in it"},
      {"the 1 2x\n", "1: '2x' is not a number; a word cannot have spaces in it"},
      {"the 1 0x2\n", "1: '0x2' is not a number; a word cannot have spaces in it"},
      {"the 1 1,5\n", "1: '1,5' is not a number; a word cannot have spaces in it"},
      {"the 1 nan\n", "1: 'nan' is not a finite number"},
      {"dog -inf 2\n", "1: '-inf' is not a finite number"},
      {"the 1 -1e999\n", "1: '-1e999' is not a finite number"},
      {"the 1 \x1b[2J\n", "1: '\\x1b[2J' is not a number; a word cannot have spaces in it"},
      {std::string(70'000, 'a'),
       "1: the line has more than 65663 bytes: this is no file of vectors"},
      {"the 1 2\n" + std::string(70'000, ' '),
       "2: the line has more than 65663 bytes: this is no file of vectors"},
  };
  for (const auto& [text, fault] : cases) {
    CAPTURE(text.substr(0, 100));
    CHECK(fault_of(text) == fault);
  }
  CHECK(fault_of("the 1 1e39\n", embedding_program(Precision::kFloat)) ==
        "1: '1e39' is too large for float; use double precision");
  CHECK(fault_of(std::string("the 1 2\0 3\n", 11)) ==
        "1: '2\\x00' is not a number; a word cannot have spaces in it");
}

TEST_CASE("a file of vectors cut short at any byte is read or refused, never half taken") {
  const std::string whole = "3 2\nthe 1.5 2\ncat 3 4\ndog 1 1\n";
  for (size_t length = 0; length < whole.size(); ++length) {
    const std::string fault = fault_of(whole.substr(0, length));
    CAPTURE(length);
    if (length + 1 < whole.size()) CHECK(!fault.empty());
  }
}

TEST_CASE("a parameter that is no embedding is refused before the file is opened") {
  const Program program = embedding_program();
  Parameters parameters(program);
  const auto read = [&](const std::string& name) {
    read_embeddings("/no/such/file", program, name, parameters);
  };
  CHECK_THROWS_WITH(read("model.z"), "the model has no parameter 'model.z'");
  CHECK_THROWS_WITH(read("model.bias"),
                    "parameter 'model.bias' is no embedding: it has no row for each of the 3 input "
                    "or 2 output symbols");
  CHECK_THROWS_WITH(read("model.out"),
                    "parameter 'model.out' is no embedding: it has no row for each of the 3 input "
                    "or 2 output symbols");
  CHECK_THROWS_WITH(read("model.x"), "/no/such/file cannot be read: No such file or directory");
  const test::TempFolder folder;
  CHECK_THROWS_WITH(read_embeddings(folder.path(), program, "model.x", parameters),
                    folder.path() + " is a folder");
}
