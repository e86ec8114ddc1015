#pragma once
#include "compiler/pass.h"
#include "runtime/smc/sample.h"
#include "tools/cli/args.h"
