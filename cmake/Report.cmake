# The page of reports, with the library that draws it, becomes a source of scry_cli. D3 is Debian's
# node-d3, or a d3.min.js of version 5 to 7 that SCRY_D3 names; its licence goes into every page.
find_file(SCRY_D3 d3.min.js PATHS /usr/share/nodejs/d3/dist NO_DEFAULT_PATH
          DOC "D3, which draws reports, as one file")
if(NOT SCRY_D3)
  message(FATAL_ERROR "D3, which draws reports, is missing: scripts/install-deps installs it (node-d3), or give -D SCRY_D3=.../d3.min.js")
endif()
cmake_path(GET SCRY_D3 PARENT_PATH d3_folder)
find_file(SCRY_D3_LICENSE NAMES LICENSE copyright PATHS ${d3_folder} ${d3_folder}/.. /usr/share/doc/node-d3
          NO_DEFAULT_PATH DOC "The licence of D3")
if(NOT SCRY_D3_LICENSE)
  message(FATAL_ERROR "the licence of ${SCRY_D3} is missing: give -D SCRY_D3_LICENSE=FILE")
endif()

set(report_scripts dom.js chart.js eval.js calibration.js training.js lanes.js forest.js main.js)
list(TRANSFORM report_scripts PREPEND tools/report/ OUTPUT_VARIABLE report_inputs)
list(JOIN report_scripts "," report_scripts)
add_custom_command(
  OUTPUT ${generated}/report_page.cpp
  COMMAND ${CMAKE_COMMAND} -D FOLDER=${PROJECT_SOURCE_DIR}/tools/report -D SCRIPTS=${report_scripts}
          -D LIBRARY=${SCRY_D3} -D LICENCE=${SCRY_D3_LICENSE} -D OUT=${generated}/report_page.cpp
          -P ${PROJECT_SOURCE_DIR}/cmake/EmbedReport.cmake
  DEPENDS ${report_inputs} tools/report/page.html tools/report/style.css ${SCRY_D3} ${SCRY_D3_LICENSE}
          cmake/EmbedReport.cmake
  COMMENT "Putting the page of reports together"
  VERBATIM)
target_sources(scry_cli PRIVATE ${generated}/report_page.cpp)
