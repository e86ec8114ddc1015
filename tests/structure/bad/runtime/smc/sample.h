#pragma once
#include "runtime/kernels/forest.h"
#include "runtime/smc/beam.h"
#include "runtime/train/train.h"
#include <Eigen/Core>
