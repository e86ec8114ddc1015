// Lesson 2: a latent state, summed out. An output-output HMM (sec:oohmm) moves between k latent
// states u and emits the pair (x_t, y_t) from each. As u is not known, the model's state s_t is the
// belief about it: a distribution over the k states, which the forward algorithm updates
// (eq:s-update).
//
// The matrix P_{u'u} = p(u|u') p(x,y|u) is never written down: sᵀP is (sᵀA) ⊙ p(x,y|·). Scry sees
// that sᵀA does not depend on y and computes it once per prefix, and softmaxes of parameters once
// per parameter update.
//
// The proposal is exact again: s̄_t = ⟦P̄ s̄_{t+1}⟧ with P̄_{uu'} = p(u'|u) p(x|u'), and C = log sᵀs̄.
#include <scry.h>
using namespace scry;

struct Oohmm : Model {
  static constexpr int kBos = 0;  // the latent state that every sequence starts from
  int k;
  Parameter transition, emission;  // logits of p(u|u') and p(x,y|u)

  Oohmm(const Task& task, int k)
      : Model(task, state("belief", k)),
        k(k),
        transition(param("transition", {k, k}, Init::normal(1))),
        emission(param("emission", {k, task.x.size() * task.y.size()}, Init::normal(1))) {}

  State start(const Encoding&) const override { return {one_hot(kBos, k)}; }  // α_0

  Step step(const State& s, const Input& x, const Sym& y) const override {
    Sym xy = x * task().y.size() + y;
    Expr alpha = matmul(s["belief"], softmax(transition)) * transpose(softmax(emission))[xy];
    return {.score = log(sum(alpha)), .state = {normalize(alpha)}};  // eq:g, eq:s-update
  }
};

struct Backward : Proposal {
  const Oohmm& model;

  explicit Backward(const Oohmm& model) : Proposal(state("beta", model.k)), model(model) {}

  Expr unnormalized(const State& later, const Input& x) const {  // P̄ s̄ (eq:beta-oohmm)
    int nx = model.task().x.size(), ny = model.task().y.size();
    Expr p_x = reshape(sum(reshape(softmax(model.emission), {model.k * nx, ny})), {model.k, nx});
    return matmul(softmax(model.transition), transpose(p_x)[x] * later["beta"]);
  }

  State end() const override { return {ones({model.k})}; }  // β_T
  State back(const State& later, const Input& x) const override {
    return {normalize(unnormalized(later, x))};
  }
  Expr to_go(const State& later, const Input& x) const override {  // eq:h
    return log(sum(unnormalized(later, x)));
  }
  Expr compat(const State& s, const State& later, const Candidates&) const override {  // eq:C
    return log(dot(s["belief"], later["beta"]));
  }
};

SCRY_MODEL() {
  auto model = std::make_shared<Oohmm>(Task{Alphabet::of("1 2 3"), Alphabet::of("C H")}, 5);
  return {model, std::make_shared<Backward>(*model)};
}
