# cmake -DPROGRAM=... -DARGUMENTS=... -P: the program ends with 0 and prints the same with every
# number of threads that execute workgroups.
foreach(threads 1 2 5)
  set(ENV{GFXGRAPH_THREADS} ${threads})
  execute_process(COMMAND ${PROGRAM} ${ARGUMENTS} OUTPUT_VARIABLE output RESULT_VARIABLE status)
  message("${threads} threads:\n${output}")
  if(NOT status STREQUAL "0")
    message(FATAL_ERROR "${PROGRAM} ended with ${status} at ${threads} threads")
  endif()
  if(DEFINED expected AND NOT output STREQUAL expected)
    message(FATAL_ERROR "${PROGRAM} printed something else at ${threads} threads")
  endif()
  set(expected "${output}")
endforeach()
