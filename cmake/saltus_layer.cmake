# saltus_layer(NAME [SHORT_LOOPS] [SELDOM_RUN] [UNIT n] SOURCES a.cpp ... [FAST b.cpp ...] USES layer ...
#              PRIVATE lib ... PRECOMPILE header ...)
#
# Defines the static library saltus_NAME (alias saltus::NAME) of one layer. USES names the lower layers whose public headers
# it may include; PRIVATE names third-party libraries that only its sources see. SHORT_LOOPS: over two or three guards or
# variables, as a rule, which are not worth the code that vectors need. SELDOM_RUN: before or after a simulation, so that
# what its optimisation costs, in a build, is worth more than what it gains; FAST: its files that run in every step, at
# -O3. PRECOMPILE names the headers that most of its
# sources include. With SALTUS_UNITY they are read once, and sources are compiled several dozen at a time: names in the
# unnamed namespaces of a layer must differ. docs/developer/building.md has what each of these measures saves.
define_property(GLOBAL PROPERTY SALTUS_LAYERS BRIEF_DOCS "layer targets" FULL_DOCS "All layer targets in order")

# (GCC 12 warns about the concatenation of strings in optimised builds, for no reason: its bug 105651)
function(saltus_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wno-missing-field-initializers
                                           $<$<AND:$<CONFIG:Release>,$<CXX_COMPILER_ID:GNU>>:-Wno-restrict> -ffp-contract=off $<$<BOOL:${SALTUS_WERROR}>:-Werror>)
endfunction()

# saltus_unity(TARGET [FILES]): compiles the sources of a target several at a time, at most FILES (60), in units of equal
# size. Each unit reads its headers and compiles their inline functions once. A unit of 60 takes 20 s and 1.2 GB.
function(saltus_unity target)
  set(most ${ARGN})
  if(NOT most)
    set(most 60)
  endif()
  get_target_property(sources ${target} SOURCES)
  list(LENGTH sources count)
  math(EXPR units "(${count} + ${most} - 1) / ${most}")
  math(EXPR size "(${count} + ${units} - 1) / ${units}")
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${size})
  # A file is no longer the main one of its unit: names of another file are shadowed, and what an unnamed namespace hides
  # seems to be visible elsewhere.
  target_compile_options(${target} PRIVATE -Wno-shadow $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  # GCC collects its garbage when its memory has doubled, from 128 MB on: a sixth of the time of a large unit.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=1048576
                                                                    --param=ggc-min-expand=300>)
endfunction()

# What the optimisation of SELDOM_RUN costs is a third less than -O2. GCC leaves at -O1 what costs next to nothing.
set(SALTUS_SELDOM_RUN -O1 $<$<CXX_COMPILER_ID:GNU>:-finline-small-functions -fstrict-aliasing -ftree-vrp>)

# Objects need the headers of other layers, not their archives.
set(CMAKE_OPTIMIZE_DEPENDENCIES ON)

function(saltus_layer name)
  cmake_parse_arguments(ARG "SHORT_LOOPS;SELDOM_RUN" "UNIT" "SOURCES;FAST;USES;PRIVATE;PRECOMPILE" ${ARGN})
  set(target saltus_${name})
  add_library(${target} STATIC ${ARG_SOURCES})
  set(parts ${target})
  if(ARG_FAST AND SALTUS_UNITY)  # a unit has one level: they are a target of their own
    add_library(${target}_fast OBJECT ${ARG_FAST})
    target_compile_options(${target}_fast PRIVATE -O3)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}_fast>)
    list(APPEND parts ${target}_fast)
  elseif(ARG_FAST)
    target_sources(${target} PRIVATE ${ARG_FAST})
    set_property(SOURCE ${ARG_FAST} APPEND PROPERTY COMPILE_OPTIONS -O3)
  endif()
  foreach(part IN LISTS parts)
    target_compile_features(${part} PUBLIC cxx_std_20)
    target_include_directories(${part} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                              $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
                                       PRIVATE ${PROJECT_SOURCE_DIR}/src)
    saltus_warnings(${part})
    foreach(layer IN LISTS ARG_USES)
      target_link_libraries(${part} PUBLIC saltus_${layer})
    endforeach()
    target_link_libraries(${part} PRIVATE ${ARG_PRIVATE})
    set_target_properties(${part} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    if(SALTUS_UNITY)
      saltus_unity(${part} ${ARG_UNIT})
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  # As a folder of a project without a build type the library would be compiled without optimisation, ten times slower.
  if(NOT PROJECT_IS_TOP_LEVEL)
    target_compile_options(${target} PRIVATE $<$<CONFIG:>:-O2>)
  endif()
  if(ARG_SHORT_LOOPS)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O2> -fno-tree-vectorize)
  endif()
  if(ARG_SELDOM_RUN)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:${SALTUS_SELDOM_RUN}>)
  endif()
  if(ARG_PRECOMPILE AND SALTUS_UNITY)
    target_precompile_headers(${target} PRIVATE ${ARG_PRECOMPILE})
  endif()
  add_library(saltus::${name} ALIAS ${target})
  set_property(GLOBAL APPEND PROPERTY SALTUS_LAYERS ${target})
  set(SALTUS_LAYER_TARGETS ${SALTUS_LAYER_TARGETS} ${target} PARENT_SCOPE)
endfunction()
