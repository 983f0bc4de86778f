# cmake -DFLATC=... -DSCHEMA=... -DRELEASED=folder -DSCRATCH=folder -P conform.cmake
# Every released schema must be readable by the current one; and the check must be able to fail.
file(GLOB released ${RELEASED}/*.fbs)
if(NOT released)
  message(FATAL_ERROR "no released schema in ${RELEASED}")
endif()
foreach(old IN LISTS released)
  execute_process(COMMAND ${FLATC} --conform ${old} ${SCHEMA} RESULT_VARIABLE code
    OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "trace.fbs does not conform to ${old}:\n${text}")
  endif()
endforeach()

file(READ ${SCHEMA} schema)
string(REPLACE "table StreamCreate { id:uint; flags:uint;" "table StreamCreate { flags:ulong; id:uint;"
  broken "${schema}")
if(broken STREQUAL schema)
  message(FATAL_ERROR "the line that this test breaks is not in trace.fbs")
endif()
file(WRITE ${SCRATCH}/broken.fbs "${broken}")
list(GET released 0 old)
execute_process(COMMAND ${FLATC} --conform ${old} ${SCRATCH}/broken.fbs RESULT_VARIABLE code
  OUTPUT_QUIET ERROR_QUIET)
if(code EQUAL 0)
  message(FATAL_ERROR "flatc --conform accepts a reordered table")
endif()
