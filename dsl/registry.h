// How a model file hands its model to the `scry` command.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "dsl/model.h"
#include "dsl/settings.h"

namespace scry {

/// What the tagging `decided` costs where `truth` is the right one (eq:risk): finite and at least
/// 0. Both are numbers of tags, equally many, without EOS. It may be called by several threads.
using Loss =
    std::function<double(std::span<const int32_t> decided, std::span<const int32_t> truth)>;

/// A model, and its lookahead if it has one; perhaps a loss, for `scry decode --loss own`.
struct Bundle {
  std::shared_ptr<const Model> model;
  std::shared_ptr<const Proposal> proposal = {};
  Loss loss = {};
  /// What its file asked for: make_registered_model fills it in.
  std::vector<Setting> settings = {};
};

/// What the linked model file registered: one of them is defined, or none if there is no such file.
[[gnu::weak]] Bundle registered_model();
[[gnu::weak]] Bundle registered_model(Settings& settings);
/// The line of its SCRY_MODEL().
[[gnu::weak]] Where registered_at();

/// Whether a model file is linked.
bool has_registered_model();
/// Its registered_model, where an exception that says no line or file of its own gets
/// registered_at(). Settings that were given and not asked for are still settings.unknown().
Bundle make_registered_model(Settings& settings);
/// Likewise with every setting at its default.
Bundle make_registered_model();

}  // namespace scry

/// Stands once in a program, in its model file, followed by a body that returns its Bundle. It may
/// take `Settings& settings`. (Weak functions may be defined twice without a word; the place may
/// not.)
#define SCRY_MODEL(...)                                          \
  extern const scry::Where scry_model_place;                     \
  const scry::Where scry_model_place = scry::Where::here();      \
  scry::Where scry::registered_at() { return scry_model_place; } \
  scry::Bundle scry::registered_model(__VA_ARGS__)
