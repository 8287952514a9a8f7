# Install rules and the exported package saltus::saltus, for CMake and pkg-config. Components: program, devel (library
# and headers), python.
include(CMakePackageConfigHelpers)

get_property(_layers GLOBAL PROPERTY SALTUS_LAYERS)
install(TARGETS saltus ${_layers} EXPORT saltus-targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT devel LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        COMPONENT devel)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright COMPONENT program)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/libsaltus-dev RENAME copyright COMPONENT devel)
if(SALTUS_PYTHON)
  install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/python3-saltus RENAME copyright COMPONENT python)
endif()
install(DIRECTORY include/saltus DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT devel)
install(EXPORT saltus-targets NAMESPACE saltus:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/saltus COMPONENT devel)

set(_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/saltus)
configure_package_config_file(cmake/saltus-config.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/saltus-config.cmake
                              INSTALL_DESTINATION ${_package_dir})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/saltus-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/saltus-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/saltus-config-version.cmake
              cmake/FindKLU.cmake cmake/FindSLEEF.cmake cmake/FindSuperLU.cmake DESTINATION ${_package_dir}
        COMPONENT devel)

# The archives as the linker needs them, each before what it uses.
set(_libraries)
foreach(_layer IN LISTS _layers)
  list(PREPEND _libraries -l${_layer})
endforeach()
list(APPEND _libraries -lklu -lbtf -lamd -lcolamd -lsuitesparseconfig)
if(SALTUS_HAS_SUPERLU)
  list(APPEND _libraries -lsuperlu)
endif()
if(SALTUS_HAS_SLEEF)
  list(APPEND _libraries -lsleef)
endif()
list(JOIN _libraries " " SALTUS_LINK_LINE)
file(RELATIVE_PATH SALTUS_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/saltus.pc.in ${CMAKE_CURRENT_BINARY_DIR}/saltus.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/saltus.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT devel)
