# Writes the manual page and the shell completions of the program, from what it says itself:
#   cmake -DPROGRAM=FILE -DOUT=FOLDER -DDATE=2026-01-31 "-DSUMMARY=text" -P saltus_man.cmake
cmake_minimum_required(VERSION 3.25)

function(ask variable)
  execute_process(COMMAND ${PROGRAM} ${ARGN} OUTPUT_VARIABLE text RESULT_VARIABLE code)
  if(NOT code EQUAL 0)
    list(JOIN ARGN " " arguments)
    message(FATAL_ERROR "${PROGRAM} ${arguments} failed (${code})")
  endif()
  set(${variable} "${text}" PARENT_SCOPE)
endfunction()

# A text as troff shows it: no line is a command, backslashes and hyphens are what they are.
function(troff variable text)
  string(REPLACE "\\" "\\e" text "${text}")
  string(REPLACE "-" "\\-" text "${text}")
  string(REGEX REPLACE "(^|\n)([.'])" "\\1\\\\&\\2" text "${text}")
  set(${variable} "${text}" PARENT_SCOPE)
endfunction()

ask(version --version)
string(REGEX MATCH "[0-9]+[.][0-9]+[.][0-9]+" version "${version}")
ask(help --help)
string(REGEX REPLACE ".*\nSubcommands:\n" "" commands "${help}")
string(REGEX MATCHALL "(^|\n)  [a-z]+" commands "${commands}")
if(NOT commands)
  message(FATAL_ERROR "the help of ${PROGRAM} lists no commands")
endif()
troff(summary "${SUMMARY}")
troff(body "${help}")
set(page ".TH SALTUS 1 \"${DATE}\" \"saltus ${version}\" \"User Commands\"
.SH NAME
saltus \\- ${summary}
.SH SYNOPSIS
.B saltus
.I COMMAND
.RI [ OPTIONS ]
.SH DESCRIPTION
.nf
${body}
.fi
.SH COMMANDS
")
foreach(command IN LISTS commands)
  string(REGEX MATCH "[a-z]+" command "${command}")
  ask(help ${command} --help)
  troff(body "${help}")
  string(APPEND page ".SS saltus ${command}\n.nf\n${body}\n.fi\n")
endforeach()
string(APPEND page ".SH EXIT STATUS
0: success. 1: a run ended before its stop time or two results differ. 2: the command line or the model is wrong.
130: interrupted; what was stored stays.
")
file(WRITE ${OUT}/saltus.1 "${page}")
foreach(shell bash zsh fish)
  ask(text completion ${shell})
  file(WRITE ${OUT}/saltus.${shell} "${text}")
endforeach()
