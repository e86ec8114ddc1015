#pragma once
#include "dsl/expr.h"
#include <llvm/IR/Module.h>
