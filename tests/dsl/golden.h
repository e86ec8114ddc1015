// Comparison with PyTorch's numbers. They were printed by PyTorch 1.13 in double precision, with
// parameter k in the order of named_parameters() set by golden_weight.
#pragma once
#include <string>
#include <vector>

#include "dsl/model.h"
#include "tests/catch.h"

namespace scry::testing {

inline void check_close(const std::vector<double>& got, const std::vector<double>& want) {
  REQUIRE(got.size() == want.size());
  for (size_t i = 0; i < got.size(); ++i) CHECK(got[i] == Approx(want[i]).margin(2e-9));
}

/// "emb.weight [4, 3]; out.bias [2]", in the order in which they were made.
inline std::string describe(const ParamOwner& owner) {
  std::string text;
  for (const auto& param : owner.params()) {
    text += (text.empty() ? "" : "; ") + param->name + " " + to_string(param->shape);
  }
  return text;
}

}  // namespace scry::testing

#define CHECK_CLOSE(got, ...) scry::testing::check_close(got, __VA_ARGS__)
