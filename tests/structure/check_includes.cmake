# cmake -D ROOT=tree -P check_includes.cmake
# Fails, naming file:line, if an include goes against the flow, which is the order of `rooms`, if an
# LLVM header is included anywhere but in compiler/*.cpp, or Eigen's in a header of a room, as <scry.h> has them all.
cmake_minimum_required(VERSION 3.25)

# A room may include itself and what stands to its left. runtime is what stands in the folder itself.
set(rooms base dsl compiler runtime/kernels runtime/smc runtime/search runtime/eval runtime/decode runtime/files runtime/train runtime)
set(layers base dsl compiler runtime tools tests examples bench)

# room_of(out path): the room that a file is in; empty if it is in none.
function(room_of out path)
  set(found "")
  foreach(room IN LISTS rooms)
    if(path MATCHES "^${room}/" AND found STREQUAL "")
      set(found ${room})
    endif()
  endforeach()
  set(${out} "${found}" PARENT_SCOPE)
endfunction()

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
  room_of(room ${file})
  list(FIND rooms "${room}" place)
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
    room_of(target_room ${target})
    list(FIND rooms "${target_room}" target_place)

    set(fault "")
    if(header MATCHES "^(llvm|llvm-c|clang|lld)/" AND NOT file MATCHES "^compiler/[^/]+[.]cpp$")
      set(fault "LLVM headers belong in compiler/*.cpp only")
    elseif(header MATCHES "^Eigen/" AND NOT room STREQUAL "" AND file MATCHES "[.]h$")
      set(fault "headers name Eigen's types by runtime/kernels/eigen_types.h")
    elseif(place GREATER -1 AND target_layer IN_LIST layers
           AND (target_place EQUAL -1 OR target_place GREATER place))
      math(EXPR last "${place} + 1")
      list(SUBLIST rooms 0 ${last} allowed)
      list(JOIN allowed ", " allowed)
      set(fault "${room}/ may include only: ${allowed}")
    elseif(file MATCHES "^runtime/" AND target MATCHES "^compiler/.*[.]cpp$")
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
