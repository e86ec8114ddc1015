// What the compiler leaves for the runtime: machine code and the layout of what it works on. A
// plain struct; nothing here needs LLVM, and a test can fill it by hand.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dsl/trace.h"

namespace scry {

enum class Precision : uint8_t { kFloat, kDouble };

/// One call of a kernel over a batch of rows.
struct KernelCall {
  int64_t num_rows = 0, num_positions = 0, num_sequences = 0, max_length = 0;
  const int32_t* position_of_row = nullptr;
  const int32_t* sequence_of_position = nullptr;
  void* const* args = nullptr;  ///< one buffer per slot of the kernel
};
using KernelFn = void (*)(const KernelCall*);

enum class SlotRole : uint8_t {
  kInput,      ///< read
  kOutput,     ///< written
  kKept,       ///< written for whoever wants it; scratch, unless it is bound
  kSeed,       ///< the gradient of an output; its content is lost
  kGradient,   ///< the gradient of an input: added to
  kWorkspace,  ///< scratch
  kZeroed,     ///< scratch that must hold zeros
};

/// A buffer that a kernel works on: one block of `shape` per index of `axes`, tags innermost.
struct Slot {
  std::string name;
  SlotRole role;
  Kind kind;
  Axes axes;
  Shape shape;

  int64_t num_elements(const KernelCall& call, int num_tags) const {
    int64_t count = axes.has_prefix()     ? call.num_rows
                    : axes.has_position() ? call.num_positions
                    : axes.has_sequence() ? call.num_sequences
                                          : 1;
    if (axes.has_tag()) count *= num_tags;
    for (int axis = 0; axis < shape.rank(); ++axis)
      count *= shape[axis] == kLength ? call.max_length : shape[axis];
    return count;
  }
};

struct Kernel {
  std::string name;
  std::vector<Slot> slots;
  KernelFn run = nullptr;
  explicit operator bool() const { return run != nullptr; }
};

/// A function of the interpreter and its gradient, which adds to the gradients of all its real
/// inputs; of the lookahead's (end, back, root, ahead, extend) to those that φ moves. There is none
/// where nothing would be added.
struct Stage {
  Kernel forward;
  Kernel gradient;
};

/// A value that is a sequence's or a position's.
struct PlacedValue {
  std::string name;
  Shape shape;
  Axes axes;
};

/// What other stages read that varies over sequences or positions alone: computed for all of a
/// batch in one call, and its gradient likewise. Without values there is no code.
struct PlaceStage : Stage {
  std::vector<PlacedValue> values;
};

struct ScanStage : Stage {
  Direction direction;
  std::vector<int> sizes;
  PlaceStage in;  ///< what the recurrence reads of x
};

/// Where a parameter or table stands in the flat vector of all.
struct Block {
  std::string name;
  Shape shape;
  int64_t offset;  ///< in elements; a multiple of 16
  ParamGroup group;
  Init init = {};
  bool is_automatic = false;  ///< TracedParam::is_automatic
};

struct Component {
  std::string name;
  Type type;
};

/// What a program was made of and by, so that a file can tell whether it belongs to it. Empty in a
/// program that was made by hand.
struct Origin {
  std::string model;    ///< a digest of all that was traced
  std::string build;    ///< a digest of Scry's compiler, LLVM and the differentiator's plugin
  std::string machine;  ///< the CPU and the instructions that code is generated for
};

/// A compiled model and proposal. Stages without code (run == nullptr) do not exist in the model.
struct Program {
  Task task;
  Precision precision = Precision::kFloat;
  std::string differentiator;  ///< "enzyme", "adjoint" or "none"
  Origin origin;
  std::vector<Block> params, tables;
  int64_t num_param_elements = 0, num_table_elements = 0;
  std::vector<Component> state, later;
  std::vector<std::pair<std::string, int>> features;

  Stage prepare;                 ///< θ → tables; once per update of θ
  Stage prepare_proposal;        ///< φ, θ → the other tables; its gradient is φ's
  std::vector<ScanStage> scans;  ///< the encoder's recurrences, in order
  Stage encode;                  ///< → enc.* at a position
  Stage start;                   ///< → s.* (s₀), of a sequence
  PlaceStage place;              ///< x → place.*, which the step reads
  Stage end;                     ///< → later.* (s̄_T), of a sequence
  PlaceStage back_in;            ///< x → in.*, which `back` reads
  Stage back;                    ///< later.*, x → next.*, to_go, at a position (eq:sbar)
  Stage root;                    ///< s.*, later.* → compat (C_0), of a sequence
  PlaceStage ahead;              ///< later.*, x → ahead.*, which `extend` reads
  Stage score;                   ///< s.*, x → score, for every tag; its gradient where all of the
                                 ///< state is integers
  Stage score_tag;               ///< s.*, x, y → score, for one tag a row; its gradient, too
  Stage advance;                 ///< s.*, x, y → next.*, for one tag a row
  Stage extend;                  ///< s.*, later.*, x → score, next.*, compat, for every tag
                                 ///< (gradient: of compat, from next.* and kept.*)
  std::vector<Component> kept;   ///< kept.* of `extend`, of a row with all of its tags

  std::shared_ptr<const void> code;  ///< keeps the machine code alive

  int num_tags() const { return task.y.size(); }
  size_t real_size() const {
    return precision == Precision::kDouble ? sizeof(double) : sizeof(float);
  }
  bool has_proposal() const { return static_cast<bool>(extend.forward); }
};

}  // namespace scry
