#include "base/error.h"

#include <fmt/format.h>

namespace scry {

ModelError::ModelError(Where where, const std::string& message)
    : Error(fmt::format("{}:{}: {}", where.file, where.line, message)),
      where_(where),
      message_(message) {}

}  // namespace scry
