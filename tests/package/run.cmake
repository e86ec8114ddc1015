# Installs the build tree, moves the install elsewhere (it must not know where it is), then
# configures, builds and runs the project of this folder, and the installed scry, against it.
cmake_minimum_required(VERSION 3.25)

set(work ${BUILD}/package-test)
file(REMOVE_RECURSE ${work})

function(run)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "failed with ${result}: ${command}\n${output}")
  endif()
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${work}/first)
file(RENAME ${work}/first ${work}/prefix)

run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${work}/build -G ${GENERATOR}
    -D CMAKE_PREFIX_PATH=${work}/prefix -D CMAKE_BUILD_TYPE=${BUILD_TYPE}
    -D CMAKE_CXX_COMPILER=${CXX} -D LLVM_DIR=${LLVM_DIR} -D MODEL=${MODEL} -D PROGRAM=${PROGRAM})
run(${CMAKE_COMMAND} --build ${work}/build)
run(${work}/build/app)
run(${work}/build/samplers)
run(${work}/build/model check)
run(${work}/prefix/bin/scry graph ${MODEL})
