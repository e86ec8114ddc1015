// Programs that tell whether they are whole.
#pragma once
#include <string>

namespace scry::cli {

/// The program with a seal at its end, which the system's loader does not mind: the key under which
/// it is kept, and a digest.
std::string seal(std::string program, const std::string& key);

/// Empty if the bytes are a sealed program of that key; else "is damaged" or the like.
std::string fault_of_sealed(const std::string& bytes, const std::string& key);

}  // namespace scry::cli
