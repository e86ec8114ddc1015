#include "runtime/kernels/bound_kernel.h"

#include <cstring>
#include <set>

#include "base/error.h"
#include "tests/catch.h"

using namespace scry;

namespace {

Slot slot(std::string name, SlotRole role, Shape shape = {}, Axes axes = Axes::prefix(),
          Kind kind = Kind::kReal) {
  return {std::move(name), role, kind, axes, shape};
}

/// What the kernel below saw at its last call.
std::vector<void*> seen;
std::vector<double> zeroed_before;
void watch(const KernelCall* call) {
  seen.assign(call->args, call->args + 5);
  auto* zeroed = static_cast<double*>(call->args[2]);
  zeroed_before.assign(zeroed, zeroed + call->num_rows * 3);
  // Fills all the scratch it is entitled to, so that overlaps show.
  std::fill_n(zeroed, call->num_rows * 3, 1.0);
  std::fill_n(static_cast<double*>(call->args[3]), call->num_rows * 5, 2.0);
  std::fill_n(static_cast<int32_t*>(call->args[4]), call->num_rows, 3);
}
bool scratch_is_intact(int64_t rows) {
  const auto all = [](const auto* values, int64_t n, auto expected) {
    return std::count(values, values + n, expected) == n;
  };
  return all(static_cast<double*>(seen[2]), rows * 3, 1.0) &&
         all(static_cast<double*>(seen[3]), rows * 5, 2.0) &&
         all(static_cast<int32_t*>(seen[4]), rows, 3);
}

Program program_of(Precision precision) {
  Program program;
  program.task = {Alphabet::numbered(2), Alphabet::numbered(2)};
  program.precision = precision;
  program.params = {{"p", {3}, 16, ParamGroup::kModel}};
  program.num_param_elements = 32;
  program.tables = {{"table.0", {3}, 0, ParamGroup::kModel}};
  program.num_table_elements = 16;
  return program;
}

/// A kernel over an input, an output and three kinds of scratch.
struct Fixture {
  Program program = program_of(Precision::kDouble);
  Parameters parameters{program};
  Kernel kernel{"watch",
                {slot("a", SlotRole::kInput), slot("out", SlotRole::kOutput),
                 slot("%1", SlotRole::kZeroed, {3}), slot("%2", SlotRole::kWorkspace, {5}),
                 slot("%3", SlotRole::kWorkspace, {}, Axes::prefix(), Kind::kInt)},
                watch};
  double in[64] = {}, out[64] = {};
};

KernelCall rows(int64_t n) {
  static const std::vector<int32_t> first(64, 0);
  return {n, 1, 1, 1, first.data(), first.data(), nullptr};
}

}  // namespace

TEST_CASE("a kernel gets the buffers bound to its slots") {
  Fixture f;
  BoundKernel bound(f.program, f.kernel, f.parameters);
  REQUIRE(static_cast<bool>(bound));
  bound.bind("a", f.in);
  bound.bind("out", f.out);
  bound.bind("not a slot", f.in);  // ignored
  bound.bind("%2", f.in);          // scratch is the kernel's own
  bound.run(rows(4));
  CHECK(seen[0] == f.in);
  CHECK(seen[1] == f.out);
  CHECK(seen[3] != f.in);
  bound.bind("a", f.in + 1);
  bound.run(rows(4));
  CHECK(seen[0] == f.in + 1);
}

TEST_CASE("a slot that was never bound is named") {
  Fixture f;
  BoundKernel bound(f.program, f.kernel, f.parameters);
  bound.bind("a", f.in);
  seen.clear();
  CHECK_THROWS_WITH(bound.run(rows(4)), "kernel watch: the slot 'out' was never bound");
  CHECK_THROWS_AS(bound.run(rows(4)), Error);
  CHECK(seen.empty());
  CHECK_NOTHROW(bound.run(rows(0)));  // without rows there is nothing to bind
}

TEST_CASE("zeroed scratch is zero at every call") {
  Fixture f;
  BoundKernel bound(f.program, f.kernel, f.parameters);
  bound.bind("a", f.in), bound.bind("out", f.out);
  for (int64_t n : {4, 4, 2, 9, 1, 9}) {
    bound.run(rows(n));
    CHECK(zeroed_before == std::vector<double>(static_cast<size_t>(n) * 3, 0.0));
    CHECK(scratch_is_intact(n));
  }
}

TEST_CASE("scratch is aligned to cache lines, and kept from call to call") {
  Fixture f;
  BoundKernel bound(f.program, f.kernel, f.parameters);
  bound.bind("a", f.in), bound.bind("out", f.out);
  bound.run(rows(9));
  const std::vector<void*> first = seen;
  for (size_t i : {2, 3, 4}) CHECK(reinterpret_cast<uintptr_t>(seen[i]) % 64 == 0);
  bound.run(rows(9));
  CHECK(seen == first);
  bound.run(rows(3));
  CHECK(seen[2] == first[2]);  // in the memory that is there
  bound.run(rows(9));
  CHECK(seen == first);
}

TEST_CASE("a moved kernel keeps its scratch") {
  Fixture f;
  std::vector<BoundKernel> kernels;
  for (int k = 0; k < 3; ++k) {
    kernels.emplace_back(f.program, f.kernel, f.parameters);
    kernels.back().bind("a", f.in), kernels.back().bind("out", f.out);
    kernels.back().run(rows(5));
  }
  std::set<void*> scratch;
  for (BoundKernel& kernel : kernels) {
    kernel.run(rows(5));
    CHECK(scratch_is_intact(5));
    scratch.insert(seen[2]);
  }
  CHECK(scratch.size() == 3);
}

TEST_CASE("parameters, tables and their gradients are bound by themselves") {
  Fixture f;
  static std::vector<void*> args;
  const Kernel kernel{
      "gradient",
      {slot("p", SlotRole::kInput, {3}, {}), slot("table.0", SlotRole::kInput, {3}, {}),
       slot("d.p", SlotRole::kGradient, {3}, {}), slot("d.table.0", SlotRole::kGradient, {3}, {})},
      [](const KernelCall* call) { args.assign(call->args, call->args + 4); }};
  Gradients gradients(f.program);
  BoundKernel(f.program, kernel, f.parameters, &gradients).run(rows(1));
  CHECK(args[0] == f.parameters.values.at(16));
  CHECK(args[1] == f.parameters.tables.at(0));
  CHECK(args[2] == gradients.values.at(16));
  CHECK(args[3] == gradients.tables.at(0));
  CHECK_THROWS_WITH(BoundKernel(f.program, kernel, f.parameters).run(rows(1)),
                    "kernel gradient: the slot 'd.p' was never bound");
}

TEST_CASE("a kernel that the model lacks does nothing") {
  Fixture f;
  BoundKernel none(f.program, Kernel{}, f.parameters), never;
  CHECK_FALSE(static_cast<bool>(none));
  none.bind("a", f.in);
  CHECK_NOTHROW(none.run(rows(4)));
  CHECK_NOTHROW(never.run(rows(4)));
}

TEST_CASE("scratch in float is half as wide") {
  const Program program = program_of(Precision::kFloat);
  static std::vector<float> before;
  static void* other = nullptr;
  const Kernel kernel{"float",
                      {slot("%1", SlotRole::kZeroed, {16}), slot("%2", SlotRole::kWorkspace, {16})},
                      [](const KernelCall* call) {
                        auto* zeroed = static_cast<float*>(call->args[0]);
                        before.assign(zeroed, zeroed + 16 * call->num_rows);
                        other = call->args[1];
                        std::fill_n(zeroed, 16 * call->num_rows, 1.0f);
                      }};
  Parameters parameters(program);
  BoundKernel bound(program, kernel, parameters);
  for (int k = 0; k < 2; ++k) {
    bound.run(rows(2));
    CHECK(before == std::vector<float>(32, 0.0f));
    CHECK(other != nullptr);
  }
}
