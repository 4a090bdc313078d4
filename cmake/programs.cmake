# SPDX-License-Identifier: Apache-2.0
# programs.cmake: the situ command, the conformance tool, the examples and the benchmarks.

# Every test and example contains the library: without its debug information they take a quarter of the space.
# gdb finds source lines in build-asan, or with -DCMAKE_BUILD_TYPE=Debug.
set(SITU_PROGRAM_LINK_OPTIONS)
if(CMAKE_BUILD_TYPE STREQUAL Release AND NOT SITU_SANITIZE)
  set(SITU_PROGRAM_LINK_OPTIONS -Wl,--strip-debug)
endif()

# A program that sees the library as a user does.
function(add_public_program name folder)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE situ_public)
  target_link_options(${name} PRIVATE ${SITU_PROGRAM_LINK_OPTIONS})
  add_dependencies(${name} situ_archive situ_headers)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/${folder})
endfunction()

# A program that may look inside.
function(add_internal_program name folder)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE situ_inside)
  target_link_options(${name} PRIVATE ${SITU_PROGRAM_LINK_OPTIONS})
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
file(GLOB folder_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/examples/*/*.c) # of one program each
set(folders ${folder_sources})
list(TRANSFORM folders REPLACE "/[^/]*$" "")
list(REMOVE_DUPLICATES folders)
foreach(folder IN LISTS folders)
  get_filename_component(name ${folder} NAME)
  set(files ${folder_sources})
  list(FILTER files INCLUDE REGEX "^${folder}/")
  add_public_program(example_${name} examples ${files})
  set_target_properties(example_${name} PROPERTIES OUTPUT_NAME ${name})
  target_link_libraries(example_${name} PRIVATE m)
endforeach()

# Benchmarks, and what they share as an archive from which each takes what it needs.
file(GLOB benches CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/bench/*.c)
file(GLOB bench_support CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/bench/support/*.c)
add_library(bench_support STATIC EXCLUDE_FROM_ALL ${bench_support})
target_link_libraries(bench_support PUBLIC situ_inside)
set_source_files_properties(
  ${CMAKE_SOURCE_DIR}/bench/support/loops.c PROPERTIES
  COMPILE_OPTIONS "-O3;-fno-tree-loop-distribute-patterns;-ffp-contract=fast")
find_path(DNNL_INCLUDE dnnl.h)
find_library(DNNL_LIBRARY dnnl)
if(DNNL_INCLUDE AND DNNL_LIBRARY) # a peer to compare with
  target_compile_definitions(bench_support PRIVATE BENCH_ONEDNN)
  target_include_directories(bench_support PRIVATE ${DNNL_INCLUDE})
  target_link_libraries(bench_support PUBLIC -Wl,--as-needed ${DNNL_LIBRARY})
endif()
add_custom_target(bench)
foreach(file IN LISTS benches)
  get_filename_component(name ${file} NAME_WE)
  add_internal_program(bench_${name} bench ${file})
  target_link_libraries(bench_${name} PRIVATE bench_support)
  set_target_properties(bench_${name} PROPERTIES OUTPUT_NAME ${name} EXCLUDE_FROM_ALL ON)
  add_dependencies(bench bench_${name})
endforeach()
