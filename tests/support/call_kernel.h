// Runs a compiled Program's kernel on made-up numbers, to see whether two kernels do the same.
#pragma once
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "compiler/program.h"

namespace scry::test {

using NamedValues = std::map<std::string, std::vector<double>>;

/// Every input and seed that is not given holds numbers that depend on its name alone; symbols are
/// 0 or
/// 1. Returns outputs and gradients by name.
inline NamedValues call_kernel(const Program& program, const Kernel& kernel,
                               const NamedValues& inputs = {}) {
  const std::vector<int32_t> position_of_row{0, 1, 1}, sequence_of_position{0, 1};
  KernelCall call{3, 2, 2, 2, position_of_row.data(), sequence_of_position.data(), nullptr};
  std::vector<std::vector<double>> memory;  // as bytes: wide enough for every kind of number
  std::vector<void*> args;
  const auto is_float = [&](const Slot& slot) {
    return slot.kind == Kind::kReal && program.precision == Precision::kFloat;
  };
  for (const Slot& slot : kernel.slots) {
    const auto size = static_cast<size_t>(slot.num_elements(call, program.num_tags()));
    const bool given = slot.role == SlotRole::kInput || slot.role == SlotRole::kSeed;
    memory.emplace_back(size, 0.0);
    void* data = memory.back().data();
    for (size_t k = 0; given && k < size; ++k) {
      const double made_up =
          std::sin(static_cast<double>(std::hash<std::string>()(slot.name) % 1000 + k));
      const double value = inputs.contains(slot.name) ? inputs.at(slot.name)[k] : made_up;
      if (slot.kind == Kind::kInt) {
        static_cast<int32_t*>(data)[k] = static_cast<int32_t>(k % 2);
      } else if (is_float(slot)) {
        static_cast<float*>(data)[k] = static_cast<float>(value);
      } else {
        static_cast<double*>(data)[k] = value;
      }
    }
    args.push_back(data);
  }
  call.args = args.data();
  kernel.run(&call);
  NamedValues results;
  for (size_t i = 0; i < kernel.slots.size(); ++i) {
    const Slot& slot = kernel.slots[i];
    if (slot.role != SlotRole::kOutput && slot.role != SlotRole::kKept &&
        slot.role != SlotRole::kGradient)
      continue;
    for (size_t k = 0; k < memory[i].size(); ++k) {
      results[slot.name].push_back(slot.kind == Kind::kInt ? static_cast<int32_t*>(args[i])[k]
                                   : is_float(slot)        ? static_cast<float*>(args[i])[k]
                                                           : static_cast<double*>(args[i])[k]);
    }
  }
  return results;
}

}  // namespace scry::test
