# SPDX-License-Identifier: Apache-2.0
# programs.cmake: the situ command, the conformance tool, the examples and the benchmarks.

# A program that sees the library as a user does.
function(add_public_program name folder)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE situ_public)
  add_dependencies(${name} situ_archive situ_headers)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/${folder})
endfunction()

# A program that may look inside.
function(add_internal_program name folder)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE situ_inside)
  target_include_directories(${name} PRIVATE ${SITU_GENERATED} ${CMAKE_SOURCE_DIR}/tests)
  add_dependencies(${name} situ_headers)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/${folder})
endfunction()

file(GLOB cli CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/cli/*.c)
if(cli)
  add_public_program(situ_command . ${cli})
  set_target_properties(situ_command PROPERTIES OUTPUT_NAME situ)
  target_compile_definitions(situ_command PRIVATE SITU_VERSION="${PROJECT_VERSION}")
endif()

file(GLOB conform CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/conform/*.c)
list(FILTER conform EXCLUDE REGEX "/test_[^/]*$")
if(conform)
  add_internal_program(conform . ${conform})
endif()

file(GLOB examples CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/examples/*.c)
foreach(file IN LISTS examples)
  get_filename_component(name ${file} NAME_WE)
  add_public_program(example_${name} examples ${file})
  set_target_properties(example_${name} PROPERTIES OUTPUT_NAME ${name})
endforeach()

file(GLOB benches CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/bench/*.c)
add_custom_target(bench)
foreach(file IN LISTS benches)
  get_filename_component(name ${file} NAME_WE)
  add_internal_program(bench_${name} bench ${file})
  set_target_properties(bench_${name} PROPERTIES OUTPUT_NAME ${name} EXCLUDE_FROM_ALL ON)
  add_dependencies(bench bench_${name})
endforeach()
