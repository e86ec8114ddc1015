#include "runtime/smc/genealogy.h"

#include <cmath>

#include "tests/catch.h"

using namespace scry;

namespace {

/// Of columns: without shares it was not resampled.
void add_level(Genealogy& tree, std::vector<int32_t> parents, std::vector<int32_t> counts,
               std::vector<int32_t> copies, std::vector<double> log_weight_changes,
               std::vector<double> shares, bool is_drawn = true) {
  tree.begin_level(!is_drawn        ? Genealogy::Level::kWeighed
                   : shares.empty() ? Genealogy::Level::kDrawn
                                    : Genealogy::Level::kResampled);
  for (size_t k = 0; k < parents.size(); ++k) {
    tree.add(
        {parents[k], counts[k], copies[k], log_weight_changes[k], shares.empty() ? 0 : shares[k]});
  }
}

}  // namespace

TEST_CASE("without resampling, the variance is that of the mean of the weights") {
  // Particles: 3 to a (then 2 to aa, 1 to ab), 2 to b (then both to ba).
  const std::vector<double> a{0.5, -1.0}, b{0.25, 0.0, 2.0};
  Genealogy tree;
  add_level(tree, {0, 0}, {3, 2}, {3, 2}, a, {});
  add_level(tree, {0, 0, 1}, {2, 1, 2}, {2, 1, 2}, b, {});
  std::vector<double> weights{std::exp(a[0] + b[0]), std::exp(a[0] + b[0]), std::exp(a[0] + b[1]),
                              std::exp(a[1] + b[2]), std::exp(a[1] + b[2])};
  double total = 0, squares = 0;
  for (double w : weights) total += w;
  for (double w : weights) squares += (w / total) * (w / total);
  for (Resampling scheme : {Resampling::kMultinomial, Resampling::kSystematic}) {
    CHECK(tree.relative_variance(5, scheme).value() ==
          Approx((5 * squares - 1) / 4).epsilon(1e-12));
  }
}

TEST_CASE("equal weights have no variance, however often they are resampled") {
  for (Resampling scheme : {Resampling::kMultinomial, Resampling::kResidual,
                            Resampling::kStratified, Resampling::kSystematic}) {
    Genealogy tree;
    add_level(tree, {0, 0}, {5, 3}, {4, 4}, {7.0, 7.0}, {5, 3});
    add_level(tree, {0, 0, 1}, {2, 2, 4}, {0, 1, 7}, {-1.0, -1.0, -1.0}, {2, 2, 4});
    add_level(tree, {0, 1, 1}, {1, 4, 3}, {1, 4, 3}, {0.0, 0.0, 0.0}, {});
    CHECK(tree.relative_variance(8, scheme).value() == Approx(0).margin(1e-12));
  }
}

TEST_CASE("prefixes that were weighed before a draw have the variance of being drawn and copied") {
  // Two prefixes of one particle each weigh 1 and 3, and are resampled to 1 and 1 before they draw
  // tags of equal weight: only the first draw and the copying had anything to choose.
  Genealogy tree;
  add_level(tree, {0, 0}, {1, 1}, {1, 1}, {0.0, 0.0}, {});
  add_level(tree, {0, 1}, {1, 1}, {1, 1}, {0.0, std::log(3.0)}, {1, 3}, false);
  add_level(tree, {0, 1}, {1, 1}, {1, 1}, {0.0, 0.0}, {});
  // Q is the same after both, so copying adds nothing; the weights 1 and 3 have a mean of 2 with a
  // variance of 2 / 2, relative to its square 1/4.
  CHECK(tree.relative_variance(2, Resampling::kMultinomial).value() == Approx(0.25));
}

TEST_CASE("one particle tells nothing of its variance") {
  Genealogy tree;
  add_level(tree, {0}, {1}, {1}, {0.0}, {});
  CHECK(!tree.relative_variance(1, Resampling::kMultinomial));
}

TEST_CASE("weights of any size make no overflow") {
  Genealogy tree;
  add_level(tree, {0, 0}, {2, 2}, {3, 1}, {5000.0, 4999.0}, {2, 2 / std::exp(1.0)});
  add_level(tree, {0, 1}, {3, 1}, {3, 1}, {-9000.0, -9001.0}, {});
  const double variance = tree.relative_variance(4, Resampling::kMultinomial).value();
  CHECK(std::isfinite(variance));
}
