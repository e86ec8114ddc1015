// The methods that tests go through.
#pragma once
#include <vector>

#include "runtime/smc/methods.h"

namespace scry::test {

/// Those of the table that `sample` takes.
inline std::vector<Method> sampling_methods() {
  std::vector<Method> methods;
  for (const MethodRow& row : method_table()) {
    if (row.make != nullptr) methods.push_back(row.method);
  }
  return methods;
}

}  // namespace scry::test
