#include "dsl/registry.h"

#include "dsl/ask.h"

namespace scry {
namespace {

using Plain = Bundle (*)();
using WithSettings = Bundle (*)(Settings& settings);

}  // namespace

bool has_registered_model() { return registered_at != nullptr; }

Bundle make_registered_model(Settings& settings) {
  const auto with_settings = static_cast<WithSettings>(registered_model);
  Bundle bundle = ask("SCRY_MODEL", registered_at(), [&] {
    return with_settings != nullptr ? with_settings(settings)
                                    : static_cast<Plain>(registered_model)();
  });
  bundle.settings = settings.known();
  return bundle;
}

Bundle make_registered_model() {
  Settings settings;
  return make_registered_model(settings);
}

}  // namespace scry
