# Writes headers into a source, as texts:
#   cmake -DOUT=FILE.cpp -DROOT=src "-DHEADERS=a.hpp|b.hpp" -P saltus_embed_headers.cmake
string(REPLACE "|" ";" HEADERS "${HEADERS}")
set(text "#include \"study/device_source.hpp\"\n\nnamespace saltus {\n\n")
string(APPEND text "std::vector<std::pair<std::string, std::string>> device_headers() {\n  return {\n")
foreach(header IN LISTS HEADERS)
  file(READ ${ROOT}/${header} content)
  string(APPEND text "{\"${header}\", R\"header(${content})header\"},\n")
endforeach()
string(APPEND text "  };\n}\n\n}  // namespace saltus\n")
file(WRITE ${OUT} "${text}")
