# saltus_layer(NAME [SHORT_LOOPS] SOURCES a.cpp ... USES layer ... PRIVATE lib ... IN_EVENTS a.cpp ... ALONE a.cpp ...
#              PRECOMPILE header ...)
#
# Defines the static library saltus_NAME (alias saltus::NAME) of one layer. USES names the lower layers whose public headers
# it may include; PRIVATE names third-party libraries that only its sources see. SHORT_LOOPS: over two or three guards or
# variables, as a rule, which are not worth the code that vectors need. IN_EVENTS names the sources that every event runs
# through, from one to the next: with SALTUS_LTO they are optimised as a whole. ALONE names sources that use the same names
# in their unnamed namespaces as others (ALL: most do): with SALTUS_UNITY they are compiled one by one. PRECOMPILE names
# the headers that most of its sources include: with SALTUS_UNITY they are read once.
define_property(GLOBAL PROPERTY SALTUS_LAYERS BRIEF_DOCS "layer targets" FULL_DOCS "All layer targets in order")

# (GCC 12 warns about the concatenation of strings in optimised builds, for no reason: its bug 105651)
function(saltus_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wno-missing-field-initializers
                                           $<$<AND:$<CONFIG:Release>,$<CXX_COMPILER_ID:GNU>>:-Wno-restrict> -ffp-contract=off $<$<BOOL:${SALTUS_WERROR}>:-Werror>)
endfunction()

function(saltus_layer name)
  cmake_parse_arguments(ARG "SHORT_LOOPS" "" "SOURCES;USES;PRIVATE;IN_EVENTS;ALONE;PRECOMPILE" ${ARGN})
  set(target saltus_${name})
  if(ARG_SOURCES)
    add_library(${target} STATIC ${ARG_SOURCES})
    target_compile_features(${target} PUBLIC cxx_std_20)
    target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                                $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
                                         PRIVATE ${PROJECT_SOURCE_DIR}/src)
    saltus_warnings(${target})
    foreach(layer IN LISTS ARG_USES)
      target_link_libraries(${target} PUBLIC saltus_${layer})
    endforeach()
    target_link_libraries(${target} PRIVATE ${ARG_PRIVATE})
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON EXPORT_NAME ${name})
    # As a folder of a project without a build type the library would be compiled without optimisation, ten times slower.
    if(NOT PROJECT_IS_TOP_LEVEL)
      target_compile_options(${target} PRIVATE $<$<CONFIG:>:-O2>)
    endif()
    if(ARG_SHORT_LOOPS)
      target_compile_options(${target} PRIVATE -fno-tree-vectorize)
    endif()
    if(SALTUS_UNITY AND NOT ARG_ALONE STREQUAL "ALL")
      set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
      set_property(SOURCE ${ARG_ALONE} PROPERTY SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
    if(SALTUS_UNITY AND ARG_PRECOMPILE)
      target_precompile_headers(${target} PRIVATE ${ARG_PRECOMPILE})
    endif()
    if(SALTUS_LTO AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      set_property(SOURCE ${ARG_IN_EVENTS} APPEND PROPERTY COMPILE_OPTIONS "-flto=auto;-ffat-lto-objects")
    endif()
    add_library(saltus::${name} ALIAS ${target})
    set_property(GLOBAL APPEND PROPERTY SALTUS_LAYERS ${target})
    set(SALTUS_LAYER_TARGETS ${SALTUS_LAYER_TARGETS} ${target} PARENT_SCOPE)
  endif()
endfunction()
