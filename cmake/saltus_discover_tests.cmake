# Writes the tests of a GoogleTest program for ctest, one for each suite of cases:
#   cmake -DPROGRAM=FILE -DPREFIX=layer. -DOUT=FILE.cmake "-DPROPERTIES=TIMEOUT 300 …" -P saltus_discover_tests.cmake
# A process for each case would be two thousand, most of which take longer to start than to run. A failure names its
# case.
cmake_minimum_required(VERSION 3.25)

execute_process(COMMAND ${PROGRAM} --gtest_list_tests OUTPUT_VARIABLE _list RESULT_VARIABLE _code TIMEOUT 60)
if(NOT _code EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} --gtest_list_tests failed (${_code})")
endif()
string(REGEX MATCHALL "(^|\n)[^ \n][^\n]*\\.( *#[^\n]*)?\n  " _lines "\n${_list}")  # a suite that has cases
# The include file is read when ctest starts: rapidcheck draws a hundred cases at effort 1.
set(_text "set(_saltus_random seed=1)
if(\"\$ENV{SALTUS_TEST_EFFORT}\" GREATER 1)
  set(_saltus_random \"seed=1 max_success=\$ENV{SALTUS_TEST_EFFORT}00\")
endif()
")
foreach(_line IN LISTS _lines)
  string(REGEX REPLACE "^\n*([^ \n]+)\\.( *#[^\n]*)?\n  $" "\\1" _suite "${_line}")
  string(APPEND _text "add_test([==[${PREFIX}${_suite}]==] [==[${PROGRAM}]==] [==[--gtest_filter=${_suite}.*]==])\n"
                      "set_tests_properties([==[${PREFIX}${_suite}]==] PROPERTIES ${PROPERTIES} "
                      "ENVIRONMENT \"RC_PARAMS=\${_saltus_random}\")\n")
endforeach()
if(NOT _lines)
  message(FATAL_ERROR "${PROGRAM} has no tests")
endif()
file(WRITE ${OUT} "${_text}")
