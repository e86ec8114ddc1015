#include "runtime/kernels/parameters.h"

#include <Eigen/Core>
#include <cmath>

#include "tests/catch.h"

using namespace scry;

namespace {

const Slot kParam{"p", SlotRole::kInput, Kind::kReal, {}, {2, 3}};
const Slot kTable{"table.0", SlotRole::kOutput, Kind::kReal, {}, {2, 3}};

/// Two parameters p and q, and a table 2p, in double or float.
Program program_of(Init p, Init q, Precision precision = Precision::kDouble) {
  Program program;
  program.precision = precision;
  program.params = {{"p", {2, 3}, 0, ParamGroup::kModel, p},
                    {"q", {1000}, 16, ParamGroup::kProposal, q}};
  program.num_param_elements = 16 + 1008;
  program.tables = {{"table.0", {2, 3}, 0, ParamGroup::kModel}};
  program.num_table_elements = 16;
  if (precision == Precision::kFloat) return program;
  program.prepare.forward = {"prepare", {kParam, kTable}, [](const KernelCall* call) {
                               for (int k = 0; k < 6; ++k) {
                                 static_cast<double*>(call->args[1])[k] =
                                     2 * static_cast<double*>(call->args[0])[k];
                               }
                             }};
  const Slot seed{"d.table.0", SlotRole::kSeed, Kind::kReal, {}, {2, 3}},
      gradient{"d.p", SlotRole::kGradient, Kind::kReal, {}, {2, 3}};
  program.prepare.gradient = {
      "prepare.gradient", {seed, gradient}, [](const KernelCall* call) {
        for (int k = 0; k < 6; ++k) {
          static_cast<double*>(call->args[1])[k] += 2 * static_cast<double*>(call->args[0])[k];
          static_cast<double*>(call->args[0])[k] = -77;  // a seed's content is lost
        }
      }};
  return program;
}

std::vector<double> numbers(const RealBuffer& buffer, int64_t from, int64_t count) {
  std::vector<double> result;
  for (int64_t k = from; k < from + count; ++k) result.push_back(buffer.get(k));
  return result;
}
std::vector<double> all(const RealBuffer& buffer) { return numbers(buffer, 0, buffer.size()); }

}  // namespace

TEST_CASE("fresh parameters depend on the seed alone") {
  const Program program = program_of(Init::normal(1), Init::uniform(1));
  CHECK(all(Parameters::fresh(program, 3).values) == all(Parameters::fresh(program, 3).values));
  CHECK(all(Parameters::fresh(program, 3).values) != all(Parameters::fresh(program, 4).values));
  CHECK(all(Parameters::fresh(program, 3).values) !=
        all(Parameters::fresh(program, 3 + (uint64_t{1} << 32)).values));
}

TEST_CASE("a parameter starts the same whatever stands beside it, and unlike the others") {
  const Program a = program_of(Init::normal(1), Init::normal(1)),
                b = program_of(Init::fill(7), Init::normal(1));
  const auto q = [](const Program& program) {
    return numbers(Parameters::fresh(program, 3).values, 16, 1000);
  };
  CHECK(q(a) == q(b));
  CHECK(numbers(Parameters::fresh(a, 3).values, 0, 6) !=
        numbers(Parameters::fresh(a, 3).values, 16, 6));
}

TEST_CASE("a parameter starts as its Init says") {
  const auto q = [](Init init) {
    return numbers(Parameters::fresh(program_of(Init::fill(0), init), 11).values, 16, 1000);
  };
  const auto moments = [](const std::vector<double>& values) {
    double sum = 0, squares = 0;
    for (double value : values) sum += value, squares += value * value;
    return std::pair(sum / static_cast<double>(values.size()),
                     squares / static_cast<double>(values.size()));
  };
  CHECK(q(Init::fill(-1.25)) == std::vector<double>(1000, -1.25));
  const std::vector<double> uniform = q(Init::uniform(0.5));
  for (double value : uniform) CHECK(std::abs(value) < 0.5);
  CHECK(std::abs(moments(uniform).first) < 5 * 0.29 / std::sqrt(1000.0));
  CHECK(moments(uniform).second == Approx(0.25 / 3).epsilon(0.15));
  const std::vector<double> normal = q(Init::normal(2));
  CHECK(std::abs(moments(normal).first) < 5 * 2 / std::sqrt(1000.0));
  CHECK(moments(normal).second == Approx(4).epsilon(0.25));
  CHECK(*std::max_element(normal.begin(), normal.end()) > 4);  // no uniform numbers
}

TEST_CASE("what lies between parameters stays 0") {
  const Parameters parameters = Parameters::fresh(program_of(Init::fill(1), Init::fill(1)), 1);
  CHECK(numbers(parameters.values, 6, 10) == std::vector<double>(10, 0.0));
  CHECK(numbers(parameters.values, 1016, 8) == std::vector<double>(8, 0.0));
}

TEST_CASE("in float the same parameters are rounded") {
  const Parameters wide = Parameters::fresh(program_of(Init::normal(1), Init::uniform(1)), 9);
  const Parameters narrow =
      Parameters::fresh(program_of(Init::normal(1), Init::uniform(1), Precision::kFloat), 9);
  for (int64_t k = 0; k < wide.values.size(); ++k) {
    CHECK(narrow.values.get(k) == static_cast<double>(static_cast<float>(wide.values.get(k))));
  }
}

TEST_CASE("fresh parameters have their tables, and prepare renews them") {
  const Program program = program_of(Init::fill(1.5), Init::fill(0));
  Parameters parameters = Parameters::fresh(program, 1);
  CHECK(numbers(parameters.tables, 0, 6) == std::vector<double>(6, 3.0));
  parameters.values.set(4, 5);
  CHECK(parameters.tables.get(4) == 3);
  parameters.prepare(program);
  CHECK(parameters.tables.get(4) == 10);
}

TEST_CASE("a program without tables needs no kernel to prepare them") {
  Program program = program_of(Init::fill(1), Init::fill(2));
  program.prepare = {};
  program.tables.clear();
  program.num_table_elements = 0;
  Parameters parameters = Parameters::fresh(program, 1);
  Gradients gradients(program);
  CHECK_NOTHROW(gradients.finish(program, parameters));
}

TEST_CASE("finishing moves the tables' gradients into the parameters', once") {
  const Program program = program_of(Init::fill(1), Init::fill(0));
  Parameters parameters = Parameters::fresh(program, 1);
  Gradients gradients(program);
  gradients.values.set(2, 100);
  gradients.tables.set(2, 3);
  gradients.finish(program, parameters);
  CHECK(gradients.values.get(2) == 106);
  CHECK(all(gradients.tables) == std::vector<double>(16, 0.0));
  gradients.finish(program, parameters);
  CHECK(gradients.values.get(2) == 106);
  gradients.clear();
  CHECK(all(gradients.values) == std::vector<double>(1024, 0.0));
}

TEST_CASE("parameters and gradients are Eigen's matrices by name, where they are") {
  const Program program = program_of(Init::normal(1), Init::uniform(1));
  Parameters parameters = Parameters::fresh(program, 3);
  const Parameters& same = parameters;
  const auto p = same.matrix<double>(program, "p");
  REQUIRE((p.rows() == 2 && p.cols() == 3));
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 3; ++j) CHECK(p(i, j) == parameters.values.get(3 * i + j));
  }
  const auto q = same.vector<double>(program, "q");
  REQUIRE(q.size() == 1000);
  CHECK(q(7) == parameters.values.get(16 + 7));
  CHECK(same.matrix<double>(program, "q").cols() == 1);
  CHECK(same.vector<double>(program, "p")(5) == p(1, 2));

  const std::vector<double> before = all(parameters.values);
  parameters.matrix<double>(program, "p").row(1).setConstant(5);
  parameters.vector<double>(program, "q") *= 2;
  for (size_t k = 0; k < before.size(); ++k) {
    const double expected = k >= 3 && k < 6 ? 5 : k >= 16 ? 2 * before[k] : before[k];
    CHECK(parameters.values.get(static_cast<int64_t>(k)) == expected);
  }
  CHECK(p(1, 0) == 5);  // a view
  parameters.prepare(program);
  CHECK(parameters.tables.get(3) == 10);

  Gradients gradients(program), more(program);
  gradients.matrix<double>(program, "p")(1, 2) = 4;
  more.vector<double>(program, "p").setConstant(3);
  gradients.add(more);
  CHECK(numbers(gradients.values, 0, 7) == std::vector<double>{3, 3, 3, 3, 3, 7, 0});
  CHECK(std::as_const(gradients).vector<double>(program, "p").sum() == 22);
}

TEST_CASE("a parameter that there is not, or of another precision, is told of") {
  for (Precision precision : {Precision::kFloat, Precision::kDouble}) {
    const Program program = program_of(Init::normal(1), Init::uniform(1), precision);
    Parameters parameters(program);
    if (precision == Precision::kFloat) {
      CHECK(parameters.matrix<float>(program, "p").size() == 6);
      CHECK_THROWS_WITH(parameters.matrix<double>(program, "p"),
                        "p: asked for as double, but the program was compiled for float");
    } else {
      CHECK_THROWS_WITH(parameters.vector<float>(program, "q"),
                        "q: asked for as float, but the program was compiled for double");
    }
    CHECK_THROWS_WITH(Gradients(program).vector<double>(program, "r"),
                      "there is no parameter r; there are p, q");
  }
}
