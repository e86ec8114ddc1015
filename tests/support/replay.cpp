#include "tests/support/replay.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "base/error.h"
#include "runtime/kernels/state_rows.h"
#include "runtime/smc/end_of_sequence.h"

namespace scry::test {
namespace {

/// A state's components at every position 0 … T, and their gradients.
class StateTrack {
 public:
  StateTrack(Precision precision, std::span<const Component> components) : precision_(precision) {
    for (const Component& c : components)
      parts_.push_back({c.name, c.type, RealBuffer(precision, 0), {}, RealBuffer(precision, 0)});
  }
  void resize(int64_t positions) {
    for (Part& part : parts_) {
      part.values.reset(positions * size(part));
      part.gradients.reset(positions * size(part));
      part.integers.assign(static_cast<size_t>(positions), 0);
    }
  }
  /// Binds `prefix`NAME to the values at `position`.
  void bind(BoundKernel& kernel, const std::string& prefix, int64_t position) {
    for (Part& part : parts_) kernel.bind(prefix + part.name, value(part, position));
  }
  void bind_gradient(BoundKernel& kernel, const std::string& prefix, int64_t position) {
    for (Part& part : parts_) {
      if (!part.type.is_int())
        kernel.bind("d." + prefix + part.name, part.gradients.at(position * size(part)));
    }
  }
  void clear_gradients() {
    for (Part& part : parts_) part.gradients.clear();
  }

 private:
  struct Part {
    std::string name;
    Type type;
    RealBuffer values;
    std::vector<int32_t> integers;
    RealBuffer gradients;
  };
  static int64_t size(const Part& part) { return part.type.shape.size(); }
  size_t real_size() const {
    return precision_ == Precision::kDouble ? sizeof(double) : sizeof(float);
  }
  static void* value(Part& part, int64_t position) {
    if (part.type.is_int()) return &part.integers[static_cast<size_t>(position)];
    return part.values.at(position * size(part));
  }
  Precision precision_;
  std::vector<Part> parts_;
};

/// The values of a PlaceStage, and their gradients. Each position is computed for itself, and what
/// is the sequence's with every one of them.
class PlaceTrack {
 public:
  PlaceTrack(Precision precision, const PlaceStage& stage) : stage_(&stage) {
    for (size_t i = 0; i < stage.values.size(); ++i) {
      values_.emplace_back(precision, 0);
      gradients_.emplace_back(precision, 0);
      zeros_.emplace_back(precision, 0);
    }
  }
  void resize(int64_t length) {
    length_ = length;
    for (size_t i = 0; i < values_.size(); ++i) {
      values_[i].reset(length * size(i));
      gradients_[i].reset(length * size(i));
    }
  }
  void clear_gradients() {
    for (RealBuffer& buffer : gradients_) buffer.clear();
  }
  void bind(BoundKernel& kernel, int64_t t) {
    for (size_t i = 0; i < values_.size(); ++i) kernel.bind(name(i), values_[i].at(first(i, t)));
  }
  void bind_gradient(BoundKernel& kernel, int64_t t) {
    for (size_t i = 0; i < values_.size(); ++i)
      kernel.bind("d." + name(i), gradients_[i].at(first(i, t)));
  }
  /// As seeds of position t: what is the sequence's counts with the first one alone.
  void bind_seeds(BoundKernel& kernel, int64_t t) {
    bind_gradient(kernel, t);
    for (size_t i = 0; i < values_.size(); ++i) {
      zeros_[i].reset(size(i));
      if (t > 0 && !is_positions(i)) kernel.bind("d." + name(i), zeros_[i].at());
    }
  }
  const PlaceStage& stage() const { return *stage_; }

 private:
  const std::string& name(size_t i) const { return stage_->values[i].name; }
  bool is_positions(size_t i) const { return stage_->values[i].axes.has_position(); }
  int64_t first(size_t i, int64_t t) const { return is_positions(i) ? t * size(i) : 0; }
  int64_t size(size_t i) const {
    int64_t product = 1;
    const Shape& shape = stage_->values[i].shape;
    for (int axis = 0; axis < shape.rank(); ++axis)
      product *= shape[axis] == kLength ? length_ : shape[axis];
    return product;
  }
  const PlaceStage* stage_;
  std::vector<RealBuffer> values_, gradients_, zeros_;
  int64_t length_ = 0;
};

double log_sum_exp(const RealBuffer& a, const RealBuffer& b, int64_t n) {
  double top = -INFINITY, total = 0;
  for (int64_t i = 0; i < n; ++i) top = std::max(top, a.get(i) + b.get(i));
  if (top == -INFINITY) return top;
  for (int64_t i = 0; i < n; ++i) total += std::exp(a.get(i) + b.get(i) - top);
  return top + std::log(total);
}

}  // namespace

struct Replay::Impl {
  Impl(const Program& program, Parameters& parameters)
      : program(program),
        parameters(parameters),
        state(program.precision, program.state),
        candidates(program.precision, program.state),
        kept(program.precision, program.kept),
        later(program.precision, program.later),
        encoding(program.precision, feature_components(program)),
        place(program.precision, program.place),
        back_in(program.precision, program.back_in),
        ahead(program.precision, program.ahead),
        score(program.precision, 1),
        to_go(program.precision, 1),
        scores(program.precision, program.num_tags()),
        compats(program.precision, program.num_tags()),
        d_score(program.precision, 1),
        d_to_go(program.precision, 1),
        d_compats(program.precision, program.num_tags()) {
    for (const ScanStage& scan : program.scans) {
      scans.emplace_back(program.precision, scan_components(scan));
      scan_in.emplace_back(program.precision, scan.in);
    }
    candidates.resize(program.num_tags());
    kept.resize(1);
  }

  const Program& program;
  Parameters& parameters;
  std::vector<int32_t> x, y;
  int32_t last = 0;
  StateTrack state, candidates, kept, later, encoding;
  PlaceTrack place, back_in, ahead;
  std::vector<PlaceTrack> scan_in;
  std::vector<StateTrack>
      scans;  // position p holds the state after p positions of the scan's direction
  RealBuffer score, to_go, scores, compats, d_score, d_to_go, d_compats;
  std::vector<std::vector<double>> proposal;  // q(· | prefix) at each step
  std::vector<int32_t> positions;

  int64_t length() const { return static_cast<int64_t>(x.size()); }
  KernelCall call() const {
    static const int32_t first = 0;
    return {1, 1, 1, length(), &first, &first, nullptr};
  }
  BoundKernel bound(const Kernel& kernel, Gradients* gradients = nullptr) {
    BoundKernel result(program, kernel, parameters, gradients);
    result.bind("last", &last);
    encoding.bind(result, "enc.", 0);
    if (gradients != nullptr) encoding.bind_gradient(result, "enc.", 0);
    return result;
  }
  void at_position(BoundKernel& kernel, int64_t t) {
    kernel.bind("x", &x[static_cast<size_t>(t)]);
    kernel.bind("y", &y[static_cast<size_t>(t)]);
    kernel.bind("t", &positions[static_cast<size_t>(t)]);
    place.bind(kernel, t);
    ahead.bind(kernel, t);
    later.bind(kernel, "later.", t + 1);
  }
  void run_place(PlaceTrack& track) {
    BoundKernel kernel = bound(track.stage().forward);
    for (int64_t t = 0; kernel && t < length(); ++t) {
      at_position(kernel, t);
      bind_scans(kernel, scans.size(), t, false);
      track.bind(kernel, t);
      kernel.run(call());
    }
  }
  void place_gradient(PlaceTrack& track, Gradients& gradients) {
    BoundKernel kernel = bound(track.stage().gradient, &gradients);
    for (int64_t t = 0; kernel && t < length(); ++t) {
      at_position(kernel, t);
      bind_scans(kernel, scans.size(), t, true);
      later.bind_gradient(kernel, "later.", t + 1);
      track.bind_seeds(kernel, t);
      kernel.run(call());
    }
  }

  // -- Forward --------------------------------------------------------------------------------

  /// The position that a scan visits as its p-th.
  int64_t visited(size_t k, int64_t p) const {
    return program.scans[k].direction == Direction::kLeftToRight ? p : length() - 1 - p;
  }
  /// Where scan k keeps its state after position t.
  int64_t after(size_t k, int64_t t) const {
    return program.scans[k].direction == Direction::kLeftToRight ? t + 1 : length() - t;
  }
  void bind_scans(BoundKernel& kernel, size_t count, int64_t t, bool with_gradient) {
    for (size_t k = 0; k < count; ++k) {
      scans[k].bind(kernel, fmt::format("scan.{}.", k), after(k, t));
      if (with_gradient) scans[k].bind_gradient(kernel, fmt::format("scan.{}.", k), after(k, t));
    }
  }

  void encode() {
    for (size_t k = 0; k < scans.size(); ++k) {
      run_place(scan_in[k]);
      BoundKernel kernel = bound(program.scans[k].forward);
      for (int64_t p = 0; p < length(); ++p) {
        at_position(kernel, visited(k, p));
        scan_in[k].bind(kernel, visited(k, p));
        bind_scans(kernel, k, visited(k, p), false);
        scans[k].bind(kernel, "before.", p);
        scans[k].bind(kernel, "after.", p + 1);
        kernel.run(call());
      }
    }
    BoundKernel kernel = bound(program.encode.forward);
    for (int64_t t = 0; t < length(); ++t) {
      at_position(kernel, t);
      bind_scans(kernel, scans.size(), t, false);
      encoding.bind(kernel, "enc.", t);
      kernel.run(call());
    }
  }

  SequenceScore run(std::span<const int> xs, std::span<const int> ys) {
    x = with_end(xs, program.task.x);
    y = with_end(ys, program.task.y);
    last = static_cast<int32_t>(length()) - 1;
    positions.clear();
    for (int64_t t = 0; t < length(); ++t) positions.push_back(static_cast<int32_t>(t));
    state.resize(length() + 1);
    later.resize(length() + 1);
    encoding.resize(length());
    for (StateTrack& scan : scans) scan.resize(length() + 1);
    for (PlaceTrack* track : places()) track->resize(length());
    proposal.clear();
    SequenceScore result;
    if (length() == 0) return result;
    encode();
    BoundKernel start = bound(program.start.forward);
    state.bind(start, "s.", 0);
    start.run(call());
    run_place(place);
    if (program.has_proposal()) result.to_go = look_ahead();
    BoundKernel advance = bound(program.advance.forward);
    BoundKernel score_tag = bound(program.score_tag.forward);
    for (int64_t t = 0; t < length(); ++t) {
      if (program.has_proposal()) result.log_proposal += propose(t);
      at_position(advance, t);
      state.bind(advance, "s.", t);
      state.bind(advance, "next.", t + 1);
      advance.run(call());
      at_position(score_tag, t);
      state.bind(score_tag, "s.", t);
      score_tag.bind("score", score.at());
      score_tag.run(call());
      result.log_score += score.get(0);
    }
    return result;
  }

  /// Fills `later` from right to left (eq:sbar); returns Ĥ_0.
  double look_ahead() {
    BoundKernel end = bound(program.end.forward);
    later.bind(end, "later.", length());
    end.run(call());
    run_place(back_in);
    BoundKernel back = bound(program.back.forward);
    back.bind("to_go", to_go.at());
    double total = 0;
    for (int64_t t = length() - 1; t >= 0; --t) {
      at_position(back, t);
      back_in.bind(back, t);
      later.bind(back, "next.", t);
      back.run(call());
      total += to_go.get(0);
    }
    run_place(ahead);
    return total;
  }

  void bind_extend(BoundKernel& extend, int64_t t) {
    at_position(extend, t);
    state.bind(extend, "s.", t);
    candidates.bind(extend, "next.", 0);
    extend.bind("score", scores.at());
    extend.bind("compat", compats.at());
    kept.bind(extend, "", 0);
  }

  /// log q(y_t | x, y_{:t-1}) (eq:q-local), with C_T = 0.
  double propose(int64_t t) {
    BoundKernel extend = bound(program.extend.forward);
    bind_extend(extend, t);
    extend.run(call());
    if (t == length() - 1) compats.clear();
    const int64_t tags = program.num_tags();
    const double total = log_sum_exp(scores, compats, tags);
    std::vector<double>& q = proposal.emplace_back();
    for (int64_t tag = 0; tag < tags; ++tag) {
      q.push_back(total == -INFINITY ? 0 : std::exp(scores.get(tag) + compats.get(tag) - total));
    }
    const int64_t chosen = y[static_cast<size_t>(t)];
    return total == -INFINITY ? -INFINITY : scores.get(chosen) + compats.get(chosen) - total;
  }

  // -- Backward -------------------------------------------------------------------------------

  /// d log q / d(g + C) = 1[tag = y_t] - q(tag).
  double proposal_slope(int64_t t, int64_t tag) const {
    const double q = proposal[static_cast<size_t>(t)][static_cast<size_t>(tag)];
    return (tag == y[static_cast<size_t>(t)] ? 1.0 : 0.0) - q;
  }

  void clear_gradients() {
    state.clear_gradients();
    later.clear_gradients();
    encoding.clear_gradients();
    for (StateTrack& scan : scans) scan.clear_gradients();
    for (PlaceTrack* track : places()) track->clear_gradients();
  }
  std::vector<PlaceTrack*> places() {
    std::vector<PlaceTrack*> all{&place, &back_in, &ahead};
    for (PlaceTrack& track : scan_in) all.push_back(&track);
    return all;
  }

  void add_gradient(Gradients& gradients, double a) {
    if (length() == 0) return;
    clear_gradients();
    BoundKernel score_tag = bound(program.score_tag.gradient, &gradients);
    BoundKernel advance = bound(program.advance.gradient, &gradients);
    for (int64_t t = length() - 1; t >= 0; --t) {
      for (BoundKernel* step : {&score_tag, &advance}) {
        if (!*step) continue;
        at_position(*step, t);
        place.bind_gradient(*step, t);
        state.bind(*step, "s.", t);
        state.bind_gradient(*step, "s.", t);
        state.bind_gradient(*step, "next.", t + 1);
        d_score.set(0, a);
        step->bind("d.score", d_score.at());
        step->run(call());
      }
    }
    if (BoundKernel start = bound(program.start.gradient, &gradients)) {
      state.bind_gradient(start, "s.", 0);
      start.run(call());
    }
    place_gradient(place, gradients);
    encoder_gradient(gradients);
  }

  void add_proposal_gradient(Gradients& gradients, double b, double c) {
    if (length() == 0 || !program.has_proposal()) return;
    clear_gradients();
    BoundKernel extend = bound(program.extend.forward);
    BoundKernel step = bound(program.extend.gradient, &gradients);
    for (int64_t t = length() - 2; step && t >= 0; --t) {  // C_T = 0
      bind_extend(extend, t);
      extend.run(call());
      at_position(step, t);
      candidates.bind(step, "next.", 0);
      kept.bind(step, "", 0);
      ahead.bind_gradient(step, t);
      for (int64_t tag = 0; tag < program.num_tags(); ++tag)
        d_compats.set(tag, b * proposal_slope(t, tag));
      step.bind("d.compat", d_compats.at());
      later.bind_gradient(step, "later.", t + 1);
      step.run(call());
    }
    place_gradient(ahead, gradients);
    back_gradient(gradients, c);
  }

  void back_gradient(Gradients& gradients, double c) {
    BoundKernel back = bound(program.back.gradient, &gradients);
    for (int64_t t = 0; back && t < length(); ++t) {
      at_position(back, t);
      back_in.bind(back, t);
      back_in.bind_gradient(back, t);
      later.bind_gradient(back, "next.", t);
      later.bind_gradient(back, "later.", t + 1);
      d_to_go.set(0, c);
      back.bind("d.to_go", d_to_go.at());
      back.run(call());
    }
    place_gradient(back_in, gradients);
    if (BoundKernel end = bound(program.end.gradient, &gradients)) {
      later.bind_gradient(end, "later.", length());
      end.run(call());
    }
  }

  void encoder_gradient(Gradients& gradients) {
    BoundKernel encode = bound(program.encode.gradient, &gradients);
    for (int64_t t = 0; encode && t < length(); ++t) {
      at_position(encode, t);
      bind_scans(encode, scans.size(), t, true);
      encoding.bind_gradient(encode, "enc.", t);
      encode.run(call());
    }
    for (size_t k = scans.size(); k-- > 0;) {
      BoundKernel kernel = bound(program.scans[k].gradient, &gradients);
      for (int64_t p = length() - 1; kernel && p >= 0; --p) {
        at_position(kernel, visited(k, p));
        scan_in[k].bind(kernel, visited(k, p));
        scan_in[k].bind_gradient(kernel, visited(k, p));
        bind_scans(kernel, k, visited(k, p), true);
        scans[k].bind(kernel, "before.", p);
        scans[k].bind_gradient(kernel, "before.", p);
        scans[k].bind_gradient(kernel, "after.", p + 1);
        kernel.run(call());
      }
      place_gradient(scan_in[k], gradients);
    }
  }
};

Replay::Replay(const Program& program, Parameters& parameters)
    : impl_(std::make_unique<Impl>(program, parameters)) {}
Replay::~Replay() = default;
SequenceScore Replay::run(std::span<const int> x, std::span<const int> y) {
  return impl_->run(x, y);
}
void Replay::add_gradient(Gradients& gradients, double a) { impl_->add_gradient(gradients, a); }
void Replay::add_proposal_gradient(Gradients& gradients, double b, double c) {
  impl_->add_proposal_gradient(gradients, b, c);
}

}  // namespace scry::test
