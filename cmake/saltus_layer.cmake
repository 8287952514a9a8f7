# saltus_layer(NAME [SHORT_LOOPS] [SELDOM_RUN] SOURCES a.cpp ... USES layer ... PRIVATE lib ... PRECOMPILE header ...)
#
# Defines the static library saltus_NAME (alias saltus::NAME) of one layer. USES names the lower layers whose public headers
# it may include; PRIVATE names third-party libraries that only its sources see. SHORT_LOOPS: over two or three guards or
# variables, as a rule, which are not worth the code that vectors need. SELDOM_RUN: before or after a simulation, so that
# what its optimisation costs, in a build, is worth more than what it gains. PRECOMPILE names the headers that most of its
# sources include. With SALTUS_UNITY they are read once, and sources are compiled two dozen at a time: names in the unnamed
# namespaces of a layer must differ.
define_property(GLOBAL PROPERTY SALTUS_LAYERS BRIEF_DOCS "layer targets" FULL_DOCS "All layer targets in order")

# (GCC 12 warns about the concatenation of strings in optimised builds, for no reason: its bug 105651)
function(saltus_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wno-missing-field-initializers
                                           $<$<AND:$<CONFIG:Release>,$<CXX_COMPILER_ID:GNU>>:-Wno-restrict> -ffp-contract=off $<$<BOOL:${SALTUS_WERROR}>:-Werror>)
endfunction()

function(saltus_layer name)
  cmake_parse_arguments(ARG "SHORT_LOOPS;SELDOM_RUN" "" "SOURCES;USES;PRIVATE;PRECOMPILE" ${ARGN})
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
      target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O2> -fno-tree-vectorize)
    endif()
    if(ARG_SELDOM_RUN)
      target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
    endif()
    if(SALTUS_UNITY)
      set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 24)
      target_compile_options(${target} PRIVATE -Wno-shadow)  # by names of another file
      if(ARG_PRECOMPILE)
        target_precompile_headers(${target} PRIVATE ${ARG_PRECOMPILE})
      endif()
    endif()
    add_library(saltus::${name} ALIAS ${target})
    set_property(GLOBAL APPEND PROPERTY SALTUS_LAYERS ${target})
    set(SALTUS_LAYER_TARGETS ${SALTUS_LAYER_TARGETS} ${target} PARENT_SCOPE)
  endif()
endfunction()
