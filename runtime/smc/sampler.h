// Sampling many times with one program and its parameters.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "runtime/kernels/workers.h"
#include "runtime/smc/sample.h"

namespace scry {

class Interpreter;
struct Job;

/// A program and its parameters, bound once: the first call starts threads and finds kernels'
/// slots, and later ones do neither; memory is kept from call to call. Each call gives the same
/// bits as the function of the same name in sample.h.
///
/// Program and parameters must outlive it. The parameters' values may change between calls (with
/// Parameters::prepare after it): the next call works with the new ones. One call at a time.
class Sampler {
 public:
  /// 0 threads: all cores. The options' own number of threads has no effect here.
  Sampler(const Program& program, const Parameters& parameters, int threads = 0);
  Sampler(Sampler&&) noexcept;
  Sampler& operator=(Sampler&&) noexcept;
  ~Sampler();

  const Program& program() const { return *program_; }
  const Parameters& parameters() const { return *parameters_; }
  int num_threads() { return workers().size(); }

  std::vector<Outcome> sample(std::span<const SampleInput> inputs,
                              const SampleOptions& options = {});
  std::vector<Outcome> sample_runs(std::span<const SampleInput> inputs,
                                   const SampleOptions& options, int num_runs);
  /// One input. Throws SamplingError.
  Ensemble sample(const SampleInput& input, const SampleOptions& options = {});

 private:
  std::vector<Outcome> sample_ended(std::span<const SampleInput> inputs,
                                    const SampleOptions& options);
  void run(std::span<const Job> jobs, std::span<const double> bytes, SampleOptions options,
           size_t num_done);
  Interpreter& bind(std::unique_ptr<Interpreter>& interpreter, const SampleOptions& options,
                    Workers* workers);
  Workers& workers();
  void unbind_if_moved();

  const Program* program_;
  const Parameters* parameters_;
  int threads_;
  std::unique_ptr<Workers> workers_;
  std::unique_ptr<Interpreter> by_rows_;                // by all workers together
  std::vector<std::unique_ptr<Interpreter>> by_batch_;  // one per worker
  const void *values_ = nullptr, *tables_ = nullptr;    // where kernels look for the parameters
};

}  // namespace scry
