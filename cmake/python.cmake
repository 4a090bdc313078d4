# SPDX-License-Identifier: Apache-2.0
# python.cmake: the extension _situ for Python, and .venv/, where `import situ` finds it and the package.
if(SITU_SANITIZE OR SITU_FUZZ)
  return()
endif()
file(GLOB extension CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/python/_situ/*.c)
find_package(Python3 3.9 COMPONENTS Interpreter Development.Module)
if(NOT Python3_Development.Module_FOUND OR NOT extension)
  message(STATUS "no headers of Python 3.9 or later: building without `import situ`")
  return()
endif()

Python3_add_library(situ_python MODULE WITH_SOABI ${extension})
target_link_libraries(situ_python PRIVATE situ_public)
target_compile_options(situ_python PRIVATE -Wno-pedantic -Wno-cast-function-type
                                           -Werror=implicit-function-declaration)
target_link_options(situ_python PRIVATE -Wl,--version-script=${CMAKE_SOURCE_DIR}/cmake/python.map)
add_dependencies(situ_python situ_archive situ_headers)
set_target_properties(situ_python PROPERTIES
                      OUTPUT_NAME _situ LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/python)

# Both folders are on the path by a .pth file: nothing is installed again when they change.
add_custom_command(
  OUTPUT ${CMAKE_BINARY_DIR}/venv.stamp
  COMMAND ${CMAKE_SOURCE_DIR}/tools/venv.sh ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/.venv
          ${CMAKE_SOURCE_DIR}/python ${CMAKE_BINARY_DIR}/python
  COMMAND ${CMAKE_COMMAND} -E touch ${CMAKE_BINARY_DIR}/venv.stamp
  DEPENDS ${CMAKE_SOURCE_DIR}/tools/venv.sh
  VERBATIM)
add_custom_target(situ_venv ALL DEPENDS ${CMAKE_BINARY_DIR}/venv.stamp)

# Type stubs for editors, from the package and the rows.
set(stubs_python ${CMAKE_SOURCE_DIR}/.venv/bin/python)
set(stubs_needs situ ${CMAKE_BINARY_DIR}/venv.stamp)
if(SKBUILD) # a wheel may be linked with an archive of another build folder: no libsitu.so is built
  set(stubs_python ${Python3_EXECUTABLE})
  set(stubs_needs)
endif()
file(GLOB_RECURSE package CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/python/situ/*.py)
add_custom_command(
  OUTPUT ${CMAKE_BINARY_DIR}/stubs.stamp
  COMMAND ${CMAKE_COMMAND} -E env --unset=SITU_SIM_GPUS --unset=SITU_REQUIRE
          PYTHONPATH=${CMAKE_SOURCE_DIR}/python:${CMAKE_BINARY_DIR}/python
          ${stubs_python} -B ${CMAKE_SOURCE_DIR}/tools/stubs.py ${CMAKE_BINARY_DIR}/python
          > stubs.stamp || ${CMAKE_COMMAND} -E echo "no type stubs: the package cannot be imported"
  DEPENDS situ_python ${stubs_needs} ${package} ${CMAKE_SOURCE_DIR}/tools/stubs.py
  WORKING_DIRECTORY ${CMAKE_BINARY_DIR}
  VERBATIM)
add_custom_target(situ_stubs ALL DEPENDS ${CMAKE_BINARY_DIR}/stubs.stamp)
