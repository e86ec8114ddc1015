# cmake -D FOLDER=tools/report -D SCRIPTS=a.js,b.js -D LIBRARY=d3.min.js -D LICENCE=file -D OUT=x.cpp -P EmbedReport.cmake
# Puts the page of reports together, all but its title and its data, and writes it as a C++ constant.
cmake_minimum_required(VERSION 3.25)

function(read_text out file)
  file(READ "${file}" text)
  string(STRIP "${text}" text)
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

read_text(page "${FOLDER}/page.html")
read_text(style "${FOLDER}/style.css")
read_text(library "${LIBRARY}")
read_text(licence "${LICENCE}")
string(REPLACE "," ";" names "${SCRIPTS}")
set(script "(() => {\n'use strict';\n")
foreach(name IN LISTS names)
  read_text(part "${FOLDER}/${name}")
  string(APPEND script "${part}\n\n")
endforeach()
string(APPEND script "})();")

foreach(text library script)
  string(TOLOWER "${${text}}" lower)
  foreach(bad "</script" "<!--")
    string(FIND "${lower}" "${bad}" place)
    if(NOT place EQUAL -1)
      message(FATAL_ERROR "the ${text} of reports has '${bad}' in it, which would end it within a page")
    endif()
  endforeach()
endforeach()
string(REPLACE "&" "&amp;" licence "${licence}")
string(REPLACE "<" "&lt;" licence "${licence}")

string(REPLACE "@STYLE@" "${style}" page "${page}")
string(REPLACE "@LICENCE@" "${licence}" page "${page}")
string(REPLACE "@SCRIPT@" "${script}" page "${page}")
string(REPLACE "@LIBRARY@" "${library}" page "${page}")

# One raw literal: neither g++ nor clang limits its length.
file(WRITE "${OUT}" "// Written by cmake/EmbedReport.cmake.
#include \"tools/cli/report.h\"

namespace scry::cli {

std::string_view report_page() { return R\"report_page(${page})report_page\"; }

}  // namespace scry::cli
")
