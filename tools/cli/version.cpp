#include "base/version.h"

#include <fmt/format.h>

#include "tools/cli/command.h"
#include "tools/cli/output_file.h"

namespace scry::cli {

Action declare_version(CLI::App&) {
  return [](const Bundle&) {
    write_result("", fmt::format("scry {}\n", version()));
    return 0;
  };
}

}  // namespace scry::cli
