// What a user writes: a Model (g, f, s₀; eq:G, eq:s) and a Proposal (f̄, h, c; eq:sbar, eq:Hhat,
// eq:c).
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dsl/expr.h"
#include "dsl/state.h"
#include "dsl/task.h"

namespace scry {

/// How a parameter starts, before training.
struct Init {
  enum class Kind : uint8_t { kUniform, kNormal, kFill } kind = Kind::kUniform;
  double scale = 0;  ///< half width, standard deviation, or value
  static Init uniform(double half_width) { return {Kind::kUniform, half_width}; }
  static Init normal(double stddev) { return {Kind::kNormal, stddev}; }
  static Init fill(double value) { return {Kind::kFill, value}; }
};

struct ParamInfo {
  std::string name;
  Shape shape;
  Init init;
};

/// A trained tensor of a Model (θ) or Proposal (φ).
class Parameter {
 public:
  explicit Parameter(std::shared_ptr<const ParamInfo> info) : info_(std::move(info)) {}
  operator Expr() const { return expr(); }  // NOLINT: a parameter is used as an expression
  Expr expr(Where where = Where::here()) const;
  Expr operator[](const SymOperand& i) const { return expr(i.where)[i]; }

 private:
  std::shared_ptr<const ParamInfo> info_;
};

/// Whatever owns parameters. Layers are made with their owner and a name of their own.
class ParamOwner {
 public:
  ParamOwner() = default;
  ParamOwner(const ParamOwner&) = delete;
  ParamOwner& operator=(const ParamOwner&) = delete;
  virtual ~ParamOwner() = default;

  /// Adds a parameter; throws ModelError if the name is taken.
  Parameter param(std::string name, Shape shape, Init init, Where where = Where::here());
  const std::vector<std::shared_ptr<const ParamInfo>>& params() const { return params_; }

 private:
  std::vector<std::shared_ptr<const ParamInfo>> params_;
};

enum class Direction : uint8_t { kLeftToRight, kRightToLeft };

/// A recurrence over all the positions of x, inside Model::encode. Its state starts at 0.
struct Scan {
  Direction direction;
  std::vector<TracedPtr> previous;  ///< the kInput leaves that stand for the state before
  std::vector<TracedPtr> next;      ///< the state after, one per component
};

/// Runs `body` (state before → state after) along x and returns the state after each position.
/// `sizes` are the components' sizes. Only inside Model::encode.
std::vector<Expr> scan(Direction direction, const std::vector<int>& sizes,
                       const std::function<std::vector<Expr>(const std::vector<Expr>&)>& body,
                       Where where = Where::here());

/// An encoding of all of x (the paper's BiRNN footnote to eq:noindep): named vectors per position.
class Encoding {
 public:
  Encoding() = default;
  Encoding(std::initializer_list<std::pair<std::string, Expr>> features) : features_(features) {}
  explicit Encoding(std::vector<std::pair<std::string, Expr>> features)
      : features_(std::move(features)) {}

  const std::vector<std::pair<std::string, Expr>>& features() const { return features_; }
  bool empty() const { return features_.empty(); }
  // What start() and step() see of it.
  /// The feature at every position: [T, d]. A row number is clamped to [0, T).
  Expr all(const NameAt& name) const;
  Expr first(const NameAt& name) const;
  Expr last(const NameAt& name) const;
  Expr mean(const NameAt& name) const;
  /// T, the number of positions.
  Sym length(Where where = Where::here()) const;

 private:
  std::vector<std::pair<std::string, Expr>> features_;
};

/// x_t, with the encoding of all of x beside it.
class Input : public Sym {
 public:
  Input(Sym x, Sym position, Encoding encoding)
      : Sym(std::move(x)), position_(std::move(position)), encoding_(std::move(encoding)) {}
  /// The position t - 1, counted from 0.
  const Sym& position() const { return position_; }
  /// T, the number of positions.
  Sym length(Where where = Where::here()) const { return encoding_.length(where); }
  Sym is_first(Where where = Where::here()) const;
  Sym is_last(Where where = Where::here()) const;
  const Encoding& encoding() const { return encoding_; }
  /// The feature at this position.
  Expr at(const NameAt& name) const {
    return encoding_.all(name)[SymOperand(position_, name.where)];
  }
  /// The feature `offset` positions later, or earlier if it is negative: at("e", +1) is the next.
  /// Zeros beyond the ends.
  Expr at(const NameAt& name, int offset) const;

 private:
  Sym position_;
  Encoding encoding_;
};

/// g(s_{t-1}, x_t, y_t) and s_t = f(s_{t-1}, x_t, y_t).
struct Step {
  Expr score = {};
  State state = {};
  Where where = Where::here();
};

/// Thrown, and caught by trace, where candidates are asked for and there are none: before y_1.
class NoCandidates : public Error {
 public:
  NoCandidates() : Error("there are no candidates before the first tag") {}
};

/// The next states that each y_t would lead to (the paper's footnote on c).
class Candidates {
 public:
  /// None.
  Candidates() = default;
  Candidates(State state, int num_tags) : state_(std::move(state)), num_tags_(num_tags) {}
  int size() const;
  /// One row per tag: [|Y|, d].
  Expr operator[](const NameAt& name) const;

 private:
  State state_ = {};
  int num_tags_ = 0;
};

/// An incremental scoring model: p(y|x) ∝ exp Σ_t g (eq:condit).
class Model : public ParamOwner {
 public:
  Model(Task task, StateSpec state, Where where = Where::here())
      : task_(std::move(task)), state_(std::move(state)), where_(where) {}

  /// An encoding of all of x, written for one position whose symbol is `x`. None by default.
  virtual Encoding encode(const Sym& x) const;
  /// s₀; zeros by default.
  virtual State start(const Encoding& encoding) const;
  virtual Step step(const State& s, const Input& x, const Sym& y) const = 0;

  const Task& task() const { return task_; }
  const StateSpec& state_spec() const { return state_; }
  /// The line of the user's constructor, for errors that have no line of their own.
  Where where() const { return where_; }

 private:
  Task task_;
  StateSpec state_;
  Where where_;
};

/// A lookahead proposal q(y_t | …) ∝ exp(g + c) (eq:q-local) for a model.
class Proposal : public ParamOwner {
 public:
  explicit Proposal(StateSpec state, Where where = Where::here());

  /// s̄_T; zeros by default.
  virtual State end() const;
  /// s̄_t from s̄_{t+1} and x_{t+1} (eq:sbar).
  virtual State back(const State& later, const Input& x) const = 0;
  /// h(s̄_{t+1}, x_{t+1}) (eq:Hhat). Sampling does not need it; calibration trains it, and A* adds
  /// it up. By default a linear layer of all that is real in s̄_t = back(later, x), whose parameters
  /// `to_go.weight` and `to_go.bias` start at 0; and 0 if the proposal owns no parameters, as then
  /// nothing of it is learned.
  virtual Expr to_go(const State& later, const Input& x) const;
  /// C_t = c(s_t, s̄_t) (eq:c), given all the candidate next states. At t = T it is taken as 0.
  virtual Expr compat(const State& s, const State& later, const Candidates& all) const = 0;

  const StateSpec& state_spec() const { return state_; }
  Where where() const { return where_; }
  /// Those of the default to_go, which count as this proposal's where that is used.
  const std::vector<std::shared_ptr<const ParamInfo>>& to_go_params() const {
    return to_go_params_;
  }
  static constexpr const char *kToGoWeight = "to_go.weight", *kToGoBias = "to_go.bias";

 private:
  StateSpec state_;
  Where where_;
  std::vector<std::shared_ptr<const ParamInfo>> to_go_params_;  // the bias; the weight, if any
};

}  // namespace scry
