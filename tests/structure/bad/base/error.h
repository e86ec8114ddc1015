#pragma once
#include "base/quote.h"
#include "dsl/expr.h"
