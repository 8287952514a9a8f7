# cmake -DCOMPILER=... -DFILE=... -DREGEX=... -DINCLUDE=... -P check.cmake: one must-not-compile test (see CMakeLists.txt).
set(_command ${COMPILER} -std=c++20 -fsyntax-only -I${INCLUDE})

# First without the wrong lines: a test that fails for a missing header or a renamed type would prove nothing.
execute_process(COMMAND ${_command} ${FILE} RESULT_VARIABLE _code OUTPUT_VARIABLE _text ERROR_VARIABLE _text)
if(NOT _code EQUAL 0)
  message(FATAL_ERROR "${FILE} does not compile even without its MUST_NOT_COMPILE lines:\n${_text}")
endif()

execute_process(COMMAND ${_command} -DMUST_NOT_COMPILE ${FILE} RESULT_VARIABLE _code OUTPUT_VARIABLE _text ERROR_VARIABLE _text)
if(_code EQUAL 0)
  message(FATAL_ERROR "${FILE} compiles, but must not")
endif()
if(NOT _text MATCHES "${REGEX}")
  message(FATAL_ERROR "${FILE} is refused, but the message does not match '${REGEX}':\n${_text}")
endif()
