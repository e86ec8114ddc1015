# Fails if a page's link, or a file that it names in `code`, does not exist; if README names not every
# page of docs/; or if the scry command's help names not what README promises of it.
#   cmake -D ROOT=... [-D SCRY=the command] -P check_docs.cmake
cmake_minimum_required(VERSION 3.25)

set(faults "")
file(GLOB_RECURSE pages RELATIVE ${ROOT} ${ROOT}/*.md)
list(FILTER pages EXCLUDE REGEX "^build/|^data/(cmudict|last-char)/|^tests/structure/bad")

foreach(page IN LISTS pages)
  file(READ ${ROOT}/${page} text)
  # CMake's lists stumble over these.
  string(REGEX REPLACE "[;]" "," text "${text}")
  string(REPLACE "[" "<" text "${text}")
  string(REPLACE "]" ">" text "${text}")
  cmake_path(GET page PARENT_PATH folder)

  string(REGEX MATCHALL ">[(][^) ]+[)]" links "${text}")
  foreach(link IN LISTS links)
    string(REGEX REPLACE "^>[(]|[)]$|#.*" "" target "${link}")
    if(NOT target MATCHES "^https?:" AND NOT target STREQUAL "" AND NOT EXISTS ${ROOT}/${folder}/${target})
      list(APPEND faults "${page}: the link to '${target}' leads nowhere")
    endif()
  endforeach()

  # Files of this repository, by their whole paths: `scripts/test`, `runtime/train/train.h`.
  string(REGEX MATCHALL "`(scripts|docs|dsl|compiler|runtime|tools|tests|examples|bench|cmake)/[A-Za-z0-9_./-]+" names "${text}")
  foreach(name IN LISTS names)
    string(REGEX REPLACE "^`|[.]$" "" name "${name}")
    if(NOT EXISTS ${ROOT}/${name})
      file(GLOB family ${ROOT}/${name}* ${ROOT}/${folder}/${name}*)  # `compiler/gemm*`
      if(NOT family)
        list(APPEND faults "${page}: there is no '${name}'")
      endif()
    endif()
  endforeach()
endforeach()

file(READ ${ROOT}/README.md readme)
file(GLOB docs RELATIVE ${ROOT} ${ROOT}/docs/*.md)
foreach(doc IN LISTS docs)
  if(NOT readme MATCHES "[(]${doc}[)]")
    list(APPEND faults "README.md: it has no link to ${doc}")
  endif()
endforeach()

if(DEFINED SCRY)
  execute_process(COMMAND ${SCRY} --help OUTPUT_VARIABLE help)
  string(REGEX MATCHALL "docs/[a-z_]+[.]md" named "${help}")
  foreach(doc IN LISTS named)
    if(NOT EXISTS ${ROOT}/${doc})
      list(APPEND faults "scry --help: there is no ${doc}")
    endif()
  endforeach()
  string(REGEX MATCHALL "\nscry [a-z]+" commands "${readme}")
  foreach(command IN LISTS commands)
    string(REPLACE "\nscry " "" command "${command}")
    if(NOT help MATCHES "\n  ${command} ")
      list(APPEND faults "README.md: the command has no '${command}'")
    endif()
  endforeach()
endif()

if(faults)
  list(JOIN faults "\n" text)
  message(FATAL_ERROR "${text}")
endif()
