#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "dsl/type_rule.h"

namespace scry {
namespace {

using R = TypeRule;

Type no_rule(const R&) { throw Error("the type of a leaf is given"); }
Type elementwise(const R& r) { return r.elementwise(); }
Type comparison(const R& r) {
  r.want_int(0), r.want_int(1);
  return Type::integer(0, 2);
}

/// A range of integers, both ends in it.
struct Range {
  int64_t lo, hi;
};
/// Reals are broadcast; of two integers `range_of` gives the result's range.
template <class RangeOf>
Type arithmetic(const R& r, RangeOf range_of) {
  if (!r.in[0].is_int() || !r.in[1].is_int()) return r.elementwise();
  const Range result =
      range_of(Range{r.in[0].lo, r.in[0].hi - 1}, Range{r.in[1].lo, r.in[1].hi - 1});
  return Type::integer(result.lo, result.hi + 1);
}
Range range_of_products(Range a, Range b) {
  const auto [lo, hi] = std::minmax({a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi});
  return {lo, hi};
}
void want_division(const R& r) {
  r.want_int(0), r.want_int(1);
  if (r.in[0].lo < 0 || r.in[1].lo <= 0) {
    r.fail(fmt::format("{}: needs a ≥ 0 and b > 0, got a {} and a {}", r.name(), to_string(r.in[0]),
                       to_string(r.in[1])));
  }
}

Type select(const R& r) {
  r.want_int(0);
  if (!r.in[1].is_int() || !r.in[2].is_int()) return r.elementwise(1);
  return Type::integer(std::min(r.in[1].lo, r.in[2].lo), std::max(r.in[1].hi, r.in[2].hi));
}

/// attr: i = the reduced dimension is kept, as 1.
Type reduction(const R& r) {
  r.want_real(0);
  const Shape& s = r.shape(0);
  if (s.rank() == 0) r.fail(fmt::format("{}: needs a vector or matrix, got a scalar", r.name()));
  if (s.rank() == 1) return Type::real(r.attr.i != 0 ? Shape{1} : Shape{});
  return Type::real(r.attr.i != 0 ? Shape{s[0], 1} : Shape{s[0]});
}
std::string kept(const Attr& attr) { return attr.i != 0 ? " keep" : ""; }

/// attr: i, j = transpose a, b.
Type matmul(const R& r) {
  r.want_real(0);
  if (r.shape(0).rank() == 0) r.fail("matmul: operand 1 is a scalar; use * to scale");
  r.want_rank(1, 2);
  const Shape &a = r.shape(0), &b = r.shape(1);
  const bool vector = a.rank() == 1;
  const int m = vector ? 1 : a[r.attr.i != 0 ? 1 : 0];
  const int k = vector ? a[0] : a[r.attr.i != 0 ? 0 : 1];
  const int inner = b[r.attr.j != 0 ? 1 : 0], n = b[r.attr.j != 0 ? 0 : 1];
  if (k != inner) r.mismatch(0, 1);
  return Type::real(vector ? Shape{n} : Shape{m, n});
}

/// Every dimension is positive or T.
bool is_shape(const Shape& shape) {
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] < 1 && shape[axis] != kLength) return false;
  }
  return true;
}

/// A shape with T can only gain or lose dimensions of 1.
bool can_reshape(const Shape& from, const Shape& to) {
  if (from.is_static() && to.is_static()) return from.size() == to.size();
  const auto without_ones = [](const Shape& s) {
    std::vector<int> dims;
    for (int axis = 0; axis < s.rank(); ++axis) {
      if (s[axis] != 1) dims.push_back(s[axis]);
    }
    return dims;
  };
  return without_ones(from) == without_ones(to);
}
/// attr: shape.
Type reshape(const R& r) {
  r.want_real(0);
  if (!is_shape(r.attr.shape) || !can_reshape(r.shape(0), r.attr.shape)) {
    r.fail(fmt::format("cannot reshape {} to {}", to_string(r.shape(0)), to_string(r.attr.shape)));
  }
  return Type::real(r.attr.shape);
}

int joined(const R& r, int a, int b) {
  const int64_t sum = int64_t{a} + b;
  if (sum > std::numeric_limits<int32_t>::max()) r.fail("concat: the result is too long");
  return static_cast<int>(sum);
}
/// attr: axis.
Type concat(const R& r) {
  if (r.in.empty()) r.fail("concat: needs at least one operand");
  const int rank = r.shape(0).rank();
  Shape out = r.shape(0);
  for (size_t i = 0; i < r.in.size(); ++i) {
    r.want_rank(i, rank == 2 ? 2 : 1);
    const Shape& s = r.shape(i);
    if (!s.is_static()) r.fail("concat: a length T is not known when the model is compiled");
    if (i == 0) continue;
    if (rank == 1) {
      out = Shape{joined(r, out[0], s[0])};
    } else if (r.attr.axis == 0) {
      if (s[1] != out[1]) r.mismatch(0, i);
      out = Shape{joined(r, out[0], s[0]), out[1]};
    } else {
      if (s[0] != out[0]) r.mismatch(0, i);
      out = Shape{out[0], joined(r, out[1], s[1])};
    }
  }
  return Type::real(out);
}

/// attr: i = start, j = length, axis.
Type slice(const R& r) {
  r.want_real(0);
  const Shape& s = r.shape(0);
  const Attr& a = r.attr;
  if (s.rank() == 0 || a.axis >= s.rank()) r.fail("slice: needs a vector or matrix");
  const int extent = s[static_cast<int>(a.axis)];
  if (extent == kLength) r.fail("slice: a length T is not known when the model is compiled");
  if (a.i < 0 || a.j <= 0 || a.i + a.j > extent)
    r.fail(fmt::format("slice: [{}, {}) is outside {}", a.i, a.i + a.j, to_string(s)));
  const int length = static_cast<int>(a.j);
  if (s.rank() == 1) return Type::real({length});
  return Type::real(a.axis == 0 ? Shape{length, s[1]} : Shape{s[0], length});
}

Type row(const R& r) {
  r.want_rank(0, 2);
  r.want_index(1, r.shape(0)[0]);
  return Type::real({r.shape(0)[1]});
}

std::string name_of(const Attr& attr) { return " " + attr.name; }
/// FNV-1a; enough to tell constant tables apart in a dump.
uint64_t hash_values(const std::vector<double>& values) {
  uint64_t hash = 14695981039346656037u;
  const auto* bytes = reinterpret_cast<const unsigned char*>(values.data());
  for (size_t i = 0; i < values.size() * sizeof(double); ++i)
    hash = (hash ^ bytes[i]) * 1099511628211u;
  return hash;
}

constexpr OpInfo kOps[] = {
    {"input", OpClass::kLeaf, 0, "a value given at run time", no_rule, AxesRule::kNamed, name_of},
    {"param", OpClass::kLeaf, 0, "a trained parameter", no_rule, AxesRule::kOperands, name_of},
    {"const", OpClass::kLeaf, 0, "a fixed table", no_rule, AxesRule::kOperands,
     [](const Attr& a) {
       if (a.data->size() == 1) return fmt::format(" {}", a.data->front());
       return fmt::format(" {:016x}", hash_values(*a.data));
     }},
    {"scan", OpClass::kLeaf, 0, "the output at this position of a recurrence over all of x",
     no_rule},
    {"add", OpClass::kElementwise, 2, "a + b",
     [](const R& r) {
       return arithmetic(r, [](Range a, Range b) -> Range { return {a.lo + b.lo, a.hi + b.hi}; });
     }},
    {"sub", OpClass::kElementwise, 2, "a - b",
     [](const R& r) {
       return arithmetic(r, [](Range a, Range b) -> Range { return {a.lo - b.hi, a.hi - b.lo}; });
     }},
    {"mul", OpClass::kElementwise, 2, "a b",
     [](const R& r) { return arithmetic(r, range_of_products); }},
    {"div", OpClass::kElementwise, 2, "a / b", elementwise},
    {"neg", OpClass::kElementwise, 1, "-a", elementwise},
    {"exp", OpClass::kElementwise, 1, "exp a", elementwise},
    {"log", OpClass::kElementwise, 1, "log a, with gradient 0 at a = 0", elementwise},
    {"tanh", OpClass::kElementwise, 1, "tanh a", elementwise},
    {"sigmoid", OpClass::kElementwise, 1, "1 / (1 + exp -a)", elementwise},
    {"relu", OpClass::kElementwise, 1, "max(a, 0)", elementwise},
    {"softplus", OpClass::kElementwise, 1, "log(1 + exp a)", elementwise},
    {"sqrt", OpClass::kElementwise, 1, "√a, with gradient 0 at a = 0", elementwise},
    {"min", OpClass::kElementwise, 2, "min(a, b)",
     [](const R& r) {
       return arithmetic(r, [](Range a, Range b) -> Range {
         return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
       });
     }},
    {"max", OpClass::kElementwise, 2, "max(a, b)",
     [](const R& r) {
       return arithmetic(r, [](Range a, Range b) -> Range {
         return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
       });
     }},
    {"select", OpClass::kElementwise, 3, "c ? a : b, for a symbol c", select},
    {"if_greater", OpClass::kElementwise, 4, "a > b ? c : d", elementwise},
    {"log_divide", OpClass::kElementwise, 2, "log(exp a / exp b), with 0/0 = 0", elementwise},
    {"ratio", OpClass::kElementwise, 2, "a / b, with 0 where b = 0", elementwise},
    {"finite", OpClass::kElementwise, 1, "a if finite, else 0", elementwise},
    {"stop_gradient", OpClass::kElementwise, 1, "a, with gradient 0", elementwise},
    {"to_real", OpClass::kElementwise, 1, "the symbol as a number",
     [](const R& r) {
       r.want_int(0);
       return Type::real({});
     }},
    {"expand", OpClass::kElementwise, 1, "a, broadcast to a shape",
     [](const R& r) { return r.expanded(); }},
    {"int_div", OpClass::kElementwise, 2, "⌊a / b⌋",
     [](const R& r) {
       want_division(r);
       return Type::integer(r.in[0].lo / (r.in[1].hi - 1), (r.in[0].hi - 1) / r.in[1].lo + 1);
     }},
    {"mod", OpClass::kElementwise, 2, "a mod b",
     [](const R& r) {
       want_division(r);
       return Type::integer(0, std::min(r.in[0].hi, r.in[1].hi - 1));
     }},
    {"equal", OpClass::kElementwise, 2, "a = b", comparison},
    {"less", OpClass::kElementwise, 2, "a < b", comparison},
    {"sum", OpClass::kReduction, 1, "Σ_i a_i", reduction, AxesRule::kOperands, kept},
    {"max_of", OpClass::kReduction, 1, "max_i a_i", reduction, AxesRule::kOperands, kept},
    {"matmul", OpClass::kProduct, 2, "A B", matmul, AxesRule::kOperands,
     [](const Attr& a) { return std::string(a.i != 0 ? " ta" : "") + (a.j != 0 ? " tb" : ""); }},
    {"transpose", OpClass::kLayout, 1, "Aᵀ",
     [](const R& r) {
       r.want_rank(0, 2);
       return Type::real({r.shape(0)[1], r.shape(0)[0]});
     }},
    {"reshape", OpClass::kLayout, 1, "the same elements in another shape", reshape},
    {"concat", OpClass::kLayout, -1, "[a; b; …]", concat, AxesRule::kOperands,
     [](const Attr& a) { return std::string(a.axis != 0 ? " columns" : ""); }},
    {"slice", OpClass::kLayout, 1, "a_{i:i+n}", slice, AxesRule::kOperands,
     [](const Attr& a) { return fmt::format(" {}+{} axis {}", a.i, a.j, a.axis); }},
    {"row", OpClass::kIndexing, 2, "A_i, with i clamped to [0, T) where A has T rows", row},
    {"element", OpClass::kIndexing, 2, "a_i, likewise",
     [](const R& r) {
       r.want_rank(0, 1);
       r.want_index(1, r.shape(0)[0]);
       return Type::real({});
     }},
    {"update_row", OpClass::kIndexing, 3, "A, with row i replaced by v, likewise",
     [](const R& r) {
       r.want_rank(0, 2);
       r.want_index(1, r.shape(0)[0]);
       r.want_rank(2, 1);
       if (r.shape(2)[0] != r.shape(0)[1]) r.mismatch(0, 2);
       return r.in[0];
     }},
    {"one_hot", OpClass::kIndexing, 1, "the unit vector e_i",
     [](const R& r) {
       if (r.attr.i < 1) r.fail(fmt::format("one_hot: a vector cannot have {} elements", r.attr.i));
       r.want_index(0, static_cast<int>(r.attr.i));
       return Type::real({static_cast<int>(r.attr.i)});
     }},
    {"candidates", OpClass::kAxes, 1, "a for every tag, one row each",
     [](const R& r) {
       r.want_real(0);
       if (!r.shape(0).is_static()) r.fail("candidates: a state has no dimension of length T");
       return Type::real({static_cast<int>(r.attr.i), static_cast<int>(r.shape(0).size())});
     },
     AxesRule::kWithoutTag},
    {"at_tag", OpClass::kAxes, 1, "row y_t of A",
     [](const R& r) {
       r.want_rank(0, 2);
       return Type::real({r.shape(0)[1]});
     },
     AxesRule::kWithTag},
    {"sum_axes", OpClass::kAxes, 1, "the sum over all axes but those named",
     [](const R& r) { return r.in[0]; }, AxesRule::kNamed},
    {"scatter", OpClass::kAxes, 2, "Σ e_i aᵀ over all axes but those named",
     [](const R& r) {
       r.want_index(1, r.attr.shape[0]);
       return Type::real(r.attr.shape);
     },
     AxesRule::kNamed},
    {"matmul_sum", OpClass::kAxes, 2, "Σ Aᵀ B over all axes but those named",
     [](const R& r) {
       return Type::real({r.shape(0).last(), r.shape(1).last()});
     },
     AxesRule::kNamed},
};
static_assert(std::size(kOps) == kNumOps);

}  // namespace

const OpInfo& info(Op op) { return kOps[static_cast<size_t>(op)]; }

Type infer_type(Op op, std::span<const Type> in, const Attr& attr, Where where) {
  return TypeRule(op, in, attr, where).apply();
}

}  // namespace scry
