# Compile options of gfxgraph's own targets, in one INTERFACE target: nothing is set directory-wide.
add_library(gfxgraph_options INTERFACE)
target_compile_options(gfxgraph_options INTERFACE
  -Wall -Wextra -Wconversion -Wno-sign-conversion -Wshadow -Wnon-virtual-dtor -Wno-psabi
  # The emulator's arithmetic must be what the tables say: no contraction, no fast math.
  -ffp-contract=off)
option(GFXGRAPH_WERROR "Treat warnings as errors" ON)
if(GFXGRAPH_WERROR)
  target_compile_options(gfxgraph_options INTERFACE -Werror)
endif()
if(GFXGRAPH_SANITIZE)
  target_compile_options(gfxgraph_options INTERFACE
    -fsanitize=${GFXGRAPH_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(gfxgraph_options INTERFACE -fsanitize=${GFXGRAPH_SANITIZE})
endif()
target_include_directories(gfxgraph_options INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)

# gfxgraph_module(NAME sources...): the static library of one folder, gfxgraph::NAME.
function(gfxgraph_module name)
  add_library(gfxgraph_${name} STATIC ${ARGN})
  add_library(gfxgraph::${name} ALIAS gfxgraph_${name})
  target_link_libraries(gfxgraph_${name} PRIVATE gfxgraph_options)
  target_include_directories(gfxgraph_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
endfunction()

# gfxgraph_test(NAME LABEL label SOURCES ... LIBS ...): one GoogleTest program.
function(gfxgraph_test name)
  cmake_parse_arguments(ARG "" "LABEL" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  target_link_libraries(${name} PRIVATE gfxgraph_options ${ARG_LIBS} GTest::gmock GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE
    GFXGRAPH_SOURCE_DIR="${PROJECT_SOURCE_DIR}" GFXGRAPH_BINARY_DIR="${PROJECT_BINARY_DIR}")
  # One ctest entry per program: a process per case would cost more than the cases.
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABEL}" TIMEOUT 600)
endfunction()
