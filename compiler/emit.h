// Graph + Schedule → an LLVM function. (Of LLVM only names.)
#pragma once
#include <string>

#include "compiler/schedule.h"

namespace llvm {
class Function;
class Module;
}  // namespace llvm

namespace scry {

/// Emits `void name(i64 rows, i64 positions, i64 sequences, i64 max_length, ptr position_of_row,
/// ptr sequence_of_position, ptr slot0, …)`.
/// No two slots overlap, so all pointers are noalias. Each row is computed in the same way whatever
/// its neighbours are: loops over axes are not vectorised or unrolled, loops over elements are.
/// Reductions of nodes that are not `active` are marked as having no gradient; empty: all are
/// active.
llvm::Function* emit_function(llvm::Module& module, const Graph& graph, const Schedule& schedule,
                              const std::string& name, Precision precision, int num_tags,
                              const std::vector<bool>& active);

}  // namespace scry
