#include "runtime/kernels/batch.h"

#include <fmt/format.h>

namespace scry {
namespace {

KernelCall call_for(const Batch& batch, int num_sequences) {
  return {0, num_sequences, batch.max_length(), nullptr, nullptr};
}

}  // namespace

Batch::Slots::Slots(const Program& program, const BoundKernel& kernel)
    : x(kernel.find("x")),
      t(kernel.find("t")),
      last(kernel.find("last")),
      later(kernel, "later.", program.later) {
  for (const auto& feature : program.features)
    features.push_back(kernel.find("enc." + feature.first));
}

void Batch::bind(BoundKernel& kernel, const Slots& slots, int step) const {
  kernel.bind(slots.x, symbols_.data() + at(step - 1));
  kernel.bind(slots.t, positions_.data() + at(step - 1));
  kernel.bind(slots.last, last_.data());
  for (size_t f = 0; f < features_.size(); ++f) kernel.bind(slots.features[f], features_[f].at());
  slots.later.bind(kernel, later_, at(step));
}

Batch::Batch(const Program& program, const Parameters& parameters,
             std::span<const std::span<const int>> inputs, bool look_ahead) {
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
  symbols_.assign(static_cast<size_t>(at(max_length())), 0);
  positions_.assign(symbols_.size(), 0);
  for (int s = 0; s < num_sequences(); ++s) {
    for (int t = 1; t <= length(s); ++t) {
      const auto here = static_cast<size_t>(at(t - 1) + s);
      symbols_[here] = inputs[static_cast<size_t>(s)][static_cast<size_t>(t - 1)];
      positions_[here] = t - 1;
      num_reaching_[static_cast<size_t>(t)] = s + 1;
    }
  }
}

ScanSlots::ScanSlots(const Program& program, const BoundKernel& kernel, const std::string& prefix) {
  for (size_t k = 0; k < program.scans.size(); ++k) {
    slots_.emplace_back(kernel, fmt::format("{}scan.{}.", prefix, k),
                        scan_components(program.scans[k]));
  }
}

void ScanSlots::bind(BoundKernel& kernel, const std::vector<StateRows>& scans, int t,
                     int num_sequences) const {
  for (size_t k = 0; k < slots_.size(); ++k)
    slots_[k].bind(kernel, scans[k], static_cast<int64_t>(t - 1) * num_sequences);
}

BatchEncoder::Stage::Stage(const Program& program, const Kernel& code, const Parameters& parameters)
    : kernel(program, code, parameters), slots(program, kernel), scans(program, kernel) {}

BatchEncoder::BatchEncoder(const Program& program, const Parameters& parameters)
    : program_(program),
      encode_(program, program.encode.forward, parameters),
      start_(program, program.start.forward, parameters),
      end_(program, program.end.forward, parameters),
      back_(program, program.back.forward, parameters),
      to_go_slot_(back_.kernel.find("to_go")),
      encoding_(program, feature_components(program)),
      end_state_(program, program.later),
      to_go_(program.precision, 0) {
  for (const ScanStage& scan : program.scans) {
    const std::vector<Component> components = scan_components(scan);
    Stage& stage = scans_.emplace_back(program, scan.forward, parameters);
    stage.in = StateSlots(stage.kernel, "before.", components);
    stage.out = StateSlots(stage.kernel, "after.", components);
    before_.emplace_back(program, components);
  }
  encode_.out = StateSlots(encode_.kernel, "enc.", feature_components(program));
  start_.out = StateSlots(start_.kernel, "s.", program.state);
  end_.out = StateSlots(end_.kernel, "later.", program.later);
  back_.out = StateSlots(back_.kernel, "next.", program.later);
}

void BatchEncoder::run(std::span<const std::span<const int>> inputs, bool look_ahead,
                       Batch& batch) {
  batch.set_inputs(inputs);
  batch.later_ = look_ahead ? StateRows(program_, program_.later) : StateRows();
  batch.start_ = StateRows(program_, program_.state);
  if (batch.max_length() == 0) return;
  encode(batch);
  batch.start_.resize(batch.num_sequences());
  batch.bind(start_.kernel, start_.slots, 1);
  start_.out.bind(start_.kernel, batch.start_);
  start_.kernel.run(call_for(batch, batch.num_sequences()));
  if (look_ahead) this->look_ahead(batch);
}

void BatchEncoder::encode(Batch& batch) {
  const int num = batch.num_sequences();
  batch.features_.clear();
  for (const auto& feature : program_.features) {
    batch.features_.emplace_back(program_.precision,
                                 static_cast<int64_t>(num) * batch.max_length() * feature.second);
  }
  batch.scans_.clear();
  for (const ScanStage& scan : program_.scans)
    batch.scans_.emplace_back(program_, scan_components(scan)).resize(batch.at(batch.max_length()));
  for (size_t k = 0; k < scans_.size(); ++k) run_scan(batch, k);
  if (!encode_.kernel) return;
  encoding_.resize(num);
  for (int t = 1; t <= batch.max_length(); ++t) {
    batch.bind(encode_.kernel, encode_.slots, t);
    encode_.scans.bind(encode_.kernel, batch.scans_, t, num);
    encode_.out.bind(encode_.kernel, encoding_);
    encode_.kernel.run(call_for(batch, batch.num_reaching(t)));
    for (size_t f = 0; f < batch.features_.size(); ++f) {
      const auto size = static_cast<int64_t>(program_.features[f].second);
      for (int s = 0; s < batch.num_reaching(t); ++s) {
        const int64_t to = (static_cast<int64_t>(s) * batch.max_length() + t - 1) * size;
        std::memcpy(batch.features_[f].at(to), encoding_.at(f, s),
                    static_cast<size_t>(size) * program_.real_size());
      }
    }
  }
}

void BatchEncoder::run_scan(Batch& batch, size_t k) {
  Stage& stage = scans_[k];
  StateRows& before = before_[k];
  before.resize(batch.num_sequences());
  before.clear();
  const bool forwards = program_.scans[k].direction == Direction::kLeftToRight;
  for (int p = 1; p <= batch.max_length(); ++p) {
    const int t = forwards ? p : batch.max_length() + 1 - p;
    const int reaching = batch.num_reaching(t);
    batch.bind(stage.kernel, stage.slots, t);
    stage.scans.bind(stage.kernel, batch.scans_, t, batch.num_sequences());
    stage.in.bind(stage.kernel, before);
    stage.out.bind(stage.kernel, batch.scans_[k], batch.at(t - 1));
    stage.kernel.run(call_for(batch, reaching));
    for (int s = 0; s < reaching; ++s) before.copy_row(s, batch.scans_[k], batch.at(t - 1) + s);
  }
}

/// s̄_t and Ĥ_t from right to left (eq:sbar, eq:Hhat).
void BatchEncoder::look_ahead(Batch& batch) {
  const int num = batch.num_sequences();
  batch.later_.resize(batch.at(batch.max_length() + 1));
  batch.to_go_.assign(static_cast<size_t>(batch.at(batch.max_length() + 1)), 0.0);
  end_state_.resize(num);
  end_.out.bind(end_.kernel, end_state_);
  end_.kernel.run(call_for(batch, num));

  if (to_go_.size() < num) to_go_.reset(num);
  back_.kernel.bind(to_go_slot_, to_go_.at());
  for (int t = batch.max_length(); t >= 0; --t) {
    const int beyond = t == batch.max_length() ? 0 : batch.num_reaching(t + 1);
    const int reaching = t == 0 ? num : batch.num_reaching(t);
    for (int s = beyond; s < reaching; ++s) batch.later_.copy_row(batch.at(t) + s, end_state_, s);
    if (beyond == 0) continue;
    batch.bind(back_.kernel, back_.slots, t + 1);
    back_.out.bind(back_.kernel, batch.later_, batch.at(t));
    back_.kernel.run(call_for(batch, beyond));
    for (int s = 0; s < beyond; ++s) {
      const auto here = static_cast<size_t>(batch.at(t) + s);
      batch.to_go_[here] = batch.to_go_[here + static_cast<size_t>(num)] +
                           (to_go_slot_.index < 0 ? 0 : to_go_.get(s));
    }
  }
}

}  // namespace scry
