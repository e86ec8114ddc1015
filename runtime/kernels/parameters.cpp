#include "runtime/kernels/parameters.h"

#include "runtime/kernels/bound_kernel.h"
#include "runtime/kernels/philox.h"

namespace scry {

Parameters::Parameters(const Program& program)
    : values(program.precision, program.num_param_elements),
      tables(program.precision, program.num_table_elements) {}

Parameters Parameters::fresh(const Program& program, uint64_t seed) {
  Parameters parameters(program);
  for (size_t p = 0; p < program.params.size(); ++p) {
    const Block& block = program.params[p];
    Random random(seed, static_cast<uint32_t>(p));
    for (int64_t k = 0; k < block.shape.size(); ++k) {
      double value = block.init.scale;
      if (block.init.kind == Init::Kind::kUniform) value *= 2 * random.uniform() - 1;
      if (block.init.kind == Init::Kind::kNormal) value *= random.normal();
      parameters.values.set(block.offset + k, value);
    }
  }
  parameters.prepare(program);
  return parameters;
}

void Parameters::prepare(const Program& program) {
  BoundKernel kernel(program, program.prepare.forward, *this);
  kernel.run({});
}

Gradients::Gradients(const Program& program)
    : values(program.precision, program.num_param_elements),
      tables(program.precision, program.num_table_elements) {}

void Gradients::clear() {
  values.clear();
  tables.clear();
}

void Gradients::finish(const Program& program, const Parameters& parameters) {
  BoundKernel kernel(program, program.prepare.gradient, parameters, this);
  kernel.run({});
  tables.clear();  // as seeds, their content is lost
}

}  // namespace scry
