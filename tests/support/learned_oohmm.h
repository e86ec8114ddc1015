// An OOHMM (sec:oohmm) whose lookahead has the form of the exact one but parameters of its own.
#pragma once
#include "dsl/layers.h"
#include "dsl/trace.h"

namespace scry::test {

struct PlainOohmm : Model {
  int k;
  Parameter transition, emission;  // logits of p(u|u') and p(x,y|u)

  explicit PlainOohmm(const Task& task, int k, double scale = 1)
      : Model(task, state("belief", k)),
        k(k),
        transition(param("transition", {k, k}, Init::normal(scale))),
        emission(param("emission", {k, task.x.size() * task.y.size()}, Init::normal(scale))) {}

  State start(const Encoding&) const override { return {one_hot(0, k)}; }
  Step step(const State& s, const Input& x, const Sym& y) const override {
    const Sym xy = x * task().y.size() + y;
    const Expr alpha = matmul(s["belief"], softmax(transition)) * transpose(softmax(emission))[xy];
    return {.score = log(sum(alpha)), .state = {normalize(alpha)}};  // eq:g, eq:s-update
  }
};

/// s̄_t = ⟦P̄ s̄_{t+1}⟧ and C = log sᵀs̄ (eq:beta-oohmm, eq:C): exact if its parameters are those of
/// the model, with `observation` the logits of p(x|u) summed over y.
struct LearnedBackward : Proposal {
  int k;
  Parameter transition, observation;

  LearnedBackward(const Task& task, int k)
      : Proposal(state("beta", k)),
        k(k),
        transition(param("transition", {k, k}, Init::normal(0.5))),
        observation(param("observation", {k, task.x.size()}, Init::normal(0.5))) {}

  State end() const override { return {ones({k}) / k}; }
  State back(const State& later, const Input& x) const override {
    return {
        normalize(matmul(softmax(transition), transpose(softmax(observation))[x] * later["beta"]))};
  }
  Expr compat(const State& s, const State& later, const Candidates&) const override {
    return log(dot(s["belief"], later["beta"]));
  }
};

}  // namespace scry::test
