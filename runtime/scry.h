// All of Scry, for model files and programs: #include <scry.h>.
#pragma once
#include "compiler/compile.h"
#include "dsl/layers.h"
#include "dsl/layers_recurrent.h"
#include "dsl/model.h"
#include "dsl/registry.h"
#include "runtime/metrics.h"
#include "runtime/parameters.h"
#include "runtime/parameters_file.h"
#include "runtime/replay.h"
#include "runtime/sample.h"
#include "runtime/search.h"
#include "runtime/version.h"
