#pragma once
#include "runtime/kernels/forest.h"
#include "llvm-c/Core.h"
