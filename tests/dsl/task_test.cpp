#include "dsl/task.h"

#include "base/error.h"
#include "tests/catch.h"
#include "tests/dsl/failure.h"

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
