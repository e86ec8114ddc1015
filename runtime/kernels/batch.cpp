#include "runtime/kernels/batch.h"

#include <fmt/format.h>

#include "base/error.h"

namespace scry {

Batch::Slots::Slots(const Program& program, const BoundKernel& kernel)
    : x(kernel.find("x")),
      t(kernel.find("t")),
      last(kernel.find("last")),
      place(PlacedRows(program, program.place).find(kernel)),
      ahead(PlacedRows(program, program.ahead).find(kernel)),
      later(kernel, "later.", program.later) {
  for (const auto& feature : program.features)
    features.push_back(kernel.find("enc." + feature.first));
}

void Batch::bind(BoundKernel& kernel, const Slots& slots, int64_t first_position) const {
  kernel.bind(slots.x, symbols_.data() + first_position);
  kernel.bind(slots.t, times_.data() + first_position);
  kernel.bind(slots.last, last_.data());
  for (size_t f = 0; f < features_.size(); ++f) kernel.bind(slots.features[f], features_[f].at());
  place_.bind(kernel, slots.place, first_position);
  if (to_go_.empty()) return;  // there is no lookahead
  ahead_.bind(kernel, slots.ahead, first_position);
  slots.later.bind(kernel, later_, num_sequences() + first_position);
}

Batch::Batch(const Program& program)
    : place_(program, program.place),
      back_in_(program, program.back_in),
      ahead_(program, program.ahead),
      start_(program, program.state),
      later_(program, program.later),
      root_compat_(program.precision, 0) {
  features_.assign(program.features.size(), RealBuffer(program.precision, 0));
  for (const ScanStage& scan : program.scans) {
    scans_.emplace_back(program, scan_components(scan));
    scan_in_.emplace_back(program, scan.in);
  }
}

Batch::Batch(const Program& program, const Parameters& parameters,
             std::span<const std::span<const int>> inputs, bool look_ahead)
    : Batch(program) {
  BatchEncoder(program, parameters).run(inputs, look_ahead, *this);
}

void Batch::set_inputs(std::span<const std::span<const int>> inputs) {
  lengths_.clear();
  last_.clear();
  for (const std::span<const int> x : inputs) {
    if (x.size() > static_cast<size_t>(kMaxLength)) {
      throw Error(fmt::format("{} symbols, but a sequence has at most {}", x.size(), kMaxLength));
    }
    lengths_.push_back(static_cast<int32_t>(x.size()));
    last_.push_back(static_cast<int32_t>(x.size()) - 1);
  }
  num_reaching_.assign(static_cast<size_t>(max_length()) + 1, 0);
  first_position_.assign(static_cast<size_t>(max_length()) + 1, 0);
  symbols_.clear();
  times_.clear();
  sequence_of_position_.clear();
  int32_t reaching = num_sequences();
  for (int32_t t = 0; t < max_length(); ++t) {
    while (length(reaching - 1) <= t) --reaching;
    num_reaching_[static_cast<size_t>(t) + 1] = reaching;
    first_position_[static_cast<size_t>(t) + 1] = static_cast<int32_t>(symbols_.size());
    for (int32_t s = 0; s < reaching; ++s) {
      symbols_.push_back(inputs[static_cast<size_t>(s)][static_cast<size_t>(t)]);
      times_.push_back(t);
      sequence_of_position_.push_back(s);
    }
  }
}

ScanSlots::ScanSlots(const Program& program, const BoundKernel& kernel, const std::string& prefix) {
  for (size_t k = 0; k < program.scans.size(); ++k) {
    slots_.emplace_back(kernel, fmt::format("{}scan.{}.", prefix, k),
                        scan_components(program.scans[k]));
  }
}

void ScanSlots::bind(BoundKernel& kernel, const std::vector<StateRows>& scans,
                     int64_t first_position) const {
  for (size_t k = 0; k < slots_.size(); ++k) slots_[k].bind(kernel, scans[k], first_position);
}

BatchEncoder::Stage::Stage(const Program& program, const Kernel& code, const Parameters& parameters)
    : kernel(program, code, parameters), slots(program, kernel), scans(program, kernel) {}

BatchEncoder::Stage BatchEncoder::make_place(const PlaceStage& place,
                                             const Parameters& parameters) const {
  Stage stage(program_, place.forward, parameters);
  stage.values = PlacedRows(program_, place).find(stage.kernel);
  return stage;
}

BatchEncoder::BatchEncoder(const Program& program, const Parameters& parameters)
    : program_(program),
      encode_(program, program.encode.forward, parameters),
      start_(program, program.start.forward, parameters),
      place_(make_place(program.place, parameters)),
      end_(program, program.end.forward, parameters),
      back_in_(make_place(program.back_in, parameters)),
      back_(program, program.back.forward, parameters),
      root_(program, program.root.forward, parameters),
      ahead_(make_place(program.ahead, parameters)),
      to_go_slot_(back_.kernel.find("to_go")),
      root_slot_(root_.kernel.find("compat")),
      encoding_(program, feature_components(program)),
      end_state_(program, program.later),
      to_go_(program.precision, 0) {
  for (const ScanStage& scan : program.scans) {
    const std::vector<Component> components = scan_components(scan);
    Stage& stage = scans_.emplace_back(program, scan.forward, parameters);
    stage.state = StateSlots(stage.kernel, "before.", components);
    stage.out = StateSlots(stage.kernel, "after.", components);
    stage.in = PlacedRows(program, scan.in).find(stage.kernel);
    scan_in_.push_back(make_place(scan.in, parameters));
    before_.emplace_back(program, components);
  }
  encode_.out = StateSlots(encode_.kernel, "enc.", feature_components(program));
  start_.out = StateSlots(start_.kernel, "s.", program.state);
  end_.out = StateSlots(end_.kernel, "later.", program.later);
  back_.in = PlacedRows(program, program.back_in).find(back_.kernel);
  back_.out = StateSlots(back_.kernel, "next.", program.later);
  root_.state = StateSlots(root_.kernel, "s.", program.state);
}

void BatchEncoder::run(std::span<const std::span<const int>> inputs, bool look_ahead,
                       Batch& batch) {
  batch.set_inputs(inputs);
  batch.start_.resize(0);
  batch.to_go_.clear();
  batch.place_.resize(batch.call());  // as stages are bound to it before it is known
  if (batch.max_length() == 0) return;
  encode(batch);
  batch.start_.resize(batch.num_sequences());
  batch.bind(start_.kernel, start_.slots);
  start_.out.bind(start_.kernel, batch.start_);
  start_.kernel.run(batch.call());
  run_place(place_, batch, batch.place_);
  if (look_ahead) this->look_ahead(batch);
}

/// Computes what is placed for all of the batch.
void BatchEncoder::run_place(Stage& stage, const Batch& batch, PlacedRows& values) {
  if (values.empty()) return;
  values.resize(batch.call());
  batch.bind(stage.kernel, stage.slots);
  stage.scans.bind(stage.kernel, batch.scans_);
  values.bind(stage.kernel, stage.values);
  stage.kernel.run_positions(batch.call());
}

void BatchEncoder::encode(Batch& batch) {
  const int64_t num_cells = static_cast<int64_t>(batch.num_sequences()) * batch.max_length();
  for (size_t f = 0; f < batch.features_.size(); ++f)
    batch.features_[f].reset(num_cells * program_.features[f].second);  // zeros beyond the ends
  for (StateRows& scan : batch.scans_) scan.resize(batch.num_positions());
  for (size_t k = 0; k < scans_.size(); ++k) run_scan(batch, k);
  if (!encode_.kernel) return;
  encoding_.resize(batch.num_positions());
  batch.bind(encode_.kernel, encode_.slots);
  encode_.scans.bind(encode_.kernel, batch.scans_);
  encode_.out.bind(encode_.kernel, encoding_);
  encode_.kernel.run_positions(batch.call());
  for (size_t f = 0; f < batch.features_.size(); ++f) {
    const auto size = static_cast<int64_t>(program_.features[f].second);
    for (int32_t p = 0; p < batch.num_positions(); ++p) {
      const int64_t to =
          (static_cast<int64_t>(batch.sequence_at(p)) * batch.max_length() + batch.step_at(p) - 1) *
          size;
      std::memcpy(batch.features_[f].at(to), encoding_.at(f, p),
                  static_cast<size_t>(size) * program_.real_size());
    }
  }
}

void BatchEncoder::run_scan(Batch& batch, size_t k) {
  run_place(scan_in_[k], batch, batch.scan_in_[k]);
  Stage& stage = scans_[k];
  StateRows& before = before_[k];
  before.resize(batch.num_sequences());
  before.clear();
  const bool forwards = program_.scans[k].direction == Direction::kLeftToRight;
  for (int p = 1; p <= batch.max_length(); ++p) {
    const int t = forwards ? p : batch.max_length() + 1 - p;
    const int64_t first = batch.position(t, 0);
    batch.bind(stage.kernel, stage.slots, first);
    batch.scan_in_[k].bind(stage.kernel, stage.in, first);
    stage.scans.bind(stage.kernel, batch.scans_, first);
    stage.state.bind(stage.kernel, before);
    stage.out.bind(stage.kernel, batch.scans_[k], first);
    stage.kernel.run(batch.call_at(t));
    for (int s = 0; s < batch.num_reaching(t); ++s) before.copy_row(s, batch.scans_[k], first + s);
  }
}

void BatchEncoder::look_ahead(Batch& batch) {
  batch.later_.resize(batch.num_later_rows());
  batch.ahead_.resize(batch.call());
  batch.to_go_.assign(static_cast<size_t>(batch.num_later_rows()), 0.0);
  end_state_.resize(batch.num_sequences());
  end_.out.bind(end_.kernel, end_state_);
  end_.kernel.run(batch.call());
  run_place(back_in_, batch, batch.back_in_);
  run_back(batch);
  if (root_.kernel) {
    batch.root_compat_.reset(batch.num_sequences());
    root_.state.bind(root_.kernel, batch.start_);
    root_.slots.later.bind(root_.kernel, batch.later_);
    root_.kernel.bind(root_slot_, batch.root_compat_.at());
    root_.kernel.run(batch.call());
  }
  run_place(ahead_, batch, batch.ahead_);
}

/// s̄_t and Ĥ_t from right to left (eq:sbar, eq:Hhat).
void BatchEncoder::run_back(Batch& batch) {
  const int num = batch.num_sequences();
  if (to_go_.size() < num) to_go_.reset(num);
  back_.kernel.bind(to_go_slot_, to_go_.at());
  for (int t = batch.max_length(); t >= 0; --t) {
    const int beyond = batch.num_reaching(t + 1), reaching = t == 0 ? num : batch.num_reaching(t);
    const int64_t here = batch.later_row(t, 0);
    for (int s = beyond; s < reaching; ++s) batch.later_.copy_row(here + s, end_state_, s);
    if (beyond == 0) continue;
    const int64_t first = batch.position(t + 1, 0);
    batch.bind(back_.kernel, back_.slots, first);
    batch.back_in_.bind(back_.kernel, back_.in, first);
    back_.out.bind(back_.kernel, batch.later_, here);
    back_.kernel.run(batch.call_at(t + 1));
    for (int s = 0; s < beyond; ++s) {
      batch.to_go_[static_cast<size_t>(here + s)] =
          batch.to_go_[static_cast<size_t>(batch.later_row(t + 1, s))] +
          (to_go_slot_.index < 0 ? 0 : to_go_.get(s));
    }
  }
}

}  // namespace scry
