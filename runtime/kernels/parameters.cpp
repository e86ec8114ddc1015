#include "runtime/kernels/parameters.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "runtime/kernels/bound_kernel.h"
#include "runtime/kernels/philox.h"

namespace scry {

const Block& find_parameter(const Program& program, std::string_view name) {
  std::vector<std::string_view> names;
  for (const Block& block : program.params) {
    if (block.name == name) return block;
    names.push_back(block.name);
  }
  throw Error(fmt::format("there is no parameter {}; there are {}", name, fmt::join(names, ", ")));
}

void check_precision(const RealBuffer& values, const Block& block, Precision wanted) {
  if (values.precision() == wanted) return;
  const bool is_double = wanted == Precision::kDouble;
  throw Error(fmt::format("{}: asked for as {}, but the program was compiled for {}", block.name,
                          is_double ? "double" : "float", is_double ? "float" : "double"));
}

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
  for (const Stage* stage : {&program.prepare, &program.prepare_proposal})
    BoundKernel(program, stage->forward, *this).run({});
}

Gradients::Gradients(const Program& program)
    : values(program.precision, program.num_param_elements),
      tables(program.precision, program.num_table_elements) {}

void Gradients::clear() {
  values.clear();
  tables.clear();
}

void Gradients::add(const Gradients& other) {
  values.add(0, other.values, 0, values.size());
  tables.add(0, other.tables, 0, tables.size());
}

void Gradients::finish(const Program& program, const Parameters& parameters) {
  for (const Stage* stage : {&program.prepare, &program.prepare_proposal})
    BoundKernel(program, stage->gradient, parameters, this).run({});
  tables.clear();  // as seeds, their content is lost
}

}  // namespace scry
