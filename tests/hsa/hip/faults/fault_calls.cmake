# Runs PROGRAM, which must end with 1 (the agent's exit status after a fault) and print what stands in EXPECTED.
execute_process(COMMAND ${PROGRAM} OUTPUT_VARIABLE said ERROR_VARIABLE messages RESULT_VARIABLE status)
file(READ ${EXPECTED} expected)
if(NOT status EQUAL 1)
  message(FATAL_ERROR "exit status ${status}, not 1:\n${said}${messages}")
endif()
if(NOT said STREQUAL expected)
  message(FATAL_ERROR "other answers than in ${EXPECTED}:\n${said}")
endif()
