# SPDX-License-Identifier: Apache-2.0
# fuzz.cmake: every tests/fuzz/fuzz_*.c is a libFuzzer program over the whole library (clang only).
file(GLOB fuzzers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/fuzz/fuzz_*.c)
add_custom_target(fuzz)
foreach(file IN LISTS fuzzers)
  get_filename_component(name ${file} NAME_WE)
  add_internal_program(${name} fuzz ${file})
  target_compile_options(${name} PRIVATE -Wno-missing-prototypes)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  add_dependencies(fuzz ${name})
endforeach()
set(support ${CMAKE_SOURCE_DIR}/tests/support)
foreach(name fuzz_ops fuzz_run_graph)
  target_sources(${name} PRIVATE ${support}/random_values.c ${support}/random_args.c
    ${support}/random_call.c ${support}/random_graph.c)
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
endforeach()
