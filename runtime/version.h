#pragma once

namespace scry {
/// Such as "0.1.0".
const char* version();
}  // namespace scry
