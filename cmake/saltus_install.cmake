# Install rules and the exported package saltus::saltus.
include(CMakePackageConfigHelpers)

get_property(_layers GLOBAL PROPERTY SALTUS_LAYERS)
install(TARGETS saltus ${_layers} EXPORT saltus-targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)
install(DIRECTORY include/saltus DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT saltus-targets NAMESPACE saltus:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/saltus)

set(_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/saltus)
configure_package_config_file(cmake/saltus-config.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/saltus-config.cmake
                              INSTALL_DESTINATION ${_package_dir})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/saltus-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/saltus-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/saltus-config-version.cmake
              cmake/FindKLU.cmake cmake/FindSLEEF.cmake cmake/FindSuperLU.cmake DESTINATION ${_package_dir})
