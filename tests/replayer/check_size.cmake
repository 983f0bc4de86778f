# cmake -DSTRIP=strip -DLIBRARY=libgfxgraph.so -DSTRIPPED=scratch file -DMOST=bytes -P check_size.cmake
execute_process(COMMAND ${STRIP} -o ${STRIPPED} ${LIBRARY} COMMAND_ERROR_IS_FATAL ANY)
file(SIZE ${STRIPPED} bytes)
message(STATUS "${LIBRARY}: ${bytes} bytes stripped, ${MOST} at most")
if(bytes GREATER MOST)
  message(FATAL_ERROR "libgfxgraph.so is too large: docs/performance.md says what keeps it small")
endif()
