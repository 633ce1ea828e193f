# `cmake --install`: headers, libraries and find_package(lockstep).
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/lockstep)
install(TARGETS lockstep_cli)
install(TARGETS lockstep_study EXPORT lockstep-study)
install(EXPORT lockstep-study NAMESPACE lockstep:: DESTINATION ${package_dir})
if(LOCKSTEP_TRAIN)
  install(TARGETS lockstep_train EXPORT lockstep-train)
  install(EXPORT lockstep-train NAMESPACE lockstep:: DESTINATION ${package_dir})
  install(FILES ${PROJECT_SOURCE_DIR}/cmake/FindLibTorch.cmake DESTINATION ${package_dir})
endif()
install(DIRECTORY lockstep DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h")
configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/lockstep-config.cmake.in lockstep-config.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(lockstep-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/lockstep-config.cmake
              ${PROJECT_BINARY_DIR}/lockstep-config-version.cmake
        DESTINATION ${package_dir})
