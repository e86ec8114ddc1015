#include "dsl/task.h"

#include "base/error.h"
#include "tests/catch.h"
#include "tests/dsl/failure.h"
#include "tests/support/temp_folder.h"

using namespace scry;

TEST_CASE("an alphabet numbers its symbols in the order given") {
  const Alphabet a({"b", "a", "c"});
  CHECK(a.size() == 3);
  CHECK(a.find("b") == 0);
  CHECK(a.find("c") == 2);
  CHECK(a.name(1) == "a");
  CHECK(a.find("d") == std::nullopt);
}

TEST_CASE("an alphabet may be written as words") {
  CHECK(Alphabet::of(" B I\n O ") == Alphabet({"B", "I", "O"}));
  CHECK(Alphabet::of("").size() == 0);
  CHECK(Alphabet::numbered(2) == Alphabet({"0", "1"}));
}

TEST_CASE("a symbol that is empty or stands twice is refused at the line that wrote it") {
  CHECK(FAILURE(Alphabet({"a", "b", "a"})) == "alphabet: the symbol 'a' stands twice");
  CHECK(FAILURE(Alphabet::of("a b a")) == "alphabet: the symbol 'a' stands twice");
  CHECK(FAILURE(Alphabet({"a", ""})) == "alphabet: a symbol is empty");
  CHECK(FAILURE(Alphabet({"<unk>"}).with_unknown()) == "alphabet: the symbol '<unk>' stands twice");
  CHECK(FAILURE(Alphabet({"<eos>"}).with_eos()) == "alphabet: the symbol '<eos>' stands twice");
}

TEST_CASE("with an unknown symbol every symbol is found") {
  const Alphabet known({"a", "b"}), open = known.with_unknown();
  CHECK(open.size() == 3);
  CHECK(open.unknown() == 2);
  CHECK(open.name(2) == "<unk>");
  CHECK(open.find("zebra") == 2);
  CHECK(open.find("b") == 1);
  CHECK(known.size() == 2);
  CHECK_FALSE(known.unknown().has_value());
  CHECK(FAILURE(open.with_unknown("?")) == "alphabet: '<unk>' stands for unknown symbols already");
}

TEST_CASE("an end symbol is one more symbol of the alphabet") {
  const Alphabet a = Alphabet({"a", "b"}).with_eos("$");
  CHECK(a.size() == 3);
  CHECK(a.eos() == 2);
  CHECK(a.find("$") == 2);
  CHECK_FALSE(Alphabet({"a"}).eos().has_value());
  CHECK(FAILURE(a.with_eos("!")) == "alphabet: '$' ends sequences already");
  CHECK(Task{a, a}.has_eos());
  CHECK_FALSE(Task{a, Alphabet({"a"})}.has_eos());
}

TEST_CASE("alphabets differ if their special symbols do") {
  CHECK(Alphabet({"a", "$"}) != Alphabet({"a"}).with_eos("$"));
  CHECK(Alphabet({"a", "$"}) != Alphabet({"a"}).with_unknown("$"));
  CHECK(Alphabet({"a", "b"}) != Alphabet({"b", "a"}));
  CHECK(Alphabet({"a"}).with_eos() == Alphabet({"a"}).with_eos());
}

TEST_CASE("the name of a symbol that is not there is an error") {
  CHECK_THROWS_WITH(Alphabet({"a"}).name(1), "alphabet: there is no symbol 1 among 1");
  CHECK_THROWS_AS(Alphabet({"a"}).name(-1), Error);
}

namespace {

/// What Alphabet::from_file makes of such a file.
Alphabet read(const std::string& text) {
  const test::TempFolder folder;
  return Alphabet::from_file(folder.write("v.txt", text));
}

/// Why it refuses one, without the folder.
std::string refusal(const std::string& text) {
  try {
    read(text);
  } catch (const DataError& error) {
    const std::string message = error.what();
    return message.substr(message.find("v.txt"));
  }
  return "read";
}

}  // namespace

TEST_CASE("an alphabet may be read from a file, one symbol a line") {
  const Alphabet expected({"the", "#", "科", "of"});
  CHECK(read("the\n#\n科\nof\n") == expected);
  CHECK(read("the\n#\n科\nof") == expected);
  CHECK(read("\xef\xbb\xbfthe\r\n\r\n#\r\n  科 \r\n\t\nof\r\n\r\n") == expected);
  CHECK(read("a\n\xe3\x80\x80\n").size() == 2);  // the blank of Chinese text is a symbol
  const Alphabet open = read("a\nb\n").with_unknown().with_eos();
  CHECK(open.symbols() == std::vector<std::string>{"a", "b", "<unk>", "<eos>"});
  CHECK(open.find("c") == 2);
}

TEST_CASE("a file that is no vocabulary is refused in a line with the place and the reason") {
  const std::string form = "a vocabulary has one symbol a line";
  CHECK(refusal("a\nb\n\na\n") == "v.txt:4: 'a' stands twice, first in line 1; leave one");
  CHECK(refusal("a\nof 123\n") ==
        "v.txt:2: 'of 123' has a blank in it; " + form + ", without counts or comments");
  CHECK(refusal("a\nof\t123\n").starts_with("v.txt:2: 'of\\x09123' has a blank in it; "));
  CHECK(refusal("a\ncaf\xe9\n") ==
        "v.txt:2: it is not UTF-8; convert the file, as by iconv -t UTF-8");
  CHECK(refusal(std::string("a\nb\0c\n", 6)) == "v.txt:2: there is a zero byte in it");
  CHECK(refusal("\xff\xfe"
                "a")
            .starts_with("v.txt:1: it is not UTF-8"));
  CHECK(refusal("") == "v.txt: there is no symbol in it; " + form);
  CHECK(refusal("\n \r\n") == "v.txt: there is no symbol in it; " + form);
  CHECK(refusal(std::string(5000, 'a')) == "v.txt:1: the line has more than 4095 bytes; " + form);
  CHECK(refusal(std::string(4095, 'a') + "\n") == "read");
  CHECK(refusal(std::string(4095, 'a')) == "read");
  const test::TempFolder folder;
  CHECK_THROWS_WITH(Alphabet::from_file(folder.path()),
                    folder.path() + ": it is a folder; " + form);
  CHECK_THROWS_WITH(Alphabet::from_file("nowhere.txt"),
                    "nowhere.txt: it cannot be read (No such file or directory); " + form);
}
