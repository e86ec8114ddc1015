#include "runtime/smc/reduce.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "runtime/kernels/philox.h"
#include "runtime/smc/ensemble.h"
#include "tests/catch.h"

using namespace scry;

namespace {

struct Reduced {
  std::vector<size_t> kept;
  std::vector<double> log_weights;
};

Reduced reduced(const std::vector<double>& log_weights, size_t num_kept, double offset,
                const std::vector<size_t>& order = {}) {
  Reduced result;
  Reducer reducer;
  reducer.weigh(log_weights);
  reducer.reduce(num_kept, offset, order, result.kept, result.log_weights);
  return result;
}

size_t count_heavier(const std::vector<double>& log_weights, double share) {
  Reducer reducer;
  reducer.weigh(log_weights);
  return reducer.count_heavier(share);
}

std::vector<double> random_log_weights(size_t count, double spread, uint32_t stream) {
  Random random(5, stream);
  std::vector<double> values;
  for (size_t i = 0; i < count; ++i) values.push_back(spread * random.normal());
  return values;
}

/// κ by its definition: the least k with w_(k+1) < κ_k.
double kappa_of(std::vector<double> weights, size_t num_kept) {
  std::sort(weights.rbegin(), weights.rend());
  for (size_t k = 0; k < num_kept; ++k) {
    const double kappa =
        std::accumulate(weights.begin() + static_cast<std::ptrdiff_t>(k), weights.end(), 0.0) /
        static_cast<double>(num_kept - k);
    if (weights[k] < kappa) return kappa;
  }
  return weights[num_kept - 1];
}

std::vector<double> exp_of(const std::vector<double>& values) {
  std::vector<double> result;
  for (double v : values) result.push_back(std::exp(v));
  return result;
}

std::vector<std::vector<size_t>> some_orders(size_t count) {
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  std::vector<std::vector<size_t>> orders{{}, {order.rbegin(), order.rend()}};
  for (size_t shift = 1; shift < count; shift += 2) {
    std::rotate(order.begin(), order.begin() + 1, order.end());
    std::swap(order[shift], order[0]);
    orders.push_back(order);
  }
  return orders;
}

}  // namespace

TEST_CASE("the threshold of a reduction is that of its definition") {
  for (uint32_t stream = 0; stream < 200; ++stream) {
    const std::vector<double> values = random_log_weights(20, 0.2 * (1 + stream % 20), stream);
    for (size_t num_kept : {1, 2, 5, 10, 19}) {
      Reducer reducer;
      reducer.weigh(values);
      CHECK(reducer.log_total() == Approx(log_sum_exp(values)).epsilon(1e-12));
      const double kappa = kappa_of(exp_of(values), num_kept);
      CHECK(reducer.log_threshold(num_kept) ==
            Approx(std::log(kappa)).epsilon(1e-10).margin(1e-10));
    }
  }
}

TEST_CASE("each weight is kept with probability min(1, w / kappa), in whatever order") {
  // The offset is uniform: a fine grid of offsets has every outcome in its proportion, up to a
  // cell at each of the borders between outcomes.
  constexpr int kGrid = 4000;
  for (uint32_t stream = 0; stream < 6; ++stream) {
    const std::vector<double> values = random_log_weights(9, 0.3 + 0.5 * stream, stream);
    const std::vector<double> weights = exp_of(values);
    for (size_t num_kept : {1, 3, 6, 8}) {
      const double kappa = kappa_of(weights, num_kept);
      for (const std::vector<size_t>& order : some_orders(values.size())) {
        std::vector<double> seen(values.size(), 0.0);
        for (int i = 0; i < kGrid; ++i) {
          const Reduced result = reduced(values, num_kept, (i + 0.5) / kGrid, order);
          REQUIRE(result.kept.size() == num_kept);
          CHECK(std::is_sorted(result.kept.begin(), result.kept.end()));
          for (size_t n = 0; n < num_kept; ++n) {
            const size_t at = result.kept[n];
            seen[at] += 1;
            if (n > 0) CHECK(at != result.kept[n - 1]);
            const double expected = weights[at] < kappa ? std::log(kappa) : values[at];
            CHECK(result.log_weights[n] == Approx(expected).epsilon(1e-10).margin(1e-10));
          }
        }
        for (size_t at = 0; at < values.size(); ++at) {
          const double probability = std::min(1.0, weights[at] / kappa);
          CHECK(std::abs(seen[at] / kGrid - probability) <= 2.0 / kGrid);
        }
      }
    }
  }
}

TEST_CASE("a reduction keeps the sum of the weights") {
  for (uint32_t stream = 0; stream < 100; ++stream) {
    const std::vector<double> values = random_log_weights(300, 0.1 * stream, stream);
    for (size_t num_kept : {1, 7, 100, 299}) {
      const Reduced result = reduced(values, num_kept, (stream + 0.5) / 100);
      CHECK(result.kept.size() == num_kept);
      CHECK(log_sum_exp(result.log_weights) ==
            Approx(log_sum_exp(values)).epsilon(1e-12).margin(1e-12));
    }
  }
}

TEST_CASE("what is no more than asked for stays as it is, without what weighs nothing") {
  const std::vector<double> values{-INFINITY, 2, -INFINITY, -1e4};
  for (size_t num_kept : {2, 3, 10}) {
    const Reduced result = reduced(values, num_kept, 0.5);
    CHECK(result.kept == std::vector<size_t>{1, 3});
    CHECK(result.log_weights == std::vector<double>{2, -1e4});
  }
  CHECK(reduced({-INFINITY, -INFINITY}, 1, 0.5).kept.empty());
  CHECK(reduced({}, 3, 0.5).kept.empty());
}

TEST_CASE("equal weights, ties at the threshold and any range of numbers are reduced alike") {
  for (double offset : {0.01, 0.25, 0.5, 0.99}) {
    for (double level : {0.0, 9e3, -9e3}) {
      const Reduced equal = reduced(std::vector<double>(12, level), 4, offset);
      REQUIRE(equal.kept.size() == 4);
      for (size_t n = 0; n < 4; ++n) {
        CHECK(equal.log_weights[n] == Approx(level + std::log(3)));
        if (n > 0) CHECK(equal.kept[n] == equal.kept[n - 1] + 3);
      }
      // 2 is exactly what is left for each of two places: heavy or light, it stays.
      const Reduced tied = reduced({level + std::log(2.0), level, level}, 2, offset);
      REQUIRE(tied.kept.size() == 2);
      CHECK(tied.kept[0] == 0);
      CHECK(tied.log_weights[0] == Approx(level + std::log(2.0)));
      CHECK(tied.log_weights[1] == Approx(level + std::log(2.0)));
    }
    // Far apart: the heavy ones stay to the last bit, and the last place goes by the rest's own
    // size, however small that is.
    const std::vector<double> far{1e4, -1e4, 5e3, -1e4, -1e4};
    const Reduced result = reduced(far, 3, offset);
    REQUIRE(result.kept.size() == 3);
    CHECK(result.log_weights[static_cast<size_t>(
              std::find(result.kept.begin(), result.kept.end(), 0u) - result.kept.begin())] == 1e4);
    CHECK(std::count(result.kept.begin(), result.kept.end(), 2u) == 1);
    CHECK(log_sum_exp(std::vector<double>{result.log_weights}) == 1e4);
    const double least = *std::min_element(result.log_weights.begin(), result.log_weights.end());
    CHECK(least == Approx(-1e4 + std::log(3)));
  }
  // With one place, one is drawn by its weight, and stands for all.
  int num_second = 0;
  for (int i = 0; i < 1000; ++i) {
    const Reduced one = reduced({std::log(3.0), std::log(1.0)}, 1, (i + 0.5) / 1000);
    REQUIRE(one.kept.size() == 1);
    CHECK(one.log_weights[0] == Approx(std::log(4.0)));
    num_second += one.kept[0] == 1 ? 1 : 0;
  }
  CHECK(num_second == 250);
}

TEST_CASE("equal weights beside others that vanish next to them take all places") {
  // Their sum is rounded to what they weigh alone: no place is left for the others, which would
  // come to weigh as much.
  for (const double light : {-36.0, -40.0, -800.0, -1e5}) {
    for (const double offset : {0.001, 0.5, 0.999}) {
      const Reduced two = reduced({0, light, 0, light}, 2, offset);
      CHECK(two.kept == std::vector<size_t>{0, 2});
      CHECK(two.log_weights[0] == Approx(0).margin(1e-12));
      const Reduced three = reduced({light, 3, 0, 0, light - 1}, 3, offset);
      CHECK(three.kept == std::vector<size_t>{1, 2, 3});
    }
  }
  // However many are equal, and however their sum is rounded: as many as were asked for.
  for (size_t num_kept = 2; num_kept < 40; ++num_kept) {
    for (size_t count = num_kept + 1; count < 60; ++count) {
      for (const double value : {0.1, 0.7, 2.3}) {
        std::vector<double> values(count, value);
        for (size_t i = num_kept + (count - num_kept) / 2; i < count; ++i)
          values[i] = value - 0.01 * static_cast<double>(i);
        CHECK(reduced(values, num_kept, 0.37).kept.size() == num_kept);
      }
    }
  }
}

TEST_CASE("as many as are heavier than a share of all are enough, and so many for the others") {
  const auto logs = [](std::vector<double> weights) {
    for (double& w : weights) w = std::log(w);
    return weights;
  };
  CHECK(count_heavier(logs({6, 3, 1}), 0.05) == 3);
  CHECK(count_heavier(logs({6, 3, 0.9, 0.1}), 0.05) == 4);           // 0.1 has a place of its own
  CHECK(count_heavier(logs({6, 3, 0.4, 0.4, 0.2}), 0.05) == 2 + 2);  // two places of at most 0.5
  CHECK(count_heavier(logs({1, 1, 1, 1}), 1) == 1);
  CHECK(count_heavier(logs({1}), 0.5) == 1);
  CHECK(count_heavier(std::vector<double>{-INFINITY, 700, -INFINITY, -800}, 0.01) == 2);
  for (uint32_t stream = 0; stream < 20; ++stream) {
    const std::vector<double> log_weights = random_log_weights(50, 3, stream);
    const double share = 0.01 * (1 + stream), total = log_sum_exp(log_weights);
    const size_t enough = count_heavier(log_weights, share);
    const Reduced result = reduced(log_weights, enough, 0.3);
    CHECK(log_sum_exp(result.log_weights) == Approx(total).epsilon(1e-12));
    // No place weighs more than the share unless it did before.
    const double kappa = kappa_of(exp_of(log_weights), enough);
    CHECK(kappa <= share * std::exp(total) * (1 + 1e-12));
  }
}

TEST_CASE("what is retained leaves the law of the others as it is given that this one is chosen") {
  constexpr int kOffsets = 20'000;
  const std::vector<double> log_weights = random_log_weights(7, 0.8, 3);
  for (const std::vector<size_t>& order : some_orders(7)) {
    for (const size_t num_kept : {1, 2, 4}) {
      std::map<std::vector<size_t>, double> free;
      for (int n = 0; n < kOffsets; ++n)
        free[reduced(log_weights, num_kept, (n + 0.5) / kOffsets, order).kept] += 1.0 / kOffsets;
      for (size_t retained = 0; retained < 7; ++retained) {
        double chosen = 0;
        for (const auto& [kept, share] : free) {
          if (std::binary_search(kept.begin(), kept.end(), retained)) chosen += share;
        }
        std::map<std::vector<size_t>, double> given;
        for (int n = 0; n < kOffsets; ++n) {
          Reduced result;
          Reducer reducer;
          reducer.weigh(log_weights);
          reducer.reduce(num_kept, (n + 0.5) / kOffsets, order, result.kept, result.log_weights,
                         retained);
          REQUIRE(result.kept.size() == num_kept);
          REQUIRE(std::binary_search(result.kept.begin(), result.kept.end(), retained));
          given[result.kept] += 1.0 / kOffsets;
        }
        for (const auto& [kept, share] : free) {
          const bool has = std::binary_search(kept.begin(), kept.end(), retained);
          CHECK(std::abs(given[kept] - (has ? share / chosen : 0)) < 0.003);
        }
      }
    }
  }
}
