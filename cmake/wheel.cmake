# SPDX-License-Identifier: Apache-2.0
# wheel.cmake: what goes into the wheel besides the package: the extension, the command, the stubs,
# the plug-in for pytest, and the licenses of bundled libraries. `make wheel` builds it by pyproject.toml.
if(NOT TARGET situ_python)
  return()
endif()
add_custom_target(situ_wheel DEPENDS situ_python situ_command situ_stubs)
install(TARGETS situ_python LIBRARY DESTINATION . COMPONENT wheel EXCLUDE_FROM_ALL)
install(TARGETS situ_command RUNTIME DESTINATION situ/_bin COMPONENT wheel EXCLUDE_FROM_ALL)
install(DIRECTORY ${CMAKE_BINARY_DIR}/python/situ-stubs DESTINATION . COMPONENT wheel
        EXCLUDE_FROM_ALL)
if(EXISTS ${SITU_PREBUILT}/licenses)
  install(DIRECTORY ${SITU_PREBUILT}/licenses DESTINATION situ COMPONENT wheel EXCLUDE_FROM_ALL)
endif()
install(FILES ${CMAKE_SOURCE_DIR}/python/pytest_situ.py DESTINATION . COMPONENT wheel
        EXCLUDE_FROM_ALL)
