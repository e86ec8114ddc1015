#include "tests/support/run_kernel.h"

#include <cstdio>
#include <cstring>
#include <limits>

#include "compiler/codegen.h"
#include "compiler/enzyme.h"

namespace scry::test {
namespace {

std::vector<char> object_of(const std::vector<KernelPlan>& plans, Precision precision,
                            int num_tags) {
  CodegenTimes times;
  return generate_object({plans, precision, num_tags, find_enzyme().path, {}}, times);
}

}  // namespace

Compiled::Compiled(std::vector<KernelPlan> plans, Precision precision, int num_tags)
    : plans_(std::move(plans)),
      precision_(precision),
      num_tags_(num_tags),
      code_(std::make_unique<LoadedCode>(object_of(plans_, precision, num_tags))) {}

Values Compiled::run(const std::string& name, const Extent& extent, const Values& inputs) const {
  for (const KernelPlan& plan : plans_) {
    if (plan.name != name) continue;
    return precision_ == Precision::kDouble ? run_as<double>(plan, extent, inputs)
                                            : run_as<float>(plan, extent, inputs);
  }
  throw Error("no kernel " + name);
}

template <class Real>
Values Compiled::run_as(const KernelPlan& plan, const Extent& extent, const Values& inputs) const {
  KernelCall call{extent.num_rows, extent.num_sequences, extent.max_length(),
                  extent.sequence_of_row.data(), nullptr};
  // Scratch holds NaN, so that a kernel that reads what it did not write is caught.
  std::vector<std::vector<Real>> reals(plan.slots.size());
  std::vector<std::vector<int32_t>> integers(plan.slots.size());
  std::vector<void*> args;
  for (size_t i = 0; i < plan.slots.size(); ++i) {
    const Slot& slot = plan.slots[i];
    const size_t size = static_cast<size_t>(slot.num_elements(call, num_tags_));
    const bool given = slot.role == SlotRole::kInput || slot.role == SlotRole::kSeed;
    const bool zero = slot.role == SlotRole::kGradient || slot.role == SlotRole::kZeroed;
    if (slot.kind == Kind::kInt) {
      integers[i].assign(size, -1);
      if (slot.name == "last") {
        for (size_t k = 0; k < size; ++k) integers[i][k] = extent.lengths[k] - 1;
      } else if (given && inputs.contains(slot.name)) {
        integers[i].assign(inputs.at(slot.name).begin(), inputs.at(slot.name).end());
      }
      args.push_back(integers[i].data());
    } else {
      reals[i].assign(size, zero ? Real{0} : std::numeric_limits<Real>::quiet_NaN());
      if (given) reals[i].assign(inputs.at(slot.name).begin(), inputs.at(slot.name).end());
      args.push_back(reals[i].data());
    }
  }
  call.args = args.data();
  code_->find(plan.name)(&call);
  Values results;
  for (size_t i = 0; i < plan.slots.size(); ++i) {
    const Slot& slot = plan.slots[i];
    if (slot.role != SlotRole::kOutput && slot.role != SlotRole::kGradient) continue;
    if (slot.kind == Kind::kInt) {
      results[slot.name].assign(integers[i].begin(), integers[i].end());
    } else {
      results[slot.name].assign(reals[i].begin(), reals[i].end());
    }
  }
  return results;
}

bool has_enzyme() { return !find_enzyme().path.empty(); }

bool skip_without_enzyme() {
  if (has_enzyme()) return false;
  std::puts("SKIPPED: Enzyme plugin not found");
  return true;
}

}  // namespace scry::test
