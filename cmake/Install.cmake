# The install tree: bin/scry, the libraries, include/scry as one include root, and the package.
include(CMakePackageConfigHelpers)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/Scry)

install(TARGETS ${installed_targets} EXPORT ScryTargets)
install(DIRECTORY base dsl compiler runtime DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/scry
        FILES_MATCHING PATTERN *.h)
install(FILES ${generated}/public/scry.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/scry)

install(EXPORT ScryTargets NAMESPACE scry:: DESTINATION ${package_folder})
configure_package_config_file(cmake/ScryConfig.cmake.in ${generated}/package/ScryConfig.cmake
                              INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${generated}/package/ScryConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${generated}/package/ScryConfig.cmake ${generated}/package/ScryConfigVersion.cmake
              cmake/ScryFindLLVM.cmake cmake/ScryAddModel.cmake
        DESTINATION ${package_folder})
