find_path(GFXGRAPH_MPFR_INCLUDE mpfr.h REQUIRED)
find_library(GFXGRAPH_MPFR mpfr REQUIRED)
# What the tests of the vector ALU share, compiled once.
add_library(emulator_vector_model STATIC EXCLUDE_FROM_ALL vector/mode_spec.cpp vector/vector_model.cpp vector/vector_generate.cpp vector/vector_host.cpp
  vector/vector_tested.cpp vector/spec_float.cpp vector/spec_integer.cpp vector/spec_convert.cpp vector/spec_compare.cpp vector/spec_packed.cpp)
target_link_libraries(emulator_vector_model PRIVATE gfxgraph_options gfxgraph_fast_build
  PUBLIC gfxgraph::emulator gfxgraph::codeobj ${GFXGRAPH_MPFR})
# GCC 12 warns of overlaps inside std::string that cannot be.
target_compile_options(emulator_vector_model PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
gfxgraph_test(emulator_vector_test LABEL unit SOURCES vector/vector_random_test.cpp vector/vector_lane_test.cpp
  vector/vector_wave64_test.cpp row_host.cpp
  LIBS emulator_vector_model)
gfxgraph_test(emulator_float_mode_test LABEL unit SOURCES vector/float_mode_test.cpp LIBS emulator_vector_model)

llvm_map_components_to_libnames(decode_test_llvm AMDGPUDisassembler AMDGPUDesc AMDGPUInfo MC MCDisassembler Support
  TargetParser)
gfxgraph_test(emulator_decode_test LABEL unit SOURCES decode/decode_test.cpp decode/llvm_disassembler.cpp decode/op_info_test.cpp decode/random_words.cpp
  LIBS gfxgraph::emulator gfxgraph::codeobj ${decode_test_llvm})
target_include_directories(emulator_decode_test SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
target_compile_definitions(emulator_decode_test PRIVATE GFXGRAPH_KERNEL_DIR="${kernel_dir}"
  GFXGRAPH_LLVM_MAJOR=${LLVM_VERSION_MAJOR})
add_dependencies(emulator_decode_test emulator_test_kernels)

gfxgraph_test(emulator_transcendental_test LABEL unit SOURCES vector/transcendental_test.cpp LIBS emulator_vector_model)
target_compile_options(emulator_transcendental_test PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)

# The whole of LLVM: its combiner runs with the AMDGPU target's knowledge.
gfxgraph_test(emulator_llvm_folding_test LABEL unit SOURCES vector/llvm_folding_test.cpp vector/llvm_folding.cpp
  LIBS emulator_vector_model LLVM)
target_include_directories(emulator_llvm_folding_test SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
target_compile_options(emulator_llvm_folding_test PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
set_source_files_properties(vector/llvm_folding.cpp PROPERTIES COMPILE_OPTIONS -fno-rtti)

target_compile_options(emulator_vector_test PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
target_compile_options(emulator_float_mode_test PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
target_compile_options(emulator_decode_test PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)

# The checked-in tables are what the probe writes.
add_test(NAME emulator_table_test
  COMMAND ${CMAKE_COMMAND} -DPROBE=$<TARGET_FILE:gfxgraph-isa-probe> -DTABLE_DIR=${PROJECT_SOURCE_DIR}/emulator/table
          -DWORK_DIR=${CMAKE_CURRENT_BINARY_DIR} -DLLVM_MAJOR=${LLVM_VERSION_MAJOR} -P ${CMAKE_CURRENT_SOURCE_DIR}/decode/table_test.cmake)
set_tests_properties(emulator_table_test PROPERTIES LABELS unit SKIP_REGULAR_EXPRESSION "skipped: ")

# docs/isa-coverage.md is what the coverage program writes.
add_executable(gfxgraph-isa-coverage decode/coverage.cpp memory/memory_model.cpp scalar/scalar_model.cpp)
target_compile_options(gfxgraph-isa-coverage PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
target_link_libraries(gfxgraph-isa-coverage PRIVATE gfxgraph_options emulator_vector_model)
add_test(NAME emulator_coverage_test
  COMMAND ${CMAKE_COMMAND} -DCOVERAGE=$<TARGET_FILE:gfxgraph-isa-coverage> -DDOC=${PROJECT_SOURCE_DIR}/docs/isa-coverage.md
          -DWORK_DIR=${CMAKE_CURRENT_BINARY_DIR} -P ${CMAKE_CURRENT_SOURCE_DIR}/decode/coverage_test.cmake)
set_tests_properties(emulator_coverage_test PROPERTIES LABELS unit)
