# scry_add_model(name file.cpp...): the program of a model file, with Scry's command line as its
# main. The file is compiled into the program itself: an archive would drop its registration.
function(scry_add_model name)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE scry::model)
endfunction()
