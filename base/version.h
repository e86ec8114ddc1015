#pragma once

namespace scry {
/// Such as "0.2.0".
const char* version();
}  // namespace scry
