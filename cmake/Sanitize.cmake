# SCRY_SANITIZE: the flags are public, as a sanitized library links only into sanitized programs.
# Code that is made at run time is not instrumented; what it calls (the matrix products) is.
if(SCRY_SANITIZE STREQUAL thread)
  set(sanitize -fsanitize=thread)
elseif(SCRY_SANITIZE MATCHES "^(address|fuzzer)$")
  # Debian's LLVM, and so Enzyme, has no RTTI: the check of virtual tables cannot work.
  set(sanitize -fsanitize=address,undefined,float-cast-overflow -fno-sanitize=vptr
      -fno-sanitize-recover=all)
else()
  message(FATAL_ERROR "SCRY_SANITIZE is '${SCRY_SANITIZE}'; it may be address, thread, fuzzer or OFF")
endif()
if(SCRY_SANITIZE STREQUAL fuzzer)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES Clang)
    message(FATAL_ERROR "SCRY_SANITIZE=fuzzer needs clang: -D CMAKE_CXX_COMPILER=clang++")
  endif()
  list(APPEND sanitize -fsanitize=fuzzer-no-link)  # tests/fuzz adds the main
endif()
target_compile_options(scry_base PUBLIC ${sanitize} -fno-omit-frame-pointer)
target_link_options(scry_base PUBLIC ${sanitize})
