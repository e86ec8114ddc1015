# share/scry/build.conf tells the scry command how to build a model file on the fly:
#   compiler flags -Iinclude... model.cpp libs -o program
# Lists are separated by ";". In the installed file, @PREFIX@ stands for the prefix.

string(TOUPPER "${CMAKE_BUILD_TYPE}" build_type)
separate_arguments(flags UNIX_COMMAND "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${build_type}}")
list(APPEND flags -std=c++20 ${sanitize})

foreach(package fmt::fmt Eigen3::Eigen)
  get_target_property(folders ${package} INTERFACE_INCLUDE_DIRECTORIES)
  list(APPEND package_include ${folders})
endforeach()
list(REMOVE_ITEM package_include ${CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES})

separate_arguments(external_libs UNIX_COMMAND "${CMAKE_EXE_LINKER_FLAGS}")
list(APPEND external_libs $<TARGET_FILE:LLVM> -Wl,-rpath,$<TARGET_FILE_DIR:LLVM>
     $<TARGET_FILE:fmt::fmt> ${CMAKE_THREAD_LIBS_INIT})

function(write_conf file include lib_folder)
  foreach(lib main cli runtime compiler dsl base)  # an archive stands before those that it uses
    list(APPEND libs ${lib_folder}/$<TARGET_FILE_NAME:scry_${lib}>)
  endforeach()
  list(APPEND include ${package_include})
  list(APPEND libs ${external_libs})
  file(GENERATE OUTPUT ${file} CONTENT "\
# How the scry command builds a model file; written by CMake. Lists are separated by ';'.
compiler = ${CMAKE_CXX_COMPILER}
flags = ${flags}
include = ${include}
libs = ${libs}
")
endfunction()

write_conf(${PROJECT_BINARY_DIR}/share/scry/build.conf
           "${PROJECT_SOURCE_DIR};${generated}/public" ${CMAKE_ARCHIVE_OUTPUT_DIRECTORY})
write_conf(${generated}/installed/build.conf
           "@PREFIX@/${CMAKE_INSTALL_INCLUDEDIR}/scry" "@PREFIX@/${CMAKE_INSTALL_LIBDIR}")
install(FILES ${generated}/installed/build.conf DESTINATION share/scry)
