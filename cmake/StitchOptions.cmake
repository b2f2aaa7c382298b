# Compile options shared by every target, and the function that makes one library of one folder.

add_library(stitch_options INTERFACE)
target_compile_features(stitch_options INTERFACE cxx_std_20)
target_compile_options(stitch_options INTERFACE -Wall -Wextra -Wshadow -Wconversion)
if(STITCH_WARNINGS_AS_ERRORS)
  target_compile_options(stitch_options INTERFACE -Werror)
endif()
target_include_directories(stitch_options INTERFACE "${PROJECT_SOURCE_DIR}/src")

# stitch_add_library(<folder> SOURCES a.cpp ... LINK other libraries)
function(stitch_add_library folder)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_library(stitch_${folder} STATIC ${ARG_SOURCES})
  target_link_libraries(stitch_${folder} PUBLIC stitch_options ${ARG_LINK})
endfunction()
