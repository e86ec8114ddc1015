// The frame of an emitted function: its arguments, loops over axes and elements, and addresses in
// its buffers. (Of LLVM only names.)
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "compiler/schedule.h"

namespace llvm {
class Argument;
class Function;
class IRBuilderBase;
class MDNode;
class Module;
class Type;
class Value;
}  // namespace llvm

namespace scry {

class LoopEmitter {
 public:
  using Value = llvm::Value*;

  /// Starts `void name(i64 rows, i64 positions, i64 sequences, i64 max_length,
  /// ptr position_of_row, ptr sequence_of_position, ptr slot0, …)`.
  LoopEmitter(llvm::Module& module, const Schedule& schedule, const std::string& name,
              Precision precision, int num_tags);

  llvm::Module& module() { return module_; }
  llvm::IRBuilderBase& builder() { return *builder_; }
  llvm::Function* function() { return function_; }
  llvm::Type* real() { return real_; }

  /// Axis loops are neither vectorised nor unrolled, so that every row is computed in the same way.
  enum class Loop { kAxis, kElement };
  using Body = std::function<Value(Value i, Value accumulated)>;
  /// for (i = 0; i < count; ++i) acc = body(i, acc). Returns the final acc; null if `init` is.
  Value loop(Value count, Loop kind, Value init, const Body& body);
  void for_each(Value count, Loop kind, const std::function<void(Value)>& body);
  /// Runs `body` at every index of the axes, which is the current index meanwhile.
  void over_axes(Axes axes, const std::function<void()>& body);
  void over_elements(const Shape& shape, const std::function<void(Value i, Value j)>& body);
  /// Runs `body` once, at index 0 of every axis, unless `count` is 0.
  void at_first_index(Value count, const std::function<void()>& body);

  /// Told when a loop's body begins and ends: values made inside are not valid outside.
  std::function<void()> on_enter = [] {}, on_leave = [] {};

  Value i64(int64_t value);
  Value sum(Value a, Value b);
  Value product(Value a, Value b);
  /// T - 1 at the current sequence.
  Value last();
  /// A dimension at the current sequence; as memory is laid out.
  Value dim(int size);
  Value allocated(int size);
  /// The number of indices of the axes.
  Value count(Axes axes);

  Value slot(int index);
  /// The offset of the block of `shape` at the current index.
  Value block_offset(Axes axes, const Shape& shape);
  Value element_address(Value base, llvm::Type* type, Axes axes, const Shape& shape, Value i,
                        Value j);
  /// From memory that no kernel writes, so that Enzyme loads it again instead of keeping a copy.
  Value load_fixed(llvm::Type* type, Value address);

  // The current index; null where there is none.
  Value row = nullptr, position = nullptr, sequence = nullptr, tag = nullptr;

 private:
  void describe(llvm::Argument* argument, bool is_int);
  llvm::MDNode* axis_loop_metadata();
  Value load_index(Value base, Value at);

  llvm::Module& module_;
  const Schedule& schedule_;
  const int num_tags_;
  /// Of a class without a virtual destructor, so with a deleter of its own.
  std::unique_ptr<llvm::IRBuilderBase, void (*)(llvm::IRBuilderBase*)> builder_;
  llvm::Type* real_;
  llvm::Function* function_;
};

}  // namespace scry
