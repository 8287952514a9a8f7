# The libraries that a page needs, for emscripten: headers of this machine, which are the same for all processors, and
# KLU from its sources, which SALTUS_SUITESPARSE_DIR names (SuiteSparse 7 or newer). scripts/make_browser.sh calls this.
set(SALTUS_SUITESPARSE_DIR "" CACHE PATH "The sources of SuiteSparse")
if(NOT EXISTS ${SALTUS_SUITESPARSE_DIR}/KLU/Source/klu_z_factor.c)
  message(FATAL_ERROR "-DSALTUS_SUITESPARSE_DIR=FOLDER must name the sources of SuiteSparse 7 or newer; "
                      "scripts/make_browser.sh fetches them")
endif()

# One folder with these headers alone: beside them lie those of this machine's C library.
set(_headers ${PROJECT_BINARY_DIR}/headers)
file(MAKE_DIRECTORY ${_headers})
set(_places PATHS /usr/include /usr/local/include NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH NO_CACHE REQUIRED)
foreach(_header fmt/format.h CLI/CLI.hpp nlohmann/json.hpp)
  find_path(_found ${_header} ${_places})
  get_filename_component(_name ${_header} DIRECTORY)
  file(CREATE_LINK ${_found}/${_name} ${_headers}/${_name} SYMBOLIC)
  unset(_found)
endforeach()
find_path(_eigen Eigen/Core PATH_SUFFIXES eigen3 ${_places})
foreach(_target fmt::fmt CLI11::CLI11 nlohmann_json::nlohmann_json Eigen3::Eigen)
  add_library(${_target} INTERFACE IMPORTED)
  target_include_directories(${_target} SYSTEM INTERFACE ${_headers})
endforeach()
target_include_directories(Eigen3::Eigen SYSTEM INTERFACE ${_eigen})
target_compile_definitions(fmt::fmt INTERFACE FMT_HEADER_ONLY=1)

set(_from ${SALTUS_SUITESPARSE_DIR})
file(GLOB _sources ${_from}/KLU/Source/klu*.c ${_from}/BTF/Source/btf_*.c ${_from}/AMD/Source/amd_*.c
     ${_from}/COLAMD/Source/colamd*.c ${_from}/SuiteSparse_config/SuiteSparse_config.c)
list(FILTER _sources EXCLUDE REGEX "/(klu_z?l|btf_l|amd_l|colamd_l)[^/]*$")  # those with 64-bit integers
add_library(saltus_klu STATIC ${_sources})
target_include_directories(saltus_klu PUBLIC ${_from}/KLU/Include ${_from}/BTF/Include ${_from}/AMD/Include
                                             ${_from}/COLAMD/Include ${_from}/SuiteSparse_config)
target_compile_definitions(saltus_klu PRIVATE NTIMER NPRINT)
target_compile_options(saltus_klu PRIVATE -w)
add_library(KLU::KLU ALIAS saltus_klu)
