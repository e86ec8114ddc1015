// Reducing the children of many prefixes, with an eye to whose children they are.
#pragma once
#include <span>
#include <utility>
#include <vector>

#include "runtime/smc/reduce.h"

namespace scry {

/// Chooses some of many log weights that come in families of one size, without bias.
///
/// What is heavier than the threshold κ of all is kept as it is, as by a Reducer. The rest is
/// reduced twice, and each time the sum of its weights stays as it is: families are reduced to
/// some, and share the places; then each family's members are reduced to its places. Members of a
/// family have a past in common and like futures, so what a family weighs matters more than which
/// of its members do: one that weighs nearly a place has a place, and goes on weighing what it did.
/// One sweep over all members would rather drop it as often as its weight falls short of a place,
/// and as often give a second one to a family that weighs as much more.
class Families {
 public:
  /// Families that weigh less than so many κ are reduced to some that weigh as much. (Without bias
  /// for any number; measured in discrete.cpp.)
  static constexpr double kLeastShare = 0.7;

  /// The log weights that the rest is about, until the next call; members of a family stand
  /// together. They must outlive it.
  void weigh(std::span<const double> log_weights, size_t family_size);
  /// All of them, for what does not ask for families.
  Reducer& members() { return members_; }
  const Reducer& members() const { return members_; }

  /// Chooses `num_kept`, or all if there are no more: appends to `kept` their indices, in rising
  /// order, and to `kept_log_weights` what each weighs from now on. The first of two independent
  /// offsets, uniform over (0, 1), chooses families, and the second members: in each family by
  /// another offset, which is as uniform, so that together they are spread evenly.
  void reduce(size_t num_kept, double family_offset, double member_offset,
              std::vector<size_t>& kept, std::vector<double>& kept_log_weights);

 private:
  void weigh_families();
  void choose_families(size_t num_places, double offset);
  void share_places(size_t num_places);
  void choose_one(size_t family, double mass, double offset);
  void choose_some(size_t family, double mass, size_t num_places, double offset);

  Reducer members_;
  size_t family_size_ = 1;
  double log_kappa_ = 0;
  // Of the light members of each family: what they weigh, in κ; how many weigh something.
  std::vector<double> masses_;
  std::vector<size_t> num_light_;
  // Of the families that were chosen, what they weigh now, and their places.
  Reduction families_;
  std::vector<size_t> chosen_, num_places_;
  std::vector<double> chosen_masses_;
  std::vector<std::pair<double, size_t>> claims_;
  // Of one family.
  Reduction family_;
  std::vector<double> weights_in_family_;
  std::vector<size_t> kept_in_family_;

  std::vector<std::pair<size_t, double>> kept_;  // indices and log weights
};

}  // namespace scry
