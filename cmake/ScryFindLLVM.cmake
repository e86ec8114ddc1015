# Finds LLVM 19 and its shared library, the target LLVM. Used by the build and by the package.

# LLVMConfig looks for what LLVM's static archives would need; the shared library needs none of it.
set(scry_llvm_extras FFI LibEdit ZLIB zstd LibXml2 CURL)
foreach(extra IN LISTS scry_llvm_extras)
  set(scry_keep_${extra} "${CMAKE_DISABLE_FIND_PACKAGE_${extra}}")
  set(CMAKE_DISABLE_FIND_PACKAGE_${extra} ON)
endforeach()
find_package(LLVM 19.1 QUIET CONFIG)  # not "19": LLVM takes that for 19.0 and refuses
foreach(extra IN LISTS scry_llvm_extras)
  set(CMAKE_DISABLE_FIND_PACKAGE_${extra} "${scry_keep_${extra}}")
endforeach()

if(NOT TARGET LLVM)
  message(FATAL_ERROR "Scry needs LLVM 19 with its shared library libLLVM: "
                      "run scripts/install-deps, or set LLVM_DIR to its cmake folder.")
endif()
