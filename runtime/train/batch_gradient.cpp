#include "runtime/train/batch_gradient.h"

#include <algorithm>

namespace scry {

BatchGradient::Stage::Stage(const Program& program, const Kernel& code,
                            const Parameters& parameters)
    : kernel(program, code, parameters), slots(program, kernel), scans(program, kernel) {}

BatchGradient::Stage BatchGradient::make_stage(const Kernel& code,
                                               const Parameters& parameters) const {
  Stage stage(program_, code, parameters);
  stage.gradients = find_slots(stage.kernel);
  for (size_t k = 0; k < scans_.size(); ++k)
    stage.into.push_back(scans_[k].find(stage.kernel, "d.scan." + std::to_string(k) + "."));
  return stage;
}

BatchGradient::Stage BatchGradient::make_place(const PlaceStage& place,
                                               const Parameters& parameters) const {
  Stage stage = make_stage(place.gradient, parameters);
  stage.d_values = PlacedRows(program_, place).find(stage.kernel, "d.");
  return stage;
}

namespace {
std::vector<RealRows> make_scan_rows(const Program& program) {
  std::vector<RealRows> rows;
  for (const ScanStage& scan : program.scans) rows.emplace_back(program, scan_components(scan));
  return rows;
}
std::vector<PlacedRows> make_scan_inputs(const Program& program) {
  std::vector<PlacedRows> rows;
  for (const ScanStage& scan : program.scans) rows.emplace_back(program, scan.in);
  return rows;
}
}  // namespace

BatchGradient::BatchGradient(const Program& program, const Parameters& parameters)
    : program_(program),
      scans_(make_scan_rows(program)),
      scan_in_(make_scan_inputs(program)),
      features_(program.features.size(), RealBuffer(program.precision, 0)),
      start_(program, program.state),
      later_(program, program.later),
      end_(program, program.later),
      encoding_(program, feature_components(program)),
      place_(program, program.place),
      back_in_(program, program.back_in),
      ahead_(program, program.ahead),
      to_go_(program.precision, 0),
      root_(program.precision, 0),
      encode_stage_(make_stage(program.encode.gradient, parameters)),
      start_stage_(make_stage(program.start.gradient, parameters)),
      place_stage_(make_place(program.place, parameters)),
      back_stage_(make_stage(program.back.gradient, parameters)),
      back_in_stage_(make_place(program.back_in, parameters)),
      ahead_stage_(make_place(program.ahead, parameters)),
      root_stage_(make_stage(program.root.gradient, parameters)),
      end_stage_(make_stage(program.end.gradient, parameters)) {
  for (size_t k = 0; k < program.scans.size(); ++k) {
    Stage& stage = scan_stages_.emplace_back(make_stage(program.scans[k].gradient, parameters));
    stage.in = scans_[k].find(stage.kernel, "d.before.");
    stage.out = scans_[k].find(stage.kernel, "d.after.");
    stage.inputs = scan_in_[k].find(stage.kernel);
    stage.d_inputs = scan_in_[k].find(stage.kernel, "d.");
    scan_in_stages_.push_back(make_place(program.scans[k].in, parameters));
    const std::vector<Component> components = scan_components(program.scans[k]);
    before_.emplace_back(program, components);
    before_slots_.emplace_back(stage.kernel, "before.", components);
  }
  encode_stage_.out = encoding_.find(encode_stage_.kernel, "d.enc.");
  start_stage_.out = start_.find(start_stage_.kernel, "d.s.");
  to_go_slot_ = back_stage_.kernel.find("d.to_go");
  back_stage_.out = later_.find(back_stage_.kernel, "d.next.");
  back_stage_.inputs = back_in_.find(back_stage_.kernel);
  back_stage_.d_inputs = back_in_.find(back_stage_.kernel, "d.");
  root_slot_ = root_stage_.kernel.find("d.compat");
  root_state_ = StateSlots(root_stage_.kernel, "s.", program.state);
  end_stage_.out = end_.find(end_stage_.kernel, "d.later.");
}

void BatchGradient::begin(const Batch& batch) {
  batch_ = &batch;
  const int64_t num_cells = static_cast<int64_t>(batch.num_sequences()) * batch.max_length();
  for (size_t f = 0; f < features_.size(); ++f)
    features_[f].reset(num_cells * program_.features[f].second);
  for (size_t k = 0; k < scans_.size(); ++k) {
    scans_[k].reset(batch.num_positions() + batch.num_sequences());
    scan_in_[k].reset(batch.call());
  }
  start_.reset(batch.num_sequences());
  place_.reset(batch.call());
  later_.reset(batch.num_later_rows());
  back_in_.reset(batch.call());
  ahead_.reset(batch.call());
  d_to_go_.clear();
  has_root_ = false;
}

BatchGradient::Slots BatchGradient::find_slots(const BoundKernel& kernel) const {
  Slots slots;
  for (const auto& feature : program_.features)
    slots.features.push_back(kernel.find("d.enc." + feature.first));
  slots.place = place_.find(kernel, "d.");
  slots.ahead = ahead_.find(kernel, "d.");
  slots.later = later_.find(kernel, "d.later.");
  return slots;
}

void BatchGradient::bind(BoundKernel& kernel, const Slots& slots, int64_t first_position) {
  for (size_t f = 0; f < features_.size(); ++f) kernel.bind(slots.features[f], features_[f].at());
  place_.bind(kernel, slots.place, first_position);
  ahead_.bind(kernel, slots.ahead, first_position);
  later_.bind(kernel, slots.later, batch_->num_sequences() + first_position);
}

void BatchGradient::add_root(int sequence, double gradient) {
  if (!has_root_) root_.reset(batch_->num_sequences());
  has_root_ = true;
  root_.add(sequence, gradient);
}

void BatchGradient::add_to_go(std::span<const double> gradients) {
  d_to_go_.resize(gradients.size(), 0.0);
  for (size_t i = 0; i < gradients.size(); ++i) d_to_go_[i] += gradients[i];
}

void BatchGradient::prepare(Stage& stage, Gradients& gradients, int64_t first_position) {
  stage.kernel.bind(gradients);
  batch_->bind(stage.kernel, stage.slots, first_position);
  bind(stage.kernel, stage.gradients, first_position);
}

void BatchGradient::bind_scans(Stage& stage, int64_t first_position) {
  stage.scans.bind(stage.kernel, batch_->scans_, first_position);
  for (size_t k = 0; k < scans_.size(); ++k)
    scans_[k].bind(stage.kernel, stage.into[k], first_position);
}

/// From what was placed to what it was made of.
void BatchGradient::finish_place(Stage& stage, PlacedRows& d_values, Gradients& gradients) {
  if (!stage.kernel) return;
  prepare(stage, gradients);
  bind_scans(stage);
  d_values.bind(stage.kernel, stage.d_values);
  stage.kernel.run_positions(batch_->call());
}

void BatchGradient::finish_lookahead(Gradients& gradients) {
  finish_place(ahead_stage_, ahead_, gradients);
  if (has_root_ && root_stage_.kernel) finish_root(gradients);
  if (back_stage_.kernel) finish_back(gradients);
  finish_place(back_in_stage_, back_in_, gradients);
  if (!end_stage_.kernel) return;
  const int num = batch_->num_sequences();
  end_.reset(num);
  for (int s = 0; s < num; ++s) end_.add_rows(s, later_, batch_->later_row(batch_->length(s), s));
  prepare(end_stage_, gradients);
  end_.bind(end_stage_.kernel, end_stage_.out);
  end_stage_.kernel.run(batch_->call());
}

void BatchGradient::finish_root(Gradients& gradients) {
  root_stage_.kernel.bind(gradients);
  root_state_.bind(root_stage_.kernel, batch_->start_);
  root_stage_.slots.later.bind(root_stage_.kernel, batch_->later_);
  later_.bind(root_stage_.kernel, root_stage_.gradients.later);
  root_stage_.kernel.bind(root_slot_, root_.at());
  root_stage_.kernel.run(batch_->call());
}

/// Ĥ_t is the sum of h to its right (eq:Hhat), so h has the gradients of all Ĥ to its left.
void BatchGradient::finish_back(Gradients& gradients) {
  const int num = batch_->num_sequences();
  std::vector<double> to_go(static_cast<size_t>(num), 0.0);
  to_go_.reset(num);
  for (int t = 0; t < batch_->max_length(); ++t) {
    const int beyond = batch_->num_reaching(t + 1);
    const int64_t first = batch_->position(t + 1, 0);
    for (int s = 0; s < beyond; ++s) {
      double& sum = to_go[static_cast<size_t>(s)];
      if (!d_to_go_.empty()) sum += d_to_go_[static_cast<size_t>(batch_->later_row(t, s))];
      to_go_.set(s, sum);
    }
    prepare(back_stage_, gradients, first);
    batch_->back_in_.bind(back_stage_.kernel, back_stage_.inputs, first);
    back_in_.bind(back_stage_.kernel, back_stage_.d_inputs, first);
    later_.bind(back_stage_.kernel, back_stage_.out, batch_->later_row(t, 0));
    back_stage_.kernel.bind(to_go_slot_, to_go_.at());
    back_stage_.kernel.run(batch_->call_at(t + 1));
  }
}

void BatchGradient::finish_model(Gradients& gradients) {
  if (start_stage_.kernel) {
    prepare(start_stage_, gradients);
    start_.bind(start_stage_.kernel, start_stage_.out);
    start_stage_.kernel.run(batch_->call());
  }
  finish_place(place_stage_, place_, gradients);
  if (encode_stage_.kernel) finish_encoding(gradients);
  for (size_t k = scan_stages_.size(); k-- > 0;) finish_scan(k, gradients);
}

void BatchGradient::finish_encoding(Gradients& gradients) {
  encoding_.reset(batch_->num_positions());
  for (size_t f = 0; f < features_.size(); ++f) {
    const auto size = static_cast<int64_t>(program_.features[f].second);
    for (int32_t p = 0; p < batch_->num_positions(); ++p) {
      const int64_t from = (static_cast<int64_t>(batch_->sequence_at(p)) * batch_->max_length() +
                            batch_->step_at(p) - 1) *
                           size;
      std::memcpy(encoding_.at(f, p), features_[f].at(from),
                  static_cast<size_t>(size) * program_.real_size());
    }
  }
  prepare(encode_stage_, gradients);
  bind_scans(encode_stage_);
  encoding_.bind(encode_stage_.kernel, encode_stage_.out);
  encode_stage_.kernel.run_positions(batch_->call());
}

/// Against the scan's direction. Where a sequence begins, the state before is zero and its gradient
/// goes to rows that nobody reads.
void BatchGradient::finish_scan(size_t k, Gradients& gradients) {
  Stage& stage = scan_stages_[k];
  if (!stage.kernel) return;
  const bool forwards = program_.scans[k].direction == Direction::kLeftToRight;
  const int length = batch_->max_length();
  StateRows& before = before_[k];
  before.resize(batch_->num_sequences());
  RealRows d_before(program_, scan_components(program_.scans[k]));
  for (int p = length; p >= 1; --p) {
    const int t = forwards ? p : length + 1 - p;
    const int previous = forwards ? t - 1 : t + 1;
    const int reaching = batch_->num_reaching(t);
    const int begun =
        previous == 0 || previous > length ? 0 : std::min(reaching, batch_->num_reaching(previous));
    const int64_t first = batch_->position(t, 0);
    const int64_t first_before = begun == 0 ? 0 : batch_->position(previous, 0);
    before.clear();
    for (int s = 0; s < begun; ++s) before.copy_row(s, batch_->scans_[k], first_before + s);
    prepare(stage, gradients, first);
    bind_scans(stage, first);
    batch_->scan_in_[k].bind(stage.kernel, stage.inputs, first);
    scan_in_[k].bind(stage.kernel, stage.d_inputs, first);
    before_slots_[k].bind(stage.kernel, before);
    d_before.reset(reaching);
    d_before.bind(stage.kernel, stage.in);
    scans_[k].bind(stage.kernel, stage.out, first);
    stage.kernel.run(batch_->call_at(t));
    if (begun > 0) scans_[k].add_rows(first_before, d_before, 0, begun);
  }
  finish_place(scan_in_stages_[k], scan_in_[k], gradients);
}

}  // namespace scry
