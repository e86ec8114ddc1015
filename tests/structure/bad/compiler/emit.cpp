#include "compiler/pass.h"
#include "dsl/expr.h"
#include "llvm/IR/Module.h"
#  include "../runtime/kernels/forest.h"
