#include "tools/cli/cli.h"

int main(int argc, char** argv) {
  return scry::cli::run(argc, argv, scry::registered_model ? scry::make_registered_model : nullptr);
}
