#include "runtime/train/batch_gradient.h"

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

namespace {
std::vector<RealRows> make_scan_rows(const Program& program) {
  std::vector<RealRows> rows;
  for (const ScanStage& scan : program.scans) rows.emplace_back(program, scan_components(scan));
  return rows;
}
}  // namespace

BatchGradient::BatchGradient(const Program& program, const Parameters& parameters)
    : program_(program),
      scans_(make_scan_rows(program)),
      start_(program, program.state),
      later_(program, program.later),
      end_(program, program.later),
      encoding_(program, feature_components(program)),
      to_go_(program.precision, 0),
      encode_stage_(make_stage(program.encode.gradient, parameters)),
      start_stage_(make_stage(program.start.gradient, parameters)),
      back_stage_(make_stage(program.back.gradient, parameters)),
      end_stage_(make_stage(program.end.gradient, parameters)) {
  for (size_t k = 0; k < program.scans.size(); ++k) {
    Stage& stage = scan_stages_.emplace_back(make_stage(program.scans[k].gradient, parameters));
    stage.in = scans_[k].find(stage.kernel, "d.before.");
    stage.out = scans_[k].find(stage.kernel, "d.after.");
    const std::vector<Component> components = scan_components(program.scans[k]);
    before_.emplace_back(program, components);
    before_slots_.emplace_back(stage.kernel, "before.", components);
  }
  encode_stage_.out = encoding_.find(encode_stage_.kernel, "d.enc.");
  start_stage_.out = start_.find(start_stage_.kernel, "d.s.");
  to_go_slot_ = back_stage_.kernel.find("d.to_go");
  back_stage_.out = later_.find(back_stage_.kernel, "d.next.");
  end_stage_.out = end_.find(end_stage_.kernel, "d.later.");
}

void BatchGradient::begin(const Batch& batch) {
  batch_ = &batch;
  features_.clear();
  for (const auto& feature : program_.features) {
    features_.emplace_back(program_.precision, static_cast<int64_t>(batch.num_sequences()) *
                                                   batch.max_length() * feature.second);
  }
  for (RealRows& scan : scans_) scan.reset(at(batch.max_length() + 2));
  start_.reset(batch.num_sequences());
  later_.reset(at(batch.max_length() + 1));
}

BatchGradient::Slots BatchGradient::find_slots(const BoundKernel& kernel) const {
  Slots slots;
  for (const auto& feature : program_.features)
    slots.features.push_back(kernel.find("d.enc." + feature.first));
  slots.later = later_.find(kernel, "d.later.");
  return slots;
}

void BatchGradient::bind(BoundKernel& kernel, const Slots& slots, int step) {
  for (size_t f = 0; f < features_.size(); ++f) kernel.bind(slots.features[f], features_[f].at());
  later_.bind(kernel, slots.later, at(step));
}

void BatchGradient::prepare(Stage& stage, int step, Gradients& gradients) {
  stage.kernel.bind(gradients);
  batch_->bind(stage.kernel, stage.slots, step);
  bind(stage.kernel, stage.gradients, step);
}

void BatchGradient::bind_scans(Stage& stage, int t) {
  stage.scans.bind(stage.kernel, batch_->scans_, t, batch_->num_sequences());
  for (size_t k = 0; k < scans_.size(); ++k) scans_[k].bind(stage.kernel, stage.into[k], at(t));
}

void BatchGradient::finish_lookahead(Gradients& gradients) {
  const int num = batch_->num_sequences();
  to_go_.reset(num);
  for (int t = 0; t < batch_->max_length(); ++t) {
    prepare(back_stage_, t + 1, gradients);
    later_.bind(back_stage_.kernel, back_stage_.out, at(t));
    back_stage_.kernel.bind(to_go_slot_, to_go_.at());
    back_stage_.kernel.run(call(batch_->num_reaching(t + 1)));
  }
  end_.reset(num);
  for (int s = 0; s < num; ++s) end_.add_rows(s, later_, at(batch_->length(s)) + s);
  prepare(end_stage_, 1, gradients);
  end_.bind(end_stage_.kernel, end_stage_.out);
  end_stage_.kernel.run(call(num));
}

void BatchGradient::finish_model(Gradients& gradients) {
  prepare(start_stage_, 1, gradients);
  start_.bind(start_stage_.kernel, start_stage_.out);
  start_stage_.kernel.run(call(batch_->num_sequences()));
  if (encode_stage_.kernel) finish_encoding(gradients);
  for (size_t k = scan_stages_.size(); k-- > 0;) finish_scan(k, gradients);
}

void BatchGradient::finish_encoding(Gradients& gradients) {
  const int num = batch_->num_sequences();
  for (int t = 1; t <= batch_->max_length(); ++t) {
    prepare(encode_stage_, t, gradients);
    bind_scans(encode_stage_, t);
    encoding_.reset(num);
    for (size_t f = 0; f < features_.size(); ++f) {
      const auto size = static_cast<int64_t>(program_.features[f].second);
      for (int s = 0; s < batch_->num_reaching(t); ++s) {
        const int64_t from = (static_cast<int64_t>(s) * batch_->max_length() + t - 1) * size;
        std::memcpy(encoding_.at(f, s), features_[f].at(from),
                    static_cast<size_t>(size) * program_.real_size());
      }
    }
    encoding_.bind(encode_stage_.kernel, encode_stage_.out);
    encode_stage_.kernel.run(call(batch_->num_reaching(t)));
  }
}

/// Against the scan's direction. Where a sequence begins, the state before is zero and its gradient
/// goes to a row that nobody reads: position 0, T + 1, or one beyond a shorter sequence's end.
void BatchGradient::finish_scan(size_t k, Gradients& gradients) {
  Stage& stage = scan_stages_[k];
  const bool forwards = program_.scans[k].direction == Direction::kLeftToRight;
  const int length = batch_->max_length();
  StateRows& before = before_[k];
  before.resize(batch_->num_sequences());
  for (int p = length; p >= 1; --p) {
    const int t = forwards ? p : length + 1 - p;
    const int previous = forwards ? t - 1 : t + 1;
    const int reaching = batch_->num_reaching(t);
    const int begun =
        previous == 0 || previous > length ? 0 : std::min(reaching, batch_->num_reaching(previous));
    before.clear();
    for (int s = 0; s < begun; ++s) before.copy_row(s, batch_->scans_[k], at(previous - 1) + s);
    prepare(stage, t, gradients);
    bind_scans(stage, t);
    before_slots_[k].bind(stage.kernel, before);
    scans_[k].bind(stage.kernel, stage.in, at(previous));
    scans_[k].bind(stage.kernel, stage.out, at(t));
    stage.kernel.run(call(reaching));
  }
}

}  // namespace scry
