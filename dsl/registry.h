// How a model file hands its model to the `scry` command.
#pragma once
#include <memory>

#include "dsl/model.h"

namespace scry {

/// A model, and its lookahead if it has one.
struct Bundle {
  std::shared_ptr<const Model> model;
  std::shared_ptr<const Proposal> proposal = {};
};

/// What the linked model file registered; a null function if there is none.
[[gnu::weak]] Bundle registered_model();

}  // namespace scry

/// Stands once in a model file, followed by a body that returns its Bundle.
#define SCRY_MODEL() scry::Bundle scry::registered_model()
