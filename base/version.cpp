#include "base/version.h"

namespace scry {
const char* version() { return SCRY_VERSION; }
}  // namespace scry
