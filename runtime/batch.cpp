#include "runtime/batch.h"

#include <fmt/format.h>

#include <numeric>

namespace scry {
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

/// Runs the encoder, s₀ and the lookahead, position by position, over the sequences that have it.
class Batch::Builder {
 public:
  Builder(Batch& batch, const Program& program, const Parameters& parameters)
      : batch_(batch), program_(program), parameters_(parameters) {}

  void encode() {
    for (const ScanStage& scan : program_.scans)
      scans_.emplace_back(program_, scan_components(scan)).resize(batch_.at(batch_.max_length()));
    for (size_t k = 0; k < program_.scans.size(); ++k) run_scan(k);
    if (!program_.encode.forward) return;

    const std::vector<Component> components = feature_components(program_);
    StateRows here(program_, components);  // enc.* at one position
    here.resize(batch_.num_sequences());
    BoundKernel kernel(program_, program_.encode.forward, parameters_);
    const Slots slots(program_, kernel);
    const StateSlots out(kernel, "enc.", components);
    const std::vector<StateSlots> scans = find_scans(kernel);
    for (int t = 1; t <= batch_.max_length(); ++t) {
      batch_.bind(kernel, slots, t);
      bind_scans(kernel, scans, t);
      out.bind(kernel, here);
      kernel.run(call(batch_.num_reaching(t)));
      scatter_features(here, t);
    }
  }

  void start() {
    batch_.start_ = StateRows(program_, program_.state);
    batch_.start_.resize(batch_.num_sequences());
    BoundKernel kernel(program_, program_.start.forward, parameters_);
    const Slots slots(program_, kernel);
    batch_.bind(kernel, slots, 1);
    StateSlots(kernel, "s.", program_.state).bind(kernel, batch_.start_);
    kernel.run(call(batch_.num_sequences()));
  }

  /// s̄_t and Ĥ_t from right to left (eq:sbar, eq:Hhat).
  void look_ahead() {
    const int num = batch_.num_sequences();
    batch_.to_go_.assign(static_cast<size_t>(batch_.at(batch_.max_length() + 1)), 0.0);
    StateRows end_state(program_, program_.later);
    end_state.resize(num);
    BoundKernel end(program_, program_.end.forward, parameters_);
    StateSlots(end, "later.", program_.later).bind(end, end_state);
    end.run(call(num));

    BoundKernel back(program_, program_.back.forward, parameters_);
    const Slots slots(program_, back);
    const StateSlots next(back, "next.", program_.later);
    const SlotHandle to_go_slot = back.find("to_go");
    RealBuffer to_go(program_.precision, num);
    back.bind(to_go_slot, to_go.at());
    for (int t = batch_.max_length(); t >= 0; --t) {
      const int beyond = t == batch_.max_length() ? 0 : batch_.num_reaching(t + 1);
      const int reaching = t == 0 ? num : batch_.num_reaching(t);
      for (int s = beyond; s < reaching; ++s)
        batch_.later_.copy_row(batch_.at(t) + s, end_state, s);
      if (beyond == 0) continue;
      batch_.bind(back, slots, t + 1);
      next.bind(back, batch_.later_, batch_.at(t));
      back.run(call(beyond));
      for (int s = 0; s < beyond; ++s) {
        const auto here = static_cast<size_t>(batch_.at(t) + s);
        batch_.to_go_[here] = batch_.to_go_[here + static_cast<size_t>(num)] +
                              (to_go_slot.index < 0 ? 0 : to_go.get(s));
      }
    }
  }

 private:
  KernelCall call(int num_sequences) const {
    return {0, num_sequences, batch_.max_length(), nullptr, nullptr};
  }

  std::vector<StateSlots> find_scans(const BoundKernel& kernel) const {
    std::vector<StateSlots> found;
    for (size_t k = 0; k < program_.scans.size(); ++k)
      found.emplace_back(kernel, fmt::format("scan.{}.", k), scan_components(program_.scans[k]));
    return found;
  }
  /// The states of the scans after reading position t.
  void bind_scans(BoundKernel& kernel, const std::vector<StateSlots>& slots, int t) const {
    for (size_t k = 0; k < slots.size(); ++k) slots[k].bind(kernel, scans_[k], batch_.at(t - 1));
  }

  void run_scan(size_t k) {
    const ScanStage& scan = program_.scans[k];
    const std::vector<Component> components = scan_components(scan);
    StateRows before(program_, components);  // zeros where a sequence begins
    before.resize(batch_.num_sequences());
    BoundKernel kernel(program_, scan.forward, parameters_);
    const Slots slots(program_, kernel);
    const StateSlots in(kernel, "before.", components), out(kernel, "after.", components);
    const std::vector<StateSlots> earlier = find_scans(kernel);
    const bool forwards = scan.direction == Direction::kLeftToRight;
    for (int p = 1; p <= batch_.max_length(); ++p) {
      const int t = forwards ? p : batch_.max_length() + 1 - p;
      const int reaching = batch_.num_reaching(t);
      batch_.bind(kernel, slots, t);
      bind_scans(kernel, earlier, t);
      in.bind(kernel, before);
      out.bind(kernel, scans_[k], batch_.at(t - 1));
      kernel.run(call(reaching));
      for (int s = 0; s < reaching; ++s) before.copy_row(s, scans_[k], batch_.at(t - 1) + s);
    }
  }

  void scatter_features(const StateRows& here, int t) {
    for (size_t f = 0; f < batch_.features_.size(); ++f) {
      const auto size = static_cast<int64_t>(program_.features[f].second);
      for (int s = 0; s < batch_.num_reaching(t); ++s) {
        const int64_t to = (static_cast<int64_t>(s) * batch_.max_length() + t - 1) * size;
        std::memcpy(batch_.features_[f].at(to), here.at(f, s),
                    static_cast<size_t>(size) * program_.real_size());
      }
    }
  }

  Batch& batch_;
  const Program& program_;
  const Parameters& parameters_;
  std::vector<StateRows> scans_;  // [T][S]: after reading a position
};

Batch::Batch(const Program& program, const Parameters& parameters,
             std::span<const std::span<const int>> inputs, bool look_ahead)
    : later_(program, look_ahead ? std::span<const Component>(program.later)
                                 : std::span<const Component>()) {
  for (const std::span<const int> x : inputs) {
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
  if (max_length() == 0) return;
  for (const auto& feature : program.features)
    features_.emplace_back(program.precision,
                           static_cast<int64_t>(num_sequences()) * max_length() * feature.second);
  later_.resize(at(max_length() + 1));
  Builder builder(*this, program, parameters);
  builder.encode();
  builder.start();
  if (look_ahead) builder.look_ahead();
}

}  // namespace scry
