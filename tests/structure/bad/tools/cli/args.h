#pragma once
#include "runtime/forest.h"
#include "llvm-c/Core.h"
