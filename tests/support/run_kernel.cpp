#include "tests/support/run_kernel.h"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <span>

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
    const auto run_with = [&](GuardedBuffer::Guard guard) {
      return precision_ == Precision::kDouble ? run_as<double>(plan, extent, inputs, guard)
                                              : run_as<float>(plan, extent, inputs, guard);
    };
    run_with(GuardedBuffer::Guard::kBegin);
    return run_with(GuardedBuffer::Guard::kEnd);
  }
  throw Error("no kernel " + name);
}

template <class Real>
Values Compiled::run_as(const KernelPlan& plan, const Extent& extent, const Values& inputs,
                        GuardedBuffer::Guard guard) const {
  KernelCall call{extent.num_rows,
                  extent.num_positions,
                  extent.num_sequences,
                  extent.max_length(),
                  extent.position_of_row.data(),
                  extent.sequence_of_position.data(),
                  nullptr};
  std::vector<GuardedBuffer> buffers;
  std::vector<void*> args;
  const auto values_of = [&]<class Element>(size_t i, Element) {
    const auto size = static_cast<size_t>(plan.slots[i].num_elements(call, num_tags_));
    return std::span(static_cast<Element*>(args[i]), size);
  };
  for (size_t i = 0; i < plan.slots.size(); ++i) {
    const Slot& slot = plan.slots[i];
    const size_t element = slot.kind == Kind::kInt ? sizeof(int32_t) : sizeof(Real);
    const auto size = static_cast<size_t>(slot.num_elements(call, num_tags_));
    args.push_back(buffers.emplace_back(size * element, guard).data());
    const bool given = slot.role == SlotRole::kInput || slot.role == SlotRole::kSeed;
    const bool zero = slot.role == SlotRole::kGradient || slot.role == SlotRole::kZeroed;
    const auto fill = [&](auto to, auto nothing) {
      std::fill(to.begin(), to.end(), nothing);
      if (!given || (slot.kind == Kind::kInt && !inputs.contains(slot.name))) return;
      const std::vector<double>& from = inputs.at(slot.name);
      std::transform(from.begin(), from.end(), to.begin(),
                     [](double x) { return static_cast<decltype(nothing)>(x); });
    };
    if (slot.kind == Kind::kInt) {
      fill(values_of(i, int32_t{}), int32_t{-1});
      if (slot.name == "last") {
        for (size_t k = 0; k < size; ++k) values_of(i, int32_t{})[k] = extent.lengths[k] - 1;
      }
    } else {
      // Scratch holds NaN, so that a kernel that reads what it did not write is caught.
      fill(values_of(i, Real{}), zero ? Real{0} : std::numeric_limits<Real>::quiet_NaN());
    }
  }
  call.args = args.data();
  code_->find(plan.name)(&call);
  Values results;
  for (size_t i = 0; i < plan.slots.size(); ++i) {
    const Slot& slot = plan.slots[i];
    if (slot.role != SlotRole::kOutput && slot.role != SlotRole::kKept &&
        slot.role != SlotRole::kGradient)
      continue;
    const auto keep = [&](auto values) { results[slot.name].assign(values.begin(), values.end()); };
    if (slot.kind == Kind::kInt) {
      keep(values_of(i, int32_t{}));
    } else {
      keep(values_of(i, Real{}));
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
