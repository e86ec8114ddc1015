#include "runtime/train/minibatches.h"

#include <algorithm>
#include <map>
#include <set>

#include "tests/catch.h"

using namespace scry;

namespace {

/// 103 lengths from 1 to 13, in disorder.
std::vector<size_t> some_lengths() {
  std::vector<size_t> lengths;
  for (size_t i = 0; i < 103; ++i) lengths.push_back(1 + i * i % 13);
  return lengths;
}

}  // namespace

TEST_CASE("an epoch's minibatches hold every example once, in full minibatches but one") {
  const std::vector<size_t> lengths = some_lengths();
  for (int batch : {1, 7, 16, 103, 200}) {
    const auto minibatches = make_minibatches(lengths, batch, 4, 2);
    std::vector<size_t> all;
    size_t num_smaller = 0;
    for (const auto& minibatch : minibatches) {
      CHECK(minibatch.size() <= static_cast<size_t>(batch));
      num_smaller += minibatch.size() < static_cast<size_t>(batch) ? 1 : 0;
      all.insert(all.end(), minibatch.begin(), minibatch.end());
    }
    CHECK(num_smaller <= 1);
    std::sort(all.begin(), all.end());
    REQUIRE(all.size() == lengths.size());
    for (size_t i = 0; i < all.size(); ++i) REQUIRE(all[i] == i);
  }
  CHECK(make_minibatches({}, 4, 1, 1).empty());
}

TEST_CASE("minibatches are of like lengths, the longest first") {
  const std::vector<size_t> lengths = some_lengths();
  std::vector<std::pair<size_t, size_t>> ranges;  // of lengths
  for (const auto& minibatch : make_minibatches(lengths, 8, 1, 1)) {
    for (size_t i = 1; i < minibatch.size(); ++i)
      CHECK(lengths[minibatch[i - 1]] >= lengths[minibatch[i]]);
    ranges.emplace_back(lengths[minibatch.back()], lengths[minibatch.front()]);
  }
  std::sort(ranges.begin(), ranges.end());
  for (size_t i = 1; i < ranges.size(); ++i) CHECK(ranges[i].first >= ranges[i - 1].second);
}

TEST_CASE("the order is a pure function of seed and epoch, and each makes a difference") {
  const std::vector<size_t> lengths = some_lengths();
  std::set<std::vector<std::vector<size_t>>> orders;
  for (uint64_t seed : {1u, 2u}) {
    for (int epoch : {1, 2, 3}) {
      const auto order = make_minibatches(lengths, 8, seed, epoch);
      CHECK(order == make_minibatches(lengths, 8, seed, epoch));
      orders.insert(order);
    }
  }
  CHECK(orders.size() == 6);
}

TEST_CASE("equally long examples come together in all combinations") {
  const std::vector<size_t> lengths(4, 5);
  std::map<std::vector<size_t>, int> counts;
  for (int epoch = 0; epoch < 2400; ++epoch) {
    std::vector<size_t> order;
    for (const auto& minibatch : make_minibatches(lengths, 2, 9, epoch))
      order.insert(order.end(), minibatch.begin(), minibatch.end());
    ++counts[order];
  }
  CHECK(counts.size() == 24);
  for (const auto& [order, count] : counts) CHECK(std::abs(count - 100) < 50);  // 5σ
}
