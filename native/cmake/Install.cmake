# Rules of `cmake --install`: the C interface, the libraries and registrations of this build's selection, and the package for
# find_package(sizeguard). No file names a folder of this machine, so the package can be moved.

include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

# Apps link sizeguard::sizeguard. Registrations are objects, because a linker may skip them in an archive.
add_library(sg_package INTERFACE)
target_include_directories(sg_package INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_sources(sg_package INTERFACE $<TARGET_OBJECTS:$<TARGET_NAME:operators_objects>>)
target_link_libraries(sg_package INTERFACE sg_c_api sg_kernels sg_runtime)
if(NOT APPLE)
  target_link_libraries(sg_package INTERFACE m)
endif()
foreach(pair sg_package=sizeguard sg_c_api=c_api sg_kernels=kernels sg_runtime=runtime operators_objects=operators)
  string(REPLACE "=" ";" pair "${pair}")
  list(GET pair 0 target)
  list(GET pair 1 name)
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
endforeach()

set(folder "${CMAKE_INSTALL_LIBDIR}/cmake/sizeguard")
install(TARGETS sg_package sg_c_api sg_kernels sg_runtime operators_objects
  EXPORT sizeguard
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  OBJECTS DESTINATION "${CMAKE_INSTALL_LIBDIR}/sizeguard")
install(EXPORT sizeguard NAMESPACE sizeguard:: FILE sizeguardTargets.cmake DESTINATION "${folder}")
install(FILES c_api/sizeguard.h DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/operators/code/selected_operators.yaml"
  DESTINATION "${CMAKE_INSTALL_DATADIR}/sizeguard")

# A copy of the sources may come without the Python package.
set(version 0)
if(EXISTS "${SG_ROOT}/sizeguard/__init__.py")
  file(STRINGS "${SG_ROOT}/sizeguard/__init__.py" version REGEX "^__version__")
  string(REGEX MATCH "[0-9]+(\\.[0-9]+)*" version "${version}")
endif()
configure_package_config_file(cmake/sizeguardConfig.cmake.in "${CMAKE_CURRENT_BINARY_DIR}/package/sizeguardConfig.cmake"
  INSTALL_DESTINATION "${folder}"
  PATH_VARS CMAKE_INSTALL_DATADIR)
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/package/sizeguardConfigVersion.cmake"
  VERSION "${version}"
  COMPATIBILITY SameMajorVersion)
install(FILES
  "${CMAKE_CURRENT_BINARY_DIR}/package/sizeguardConfig.cmake"
  "${CMAKE_CURRENT_BINARY_DIR}/package/sizeguardConfigVersion.cmake"
  DESTINATION "${folder}")
