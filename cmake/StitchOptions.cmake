# Compile options shared by every target, and the function that makes one library of one folder.

find_program(STITCH_CCACHE ccache)
mark_as_advanced(STITCH_CCACHE)
if(STITCH_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER "${STITCH_CCACHE}")
  set(CMAKE_CXX_COMPILER_LAUNCHER "${STITCH_CCACHE}")
endif()

add_library(stitch_options INTERFACE)
target_compile_features(stitch_options INTERFACE cxx_std_20)
target_compile_options(stitch_options INTERFACE -Wall -Wextra -Wshadow -Wconversion)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # Reports any `"literal" + std::string` once it is inlined: GCC bug 105651, mended in 13.
  target_compile_options(stitch_options INTERFACE -Wno-restrict)
endif()
if(STITCH_WARNINGS_AS_ERRORS)
  target_compile_options(stitch_options INTERFACE -Werror)
endif()
if(STITCH_SANITIZERS)
  target_compile_options(stitch_options INTERFACE
      -fsanitize=${STITCH_SANITIZERS} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(stitch_options INTERFACE -fsanitize=${STITCH_SANITIZERS})
endif()
target_include_directories(stitch_options INTERFACE "${PROJECT_SOURCE_DIR}/src")

# stitch_add_library(<folder> SOURCES a.cpp ... LINK other libraries)
function(stitch_add_library folder)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_library(stitch_${folder} STATIC ${ARG_SOURCES})
  target_link_libraries(stitch_${folder} PUBLIC stitch_options ${ARG_LINK})
endfunction()
