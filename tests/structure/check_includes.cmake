# cmake -D ROOT=tree -P check_includes.cmake
# Fails, naming file:line, if an include goes against the flow dsl <- compiler <- runtime, or if an
# LLVM header is included anywhere but in compiler/*.cpp.
cmake_minimum_required(VERSION 3.25)

set(layers dsl compiler runtime tools tests examples bench)
set(dsl_may_include dsl)
set(compiler_may_include dsl compiler)
set(runtime_may_include dsl compiler runtime)

foreach(layer IN LISTS layers)
  file(GLOB_RECURSE found RELATIVE ${ROOT} ${ROOT}/${layer}/*.h ${ROOT}/${layer}/*.cpp)
  list(APPEND files ${found})
endforeach()
list(FILTER files EXCLUDE REGEX "^tests/structure/bad/")
if(NOT files)
  message(FATAL_ERROR "${ROOT}: no sources to check")
endif()

foreach(file IN LISTS files)
  file(READ ${ROOT}/${file} text)
  set(text "\n${text}")
  string(REGEX MATCHALL "\n[ \t]*#[ \t]*include[ \t]*[<\"][^>\"\n]+" includes "${text}")
  string(REGEX MATCH "^[^/]+" layer ${file})
  cmake_path(GET file PARENT_PATH folder)

  foreach(include IN LISTS includes)
    string(REGEX REPLACE ".*[<\"]" "" header "${include}")
    set(target ${header})
    if(EXISTS ${ROOT}/${folder}/${header})  # a path relative to the file
      cmake_path(SET target NORMALIZE ${folder}/${header})
    elseif(header STREQUAL "scry.h")
      set(target runtime/scry.h)
    endif()
    string(REGEX MATCH "^[^/]+" target_layer ${target})

    set(fault "")
    if(header MATCHES "^(llvm|llvm-c|clang|lld)/" AND NOT file MATCHES "^compiler/[^/]+[.]cpp$")
      set(fault "LLVM headers belong in compiler/*.cpp only")
    elseif(DEFINED ${layer}_may_include AND target_layer IN_LIST layers
           AND NOT target_layer IN_LIST ${layer}_may_include)
      list(JOIN ${layer}_may_include ", " allowed)
      set(fault "${layer}/ may include only: ${allowed}")
    elseif(layer STREQUAL "runtime" AND target MATCHES "^compiler/.*[.]cpp$")
      set(fault "runtime/ may include only the headers of compiler/")
    endif()

    if(fault)
      string(FIND "${text}" "${include}" position)
      string(SUBSTRING "${text}" 0 ${position} before)
      string(REGEX REPLACE "[^\n]" "" newlines "${before}")
      string(LENGTH "\n${newlines}" line)
      string(APPEND faults "${file}:${line}: includes ${header}: ${fault}\n")
    endif()
  endforeach()
endforeach()

if(faults)
  string(STRIP "${faults}" faults)
  message("${faults}")
  message(FATAL_ERROR "includes go the wrong way")
endif()
