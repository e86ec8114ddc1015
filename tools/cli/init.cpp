#include <fmt/format.h>

#include "base/write_file.h"
#include "compiler/compile.h"
#include "runtime/files/parameters_file.h"
#include "tools/cli/command.h"
#include "tools/cli/options.h"
#include "tools/cli/output_file.h"
#include "tools/cli/text.h"

namespace scry::cli {
namespace {

struct InitOptions {
  std::string precision = "float", output;
  uint64_t seed = 1;
  bool overwrite = false;  // check_output's
};

int run_init(const InitOptions& options, const Bundle& bundle) {
  const bool in_double = options.precision == "double";
  const Program program = compile(
      bundle,
      {.precision = in_double ? Precision::kDouble : Precision::kFloat, .gradients = false});
  const TensorFile file = to_tensors(program, Parameters::fresh(program, options.seed));
  const std::string bytes = to_bytes(file);
  write_file(options.output, bytes);
  int64_t num_numbers = 0;
  for (const Tensor& tensor : file.tensors) num_numbers += tensor.size();
  write_result("", fmt::format("wrote {} with {} numbers ({}) to {}\n",
                               count_of(file.tensors.size(), "tensor"),
                               group_digits(static_cast<double>(num_numbers)),
                               format_bytes(bytes.size()), options.output));
  return 0;
}

}  // namespace

Action declare_init(CLI::App& app) {
  auto options = std::make_shared<InitOptions>();
  add_output(app, options->output)->description("The safetensors file to write")->required();
  add_seed(app, options->seed, "Seed of the parameters");
  add_choice(app, "--precision", options->precision, {"float", "double"}, "Of the numbers");
  app.add_flag("--overwrite", options->overwrite, "Replace the output file");
  return [options](const Bundle& bundle) { return run_init(*options, bundle); };
}

}  // namespace scry::cli
