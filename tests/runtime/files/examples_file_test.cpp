#include "runtime/files/examples_file.h"

#include "tests/catch.h"
#include "tests/support/temp_folder.h"

using namespace scry;

namespace {

const Task kTask{Alphabet::of("a b c"), Alphabet::of("X Y")};
const Task kEnded{Alphabet::of("a b c").with_eos(), Alphabet::of("X Y").with_eos("END")};

class File {
 public:
  explicit File(const std::string& text) : path_(folder_.write("f", text)) {}
  std::vector<Example> examples(const Task& task, const FileFormat& format = {}) const {
    return read_examples(path_, task, format);
  }
  std::vector<Example> partial(const Task& task, const FileFormat& format = {}) const {
    return read_examples(path_, task, format, KnownTags::kSome);
  }
  std::vector<InputLine> inputs(const Task& task, bool constrained = false,
                                const FileFormat& format = {}) const {
    return read_inputs(path_, task, constrained, format);
  }
  /// What reading the examples says, with "f" for the path.
  std::string fault(const Task& task, const FileFormat& format = {}) const {
    try {
      examples(task, format);
    } catch (const DataError& error) {
      const std::string what = error.what();
      REQUIRE(what.starts_with(path_));
      return "f" + what.substr(path_.size());
    }
    return "";
  }

 private:
  test::TempFolder folder_;
  std::string path_;
};

using Ids = std::vector<int>;

}  // namespace

TEST_CASE("examples are read from lines and from columns alike") {
  const std::vector<Example> lines = File("a c\tX Y\nb\tY\n").examples(kTask);
  const std::vector<Example> columns = File("a\tX\nc\tY\n\nb\tY\n").examples(kTask);
  REQUIRE(lines.size() == 2);
  REQUIRE(columns.size() == 2);
  for (size_t i : {0, 1}) {
    CHECK(lines[i].x == columns[i].x);
    CHECK(lines[i].y == columns[i].y);
    CHECK(lines[i].symbols == columns[i].symbols);
    CHECK(lines[i].tags == columns[i].tags);
  }
  CHECK(lines[0].x == Ids{0, 2});
  CHECK(lines[0].y == Ids{0, 1});
  CHECK(lines[1].line == 2);
  CHECK(columns[1].line == 4);
}

TEST_CASE("what is wrong in a file of examples is said at its line") {
  CHECK(File("a c\tX Y\na b\tX\n").fault(kTask) == "f:2: 2 symbols but 1 tag");
  CHECK(File("a c\n").fault(kTask) == "f:1: there is no tab between symbols and tags");
  CHECK(File("a d\tX Y\n").fault(kTask) == "f:1: 'd' is not in the input alphabet");
  CHECK(File("a b\tX Z\n").fault(kTask) == "f:1: 'Z' is not in the output alphabet");
  CHECK(File("\tX\n").fault(kTask) == "f:1: there are no symbols");
  CHECK(File("a b\tX\tY\n").fault(kTask).starts_with("f:1: there is more than one tab"));
  CHECK(File("a\tX\nd\tY\n\nb\tX\n").fault(kTask) == "f:2: 'd' is not in the input alphabet");
  CHECK(File("a\tX\nb\tY\n\nb\tQ\n").fault(kTask) == "f:4: 'Q' is not in the output alphabet");
  CHECK(File("a\nb\n").fault(kTask, {.layout = FileLayout::kConll}) ==
        "f:1: there is no column of tags");
  CHECK(File("").fault(kTask) == "f: there is no example in it");
}

TEST_CASE("one bad sequence to be tagged leaves the others") {
  const std::vector<InputLine> lines = File("a\nq\n\nb\nc\n").inputs(kTask);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].error == "step 2: 'q' is not in the input alphabet");
  CHECK(lines[0].line == 2);
  CHECK(lines[1].error.empty());
  CHECK(lines[1].x == Ids{1, 2});
  CHECK(lines[1].line == 4);
}

TEST_CASE("constraints may stand in a column") {
  const std::vector<InputLine> lines = File("a\t*\nb\tY\n\nc\tX|Y\n").inputs(kTask, true);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].error.empty());
  CHECK(lines[0].allowed.allows(1, 0));
  CHECK_FALSE(lines[0].allowed.allows(2, 0));
  CHECK(lines[0].allowed.allows(2, 1));
  CHECK(lines[1].allowed.allows(1, 0));
  CHECK(File("a\nb\n\nc\n").inputs(kTask, true, {.layout = FileLayout::kConll})[0].error ==
        "there is no column of allowed tags");
}

TEST_CASE("files leave the end out, and may have it") {
  const std::vector<Example> examples =
      File("a b\tX Y\na b <eos>\tX Y END\na b <eos>\tX Y\na b\tX Y END\n<eos>\tEND\n")
          .examples(kEnded);
  REQUIRE(examples.size() == 5);
  for (size_t i = 0; i < 4; ++i) {
    CHECK(examples[i].x == Ids{0, 1});
    CHECK(examples[i].y == Ids{0, 1});
  }
  CHECK(examples[4].x.empty());
  CHECK(File("a\n\nb\n<eos>\n").inputs(kEnded)[1].x == Ids{1});
  const std::vector<InputLine> lines = File("a b\t* X\na b <eos>\t* X END\n").inputs(kEnded, true);
  for (const InputLine& line : lines) {
    CHECK(line.error.empty());
    CHECK(line.allowed.length() == 2);
  }
}

TEST_CASE("an end before the end is an error at its line") {
  const std::string early = " ends a sequence and cannot stand before its end";
  CHECK(File("a b\tX Y\na <eos> b\tX Y X\n").fault(kEnded) == "f:2: '<eos>'" + early);
  CHECK(File("a b\tEND Y\n").fault(kEnded) == "f:1: 'END'" + early);
  CHECK(File("a b\tX END\n").fault(kEnded) == "f:1: 2 symbols but 1 tag");
  CHECK(File("a\tX\n<eos>\tEND\nb\tY\n\nb\tX\n").fault(kEnded) == "f:2: '<eos>'" + early);
  const std::vector<InputLine> lines = File("a <eos> b\t* * *\na b\tEND *\n").inputs(kEnded, true);
  CHECK(lines[0].error == "step 2: '<eos>'" + early);
  CHECK(lines[1].error == "step 1: 'END'" + early);
}

TEST_CASE("tags may be left open where that is asked for, in lines and in columns") {
  const File file(
      "a b c\tX * X|Y\na\n"
      "a b\tX Y\nc\tY|Y\nb b\t* *\n");
  CHECK(file.fault(kTask) == "f:1: '*' is not in the output alphabet");
  const std::vector<Example> examples = file.partial(kTask);
  REQUIRE(examples.size() == 5);
  CHECK(examples[0].y.empty());
  CHECK_FALSE(examples[0].allowed.allows(1, 1));
  CHECK(examples[0].allowed.allows(2, 1));
  CHECK(examples[0].allowed.allows(3, 0));
  for (const size_t open : {1, 4}) {
    CHECK(examples[open].y.empty());
    CHECK(examples[open].allowed.empty());
  }
  CHECK(examples[2].y == Ids{0, 1});
  CHECK(examples[3].y == Ids{1});
  CHECK(examples[3].allowed.empty());
  const std::vector<Example> columns = File("a\tX\nb\t*\n\nc\tY\n").partial(kTask);
  REQUIRE(columns.size() == 2);
  CHECK_FALSE(columns[0].allowed.allows(1, 1));
  CHECK(columns[1].y == Ids{1});
  const std::vector<Example> ended = File("a b\tX * END\n").partial(kEnded);
  CHECK(ended[0].allowed.length() == 2);
}

TEST_CASE("what is no set of tags is said at its line, and a tag's own name goes first") {
  const auto fault = [](const std::string& text, const Task& task = kTask) -> std::string {
    try {
      File(text).partial(task);
    } catch (const DataError& error) {
      const std::string what = error.what();
      return what.substr(what.find(":1: ") + 4);
    }
    return "";
  };
  CHECK(fault("a b\tX|Z *\n") == "step 1: 'Z' is not in the output alphabet");
  CHECK(fault("a b\tX |\n") == "step 2: '|' names no tag");
  CHECK(fault("a b\tX * Y\n") == "2 symbols but 3 tags");
  CHECK(fault("a b\tX Z\n") == "'Z' is not in the output alphabet");
  CHECK(fault("a b\na\n") == "there is no tab between symbols and tags");
  const Task stars{Alphabet::of("a b"), Alphabet::of("* X Y X|Y")};
  const std::vector<Example> named = File("a b\t* X|Y\n").partial(stars);
  CHECK(named[0].y == Ids{0, 3});
  const Task vague{Alphabet::of("a b"), Alphabet::of("X Y").with_unknown()};
  const std::vector<Example> open = File("a b\t* Q\n").partial(vague);
  CHECK(open[0].y.empty());
  CHECK(open[0].allowed.allows(2, 2));
  CHECK_FALSE(open[0].allowed.allows(2, 0));
}

TEST_CASE("comments are read over where that is asked for, in lines and in columns") {
  const FileFormat with_comments{.has_comments = true};
  const Task task{Alphabet::of("a b #"), kTask.y};
  for (const char* text : {"# made by hand\na b\tX Y\n#a\tX\n\n# the end\nb\tX\n",
                           "# made by hand\r\na b\tX Y\r\n#\r\nb\tX\r\n#"}) {
    CAPTURE(text);
    const std::vector<Example> examples = File(text).examples(task, with_comments);
    REQUIRE(examples.size() == 2);
    CHECK(examples[0].line == 2);
    CHECK(examples[0].x == Ids{0, 1});
    CHECK(examples[1].x == Ids{1});
  }
  const std::vector<Example> columns =
      File("#\tid\na\tX\n#\tY\nb\tY\n\n# next\nb\tX\n").examples(task, with_comments);
  REQUIRE(columns.size() == 2);
  CHECK(columns[0].x == Ids{0, 1});
  CHECK(columns[0].line == 2);
  CHECK(File("a b\tX Y\n# b\tX Y\n").examples(task)[1].x == Ids{2, 1});
  CHECK(File("# made by hand\na b\tX Y\n").fault(task) ==
        "f:1: there is no tab between symbols and tags; comments are read over by --comments");
  CHECK(File("# a\n# b\n").fault(task, with_comments) == "f: there is no example in it");
}

TEST_CASE("bytes that are not UTF-8 are symbols like others, and UTF-16 is refused at its line") {
  const Task task{Alphabet({"caf\xe9", "\xff"}).with_unknown(), kTask.y};
  CHECK(File("\xff caf\xe9 \xc3\tX X Y\n").examples(task)[0].x == Ids{1, 0, 2});
  CHECK(File("caf\xe8\tX\n").fault(kTask) == "f:1: 'caf\xe8' is not in the input alphabet");
  for (const std::string text : {"\xff\xfe"
                                 "a",
                                 "\xfe\xff"
                                 "a"}) {
    CHECK(File(text).fault(kTask) ==
          "f:1: it is UTF-16; convert it, as by iconv -f UTF-16 -t UTF-8");
  }
}
