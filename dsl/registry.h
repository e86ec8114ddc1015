// How a model file hands its model to the `scry` command.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "dsl/model.h"

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
};

/// What the linked model file registered; a null function if there is none.
[[gnu::weak]] Bundle registered_model();
/// The line of its SCRY_MODEL().
[[gnu::weak]] Where registered_at();

/// registered_model(), where an exception that says no line of its own gets registered_at().
Bundle make_registered_model();

}  // namespace scry

/// Stands once in a program, in its model file, followed by a body that returns its Bundle. (Weak
/// functions may be defined twice without a word; the place may not.)
#define SCRY_MODEL()                                             \
  extern const scry::Where scry_model_place;                     \
  const scry::Where scry_model_place = scry::Where::here();      \
  scry::Where scry::registered_at() { return scry_model_place; } \
  scry::Bundle scry::registered_model()
