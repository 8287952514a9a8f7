# Writes the fixed parts of the HTML report into a C++ source, as a script:
#   cmake -DOUT=assets.cpp -DPAGE=page.html -DSTYLE=a.css -DSCRIPTS="a.js|b.js" -P saltus_embed_html.cmake
# Scripts are joined in the order given, in one function of their own. What must not stand inside of an element is
# refused.
cmake_minimum_required(VERSION 3.25)

file(READ ${PAGE} _page)
file(READ ${STYLE} _style)
set(_script "\"use strict\";\n(() => {\n")
string(REPLACE "|" ";" _files "${SCRIPTS}")
foreach(_file IN LISTS _files)
  file(READ ${_file} _text)
  string(APPEND _script "${_text}")
endforeach()
string(APPEND _script "})();\n")
foreach(_part _script _style)
  if("${${_part}}" MATCHES "</(script|style)")
    message(FATAL_ERROR "'</${CMAKE_MATCH_1}' must not stand in a script or style of the report")
  endif()
endforeach()
foreach(_part _page _script _style)
  if("${${_part}}" MATCHES "\\)saltus\"")
    message(FATAL_ERROR "')saltus\"' must not stand in the report")
  endif()
endforeach()
string(SHA256 _style_hash "${_style}")
string(SHA256 _script_hash "${_script}")
file(WRITE ${OUT} "// Made by cmake/saltus_embed_html.cmake from src/io/html.
#include \"io/html_assets.hpp\"

namespace saltus::html_assets {

const std::string_view page = R\"saltus(${_page})saltus\";
const std::string_view style = R\"saltus(${_style})saltus\";
const std::string_view script = R\"saltus(${_script})saltus\";
const std::string_view style_hash = \"${_style_hash}\";
const std::string_view script_hash = \"${_script_hash}\";

}  // namespace saltus::html_assets
")
