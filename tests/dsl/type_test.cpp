#include "dsl/type.h"

#include "base/error.h"
#include "tests/catch.h"

using namespace scry;

TEST_CASE("a shape has at most two dimensions") {
  CHECK_THROWS_AS((Shape{2, 3, 4}), Error);
  CHECK(Shape{}.rank() == 0);
  CHECK(Shape{2, 3}.rank() == 2);
}

TEST_CASE("a shape counts its elements, rows and last dimension") {
  CHECK(Shape{}.size() == 1);
  CHECK(Shape{}.last() == 1);
  CHECK(Shape{5}.size() == 5);
  CHECK(Shape{5}.rows() == 1);
  CHECK(Shape{5}.last() == 5);
  CHECK(Shape{2, 3}.size() == 6);
  CHECK(Shape{2, 3}.rows() == 2);
  CHECK(Shape{2, 3}.last() == 3);
}

TEST_CASE("shapes are equal only with equal ranks and dimensions") {
  CHECK(Shape{2, 3} == Shape{2, 3});
  CHECK(Shape{2, 3} != Shape{3, 2});
  CHECK(Shape{1} != Shape{});
  CHECK(Shape{3} != Shape{3, 1});
}

TEST_CASE("a shape with the length T is not static") {
  CHECK(Shape{4, 8}.is_static());
  CHECK_FALSE(Shape{kLength, 8}.is_static());
  CHECK_FALSE(Shape{kLength}.is_static());
}

TEST_CASE("a shape is positive only if each of its dimensions is") {
  CHECK(Shape{}.is_positive());
  CHECK(Shape{2, 3}.is_positive());
  CHECK_FALSE(Shape{2, 0}.is_positive());
  CHECK_FALSE(Shape{-2, -3}.is_positive());
  CHECK_FALSE(Shape{kLength, 3}.is_positive());
}

TEST_CASE("shapes and types print as a user would write them") {
  CHECK(to_string(Shape{}) == "scalar");
  CHECK(to_string(Shape{32}) == "[32]");
  CHECK(to_string(Shape{kLength, 8}) == "[T, 8]");
  CHECK(to_string(Type::real({2, 3})) == "[2, 3]");
  CHECK(to_string(Type::integer(0, 5)) == "symbol in [0, 5)");
}

TEST_CASE("a prefix stands at one position of one sequence, so that its axis implies both") {
  CHECK((Axes::prefix() | Axes::sequence()) == Axes::prefix());
  CHECK((Axes::prefix() | Axes::position()) == Axes::prefix());
  CHECK((Axes::position() | Axes::sequence()) == Axes::position());
  CHECK(Axes::prefix().covers(Axes::position()));
  CHECK(Axes::prefix().covers(Axes::sequence()));
  CHECK(Axes::position().covers(Axes::sequence()));
  CHECK_FALSE(Axes::sequence().covers(Axes::position()));
  CHECK_FALSE(Axes::position().covers(Axes::prefix()));
  CHECK((Axes::position() | Axes::tag()).without_tag() == Axes::position());
}

TEST_CASE("axes cover what they determine and no more") {
  const Axes both = Axes::prefix() | Axes::tag();
  CHECK(both.covers(Axes::none()));
  CHECK(both.covers(Axes::tag()));
  CHECK_FALSE(Axes::tag().covers(Axes::sequence()));
  CHECK(both.without_tag() == Axes::prefix());
}

TEST_CASE("axes print by their names") {
  CHECK(to_string(Axes::none()) == "parameters");
  CHECK(to_string(Axes::sequence()) == "sequence");
  CHECK(to_string(Axes::position()) == "position");
  CHECK(to_string(Axes::position() | Axes::tag()) == "position×tag");
  CHECK(to_string(Axes::prefix() | Axes::tag()) == "prefix×tag");
  CHECK(to_string(Axes::tag()) == "tag");
}
