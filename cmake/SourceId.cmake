# cmake -D ROOT=... -D INPUTS=file -D NAME=kName -D OUT=source_id.h -P SourceId.cmake
# Names and contents are hashed, not times or places: equal sources share one kernel cache.
cmake_minimum_required(VERSION 3.25)

file(READ ${INPUTS} sources)
foreach(source IN LISTS sources)
  file(SHA256 ${ROOT}/${source} hash)
  string(APPEND digest "${source} ${hash}\n")
endforeach()
string(SHA256 id "${digest}")
file(WRITE ${OUT} "#pragma once

namespace scry {
inline constexpr char ${NAME}[] = \"${id}\";
}  // namespace scry
")
