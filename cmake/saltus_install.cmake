# Install rules and the exported package saltus::saltus.
include(CMakePackageConfigHelpers)

get_property(_layers GLOBAL PROPERTY SALTUS_LAYERS)
install(TARGETS saltus ${_layers} EXPORT saltus-targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
# Objects for link-time optimisation would be optimised once more in the user's link, with the user's options and by the
# user's compiler: wrong code at -O0, and long links. Their ordinary code is installed alone.
if(SALTUS_LTO AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  if(NOT CMAKE_OBJCOPY)
    message(FATAL_ERROR "SALTUS_LTO needs objcopy (Debian: binutils), to install libraries without intermediate code; "
                        "install it, or configure with -DSALTUS_LTO=OFF")
  endif()
  foreach(layer IN LISTS _layers)
    install(CODE "
      set(archive \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/$<TARGET_FILE_NAME:${layer}>\")
      execute_process(COMMAND \"${CMAKE_OBJCOPY}\" --remove-section=.gnu.lto_* --remove-section=.gnu.debuglto_*
                              --strip-symbol=__gnu_lto_v1 --strip-symbol=__gnu_lto_slim \"\${archive}\"
                      COMMAND_ERROR_IS_FATAL ANY)")
  endforeach()
endif()
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)
install(DIRECTORY include/saltus DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT saltus-targets NAMESPACE saltus:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/saltus)

set(_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/saltus)
configure_package_config_file(cmake/saltus-config.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/saltus-config.cmake
                              INSTALL_DESTINATION ${_package_dir})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/saltus-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/saltus-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/saltus-config-version.cmake
              cmake/FindKLU.cmake cmake/FindSLEEF.cmake DESTINATION ${_package_dir})
