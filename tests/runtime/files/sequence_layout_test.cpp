#include "runtime/files/sequence_layout.h"

#include <fmt/format.h>

#include "tests/catch.h"
#include "tests/support/temp_folder.h"

using namespace scry;

namespace {

/// "a b/X Y@3": symbols, tags and line; or its error.
std::string shown(const RawSequence& raw) {
  if (!raw.error.empty()) return fmt::format("{}@{}", raw.error, raw.line);
  if (raw.has_tags && raw.in_columns) CHECK(raw.symbols.size() == raw.tags.size());
  for (const auto& [words, text] :
       {std::pair(&raw.symbols, raw.symbols_text), {&raw.tags, raw.tags_text}}) {
    for (const RawSequence::Word& word : *words) CHECK(text.find(word.text) != std::string::npos);
  }
  return fmt::format("{}/{}@{}", raw.symbols_text, raw.tags_text, raw.line);
}

/// What SequenceCutter finds in a text that comes in pieces of `size` bytes, and an error at its
/// end.
std::vector<std::string> cut(const std::string& text, size_t size, TagColumn tags,
                             const FileFormat& format) {
  std::vector<std::string> found;
  SequenceCutter cutter("f", format, tags,
                        [&](const RawSequence& raw) { found.push_back(shown(raw)); });
  try {
    for (size_t at = 0; at < text.size(); at += size) {
      const std::string piece = text.substr(at, size);  // gone after the call
      cutter.add(piece);
    }
    cutter.finish();
  } catch (const DataError& error) {
    found.emplace_back(error.what());
  }
  return found;
}

/// Of all sequences of a file.
std::vector<std::string> read(const std::string& text, TagColumn tags = TagColumn::kNeeded,
                              const FileFormat& format = {}) {
  const test::TempFolder folder;
  const std::vector<std::string> whole = cut(text, text.size() + 1, tags, format);
  for (size_t size : {1, 3, 8}) CHECK(cut(text, size, tags, format) == whole);
  std::vector<std::string> found;
  read_sequences(folder.write("f", text), format, tags,
                 [&](const RawSequence& raw) { found.push_back(shown(raw)); });
  CHECK(found == whole);
  return found;
}

/// Without the file's name.
std::string refusal(const std::string& text, TagColumn tags = TagColumn::kNeeded,
                    const FileFormat& format = {}) {
  try {
    read(text, tags, format);
  } catch (const DataError& error) {
    const std::string what = error.what();
    return what.substr(what.find(": ") + 2);
  }
  return "";
}

using List = std::vector<std::string>;
const FileFormat kConll{.layout = FileLayout::kConll}, kLines{.layout = FileLayout::kLines};
constexpr TagColumn kOptional = TagColumn::kOptional;

}  // namespace

TEST_CASE("columns in groups are told from sequences a line") {
  CHECK(read("a\tX\nb\tY\n\nc\tZ\n") == List{"a b/X Y@1", "c/Z@4"});
  CHECK(read("a\tX\nb\tY\n\nc\tZ\n", kOptional) == List{"a b/X Y@1", "c/Z@4"});
  CHECK(read("a NN X\nb VV Y\n\nc NN Z\n") == List{"a b/X Y@1", "c/Z@4"});
  CHECK(read("a\tnoun phrase\tX\nb\tverb\tY\n\nc\t-\tZ") == List{"a b/X Y@1", "c/Z@4"});
  CHECK(read("a\nb\n\nc\n", kOptional) == List{"a b/@1", "c/@4"});
  CHECK(read("a b\tX Y\nc\tZ\n") == List{"a b/X Y@1", "c/Z@2"});
  CHECK(read("a b\tX Y\n\nc\tZ\nd\tX\n") == List{"a b/X Y@1", "c/Z@3", "d/X@4"});
  CHECK(read("a b\n\nc\n", kOptional) == List{"a b/@1", "c/@3"});
  CHECK(read("a\tX\n") == List{"a/X@1"});                   // both ways the same
  CHECK(read("a\tX\n\nb\tY\n") == List{"a/X@1", "b/Y@3"});  // likewise
}

TEST_CASE("what may be columns or sequences is refused, and the option settles it") {
  const std::string columns = "a\tX\nb\tY\n";
  const std::string message =
      "every line is one symbol, a tab and one tag, with no blank line between sequences; say "
      "--input-format conll if they are columns, a symbol a line, or --input-format lines if they "
      "are sequences, one a line";
  CHECK(refusal(columns) == message);
  CHECK(refusal(columns, kOptional) == message);
  CHECK(refusal(columns + "\n\n") == message);
  CHECK(read(columns, TagColumn::kNeeded, kConll) == List{"a b/X Y@1"});
  CHECK(read(columns, TagColumn::kNeeded, kLines) == List{"a/X@1", "b/Y@2"});
  const std::string words = "a X\nb Y\n\nc Z\n";
  CHECK(refusal(words, kOptional).starts_with("every line has 2 words, with blank lines between"));
  CHECK(read(words, kOptional, kConll) == List{"a b/X Y@1", "c/Z@4"});
  CHECK(read(words, kOptional, kLines) == List{"a X/@1", "b Y/@2", "c Z/@4"});
}

TEST_CASE("a line with more than one tab is no sequence") {
  const std::string error =
      "there is more than one tab; a line is symbols, a tab, and tags (columns are read by "
      "--input-format conll)@1";
  CHECK(read("a\tb\tc\n") == List{error});
  CHECK(read("a\tb\tc\n", kOptional) == List{error});
  CHECK(read("a\tb\tc\nd e\tX Y\n", kOptional) == List{error, "d e/X Y@2"});
  CHECK(read("a\tb\tc\nd\te\tf\n", TagColumn::kNeeded, kConll) == List{"a d/c f@1"});
}

TEST_CASE("a line that starts with # is a comment unless it has the others' columns") {
  CHECK(read("# text = a b\na\tX\n#\tY\n\n# two\n#\tZ\n") == List{"a #/X Y@2", "#/Z@6"});
  CHECK(read("#hash X\na Y\n\nb Z\n") == List{"#hash a/X Y@1", "b/Z@4"});
  CHECK(read("#\tX\n#\tY\n\n#\tZ\n") == List{"# #/X Y@1", "#/Z@4"});
  CHECK(read("# a\tX Y\n# b\tX Y\n") == List{"# a/X Y@1", "# b/X Y@2"});
}

TEST_CASE("documents' starts and lines that stand for no token are passed over") {
  CHECK(read("-DOCSTART- -X- O\n\na N X\nb N Y\n") == List{"a b/X Y@3"});
  CHECK(read("-DOCSTART-\ta\nb\tX\nc\tY\n-DOCSTART-\ta\nd\tZ\n") == List{"b c/X Y@2", "d/Z@5"});
  const std::string rest = "\t_\t_\t_\t_\t_\t_\n";
  const std::string conllu = "# sent_id = 1\n1-2\tdu\t_\t_" + rest + "1\tde\t_\tADP" + rest +
                             "2\tle\t_\tDET" + rest + "2.1\tx\t_\tX" + rest;
  CHECK(read(conllu, TagColumn::kNeeded,
             {.layout = FileLayout::kConll, .x_column = 2, .y_column = 4}) ==
        List{"de le/ADP DET@3"});
}

TEST_CASE("columns are chosen by number, and what is wrong with one is said at its line") {
  const auto choose = [](const std::string& text, int x, int y) {
    return read(text, TagColumn::kNeeded,
                {.layout = FileLayout::kConll, .x_column = x, .y_column = y});
  };
  const std::string text = "1 a N X\n2 b V Y\n";
  CHECK(choose(text, 2, 3) == List{"a b/N V@1"});
  CHECK(choose(text, 2, 0) == List{"a b/X Y@1"});
  CHECK(choose(text, 4, 0) == List{"X Y/@1"});
  CHECK(choose(text, 2, 5) == List{"there is no column 5, only 4 columns@1"});
  CHECK(choose("a\tX\nb\n\nc\tY\n", 1, 2) == List{"1 column, but 2 before@2", "c/Y@4"});
  CHECK(choose("a\tX\nb\t\n", 1, 2) == List{"column 2 is empty@2"});
  CHECK(choose("a b\tX\n", 1, 2) ==
        List{"column 1 is 'a b', but symbols and tags have no blanks in them@1"});
}

TEST_CASE("Windows' line ends, a byte order mark and a missing last line end are read over") {
  CHECK(read("\xef\xbb\xbf"
             "a\tX\r\nb\tY\r\n\r\nc\tZ") == List{"a b/X Y@1", "c/Z@4"});
  CHECK(read("\xef\xbb\xbf"
             "a b\tX Y\r\r\n") == List{"a b/X Y@1"});
  CHECK(read("\xff\xfd\tX\n\x80\tY\n\nz\tZ\n").size() == 2);
  CHECK(read(std::string("a\0b\tX\nc\tY\n\nd\tZ", 14)).size() == 2);
}

TEST_CASE("a file without a sequence is an error") {
  for (const char* text : {"", "\n", " \t\n\n", "-DOCSTART- O\n\n"}) {
    CHECK(refusal(text) == "there is no example in it");
    CHECK(refusal(text, kOptional, kConll) == "there is no example in it");
  }
}

TEST_CASE("sequences are given as soon as the layout can be told, whatever may follow") {
  // How many are given before the end of a file that starts so.
  const auto num_early = [](const std::string& start, const FileFormat& format = {}) {
    size_t count = 0;
    SequenceCutter cutter("f", format, kOptional, [&](const RawSequence&) { ++count; });
    cutter.add(start);
    return count;
  };
  CHECK(num_early("a b\tX Y\n") == 1);
  CHECK(num_early("a b\tX Y\nc\tZ\nd e") == 2);
  CHECK(num_early("a\tX\na b\tX Y\n") == 2);
  CHECK(num_early("a b\nc\n") == 2);
  CHECK(num_early("a b\nc\tX\n") == 2);
  CHECK(num_early("a\tb\tc\nd\te\n") == 2);
  // These may be columns yet.
  CHECK(num_early("a b\nc d\n") == 0);
  CHECK(num_early("a\tX\nb\tY\n\nc\tX\n") == 0);
  CHECK(num_early("# a\n-DOCSTART- b c\na b\n# d e f\n") == 0);
  // What is said need not be found out; columns end with a blank line.
  CHECK(num_early("a b\nc d\n", kLines) == 2);
  CHECK(num_early("# a\na\tX\nb\tY\n\nc\tX\n", kConll) == 1);
}
