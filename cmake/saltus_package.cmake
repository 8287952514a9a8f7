# A Debian package of program, library and headers: build the preset release, then
# cpack --config build/release/CPackConfig.cmake
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME saltus)
set(CPACK_PACKAGE_VENDOR "Saltus")
set(CPACK_PACKAGE_CONTACT "the Saltus developers <saltus@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)  # what the program links; found by dpkg-dev and file
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "gnuplot-nox | gnuplot")
# programs that use the library are linked with these
set(CPACK_DEBIAN_PACKAGE_SUGGESTS
    "cmake, g++, libsuitesparse-dev, libsuperlu-dev, libsleef-dev, libfmt-dev, libpugixml-dev, zlib1g-dev, "
    "libeigen3-dev, nlohmann-json3-dev, graphviz")
string(REPLACE ";" "" CPACK_DEBIAN_PACKAGE_SUGGESTS "${CPACK_DEBIAN_PACKAGE_SUGGESTS}")
include(CPack)
