#include "dsl/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "dsl/ask.h"

namespace scry {
namespace {

Sym int_input(std::string name, int64_t size, Axes axes) {
  return Sym(leaf(Op::kInput, Type::integer(0, size), {.name = std::move(name), .axes = axes}, {}));
}

State state_inputs(const StateSpec& spec, const std::string& prefix, Axes axes) {
  std::vector<Value> values;
  for (const auto& [name, type] : spec.components()) {
    const TracedPtr node = leaf(Op::kInput, type, {.name = prefix + name, .axes = axes}, {});
    if (type.is_int()) {
      values.emplace_back(Sym(node));
    } else {
      values.emplace_back(Expr(node));
    }
  }
  return State(std::move(values)).checked(spec, "the state");
}

class Tracer {
 public:
  Tracer(const Model& model, const Proposal* proposal) : model_(model), proposal_(proposal) {
    graphs_.task = model.task();
    if (model.task().x.size() == 0 || model.task().y.size() == 0) {
      throw ModelError(model.where(),
                       "the task has an empty alphabet: give Task{x, y} at least "
                       "one symbol each");
    }
    check_ends(model.task());
    graphs_.state = model.state_spec();
    graphs_.has_proposal = proposal != nullptr;
    add_params(model, ParamGroup::kModel, "model.");
    if (proposal != nullptr) {
      graphs_.later = proposal->state_spec();
      add_params(*proposal, ParamGroup::kProposal, "proposal.");
    }
  }

  ModelGraphs run() {
    trace_encoding();
    const State start = ask("start", model_.where(), [&] { return model_.start(encoding_); });
    graphs_.start =
        flatten(named(start.checked(graphs_.state, "the start state"), graphs_.state, "s."),
                Axes::sequence());
    const State s = state_inputs(graphs_.state, "s.", Axes::prefix());
    const Sym y = int_input("y", num_tags(), Axes::tag());
    const Step step = ask("step", model_.where(), [&] { return model_.step(s, x_, y); });
    check_scalar(step.score, step.where, "the step returns no score: set .score",
                 "the step's score");
    const State next = step.state.checked(graphs_.state, "the next state");
    std::vector<GraphValue> outputs{{"score", end_at_eos(step.score, y).node()}};
    for (GraphValue& value : named(next, graphs_.state, "next.")) outputs.push_back(value);
    graphs_.step = flatten(outputs, Axes::prefix() | Axes::tag());
    if (proposal_ != nullptr) trace_proposal(next, std::move(outputs));
    return std::move(graphs_);
  }

 private:
  struct GraphValue {
    std::string name;
    TracedPtr node;
  };

  int num_tags() const { return graphs_.task.y.size(); }

  static void check_ends(const Task& task) {
    if (task.x.eos().has_value() == task.y.eos().has_value()) return;
    const bool in_x = task.x.eos().has_value();
    throw Error(
        fmt::format("the task's {} alphabet has an end and its {} alphabet has none: make both "
                    "with_eos(), or neither",
                    in_x ? "input" : "output", in_x ? "output" : "input"));
  }

  /// EOS is the tag of EOS and of nothing else (fn:eos). As a part of g this holds for whatever
  /// samples, searches or trains.
  Expr end_at_eos(const Expr& score, const Sym& y) const {
    const Task& task = graphs_.task;
    if (!task.has_eos()) return score;
    const Where where = score.node()->where;
    const Sym x_ends = SymOperand(x_, where) == SymOperand(*task.x.eos(), where);
    const Sym y_ends = SymOperand(y, where) == SymOperand(*task.y.eos(), where);
    return select(SymOperand(SymOperand(x_ends, where) == SymOperand(y_ends, where), where),
                  Operand(score, where), Operand(-INFINITY, where));
  }

  void add_params(const ParamOwner& owner, ParamGroup group, const std::string& prefix) {
    for (const auto& info : owner.params()) add_param(info, group, prefix);
  }
  void add_param(const std::shared_ptr<const ParamInfo>& info, ParamGroup group,
                 const std::string& prefix) {
    param_ids_[info.get()] = static_cast<int>(graphs_.params.size());
    graphs_.params.push_back({prefix + info->name, group, info});
  }

  static std::vector<GraphValue> named(const State& state, const StateSpec& spec,
                                       const std::string& prefix) {
    std::vector<GraphValue> values;
    for (size_t i = 0; i < spec.components().size(); ++i) {
      values.push_back({prefix + spec.components()[i].name, state.values()[i].node()});
    }
    return values;
  }

  static void check_scalar(const Expr& expr, Where where, const char* missing, const char* what) {
    if (!expr.is_defined()) throw ModelError(where, missing);
    if (expr.node()->type.is_int() || expr.shape().rank() != 0) {
      const Where at = expr.node()->where.line != 0 ? expr.node()->where : where;
      throw ModelError(
          at, fmt::format("{} must be a scalar, but is {}", what, to_string(expr.node()->type)));
    }
  }

  void trace_encoding() {
    const Sym x = int_input("x", graphs_.task.x.size(), Axes::position());
    const Encoding encoding = ask("encode", model_.where(), [&] { return model_.encode(x); });
    std::vector<GraphValue> outputs;
    std::vector<std::pair<std::string, Expr>> seen;
    for (const auto& [name, value] : encoding.features()) {
      if (!value.is_defined() || value.shape().rank() != 1) {
        throw ModelError(value.is_defined() ? value.node()->where : model_.where(),
                         fmt::format("the encoding '{}' must be a vector per position", name));
      }
      for (const auto& [other, size] : graphs_.features) {
        if (other != name) continue;
        throw ModelError(value.node()->where, fmt::format("the encoding '{}' stands twice", name));
      }
      graphs_.features.emplace_back(name, value.size());
      outputs.push_back({"enc." + name, value.node()});
      seen.emplace_back(name, Expr(leaf(Op::kInput, Type::real({kLength, value.size()}),
                                        {.name = "enc." + name, .axes = Axes::sequence()}, {})));
    }
    in_encode_ = true;
    graphs_.encode = flatten(outputs, Axes::position());
    in_encode_ = false;
    encoding_ = Encoding(std::move(seen));
    x_ = Input(x, int_input("t", kMaxLength, Axes::position()), encoding_);
  }

  void trace_proposal(const State& next, std::vector<GraphValue> outputs) {
    const State later = state_inputs(graphs_.later, "later.", Axes::position());
    const Where where = proposal_->where();
    const State end = ask("end", where, [&] { return proposal_->end(); });
    graphs_.end =
        flatten(named(end.checked(graphs_.later, "the end state"), graphs_.later, "later."),
                Axes::sequence());
    const State back = ask("back", where, [&] {
                         return proposal_->back(later, x_);
                       }).checked(graphs_.later, "the state that back returns");
    std::vector<GraphValue> back_outputs = named(back, graphs_.later, "next.");
    const Expr to_go = ask("to_go", where, [&] { return proposal_->to_go(later, x_); });
    check_scalar(to_go, back.where(), "to_go returns nothing", "to_go");
    back_outputs.push_back({"to_go", to_go.node()});
    graphs_.back = flatten(back_outputs, Axes::position());

    const Expr compat = ask("compat", where, [&] {
      return proposal_->compat(next, later, Candidates(next, num_tags()));
    });
    check_scalar(compat, back.where(), "compat returns nothing", "compat");
    outputs.push_back({"compat", compat.node()});
    const Axes candidate = Axes::prefix() | Axes::tag();
    const State known = state_inputs(graphs_.state, "next.", candidate);
    const Expr of_known = ask("compat", where, [&] {
      return proposal_->compat(known, later, Candidates(known, num_tags()));
    });
    graphs_.compat = flatten({{"compat", of_known.node()}}, candidate);
    trace_root();
    graphs_.extend = flatten(outputs, Axes::prefix() | Axes::tag());
  }

  /// C_0. There are no candidates before the first tag: where c asks for them, it is 0.
  void trace_root() {
    const Axes axes = Axes::sequence();
    const Expr compat = ask("compat", proposal_->where(), [&] {
      try {
        return proposal_->compat(state_inputs(graphs_.state, "s.", axes),
                                 state_inputs(graphs_.later, "later.", axes), Candidates());
      } catch (const NoCandidates&) {
        return Expr();
      }
    });
    if (compat.is_defined()) graphs_.root = flatten({{"compat", compat.node()}}, axes);
  }

  /// The scan's index among graphs_.scans, made on first sight (so its own operands come first).
  int scan_index(const std::shared_ptr<const Scan>& scan) {
    if (const auto found = scan_ids_.find(scan.get()); found != scan_ids_.end())
      return found->second;
    std::vector<GraphValue> outputs;
    ScanGraph out{scan->direction, {}, {}};
    for (size_t i = 0; i < scan->next.size(); ++i) {
      outputs.push_back({fmt::format("after.{}", i), scan->next[i]});
      out.sizes.push_back(static_cast<int>(scan->next[i]->type.shape.size()));
    }
    current_scan_ = scan.get();
    out.graph = flatten(outputs, Axes::position());
    current_scan_ = nullptr;
    graphs_.scans.push_back(std::move(out));
    return scan_ids_[scan.get()] = static_cast<int>(graphs_.scans.size()) - 1;
  }

  Graph flatten(const std::vector<GraphValue>& outputs, Axes axes) {
    // Recurrences that the outputs read become graphs of their own before this one is numbered.
    Graph graph;
    std::map<const Traced*, NodeId> ids;
    for (const GraphValue& output : outputs) {
      graph.outputs.push_back({output.name, visit(*output.node, graph, ids), axes});
    }
    verify(graph);
    return graph;
  }

  NodeId visit(const Traced& traced, Graph& graph, std::map<const Traced*, NodeId>& ids) {
    if (const auto found = ids.find(&traced); found != ids.end()) return found->second;
    const NodeId id = add(traced, graph, ids);
    ids[&traced] = id;
    return id;
  }

  NodeId add(const Traced& traced, Graph& graph, std::map<const Traced*, NodeId>& ids) {
    Attr attr = traced.attr;
    switch (traced.op) {
      case Op::kInput:
        check_before(traced);
        return graph.add_leaf(Op::kInput, traced.type, attr.axes, attr, traced.where);
      case Op::kConst:
        return graph.add_leaf(Op::kConst, traced.type, Axes::none(), attr, traced.where);
      case Op::kParam: {
        attr.i = param_index(attr, traced.where);
        attr.name = graphs_.params[static_cast<size_t>(attr.i)].name;
        return graph.add_leaf(Op::kParam, traced.type, Axes::none(), attr, traced.where);
      }
      case Op::kScan: {
        if (!in_encode_) {
          throw ModelError(traced.where,
                           "scan: a recurrence over all of x is used outside encode(); return it "
                           "from encode() and read it from the encoding");
        }
        const int scan = suspended([&] { return scan_index(attr.scan); });
        return graph.add_leaf(
            Op::kInput, traced.type, Axes::position(),
            {.name = fmt::format("scan.{}.{}", scan, attr.i), .axes = Axes::position()},
            traced.where);
      }
      default: {
        std::vector<NodeId> in;
        for (const TracedPtr& operand : traced.in) in.push_back(visit(*operand, graph, ids));
        return graph.add(traced.op, std::move(in), attr, traced.where);
      }
    }
  }

  /// Among graphs_.params. Those of the default to_go are there from when they are first used.
  int param_index(const Attr& attr, Where where) {
    if (const auto found = param_ids_.find(attr.param.get()); found != param_ids_.end())
      return found->second;
    const auto is_it = [&](const auto& info) { return info == attr.param; };
    if (proposal_ == nullptr ||
        std::none_of(proposal_->to_go_params().begin(), proposal_->to_go_params().end(), is_it)) {
      throw ModelError(where, fmt::format("the parameter '{}' belongs to neither the model "
                                          "nor the proposal being compiled",
                                          attr.name));
    }
    for (const auto& other : proposal_->params()) {
      if (other->name != attr.name) continue;
      throw ModelError(proposal_->where(),
                       fmt::format("the parameter name '{}' is taken: a proposal that does not "
                                   "write to_go gets one with this name; give the layer another, "
                                   "or write to_go",
                                   attr.name));
    }
    add_param(attr.param, ParamGroup::kProposal, "proposal.");
    graphs_.params.back().is_automatic = true;
    return param_ids_.at(attr.param.get());
  }

  /// Another scan read by a scan's body is flattened on its own, not as part of the body.
  int suspended(const std::function<int()>& make) {
    const Scan* outer = std::exchange(current_scan_, nullptr);
    const int result = make();
    current_scan_ = outer;
    return result;
  }

  void check_before(const Traced& traced) const {
    if (!traced.attr.name.starts_with("before.")) return;
    if (current_scan_ != nullptr) {
      for (const TracedPtr& node : current_scan_->previous) {
        if (node.get() == &traced) return;
      }
    }
    throw ModelError(traced.where,
                     "scan: the state before a position is used outside the scan's body");
  }

  const Model& model_;
  const Proposal* proposal_;
  ModelGraphs graphs_;
  std::map<const ParamInfo*, int> param_ids_;
  std::map<const Scan*, int> scan_ids_;
  const Scan* current_scan_ = nullptr;
  bool in_encode_ = false;  // where alone recurrences may be used
  Encoding encoding_;
  Input x_{int_input("x", 1, Axes::position()), int_input("t", 1, Axes::position()), {}};
};

}  // namespace

ModelGraphs trace(const Model& model, const Proposal* proposal) {
  return Tracer(model, proposal).run();
}

}  // namespace scry
