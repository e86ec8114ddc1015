// What compiling the paper's tagger costs, and how Enzyme's gradient kernels compare with the
// built-in adjoint's. Prints ratios measured side by side; --json prints one object a line.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <filesystem>
#include <functional>

#include "compiler/enzyme.h"
#include "examples/03_stress_tagger.cpp"
#include "runtime/kernels/bound_kernel.h"
#include "runtime/kernels/philox.h"

namespace {

double milliseconds(const std::function<void()>& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

class Report {
 public:
  explicit Report(bool json) : json_(json) {}
  void add(const std::string& name, double value, const char* unit) const {
    if (json_) {
      fmt::print("{{\"name\": \"{}\", \"value\": {:.6g}, \"unit\": \"{}\"}}\n", name, value, unit);
    } else {
      fmt::print("{:<58} {:>10.4g} {}\n", name, value, unit);
    }
  }

 private:
  bool json_;
};

/// A kernel on random inputs.
class KernelBench {
 public:
  KernelBench(const Program& program, const Kernel& kernel, int rows, int sequences)
      : parameters_(Parameters::fresh(program, 1)),
        gradients_(program),
        bound_(program, kernel, parameters_, &gradients_) {
    for (int r = 0; r < rows; ++r) position_of_row_.push_back(r * sequences / rows);
    for (int s = 0; s < sequences; ++s) sequence_of_position_.push_back(s);
    call_ = {rows,   sequences, sequences, 8, position_of_row_.data(), sequence_of_position_.data(),
             nullptr};
    Random random(2, 0);
    for (const Slot& slot : kernel.slots) {
      const int64_t size = slot.num_elements(call_, program.num_tags());
      if (slot.role == SlotRole::kWorkspace || slot.role == SlotRole::kZeroed ||
          is_parameter(program, slot.name))
        continue;
      if (slot.kind == Kind::kInt) {
        integers_.emplace_back();
        for (int64_t k = 0; k < size; ++k)
          integers_.back().push_back(
              static_cast<int32_t>(random.word() % static_cast<uint32_t>(program.num_tags())));
        bound_.bind(slot.name, integers_.back().data());
        continue;
      }
      reals_.emplace_back(program.precision, size);
      for (int64_t k = 0; k < size; ++k) reals_.back().set(k, 0.1 * random.normal());
      if (slot.role == SlotRole::kSeed) seeds_.emplace_back(reals_.size() - 1, reals_.back());
      bound_.bind(slot.name, reals_.back().at());
    }
  }

  void run() {
    for (const auto& [index, seed] : seeds_) {  // seeds are consumed
      std::memcpy(
          reals_[index].at(), seed.at(),
          static_cast<size_t>(seed.size()) * (seed.precision() == Precision::kDouble ? 8 : 4));
    }
    bound_.run(call_);
  }

 private:
  static bool is_parameter(const Program& program, std::string_view name) {
    if (name.starts_with("d.")) name.remove_prefix(2);
    const auto named = [&](const Block& block) { return block.name == name; };
    return std::any_of(program.params.begin(), program.params.end(), named) ||
           std::any_of(program.tables.begin(), program.tables.end(), named);
  }
  Parameters parameters_;
  Gradients gradients_;
  BoundKernel bound_;
  std::vector<int32_t> position_of_row_, sequence_of_position_;
  KernelCall call_;
  std::deque<RealBuffer> reals_;
  std::deque<std::vector<int32_t>> integers_;
  std::vector<std::pair<size_t, RealBuffer>> seeds_;
};

/// The best of many interleaved runs of each, in microseconds a call: noise only ever adds.
std::vector<double> best_times(std::vector<std::function<void()>> bodies) {
  std::vector<double> best(bodies.size(), 1e300);
  for (auto& body : bodies) body();
  for (int round = 0; round < 40; ++round) {
    for (size_t i = 0; i < bodies.size(); ++i) {
      constexpr int kRepeat = 40;
      best[i] = std::min(best[i], 1e3 / kRepeat * milliseconds([&] {
                                    for (int k = 0; k < kRepeat; ++k) bodies[i]();
                                  }));
    }
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  const Report report(argc > 1 && std::string(argv[1]) == "--json");
  const Bundle bundle = registered_model();
  const std::string cache =
      (std::filesystem::temp_directory_path() / fmt::format("scry-bench-{}", getpid())).string();
  const bool has_enzyme = !find_enzyme().path.empty();
  std::vector<std::pair<std::string, Differentiator>> differentiators{
      {"adjoint", Differentiator::kAdjoint}};
  if (has_enzyme) differentiators.emplace_back("enzyme", Differentiator::kEnzyme);
  if (!has_enzyme)
    fmt::print(stderr, "no Enzyme plugin: its figures are left out ({})\n", find_enzyme().reason);

  std::vector<Program> programs;
  for (const auto& [name, differentiator] : differentiators) {
    CompileOptions options{.differentiator = differentiator, .cache_folder = cache};
    double cold = 1e300, warm = 1e300;
    CompileReport cold_report, warm_report;
    for (int round = 0; round < 3; ++round) {
      std::filesystem::remove_all(cache);
      CompileReport compile_report;
      const double ms = milliseconds(
          [&] { (void)compile(*bundle.model, bundle.proposal.get(), options, &compile_report); });
      if (ms < cold) cold = ms, cold_report = compile_report;
    }
    for (int round = 0; round < 10; ++round) {
      Program program;
      CompileReport compile_report;
      const double ms = milliseconds([&] {
        program = compile(*bundle.model, bundle.proposal.get(), options, &compile_report);
      });
      if (ms < warm) warm = ms, warm_report = compile_report;
      if (round == 9) programs.push_back(std::move(program));
    }
    report.add("compile, cold, " + name, cold, "ms");
    report.add("compile, cold, " + name + ": graphs", cold_report.graphs_ms, "ms");
    report.add("compile, cold, " + name + ": emission", cold_report.codegen.emit, "ms");
    if (name == "enzyme")
      report.add("compile, cold, enzyme: Enzyme", cold_report.codegen.enzyme, "ms");
    report.add("compile, cold, " + name + ": O3", cold_report.codegen.optimize, "ms");
    report.add("compile, cold, " + name + ": code generation", cold_report.codegen.codegen, "ms");
    report.add("compile, warm from the cache, " + name, warm, "ms");
    report.add("compile, warm from the cache, " + name + ": graphs", warm_report.graphs_ms, "ms");
  }
  std::filesystem::remove_all(cache);

  double total[2] = {0, 0};
  const std::vector<std::pair<std::string, std::function<const Kernel&(const Program&)>>> kernels{
      {"prepare.gradient", [](const Program& p) -> const Kernel& { return p.prepare.gradient; }},
      {"back.gradient", [](const Program& p) -> const Kernel& { return p.back.gradient; }},
      {"advance.gradient", [](const Program& p) -> const Kernel& { return p.advance.gradient; }},
      {"score_tag.gradient",
       [](const Program& p) -> const Kernel& { return p.score_tag.gradient; }},
      {"ahead.gradient", [](const Program& p) -> const Kernel& { return p.ahead.gradient; }},
      {"compat.gradient", [](const Program& p) -> const Kernel& { return p.extend.gradient; }}};
  for (const int rows : {32, 128}) {
    for (const auto& [name, get] : kernels) {
      std::deque<KernelBench> benches;
      std::vector<std::function<void()>> bodies;
      for (const Program& program : programs) {
        benches.emplace_back(program, get(program), rows, 16);
        bodies.emplace_back([&bench = benches.back()] { bench.run(); });
      }
      const std::vector<double> times = best_times(bodies);
      for (size_t i = 0; i < times.size(); ++i) {
        total[i] += times[i];
        report.add(fmt::format("{}, {} rows, {}", name, rows, differentiators[i].first), times[i],
                   "us");
      }
      if (times.size() == 2)
        report.add(fmt::format("{}, {} rows, Enzyme / adjoint", name, rows), times[1] / times[0],
                   "ratio");
    }
  }
  if (programs.size() == 2)
    report.add("all gradient kernels, Enzyme / adjoint", total[1] / total[0], "ratio");
}
