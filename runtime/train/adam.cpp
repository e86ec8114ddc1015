// Compiled with -O3 -fno-math-errno: the loops are written for the vectoriser, and run once per
// minibatch over all parameters. They are no expressions of Eigen, which takes its vectors' length
// from the compiler's flags and not from the machine: measured over 300,000 floats, an update took
// 100 µs here, with AVX2, and 259 µs with Eigen, whose roots also have other last bits; the search
// for bad numbers 28 and 98 µs. Sums of squares have an order of their own.
#include "runtime/train/adam.h"

#include <array>
#include <cmath>
#include <limits>

namespace scry {
namespace {

template <class T>
const T* reals(const RealBuffer& buffer, const Block& block) {
  return static_cast<const T*>(buffer.at(block.offset));
}
template <class T>
T* reals(RealBuffer& buffer, const Block& block) {
  return static_cast<T*>(buffer.at(block.offset));
}

/// Eight sums side by side: the order of additions is fixed, and a vector unit can follow it.
template <class T>
double sum_of_squares(const T* values, int64_t size) {
  std::array<double, 8> sums{};
  int64_t k = 0;
  for (; k + 8 <= size; k += 8) {
    for (int64_t lane = 0; lane < 8; ++lane) {
      const auto value = static_cast<double>(values[k + lane]);
      sums[static_cast<size_t>(lane)] += value * value;
    }
  }
  for (; k < size; ++k) {
    const auto value = static_cast<double>(values[k]);
    sums[0] += value * value;
  }
  double total = 0;
  for (double sum : sums) total += sum;
  return total;
}

template <class T>
bool all_within(const T* values, int64_t size, T limit) {
  int num_bad = 0;
  for (int64_t k = 0; k < size; ++k) num_bad |= std::abs(values[k]) <= limit ? 0 : 1;
  return num_bad == 0;
}

/// The update's constants, in the parameters' precision.
template <class T>
struct Factors {
  Factors(const AdamOptions& options, double norm, int64_t num_updates)
      : l2(static_cast<T>(options.l2)),
        one_minus_beta1(static_cast<T>(1 - options.beta1)),
        beta2(static_cast<T>(options.beta2)),
        one_minus_beta2(static_cast<T>(1 - options.beta2)),
        epsilon(static_cast<T>(options.epsilon)) {
    if (options.clip > 0 && options.clip < norm + 1e-6)
      clip = static_cast<T>(options.clip / (norm + 1e-6));
    const auto n = static_cast<double>(num_updates);
    step = static_cast<T>(options.rate / (1 - std::pow(options.beta1, n)));
    unbias = static_cast<T>(1 / std::sqrt(1 - std::pow(options.beta2, n)));
  }
  T clip = 1, step = 0, unbias = 1;
  T l2, one_minus_beta1, beta2, one_minus_beta2, epsilon;
};

template <class T>
[[gnu::always_inline]] inline void update_numbers(const Factors<T>& f, int64_t size,
                                                  const T* __restrict gradients,
                                                  T* __restrict first, T* __restrict second,
                                                  T* __restrict values) {
  for (int64_t k = 0; k < size; ++k) {
    const T gradient = gradients[k] * f.clip + f.l2 * values[k];
    const T m = first[k] + (gradient - first[k]) * f.one_minus_beta1;
    const T v = second[k] * f.beta2 + gradient * gradient * f.one_minus_beta2;
    first[k] = m;
    second[k] = v;
    values[k] -= f.step * m / (std::sqrt(v) * f.unbias + f.epsilon);
  }
}

template <class T>
using UpdateFn = void (*)(const Factors<T>&, int64_t, const T*, T*, T*, T*);

template <class T>
void update_block(const Factors<T>& f, int64_t size, const T* gradients, T* first, T* second,
                  T* values) {
  update_numbers(f, size, gradients, first, second, values);
}

#ifdef __x86_64__
/// Divisions and roots in vectors twice as long: the same bits, as AVX2 alone fuses nothing.
template <class T>
[[gnu::target("avx2")]] void update_block_avx2(const Factors<T>& f, int64_t size,
                                               const T* gradients, T* first, T* second, T* values) {
  update_numbers(f, size, gradients, first, second, values);
}
#endif

template <class T>
UpdateFn<T> choose_update() {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx2")) return update_block_avx2<T>;
#endif
  return update_block<T>;
}

template <class T>
void update_blocks(const Program& program, std::span<const size_t> blocks, const Factors<T>& f,
                   const Gradients& gradients, AdamState& state, Parameters& parameters) {
  const UpdateFn<T> update_block = choose_update<T>();
  for (size_t index : blocks) {
    const Block& block = program.params[index];
    update_block(f, block.shape.size(), reals<T>(gradients.values, block),
                 reals<T>(state.first, block), reals<T>(state.second, block),
                 reals<T>(parameters.values, block));
  }
}

}  // namespace

AdamState::AdamState(const Program& program)
    : first(program.precision, program.num_param_elements),
      second(program.precision, program.num_param_elements) {}

double gradient_norm(const Program& program, const Gradients& gradients,
                     std::span<const size_t> blocks) {
  double total = 0;
  for (size_t index : blocks) {
    const Block& block = program.params[index];
    const int64_t size = block.shape.size();
    total += program.precision == Precision::kDouble
                 ? sum_of_squares(reals<double>(gradients.values, block), size)
                 : sum_of_squares(reals<float>(gradients.values, block), size);
  }
  return std::sqrt(total);
}

std::optional<BadNumber> find_bad_number(const Program& program, const RealBuffer& values,
                                         std::span<const size_t> blocks, double limit) {
  const bool is_double = program.precision == Precision::kDouble;
  // The largest finite number: an infinity is above it.
  const double largest = is_double ? std::numeric_limits<double>::max()
                                   : static_cast<double>(std::numeric_limits<float>::max());
  limit = std::min(limit, largest);
  for (size_t index : blocks) {
    const Block& block = program.params[index];
    const int64_t size = block.shape.size();
    if (is_double ? all_within(reals<double>(values, block), size, limit)
                  : all_within(reals<float>(values, block), size, static_cast<float>(limit))) {
      continue;
    }
    for (int64_t k = 0; k < size; ++k) {
      const double value = values.get(block.offset + k);
      if (!(std::abs(value) <= limit)) return BadNumber{block.name, value};
    }
  }
  return {};
}

void update(const Program& program, std::span<const size_t> blocks, const AdamOptions& options,
            const Gradients& gradients, double norm, AdamState& state, Parameters& parameters) {
  ++state.num_updates;
  if (program.precision == Precision::kDouble) {
    const Factors<double> factors(options, norm, state.num_updates);
    update_blocks(program, blocks, factors, gradients, state, parameters);
  } else {
    const Factors<float> factors(options, norm, state.num_updates);
    update_blocks(program, blocks, factors, gradients, state, parameters);
  }
}

}  // namespace scry
