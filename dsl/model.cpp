#include "dsl/model.h"

#include <fmt/format.h>

#include <limits>

namespace scry {
namespace {

/// T - 1, which every kernel is given.
Sym last_position(Where where) {
  return Sym(leaf(Op::kInput, Type::integer(0, kMaxLength),
                  {.name = "last", .axes = Axes::sequence()}, where));
}

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
  if (shape.size() > std::numeric_limits<int32_t>::max()) {
    throw ModelError(where, fmt::format("the parameter '{}' has {} elements, which is more than "
                                        "2³¹ - 1",
                                        name, shape.size()));
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
    if (sizes[i] < 1) {
      throw ModelError(where,
                       fmt::format("scan: component {} is declared with the size {}; it must "
                                   "be positive",
                                   i, sizes[i]));
    }
    scan->previous.push_back(leaf(Op::kInput, Type::real({sizes[i]}),
                                  {.name = fmt::format("before.{}", i), .axes = Axes::position()},
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
  return all(name)[SymOperand(last_position(name.where), name.where)];
}
Expr Encoding::mean(const NameAt& name) const {
  const Where w = name.where;
  const Expr count = to_real(SymOperand(length(w), w));
  return Operand(sum_rows(Operand(all(name), w)), w) / Operand(count, w);
}
Sym Encoding::length(Where where) const {
  return SymOperand(last_position(where), where) + SymOperand(1, where);
}

Sym Input::is_first(Where where) const {
  return SymOperand(position_, where) == SymOperand(0, where);
}
Sym Input::is_last(Where where) const {
  return SymOperand(position_, where) == SymOperand(last_position(where), where);
}
Expr Input::at(const NameAt& name, int offset) const {
  if (offset == 0) return at(name);
  const Where w = name.where;
  if (offset <= -kMaxLength || offset >= kMaxLength) {
    throw ModelError(w, fmt::format("at: the offset {} is beyond the ends of every sequence; they "
                                    "have at most {} positions",
                                    offset, kMaxLength));
  }
  const SymOperand there(SymOperand(position_, w) + SymOperand(offset, w), w);
  const SymOperand last(last_position(w), w);
  const SymOperand inside(offset > 0 ? there <= last : there >= SymOperand(0, w), w);
  return select(inside, Operand(encoding_.all(name)[there], w), Operand(0.0, w));
}

int Candidates::size() const {
  if (num_tags_ == 0) throw NoCandidates();
  return num_tags_;
}
Expr Candidates::operator[](const NameAt& name) const {
  if (num_tags_ == 0) throw NoCandidates();
  const Expr value = state_[name];
  return Expr(apply(Op::kCandidates, {value.node()}, {.i = num_tags_}, name.where));
}

Encoding Model::encode(const Sym&) const { return {}; }
State Model::start(const Encoding&) const { return zero_state(state_, Where::here()); }
State Proposal::end() const { return zero_state(state_, Where::here()); }

Proposal::Proposal(StateSpec state, Where where) : state_(std::move(state)), where_(where) {
  int64_t size = 0;
  for (const auto& [name, type] : state_.components()) {
    if (!type.is_int()) size += type.shape.size();
  }
  const auto add = [&](const char* name, Shape shape) {
    to_go_params_.push_back(std::make_shared<ParamInfo>(ParamInfo{name, shape, Init::fill(0)}));
  };
  add(kToGoBias, {1});
  if (size > 0) add(kToGoWeight, {1, static_cast<int>(size)});
}

/// Of s̄_t and not of s̄_{t+1}, so that it knows x_{t+1}, as C_t does.
Expr Proposal::to_go(const State& later, const Input& x) const {
  const Where w = where_;
  if (params().empty()) return constant(Shape{}, {0.0}, w);
  const auto at = [w](const Expr& expr) { return Operand(expr, w); };
  const Operand bias = at(Parameter(to_go_params_.front()).expr(w));
  std::vector<Expr> parts;
  const State before = back(later, x);
  for (const Value& value : before.values()) {
    if (value.node()->type.is_int()) continue;
    const Expr part(value.node());
    parts.push_back(reshape(at(part), {part.size()}));
  }
  if (parts.empty()) return bias.expr[SymOperand(0, w)];
  const Operand weight = at(Parameter(to_go_params_.back()).expr(w));
  const Operand product = at(matmul(weight, at(concat(parts, w))));
  return Expr(product + bias)[SymOperand(0, w)];
}

}  // namespace scry
