# cmake -DPROGRAM= [-DARGUMENTS="a b"] [-DRECORD_OPTIONS=] -DBIN= -DTRACE= -P: records a program on the software agent,
# replays it in every mode at both layouts, and executes its kernels in the check.
separate_arguments(ARGUMENTS)
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    string(REPLACE ";" " " command "${ARGN}")
    message(FATAL_ERROR "${command}\nended with ${result}\n${output}")
  endif()
endfunction()

run(${BIN}/gfxgraph-record --device emulated ${RECORD_OPTIONS} --force -o ${TRACE} -- ${PROGRAM} ${ARGUMENTS})
set(modes eager batch graph packets auto)
if(TRACE MATCHES "cooperative")  # needs a queue that only HIP has
  list(REMOVE_ITEM modes packets)
  execute_process(COMMAND ${BIN}/gfxgraph-replay ${TRACE} --device emulated --mode packets
                  RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(result EQUAL 0 OR NOT output MATCHES "mode packets: .*cooperative launch")
    message(FATAL_ERROR "mode packets was not refused: ${result}\n${output}")
  endif()
endif()
if(TRACE MATCHES "images_|device_arrays_")  # copies from and to arrays
  list(REMOVE_ITEM modes packets)
  execute_process(COMMAND ${BIN}/gfxgraph-replay ${TRACE} --device emulated --mode packets
                  RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(result EQUAL 0 OR NOT output MATCHES "mode packets: .*a copy from or to an array")
    message(FATAL_ERROR "mode packets was not refused: ${result}\n${output}")
  endif()
endif()
foreach(mode IN LISTS modes)
  foreach(layout same shift)
    set(options)
    if(mode STREQUAL auto)  # enough for ten runs in each mode of a program that takes 25 ms
      set(options --auto-seconds 1)
    endif()
    run(${BIN}/gfxgraph-replay ${TRACE} --device emulated --mode ${mode} --layout ${layout} --verify ${options})
  endforeach()
endforeach()
# Split and chained graphs are other graphs of the same program.
run(${BIN}/gfxgraph-replay ${TRACE} --device emulated --mode graph --graph-max-nodes 3 --verify)
run(${BIN}/gfxgraph-replay ${TRACE} --device emulated --mode graph --graph-linear --verify)
if(TRACE MATCHES "bytes_refused")  # calls that the runtime refuses
  run(${BIN}/gfxgraph check ${TRACE} --tool memcheck,synccheck)
  execute_process(COMMAND ${BIN}/gfxgraph check ${TRACE}
                  RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 4 OR NOT output MATCHES "A4: hipLaunchKernel: .*hipErrorInvalidDeviceFunction")
    message(FATAL_ERROR "the calls that failed are not named: ${result}\n${output}")
  endif()
else()
  run(${BIN}/gfxgraph check ${TRACE})
endif()
# Handles are pointers to their descriptors, which kernels load.
if(TRACE MATCHES "images_")
  execute_process(COMMAND ${BIN}/gfxgraph provenance ${TRACE}
                  RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0 OR NOT output MATCHES "[1-9][0-9]* proven, 0 data, 0 never read, 0 unclear")
    message(FATAL_ERROR "not every handle is proven: ${result}\n${output}")
  endif()
endif()
