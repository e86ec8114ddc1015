#include "tools/cli/cli.h"

int main(int argc, char** argv) {
  scry::cli::MakeModel make_model = nullptr;
  if (scry::has_registered_model()) make_model = scry::make_registered_model;
  return scry::cli::run(argc, argv, make_model);
}
