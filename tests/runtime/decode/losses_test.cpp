#include "runtime/decode/losses.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "tests/catch.h"
#include "tests/support/taggings.h"

using namespace scry;

namespace {

const Task kTask{Alphabet::of("a"), Alphabet::of("O B I")};

/// Levenshtein's recursion, whole.
int full_distance(const std::vector<int>& a, const std::vector<int>& b) {
  std::vector<std::vector<int>> table(a.size() + 1, std::vector<int>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        table[i][j] = static_cast<int>(i + j);
        continue;
      }
      table[i][j] = std::min({table[i - 1][j] + 1, table[i][j - 1] + 1,
                              table[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
    }
  }
  return table[a.size()][b.size()];
}

}  // namespace

TEST_CASE("losses of two taggings are what their names say") {
  const std::vector<int32_t> z{1, 2, 0, 1}, y{1, 2, 1, 0};
  const auto loss = [&](LossKind kind) { return make_loss(kind, kTask)(z, y); };
  CHECK(loss(LossKind::kHamming) == 2);
  CHECK(loss(LossKind::kWhole) == 1);
  CHECK(loss(LossKind::kSpans) == Approx(1 - 2 * 1 / 4.0));
  CHECK(loss(LossKind::kEdit) == 2);
  for (LossKind kind : {LossKind::kHamming, LossKind::kWhole, LossKind::kSpans, LossKind::kEdit}) {
    CHECK(make_loss(kind, kTask)(y, y) == 0);
    CHECK(make_loss(kind, kTask)({}, {}) == 0);
  }
}

TEST_CASE("the edit distance is Levenshtein's, near and far, of equal and unequal lengths") {
  const auto distance = [](const std::vector<int>& a, const std::vector<int>& b) {
    return edit_distance(a, b);
  };
  CHECK(distance({0, 1, 0, 1, 0, 1}, {1, 0, 1, 0, 1, 0}) == 2);  // moved by one
  int num_wrong = 0;
  for (int length : {0, 1, 2, 5, 17, 40}) {
    for (int other : {length, length + 1, length / 2}) {
      for (uint64_t seed = 0; seed < 40; ++seed) {
        const std::vector<int> a = test::random_symbols(3, length, seed);
        std::vector<int> b = test::random_symbols(3, other, seed + 100);
        num_wrong += distance(a, b) == full_distance(a, b) ? 0 : 1;
        b = a;  // and near ones
        for (size_t t = seed % 3; t < b.size(); t += 5) b[t] = 2 - b[t];
        std::rotate(b.begin(), b.begin() + static_cast<std::ptrdiff_t>(b.size() / 9), b.end());
        num_wrong += distance(a, b) == full_distance(a, b) ? 0 : 1;
      }
    }
  }
  CHECK(num_wrong == 0);
}

TEST_CASE("a loss of the user's own must be there, and a number from 0 on") {
  CHECK_THROWS_WITH(make_loss(LossKind::kOwn, kTask),
                    "the model file has no loss of its own: return {model, proposal, loss} from "
                    "SCRY_MODEL()");
  const std::vector<int32_t> y{0};
  double value = 3;
  const Loss loss =
      make_loss(LossKind::kOwn, kTask,
                [&](std::span<const int32_t>, std::span<const int32_t>) { return value; });
  CHECK(loss(y, y) == 3);
  for (double bad : {-1.0, static_cast<double>(NAN), static_cast<double>(INFINITY)}) {
    value = bad;
    CHECK_THROWS_AS(loss(y, y), Error);
  }
}
