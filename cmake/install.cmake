# SPDX-License-Identifier: Apache-2.0
# install.cmake: headers, libraries, the command, situ.pc and the CMake package. The installed tree may be moved.
include(CMakePackageConfigHelpers)

target_include_directories(situ INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
install(TARGETS situ EXPORT situTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES ${SITU_ARCHIVE} DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/situ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN *.h)
if(SITU_OPS_HEADER)
  install(FILES ${SITU_OPS_HEADER} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/situ)
endif()
if(TARGET situ_command)
  install(TARGETS situ_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  # The man page and the completions, from the command itself.
  set(manual ${CMAKE_BINARY_DIR}/situ.1)
  add_custom_command(
    OUTPUT ${manual}
    COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_SOURCE_DIR}/tools/manual.py $<TARGET_FILE:situ_command> > ${manual}
    COMMAND situ_command completion bash > situ.bash
    COMMAND situ_command completion zsh > _situ
    COMMAND situ_command completion fish > situ.fish
    DEPENDS situ_command ${CMAKE_SOURCE_DIR}/tools/manual.py
    WORKING_DIRECTORY ${CMAKE_BINARY_DIR}
    VERBATIM)
  add_custom_target(situ_manual ALL DEPENDS ${manual})
  install(FILES ${manual} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${CMAKE_BINARY_DIR}/situ.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
          RENAME situ)
  install(FILES ${CMAKE_BINARY_DIR}/_situ DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  install(FILES ${CMAKE_BINARY_DIR}/situ.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/situ)
file(RELATIVE_PATH SITU_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/situ.pc.in situ.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/situ.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
configure_package_config_file(cmake/situConfig.cmake.in situConfig.cmake
                              INSTALL_DESTINATION ${package})
write_basic_package_version_file(situConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/situConfig.cmake ${CMAKE_BINARY_DIR}/situConfigVersion.cmake
        DESTINATION ${package})
install(EXPORT situTargets NAMESPACE situ:: DESTINATION ${package})
