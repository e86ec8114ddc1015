// The operations of a graph: their names, formulas and type rules. How each is evaluated,
// lowered and differentiated is in compiler/op_table*.cpp, one row per operation.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "dsl/type.h"

namespace scry {

enum class Op : uint8_t {
  // Leaves.
  kInput,
  kParam,
  kConst,
  kScan,
  // Elementwise on reals, with NumPy's broadcasting. Add, Sub, Mul, Min, Max and Select take
  // integers too.
  kAdd,
  kSub,
  kMul,
  kDiv,
  kNeg,
  kExp,
  kLog,
  kTanh,
  kSigmoid,
  kRelu,
  kSoftplus,
  kSqrt,
  kMin,
  kMax,
  kSelect,
  kIfGreater,
  kLogDivide,
  kRatio,
  kFinite,
  kStopGradient,
  kToReal,
  kExpand,
  // Elementwise on integers.
  kIntDiv,
  kMod,
  kEqual,
  kLess,
  // Reductions over the last dimension.
  kSum,
  kMaxOf,
  kMatMul,
  // Layout.
  kTranspose,
  kReshape,
  kConcat,
  kSlice,
  // Indexing by a symbol, which is clamped to [0, T) where there are T rows.
  kRow,
  kElement,
  kUpdateRow,
  kOneHot,
  // Between the tag axis and a dimension.
  kCandidates,
  kAtTag,
  // Sums over axes; only adjoints make them.
  kSumAxes,
  kScatter,
  kMatMulSum,
};
inline constexpr int kNumOps = static_cast<int>(Op::kMatMulSum) + 1;

/// What an operation is, for passes that treat a whole family alike.
enum class OpClass : uint8_t {
  kLeaf,
  kElementwise,
  kReduction,
  kProduct,
  kLayout,
  kIndexing,
  kAxes
};

/// What the result varies over.
enum class AxesRule : uint8_t {
  kOperands,    ///< all that its operands do
  kWithTag,     ///< that and the tag
  kWithoutTag,  ///< that but the tag
  kNamed,       ///< what its attribute `axes` says
};

struct Attr;
class TypeRule;  // operands and attributes; dsl/type_rule.h

struct OpInfo {
  const char* name;
  OpClass cls;
  int arity;  ///< -1: any number
  const char* formula;
  Type (*type)(const TypeRule& rule);
  AxesRule axes = AxesRule::kOperands;
  /// What a dump shows of attributes that the type does not tell. Graphs with the same dump share
  /// code in the cache. Null: nothing.
  std::string (*attributes)(const Attr& attr) = nullptr;
};
const OpInfo& info(Op op);

/// The operation sums over the axes that its operands have and its result has not.
inline bool sums_axes(Op op) {
  const OpInfo& row = info(op);
  return row.axes == AxesRule::kNamed && row.cls != OpClass::kLeaf;
}

struct ParamInfo;
struct Scan;

/// What an operation needs to know besides its operands; each uses the few it names in op.cpp.
struct Attr {
  int64_t i = 0, j = 0, axis = 0;
  std::string name = {};
  Shape shape = {};
  Axes axes = {};
  std::shared_ptr<const std::vector<double>> data = {};
  std::shared_ptr<const ParamInfo> param = {};
  std::shared_ptr<const Scan> scan = {};
};

/// The type of `op` applied to operands of these types. Throws ModelError at `where` if there is
/// none. Leaves have no rule: their type is given.
Type infer_type(Op op, std::span<const Type> in, const Attr& attr, Where where);

/// NumPy's broadcasting of two shapes; throws ModelError naming both.
Shape broadcast(const char* op, const Shape& a, const Shape& b, Where where);

}  // namespace scry
