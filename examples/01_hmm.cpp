// Lesson 1: a hidden Markov model, and the proposal that samples from it exactly.
//
// A diary says how many ice creams were eaten each day (x); was the day cold or hot (y)?
//
// A model is a state s, a score g and an update f: p(y|x) ∝ exp Σ_t g(s_{t-1}, x_t, y_t), with
// s_t = f(s_{t-1}, x_t, y_t) (eq:condit, eq:G, eq:s). An HMM's state is its last tag (sec:hmm).
// A proposal says what is to come: s̄_t = back(s̄_{t+1}, x_{t+1}) reads x from the right, and
// compat(s_t, s̄_t) scores how well the two ends meet; y_t is drawn from q ∝ exp(g + compat)
// (eq:q-local). Here s̄_t holds the backward probabilities, so q is exact and every particle's
// weight is Z = Σ_y exp G_T.
#include <scry.h>
using namespace scry;

struct Hmm : Model {
  Parameter transition, emission;  // logits; the last row of `transition` is BOS (fn:bos)

  explicit Hmm(const Task& task)
      : Model(task, symbol_state("tag", task.y.size() + 1)),
        transition(param("transition", {task.y.size() + 1, task.y.size()}, Init::normal(1))),
        emission(param("emission", {task.y.size(), task.x.size()}, Init::normal(1))) {}

  State start(const Encoding&) const override { return {task().y.size()}; }  // BOS

  Step step(const State& s, const Input& x, const Sym& y) const override {
    return {.score = log_softmax(transition)[s.sym("tag")][y] + log_softmax(emission)[y][x],
            .state = {y}};
  }
};

// β_t for each tag and BOS (app:hmm-backward), normalized. It owns no parameters: it reads θ.
struct Backward : Proposal {
  const Hmm& hmm;

  explicit Backward(const Hmm& hmm) : Proposal(state("beta", hmm.task().y.size() + 1)), hmm(hmm) {}

  Expr unnormalized(const State& later, const Input& x) const {  // eq:beta-hmm
    Expr tags = slice(later["beta"], 0, hmm.task().y.size());
    return matmul(softmax(hmm.transition), transpose(softmax(hmm.emission))[x] * tags);
  }

  State end() const override { return {ones({hmm.task().y.size() + 1})}; }  // β_T
  State back(const State& later, const Input& x) const override {
    return {normalize(unnormalized(later, x))};
  }
  Expr to_go(const State& later, const Input& x) const override {
    return log(sum(unnormalized(later, x)));
  }
  Expr compat(const State& s, const State& later, const Candidates&) const override {
    return log(later["beta"])[s.sym("tag")];
  }
};

SCRY_MODEL() {
  auto model = std::make_shared<Hmm>(Task{Alphabet::of("1 2 3"), Alphabet::of("C H")});
  return {model, std::make_shared<Backward>(*model)};
}
