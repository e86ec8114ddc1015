# cmake -D CHECK=check_includes.cmake -P check_bad_tree.cmake
# The check must fail on the tree bad/ and name exactly the lines of bad/expected.txt.
cmake_minimum_required(VERSION 3.25)

set(tree ${CMAKE_CURRENT_LIST_DIR}/bad)
execute_process(COMMAND ${CMAKE_COMMAND} -D ROOT=${tree} -P ${CHECK}
                RESULT_VARIABLE result ERROR_VARIABLE output)
string(REGEX MATCHALL "[^\n]+:[0-9]+: includes [^\n]+" faults "${output}")
file(STRINGS ${tree}/expected.txt expected)

if(result EQUAL 0)
  message(FATAL_ERROR "the check accepts the bad tree")
elseif(NOT faults STREQUAL expected)
  message(FATAL_ERROR "expected:\n${expected}\nthe check says:\n${output}")
endif()
