# Tests: one Catch2 executable per folder, registered with CTest under a label.

find_package(Catch2 2.13 REQUIRED)
set(STITCH_SHARED_DIR "${PROJECT_SOURCE_DIR}/../shared" CACHE PATH
    "Folder with the corpus of models; tests that need it skip when it is absent")

# main(), and what the tests share.
add_library(stitch_test_main STATIC
    "${PROJECT_SOURCE_DIR}/tests/support/main.cpp"
    "${PROJECT_SOURCE_DIR}/tests/support/matches_tensor.cpp")
target_link_libraries(stitch_test_main PUBLIC stitch_graph Catch2::Catch2)
target_include_directories(stitch_test_main PUBLIC "${PROJECT_SOURCE_DIR}/tests")
target_compile_definitions(stitch_test_main PUBLIC
    STITCH_SHARED_DIR="${STITCH_SHARED_DIR}"
    STITCH_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
    STITCH_BINARY_DIR="${PROJECT_BINARY_DIR}")

# stitch_add_test(<name> LABEL <label> SOURCES a_test.cpp ... LINK libraries)
# Exit code 77 means skipped (what the test needs is not on this machine).
function(stitch_add_test name)
  cmake_parse_arguments(ARG "" "LABEL" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE stitch_test_main ${ARG_LINK})
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABEL}" SKIP_RETURN_CODE 77)
endfunction()
