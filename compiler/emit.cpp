#include "compiler/emit.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <functional>
#include <map>

#include "compiler/emission.h"
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
    for (const Region& region : schedule_.regions) {
      if (region.product >= 0) {
        ProductEmitter product(f_, graph_, region.product,
                               [this](NodeId id) { return base_pointer(id); });
        row(graph_[region.product].op).product(product);
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
  /// As Emission::index.
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
    Value* from = address(id, i, j);
    return schedule_.storage[at(id)] == Storage::kLeaf ? f_.load_fixed(type, from)
                                                       : b_.CreateLoad(type, from);
  }
  Value* compute(NodeId id, Value* i, Value* j) {
    NodeEmission e(*this, id);
    return row(graph_[id].op).element(e, i, j);
  }
  /// Element k of the node's elements in order.
  Value* flat(NodeId id, Value* k) {
    const Shape& shape = graph_[id].type.shape;
    if (shape.rank() < 2) return value(id, f_.i64(0), k);
    Value* width = f_.allocated(shape[1]);
    Value* j = b_.CreateURem(k, width);
    return value(id, b_.CreateUDiv(k, width), j);
  }

  /// What the node's row sees.
  class NodeEmission final : public Emission {
   public:
    NodeEmission(FunctionEmitter& emitter, NodeId id)
        : Emission(emitter.graph_, emitter.graph_[id], emitter.f_, emitter.math_),
          emitter_(emitter),
          id_(id) {}
    Value value(size_t operand, Value i, Value j) override {
      return emitter_.value(node.in[operand], i, j);
    }
    Value flat(size_t operand, Value k) override { return emitter_.flat(node.in[operand], k); }
    Value index(size_t operand, int count) override {
      return emitter_.index(node.in[operand], count);
    }
    void store(Value i, Value j, Value element) override { emitter_.store(id_, i, j, element); }
    void add(Value i, Value j, Value amount) override {
      emitter_.add_to(emitter_.address(id_, i, j), amount);
    }
    void reduce(double start, Combine combine) override { emitter_.reduce(id_, start, combine); }

   private:
    FunctionEmitter& emitter_;
    NodeId id_;
  };

  // -- Groups -----------------------------------------------------------------------------------

  Value* address(NodeId id, Value* i, Value* j) {
    const Node& n = graph_[id];
    return f_.element_address(base_pointer(id), type_of(n.type), n.axes, n.type.shape, i, j);
  }
  void store(NodeId id, Value* i, Value* j, Value* result) {
    b_.CreateStore(result, address(id, i, j));
  }
  void add_to(Value* to, Value* amount) {
    b_.CreateStore(b_.CreateFAdd(b_.CreateLoad(amount->getType(), to), amount), to);
  }

  void emit_group(const Group& group) {
    switch (group.kind) {
      case Group::Kind::kMap:
        return emit_map(group);
      case Group::Kind::kBlock: {
        NodeEmission e(*this, group.nodes[0]);
        return row(graph_[group.nodes[0]].op).block(e);
      }
      case Group::Kind::kStore:
        return emit_output(group);
    }
  }

  void emit_output(const Group& group) {
    f_.over_elements(group.shape, [&](Value* i, Value* j) {
      const GraphOutput& output = schedule_.outputs[static_cast<size_t>(group.output)];
      Value* result = value(output.node, i, j);
      Value* base = f_.slot(schedule_.output_slot[static_cast<size_t>(group.output)]);
      Value* to = f_.element_address(base, result->getType(), output.axes,
                                     graph_[output.node].type.shape, i, j);
      if (output.accumulate) {
        add_to(to, result);
      } else {
        b_.CreateStore(result, to);
      }
    });
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
    const auto by_columns = [&](NodeId id) { return row(graph_[id].op).by_columns; };
    if (active_.empty() || !std::all_of(group.nodes.begin(), group.nodes.end(), by_columns)) {
      return f_.over_elements(group.shape, element);
    }
    f_.for_each(f_.dim(group.shape[1]), LoopEmitter::Loop::kElement, [&](Value* j) {
      f_.for_each(f_.dim(group.shape[0]), LoopEmitter::Loop::kElement,
                  [&](Value* i) { element(i, j); });
    });
  }

  /// Folds the last dimension of the node's operand into its elements.
  void reduce(NodeId id, double start, Emission::Combine combine) {
    const Node& n = graph_[id];
    const Shape& in = graph_[n.in[0]].type.shape;
    const auto reduce_row = [&](Value* i) {
      Value* total = f_.loop(
          f_.dim(in.last()), LoopEmitter::Loop::kElement, math_.number(start),
          [&](Value* j, Value* so_far) { return (math_.*combine)(so_far, value(n.in[0], i, j)); });
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
