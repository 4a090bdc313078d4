# SPDX-License-Identifier: Apache-2.0
# install.cmake: headers, libraries, the command, situ.pc and the CMake package.
install(TARGETS situ LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES ${SITU_ARCHIVE} DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/situ ${SITU_GENERATED}/situ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h")
if(TARGET situ_command)
  install(TARGETS situ_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
