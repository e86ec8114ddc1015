// How much memory a run may take, and how much it will.
#pragma once
#include <functional>
#include <string>

#include "runtime/kernels/workers.h"
#include "runtime/smc/sample.h"

namespace scry {

/// A quarter of what the machine, or the container that this process runs in, has; in bytes.
int64_t default_memory();

/// "38 GB": bytes for people to read.
std::string format_memory(double bytes);
/// The smallest of 1K, …, 1M, …, 1G, … that holds so many bytes, as `--memory` takes it.
std::string suggest_memory(double bytes);

/// What sampling for one input takes at most, about, if all particles go different ways: prefixes,
/// states, particles, encodings; and the candidates of one prefix, as there is no smaller part.
double sampling_bytes(const Program& program, const SampleInput& input,
                      const SampleOptions& options);
/// What a run takes that is recorded to be differentiated: besides, the states of all prefixes and
/// their gradients. What is kept of candidates is not in it: that is as much as memory holds.
double recorded_bytes(const Program& program, const SampleInput& input,
                      const SampleOptions& options);
/// Of sampling_bytes, what the ensemble takes that is returned.
double ensemble_bytes(const Program& program, const SampleInput& input,
                      const SampleOptions& options);

/// Whether the states of candidates are kept while these are looked at; else those of the chosen
/// ones are made again from their parents', which costs little beside so many tags. A rule of the
/// program alone, so that no bit depends on memory.
bool keeps_next_states(const Program& program, const SampleOptions& options);
/// Bytes of one prefix's candidates while they are looked at, with or without their states.
double candidate_bytes(const Program& program, const SampleOptions& options, bool with_states);

/// Calls run(worker, i, bytes) for each i < count by all workers, each with its share of `memory`
/// (0: default_memory()); and again, one after the other with all of it, where it returns false
/// because the share was too little. So what fits does not depend on the number of workers.
void run_in_memory(Workers& workers, int64_t count, int64_t memory,
                   const std::function<bool(int worker, int64_t i, int64_t bytes)>& run);

}  // namespace scry
