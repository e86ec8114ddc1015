#include "compiler/emit.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>

#include "compiler/loop_emitter.h"
#include "compiler/math_emitter.h"
#include "compiler/op_table.h"
#include "compiler/product_emitter.h"

namespace scry {
namespace {

using llvm::Value;

class FunctionEmitter {
 public:
  FunctionEmitter(llvm::Module& module, const Graph& graph, const Schedule& schedule,
                  const std::string& name, Precision precision, int num_tags,
                  const std::vector<bool>& active)
      : graph_(graph),
        schedule_(schedule),
        active_(active),
        f_(module, schedule, name, precision, num_tags),
        b_(f_.builder()),
        math_(b_, f_.real()),
        scopes_(1) {
    f_.on_enter = [this] { scopes_.emplace_back(); };
    f_.on_leave = [this] { scopes_.pop_back(); };
  }

  llvm::Function* run() {
    ProductEmitter products(f_, graph_, [this](NodeId id) { return base_pointer(id); });
    for (const Region& region : schedule_.regions) {
      if (region.product >= 0) {
        products.emit(region.product);
      } else {
        f_.over_axes(region.axes, [&] {
          for (const Group& group : region.groups) emit_group(group);
        });
      }
    }
    b_.CreateRetVoid();
    return f_.function();
  }

 private:
  static size_t at(NodeId id) { return static_cast<size_t>(id); }

  llvm::Type* type_of(const Type& type) { return type.is_int() ? b_.getInt32Ty() : f_.real(); }

  Value* base_pointer(NodeId id) {
    const Node& n = graph_[id];
    if (n.op != Op::kConst) return f_.slot(schedule_.slot[at(id)]);
    Value*& global = constants_[id];
    if (global == nullptr) {
      std::vector<llvm::Constant*> values;
      for (double value : *n.attr.data) {
        values.push_back(llvm::cast<llvm::Constant>(math_.number(value)));
      }
      auto* type = llvm::ArrayType::get(f_.real(), values.size());
      global = new llvm::GlobalVariable(f_.module(), type, true, llvm::GlobalValue::PrivateLinkage,
                                        llvm::ConstantArray::get(type, values), "table");
    }
    return global;
  }

  // -- Values -----------------------------------------------------------------------------------

  using Key = std::tuple<NodeId, Value*, Value*, Value*, Value*, Value*, Value*>;
  Key key(NodeId id, Value* i, Value* j) const {
    return {id, f_.row, f_.position, f_.sequence, f_.tag, i, j};
  }

  /// Element (i, j) of the node, at the current index of the axes.
  Value* value(NodeId id, Value* i, Value* j) {
    const Shape& shape = graph_[id].type.shape;
    if (shape.rank() < 2 || shape[0] == 1) i = f_.i64(0);
    if (shape.rank() < 1 || shape.last() == 1) j = f_.i64(0);
    const Key k = key(id, i, j);
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      if (const auto found = scope->find(k); found != scope->end()) return found->second;
    }
    Value* result =
        schedule_.storage[at(id)] == Storage::kInline ? compute(id, i, j) : load(id, i, j);
    scopes_.back()[k] = result;
    return result;
  }
  Value* integer(NodeId id) {
    return b_.CreateSExt(value(id, f_.i64(0), f_.i64(0)), b_.getInt64Ty());
  }
  /// The node as an index among `count`: clamped to [0, T) if they are T and it is not known to be
  /// there. Indices among other counts were found to be in range by their types.
  Value* index(NodeId id, int count) {
    Value* i = integer(id);
    if (count != kLength || is_position(graph_[id])) return i;
    Value* last = f_.last();
    i = b_.CreateSelect(b_.CreateICmpSLT(i, last), i, last);
    return b_.CreateSelect(b_.CreateICmpSGT(i, f_.i64(0)), i, f_.i64(0));
  }

  Value* load(NodeId id, Value* i, Value* j) {
    const Node& n = graph_[id];
    if (n.op == Op::kConst && n.attr.data->size() == 1) {
      if (n.type.is_int())
        return b_.getInt32(static_cast<uint32_t>(static_cast<int32_t>(n.attr.data->front())));
      return math_.number(n.attr.data->front());
    }
    // The candidate tag itself needs no buffer.
    if (n.op == Op::kInput && n.attr.name == "y" && n.axes == Axes::tag())
      return b_.CreateTrunc(f_.tag, b_.getInt32Ty());
    llvm::Type* type = type_of(n.type);
    Value* address = f_.element_address(base_pointer(id), type, n.axes, n.type.shape, i, j);
    return schedule_.storage[at(id)] == Storage::kLeaf ? f_.load_fixed(type, address)
                                                       : b_.CreateLoad(type, address);
  }
  Value* compute(NodeId id, Value* i, Value* j) {
    const Node& n = graph_[id];
    switch (n.op) {
      case Op::kTranspose:
        return value(n.in[0], j, i);
      case Op::kReshape:
        return reshaped(n, i, j);
      case Op::kCandidates: {  // row i is the value at tag i
        Value* outer = std::exchange(f_.tag, i);
        Value* result = flat(n.in[0], j);
        f_.tag = outer;
        return result;
      }
      case Op::kAtTag:
        return value(n.in[0], f_.tag, j);
      case Op::kSlice: {
        Value* start = f_.i64(n.attr.i);
        const bool down = n.type.shape.rank() == 2 && n.attr.axis == 0;
        return down ? value(n.in[0], f_.sum(i, start), j) : value(n.in[0], i, f_.sum(j, start));
      }
      case Op::kRow:
        return value(n.in[0], index(n.in[1], count_of_rows(n)), j);
      case Op::kElement:
        return value(n.in[0], f_.i64(0), index(n.in[1], count_of_rows(n)));
      case Op::kUpdateRow:
        return b_.CreateSelect(b_.CreateICmpEQ(i, index(n.in[1], count_of_rows(n))),
                               value(n.in[2], f_.i64(0), j), value(n.in[0], i, j));
      case Op::kOneHot:
        return b_.CreateSelect(b_.CreateICmpEQ(j, integer(n.in[0])), math_.number(1),
                               math_.number(0));
      default: {
        std::vector<Value*> operands;
        for (NodeId in : n.in) operands.push_back(value(in, i, j));
        return row(n.op).emit(math_, operands.data());
      }
    }
  }
  int count_of_rows(const Node& n) const { return graph_[n.in[0]].type.shape[0]; }
  /// Element k of the node's elements in order.
  Value* flat(NodeId id, Value* k) {
    const Shape& shape = graph_[id].type.shape;
    if (shape.rank() < 2) return value(id, f_.i64(0), k);
    Value* width = f_.allocated(shape[1]);
    return value(id, b_.CreateUDiv(k, width), b_.CreateURem(k, width));
  }
  Value* reshaped(const Node& n, Value* i, Value* j) {
    if (n.type.shape.rank() < 2) return flat(n.in[0], j);
    return flat(n.in[0], f_.sum(f_.product(i, f_.allocated(n.type.shape[1])), j));
  }

  // -- Groups -----------------------------------------------------------------------------------

  void store(NodeId id, Value* i, Value* j, Value* result) {
    const Node& n = graph_[id];
    llvm::Type* type = type_of(n.type);
    b_.CreateStore(result, f_.element_address(base_pointer(id), type, n.axes, n.type.shape, i, j));
  }
  void add_to(Value* address, Value* amount) {
    b_.CreateStore(b_.CreateFAdd(b_.CreateLoad(amount->getType(), address), amount), address);
  }

  void emit_group(const Group& group) {
    switch (group.kind) {
      case Group::Kind::kMap:
        return emit_map(group);
      case Group::Kind::kReduce:
        return emit_reduction(group.nodes[0]);
      case Group::Kind::kConcat:
        return emit_concat(group.nodes[0]);
      case Group::Kind::kAccumulate:
        return emit_accumulation(group.nodes[0]);
      case Group::Kind::kStore:
        f_.over_elements(group.shape, [&](Value* i, Value* j) {
          const GraphOutput& output = schedule_.outputs[static_cast<size_t>(group.output)];
          const Node& n = graph_[output.node];
          Value* result = value(output.node, i, j);
          Value* base = f_.slot(schedule_.output_slot[static_cast<size_t>(group.output)]);
          Value* address =
              f_.element_address(base, result->getType(), output.axes, n.type.shape, i, j);
          if (output.accumulate) {
            add_to(address, result);
          } else {
            b_.CreateStore(result, address);
          }
        });
    }
  }

  void emit_map(const Group& group) {
    const auto element = [&](Value* i, Value* j) {
      for (NodeId id : group.nodes) {
        Value* result = compute(id, i, j);
        store(id, i, j, result);
        // Read back from memory that has no gradient, a stopped gradient stays stopped.
        if (graph_[id].op != Op::kStopGradient) scopes_.back()[key(id, i, j)] = result;
      }
    };
    const auto is_transpose = [&](NodeId id) { return graph_[id].op == Op::kTranspose; };
    if (active_.empty() || !std::all_of(group.nodes.begin(), group.nodes.end(), is_transpose)) {
      return f_.over_elements(group.shape, element);
    }
    // For Enzyme, along the operand's rows: its reverse then adds to the operand's shadow in order.
    f_.for_each(f_.dim(group.shape[1]), LoopEmitter::Loop::kElement, [&](Value* j) {
      f_.for_each(f_.dim(group.shape[0]), LoopEmitter::Loop::kElement,
                  [&](Value* i) { element(i, j); });
    });
  }

  /// Σ and max over the last dimension. Reassociation lets them vectorise; the order depends on the
  /// size alone.
  void emit_reduction(NodeId id) {
    const Node& n = graph_[id];
    const Shape& in = graph_[n.in[0]].type.shape;
    const bool is_sum = n.op == Op::kSum;
    const auto reduce_row = [&](Value* i) {
      Value* init = math_.number(is_sum ? 0 : -std::numeric_limits<double>::infinity());
      Value* total = f_.loop(f_.dim(in.last()), LoopEmitter::Loop::kElement, init,
                             [&](Value* j, Value* acc) -> Value* {
                               Value* element = value(n.in[0], i, j);
                               llvm::IRBuilderBase::FastMathFlagGuard guard(b_);
                               llvm::FastMathFlags flags = b_.getFastMathFlags();
                               flags.setAllowReassoc(true);
                               if (!is_sum) flags.setNoSignedZeros(true), flags.setNoNaNs(true);
                               b_.setFastMathFlags(flags);
                               if (is_sum) return b_.CreateFAdd(acc, element);
                               return b_.CreateSelect(b_.CreateFCmpOGT(element, acc), element, acc);
                             });
      if (!active_.empty() && !active_[at(id)]) mark_inactive(total);
      const bool keeps = n.attr.i != 0;
      store(id, i, keeps ? f_.i64(0) : i, total);
    };
    if (in.rank() == 1) return reduce_row(f_.i64(0));
    f_.for_each(f_.dim(in[0]), LoopEmitter::Loop::kElement, reduce_row);
  }

  /// Enzyme would track which element is the maximum, in memory of its own, for a gradient that is
  /// 0.
  void mark_inactive(Value* total) {
    llvm::MDNode* mark = llvm::MDNode::get(f_.module().getContext(), {});
    std::vector<Value*> chain{total};
    while (!chain.empty()) {
      auto* instruction = llvm::dyn_cast<llvm::Instruction>(chain.back());
      chain.pop_back();
      if (instruction == nullptr || instruction->hasMetadata("enzyme_inactive")) continue;
      if (!llvm::isa<llvm::PHINode, llvm::SelectInst, llvm::FCmpInst>(instruction)) continue;
      instruction->setMetadata("enzyme_inactive", mark);
      chain.insert(chain.end(), instruction->op_begin(), instruction->op_end());
    }
  }

  void emit_concat(NodeId id) {
    const Node& n = graph_[id];
    const bool down = n.type.shape.rank() == 2 && n.attr.axis == 0;
    int64_t from = 0;
    for (NodeId part : n.in) {
      const Shape& shape = graph_[part].type.shape;
      f_.over_elements(shape, [&](Value* i, Value* j) {
        Value* element = value(part, i, j);
        store(id, down ? f_.sum(i, f_.i64(from)) : i, down ? j : f_.sum(j, f_.i64(from)), element);
      });
      from += down ? shape[0] : shape.last();
    }
  }

  /// Adds to the block that the current index belongs to.
  void emit_accumulation(NodeId id) {
    const Node& n = graph_[id];
    const Shape& shape = graph_[n.in[0]].type.shape;
    f_.over_elements(shape, [&](Value* i, Value* j) {
      Value* amount = value(n.in[0], i, j);
      const Shape& target = n.type.shape;
      const bool scatter = n.op == Op::kScatter;
      Value* to_i = scatter ? index(n.in[1], target[0]) : i;
      Value* to_j = scatter && target.rank() == 1 ? to_i : j;
      add_to(f_.element_address(base_pointer(id), f_.real(), n.axes, target, to_i, to_j), amount);
    });
  }

  const Graph& graph_;
  const Schedule& schedule_;
  const std::vector<bool>& active_;
  LoopEmitter f_;
  llvm::IRBuilderBase& b_;
  MathEmitter math_;
  std::vector<std::map<Key, Value*>> scopes_;  // values already at hand, per loop
  std::map<NodeId, Value*> constants_;
};

}  // namespace

llvm::Function* emit_function(llvm::Module& module, const Graph& graph, const Schedule& schedule,
                              const std::string& name, Precision precision, int num_tags,
                              const std::vector<bool>& active) {
  return FunctionEmitter(module, graph, schedule, name, precision, num_tags, active).run();
}

}  // namespace scry
