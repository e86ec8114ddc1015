#pragma once

#include <vector>

#include "compiler/pass.h"
#include "dsl/type.h"
#include <scry.h>
