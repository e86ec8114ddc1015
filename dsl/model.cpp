#include "dsl/model.h"

#include <fmt/format.h>

namespace scry {
namespace {

State zero_state(const StateSpec& spec, Where where) {
  std::vector<Value> values;
  for (const auto& [name, type] : spec.components()) {
    if (type.is_int()) {
      values.emplace_back(SymOperand(0, where).sym, where);
    } else {
      values.emplace_back(zeros(type.shape, where), where);
    }
  }
  return State(std::move(values), where);
}

}  // namespace

Expr Parameter::expr(Where where) const {
  return Expr(
      leaf(Op::kParam, Type::real(info_->shape), {.name = info_->name, .param = info_}, where));
}

Operand::Operand(const Parameter& param, Where where) : expr(param.expr(where)), where(where) {}

Parameter ParamOwner::param(std::string name, Shape shape, Init init, Where where) {
  if (!shape.is_positive()) {
    throw ModelError(
        where, fmt::format("the parameter '{}' has the shape {}; every size must be positive", name,
                           to_string(shape)));
  }
  for (const auto& other : params_) {
    if (other->name == name) {
      throw ModelError(
          where, fmt::format("the parameter name '{}' is taken; give the layer another", name));
    }
  }
  params_.push_back(std::make_shared<ParamInfo>(ParamInfo{std::move(name), shape, init}));
  return Parameter(params_.back());
}

std::vector<Expr> scan(Direction direction, const std::vector<int>& sizes,
                       const std::function<std::vector<Expr>(const std::vector<Expr>&)>& body,
                       Where where) {
  auto scan = std::make_shared<Scan>();
  scan->direction = direction;
  std::vector<Expr> before;
  for (size_t i = 0; i < sizes.size(); ++i) {
    scan->previous.push_back(leaf(Op::kInput, Type::real({sizes[i]}),
                                  {.name = fmt::format("before.{}", i), .axes = Axes::sequence()},
                                  where));
    before.emplace_back(scan->previous.back());
  }
  const std::vector<Expr> after = body(before);
  if (after.size() != sizes.size()) {
    throw ModelError(where, fmt::format("scan: the body returns {} components, but {} are declared",
                                        after.size(), sizes.size()));
  }
  std::vector<Expr> result;
  for (size_t i = 0; i < after.size(); ++i) {
    if (!after[i].is_defined() || after[i].shape() != Shape{sizes[i]}) {
      throw ModelError(where,
                       fmt::format("scan: component {} has the shape {}, but is declared as {}", i,
                                   after[i].is_defined() ? to_string(after[i].shape()) : "nothing",
                                   to_string(Shape{sizes[i]})));
    }
    scan->next.push_back(after[i].node());
    result.emplace_back(leaf(Op::kScan, after[i].node()->type,
                             {.i = static_cast<int64_t>(i), .scan = scan}, where));
  }
  return result;
}

Expr Encoding::all(const NameAt& name) const {
  for (const auto& [key, value] : features_) {
    if (key == name.name) return value;
  }
  throw ModelError(
      name.where,
      fmt::format("the encoding has no feature '{}'; does Model::encode return it?", name.name));
}
Expr Encoding::first(const NameAt& name) const { return all(name)[SymOperand(0, name.where)]; }
Expr Encoding::last(const NameAt& name) const {
  const Sym position(leaf(Op::kInput, Type::integer(0, 1 << 30),
                          {.name = "last", .axes = Axes::sequence()}, name.where));
  return all(name)[SymOperand(position, name.where)];
}
Expr Encoding::mean(const NameAt& name) const {
  const Sym last(leaf(Op::kInput, Type::integer(0, 1 << 30),
                      {.name = "last", .axes = Axes::sequence()}, name.where));
  const Where w = name.where;
  const Expr length = to_real(SymOperand(SymOperand(last, w) + SymOperand(1, w), w));
  return Operand(sum_rows(Operand(all(name), w)), w) / Operand(length, w);
}

Expr Candidates::operator[](const NameAt& name) const {
  const Expr value = state_[name];
  return Expr(apply(Op::kCandidates, {value.node()}, {.i = num_tags_}, name.where));
}

Encoding Model::encode(const Sym&) const { return {}; }
State Model::start(const Encoding&) const { return zero_state(state_, Where::here()); }
State Proposal::end() const { return zero_state(state_, Where::here()); }
Expr Proposal::to_go(const State&, const Input&) const { return constant(Shape{}, {0.0}); }

}  // namespace scry
