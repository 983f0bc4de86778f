# CMake's default for a release, -O3, gains nothing over -O2 but in the loops that ask for it (gfxgraph_isa_level).
string(REPLACE "-O3" "-O2" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")

# Compile options of gfxgraph's own targets, in one INTERFACE target: all else is set for each target.
add_library(gfxgraph_options INTERFACE)
target_compile_options(gfxgraph_options INTERFACE
  -Wall -Wextra -Wconversion -Wno-sign-conversion -Wshadow -Wnon-virtual-dtor -Wno-psabi
  # The emulator's arithmetic must be what the tables say: no contraction, no fast math.
  -ffp-contract=off)
# Sources of a target are compiled in batches (presets release, package, asan, tsan): a batch parses its headers and
# instantiates their templates once. CMake includes sources by absolute paths, which must not get into __FILE__.
set(CMAKE_UNITY_BUILD_BATCH_SIZE 20)
target_compile_options(gfxgraph_options INTERFACE -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=)
if(CMAKE_UNITY_BUILD)
  # g++ takes the joined sources for headers. clang sees names of one source shadowed in another.
  target_compile_options(gfxgraph_options INTERFACE
    $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage> $<$<CXX_COMPILER_ID:Clang>:-Wno-shadow>)
endif()
# Of Debian 12's compilers (presets): newer ones have other warnings.
option(GFXGRAPH_WERROR "Treat warnings as errors" OFF)
if(GFXGRAPH_WERROR)
  target_compile_options(gfxgraph_options INTERFACE -Werror)
endif()
# clang reports the temporary buffer inside libstdc++'s std::stable_sort.
target_compile_options(gfxgraph_options INTERFACE $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>)
if(GFXGRAPH_SANITIZE OR CMAKE_BUILD_TYPE STREQUAL "Debug")
  target_compile_definitions(gfxgraph_options INTERFACE GFXGRAPH_CHECK_LOCKS)  # recorder/lock_order.h
endif()
if(GFXGRAPH_SANITIZE)
  target_compile_options(gfxgraph_options INTERFACE
    -fsanitize=${GFXGRAPH_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all
    # HIP passes numbers of newer headers in the HSA headers' C enums.
    -fno-sanitize=enum
    # HSA calls that are refused are defined without their arguments.
    $<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=function>)
  target_link_options(gfxgraph_options INTERFACE -fsanitize=${GFXGRAPH_SANITIZE})
endif()
if(GFXGRAPH_FUZZ)  # the engine must see which code of the libraries an input reaches
  target_compile_options(gfxgraph_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
target_include_directories(gfxgraph_options INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)

# What is not hot itself, only calls what is: tests, benchmarks' harnesses and command lines. Half the
# time of compiling them is optimising them.
add_library(gfxgraph_fast_build INTERFACE)
target_compile_options(gfxgraph_fast_build INTERFACE $<$<NOT:$<CONFIG:Debug>>:-O1>)

# gfxgraph_module(NAME sources...): the static library of one folder, gfxgraph::NAME.
function(gfxgraph_module name)
  add_library(gfxgraph_${name} STATIC ${ARGN})
  add_library(gfxgraph::${name} ALIAS gfxgraph_${name})
  target_link_libraries(gfxgraph_${name} PRIVATE gfxgraph_options)
  if(GFXGRAPH_SANITIZE)  # tests run the product's code far longer than it takes to compile
    target_compile_options(gfxgraph_${name} PRIVATE -O1)
  endif()
  target_include_directories(gfxgraph_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
endfunction()

# gfxgraph_test(NAME [THREADS] LABEL label SOURCES ... LIBS ...): one GoogleTest program. THREADS:
# it is worth running under the thread sanitizer.
function(gfxgraph_test name)
  cmake_parse_arguments(ARG "THREADS" "LABEL" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  # It replaces operator new for the whole program, in a namespace named like GoogleTest's.
  set_source_files_properties(../support/allocations.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  target_link_libraries(${name} PRIVATE gfxgraph_options gfxgraph_fast_build ${ARG_LIBS} GTest::gmock GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE
    GFXGRAPH_SOURCE_DIR="${PROJECT_SOURCE_DIR}" GFXGRAPH_BINARY_DIR="${PROJECT_BINARY_DIR}")
  # One ctest entry per program: a process per case would cost more than the cases.
  add_test(NAME ${name} COMMAND ${name})
  set(labels ${ARG_LABEL})
  if(ARG_THREADS)
    list(APPEND labels threads)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${labels}" TIMEOUT 600)
  foreach(label IN LISTS labels)
    gfxgraph_test_group(${label})
    add_dependencies(gfxgraph_${label}_tests ${name})
  endforeach()
endfunction()

# The target gfxgraph_<label>_tests: all test programs with that label. scripts/check builds the
# groups unit, fuzz-regression and threads under the sanitizers.
function(gfxgraph_test_group label)
  if(NOT TARGET gfxgraph_${label}_tests)
    add_custom_target(gfxgraph_${label}_tests)
  endif()
endfunction()
