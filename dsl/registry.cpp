#include "dsl/registry.h"

#include "dsl/ask.h"

namespace scry {

Bundle make_registered_model() { return ask("SCRY_MODEL", registered_at(), registered_model); }

}  // namespace scry
