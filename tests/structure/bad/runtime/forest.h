#pragma once
#include "compiler/pass.h"
#include "runtime/scry.h"
#include "tools/cli/args.h"
