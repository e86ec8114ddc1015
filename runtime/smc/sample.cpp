#include "runtime/smc/sample.h"

#include "runtime/smc/sampler.h"

namespace scry {

const Ensemble& Outcome::value() const {
  if (error) throw SamplingError(*error);
  return ensemble;
}

std::vector<Outcome> sample(const Program& program, const Parameters& parameters,
                            std::span<const SampleInput> inputs, const SampleOptions& options) {
  return Sampler(program, parameters, options.threads).sample(inputs, options);
}

std::vector<Outcome> sample_runs(const Program& program, const Parameters& parameters,
                                 std::span<const SampleInput> inputs, const SampleOptions& options,
                                 int num_runs) {
  return Sampler(program, parameters, options.threads).sample_runs(inputs, options, num_runs);
}

Ensemble sample(const Program& program, const Parameters& parameters, const SampleInput& input,
                const SampleOptions& options) {
  return Sampler(program, parameters, options.threads).sample(input, options);
}

namespace {
Ensemble sample_by(Method method, const Program& program, const Parameters& parameters,
                   const SampleInput& input, SampleOptions options) {
  options.method = method;
  return sample(program, parameters, input, options);
}
}  // namespace

Ensemble importance(const Program& program, const Parameters& parameters, const SampleInput& input,
                    SampleOptions options) {
  return sample_by(Method::kImportance, program, parameters, input, std::move(options));
}
Ensemble filter(const Program& program, const Parameters& parameters, const SampleInput& input,
                SampleOptions options) {
  return sample_by(Method::kFilter, program, parameters, input, std::move(options));
}
Ensemble smooth(const Program& program, const Parameters& parameters, const SampleInput& input,
                SampleOptions options) {
  return sample_by(Method::kSmooth, program, parameters, input, std::move(options));
}
Ensemble discrete(const Program& program, const Parameters& parameters, const SampleInput& input,
                  SampleOptions options) {
  const bool ahead = program.has_proposal() && options.method != Method::kDiscrete;
  return sample_by(ahead ? Method::kDiscreteAhead : Method::kDiscrete, program, parameters, input,
                   std::move(options));
}
Ensemble beam(const Program& program, const Parameters& parameters, const SampleInput& input,
              SampleOptions options) {
  const bool ahead = options.method == Method::kBeamAhead;
  return sample_by(ahead ? Method::kBeamAhead : Method::kBeam, program, parameters, input,
                   std::move(options));
}
Ensemble enumerate(const Program& program, const Parameters& parameters, const SampleInput& input,
                   SampleOptions options) {
  return sample_by(Method::kEnumerate, program, parameters, input, std::move(options));
}

}  // namespace scry
