# cmake -D BIN=folder of programs -D FOLDER=to write in -P last_char_test.cmake
# The pool holds every particle of every sampler, so that no offset KL is negative.
cmake_minimum_required(VERSION 3.25)
file(MAKE_DIRECTORY ${FOLDER})
file(WRITE ${FOLDER}/test.tsv "K AW CH 0\tk aw ch 0\nK AW CH 1\tK AW CH 1\nB IY 1\tB IY 1\n")

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${ARGN}: exit code ${code}\n${out}")
  endif()
  set(out "${out}" PARENT_SCOPE)
endfunction()

foreach(seed 1 2)
  run(${BIN}/lesson_07_last_char init --seed ${seed} --overwrite -o ${FOLDER}/${seed}.safetensors)
endforeach()
set(program ${BIN}/reproduce_last_char --test ${FOLDER}/test.tsv)
run(${program} --theta ${FOLDER}/1.safetensors -M 8 "same=${FOLDER}/1.safetensors")
foreach(row "filter" "untrained" "same")
  if(NOT out MATCHES "\\| ${row} \\| [0-9.]+ ± [0-9.]+ \\| [0-9.]+ ± [0-9.]+ \\|")
    message(FATAL_ERROR "no row '${row}' with numbers of at least 0:\n${out}")
  endif()
endforeach()

# Samplers of different models cannot be compared.
execute_process(COMMAND ${program} --theta ${FOLDER}/1.safetensors other=${FOLDER}/2.safetensors
                RESULT_VARIABLE code ERROR_VARIABLE error OUTPUT_QUIET)
if(NOT code EQUAL 1 OR NOT error MATCHES "another model")
  message(FATAL_ERROR "exit code ${code}: ${error}")
endif()
