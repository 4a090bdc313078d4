# SPDX-License-Identifier: Apache-2.0
# tests.cmake: every tests/FOLDER/test_NAME.c is a program of its own and a test FOLDER/test_NAME.
enable_testing()
set(patience 3600) # seconds: ends what hangs, not what a busy machine does slowly

find_path(CMOCKA_INCLUDE cmocka.h)
find_library(CMOCKA_LIBRARY cmocka)
file(GLOB tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/*/test_*.c
     ${CMAKE_SOURCE_DIR}/tests/ops/*/test_*.c)
list(FILTER tests EXCLUDE REGEX "/tests/cuda/") # cuda.cmake has them
file(GLOB support CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/support/*.c)
if(NOT CMOCKA_LIBRARY OR NOT CMOCKA_INCLUDE)
  message(STATUS "cmocka is not installed: no tests in C (make test installs it)")
  set(tests)
endif()

# What several tests share, compiled once.
add_library(situ_support INTERFACE)
if(tests AND support)
  add_library(situ_shared STATIC ${support})
  target_include_directories(situ_shared PRIVATE ${CMAKE_SOURCE_DIR}/tests ${SITU_GENERATED}
                                                 ${CMOCKA_INCLUDE})
  target_link_libraries(situ_shared PUBLIC situ_inside ${CMOCKA_LIBRARY})
  add_dependencies(situ_shared situ_headers)
  set_target_properties(situ_shared PROPERTIES
                        ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/inside)
  target_link_libraries(situ_support INTERFACE situ_shared)
endif()

foreach(file IN LISTS tests)
  get_filename_component(name ${file} NAME_WE)
  get_filename_component(folder ${file} DIRECTORY)
  file(RELATIVE_PATH folder ${CMAKE_SOURCE_DIR}/tests ${folder})
  string(REPLACE "/" "_" target ${folder}_${name})
  add_internal_program(${target} tests/${folder} ${file})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name})
  target_include_directories(${target} PRIVATE ${CMOCKA_INCLUDE})
  target_link_libraries(${target} PRIVATE situ_support ${CMOCKA_LIBRARY})
  add_test(NAME ${folder}/${name} COMMAND ${target} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(${folder}/${name} PROPERTIES LABELS unit TIMEOUT ${patience})
endforeach()

# Fuzz targets over their seeds; fuzz.cmake builds them for libFuzzer. fuzz_ops has no seeds: test_random_calls.
file(GLOB fuzzers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/fuzz/fuzz_*.c)
foreach(file IN LISTS fuzzers)
  get_filename_component(name ${file} NAME_WE)
  set(seeds ${CMAKE_SOURCE_DIR}/tests/fuzz/seeds/${name})
  if(SITU_FUZZ OR NOT tests OR NOT EXISTS ${seeds})
    continue()
  endif()
  add_internal_program(replay_${name} tests/fuzz ${file} ${CMAKE_SOURCE_DIR}/tests/fuzz/replay.c)
  set_target_properties(replay_${name} PROPERTIES OUTPUT_NAME ${name})
  target_link_libraries(replay_${name} PRIVATE situ_support)
  add_test(NAME fuzz/${name} COMMAND replay_${name} ${seeds})
  set_tests_properties(fuzz/${name} PROPERTIES LABELS unit TIMEOUT ${patience})
endforeach()

# The same on OpenCL, where PoCL stands in for two GPUs; what it compiled stays in the build folder.
# `make test-opencl` runs every op there; here the self-test tries what it can in a minute.
set(opencl_environment "POCL_DEVICES=basic basic" SITU_OPENCL_DEVICES=all SITU_KERNEL_CACHE=
                       POCL_CACHE_DIR=${CMAKE_BINARY_DIR}/pocl)
set(sysfs /sys/devices/system/cpu) # PoCL aborts where it is not mounted, as in a bare chroot
if(EXISTS /etc/OpenCL/vendors/pocl.icd AND NOT EXISTS ${sysfs})
  message(STATUS "/sys is not mounted: no tests on OpenCL")
endif()
if(EXISTS /etc/OpenCL/vendors/pocl.icd AND EXISTS ${sysfs} AND tests AND NOT SITU_SANITIZE)
  add_test(NAME opencl/test_conformance COMMAND backend_test_conformance
           WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  add_test(NAME opencl/selftest COMMAND situ_command selftest --device /gpu:1 --seconds 60)
  add_test(NAME opencl/test_numerics COMMAND api_test_numerics WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set(opencl_tests opencl/test_conformance opencl/test_numerics opencl/selftest)
  if(TARGET situ_python)
    list(APPEND opencl_tests opencl/towers2 opencl/variables opencl/scans)
    foreach(name variables scans)
      add_test(NAME opencl/${name} COMMAND situ_command run tests/backend/${name}.py 2
               WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    endforeach()
    add_test(NAME opencl/towers2 COMMAND situ_command run --log-placement towers2.py
             WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}/examples)
    set_tests_properties(opencl/towers2 PROPERTIES PASS_REGULAR_EXPRESSION
    "tower_1/MatMul[^\n]*device:GPU:1.*step 4: loss 0.0117\nhidden 0.5006 -0.4670 0.4768")
  endif()
  set_tests_properties(${opencl_tests} PROPERTIES LABELS opencl TIMEOUT ${patience}
                       ENVIRONMENT "${opencl_environment}")
endif()

# Every case of every example: the whole output is compared.
find_package(Python3 COMPONENTS Interpreter)
file(GLOB cases CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/examples/expect/*.txt)
if(NOT TARGET situ_python)
  list(FILTER cases EXCLUDE REGEX "\\.py\\.")
endif()
foreach(file IN LISTS cases)
  get_filename_component(name ${file} NAME_WLE)
  add_test(NAME example/${name}
           COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tests/run_example.py
                   ${CMAKE_BINARY_DIR}/examples ${file})
  set_tests_properties(example/${name} PROPERTIES LABELS example TIMEOUT ${patience})
endforeach()

# The command as a user meets it.
if(TARGET situ_command)
  add_test(NAME cli/test_command
           COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_SOURCE_DIR}/tests/cli/test_command.py
                   ${CMAKE_BINARY_DIR})
  set_tests_properties(cli/test_command PROPERTIES LABELS cli TIMEOUT ${patience})
endif()

# The Python package: pytest, in the environment where `import situ` works. `make quick` runs a sample of it.
set(quick_python test_names test_operators test_tensorflow_graph test_tensorflow_eager test_scopes_graph
    test_gradients test_tape test_function test_control_flow test_optimizers test_data test_saver
    test_keras_models)
if(TARGET situ_python)
  file(GLOB modules CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/python/test_*.py)
  foreach(file IN LISTS modules)
    get_filename_component(name ${file} NAME_WE)
    add_test(NAME python/${name}
             COMMAND ${CMAKE_SOURCE_DIR}/.venv/bin/python -B -m pytest -q -rs -p no:cacheprovider
                     ${file}
             WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    set(labels python)
    if(name IN_LIST quick_python)
      list(APPEND labels quick)
    endif()
    set_tests_properties(python/${name} PROPERTIES LABELS "${labels}" TIMEOUT ${patience}
                         ENVIRONMENT "SITU_BUILD=${CMAKE_BINARY_DIR}")
  endforeach()
endif()

# What follows says nothing more in an instrumented build.
if(SITU_SANITIZE OR SITU_FUZZ)
  return()
endif()

# Values that were never set are found by valgrind only; it is slow, so quick tests only.
find_program(VALGRIND valgrind)
set(quick ${tests})
list(FILTER quick INCLUDE REGEX "/tests/(base|schema|graph|device)/")
list(FILTER quick EXCLUDE REGEX "/device/test_(bfc|memory)")
if(NOT VALGRIND)
  set(quick)
endif()
foreach(file IN LISTS quick)
  string(REGEX REPLACE "^.*/tests/(.*)\\.c$" "\\1" name ${file})
  string(REPLACE "/" "_" target ${name})
  add_test(NAME valgrind/${name}
           COMMAND ${VALGRIND} -q --error-exitcode=9 --leak-check=no $<TARGET_FILE:${target}>
           WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(valgrind/${name} PROPERTIES LABELS valgrind TIMEOUT ${patience})
endforeach()

# Programs in which an operation fails: a sample; `make faults` runs all.
add_library(situ_faults MODULE ${CMAKE_SOURCE_DIR}/tests/faults/interpose.c)
set_target_properties(situ_faults PROPERTIES PREFIX "" OUTPUT_NAME interpose C_VISIBILITY_PRESET default
                      LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/faults)
target_compile_definitions(situ_faults PRIVATE _GNU_SOURCE)
target_link_libraries(situ_faults PRIVATE ${CMAKE_DL_LIBS})
if(TARGET situ_python)
  add_test(NAME faults/sample
           COMMAND ${CMAKE_SOURCE_DIR}/.venv/bin/python -B ${CMAKE_SOURCE_DIR}/tests/faults/faults.py
                   ${CMAKE_BINARY_DIR} --short
           WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(faults/sample PROPERTIES LABELS faults TIMEOUT ${patience})
endif()

# The kernels as another compiler for another device sees them.
find_program(CLANG NAMES clang-16 clang-14 clang)
if(CLANG)
  add_test(NAME kernel/opencl
           COMMAND ${CMAKE_SOURCE_DIR}/tests/kernel/opencl.sh ${CLANG} ${CMAKE_SOURCE_DIR})
  set_tests_properties(kernel/opencl PROPERTIES LABELS kernel TIMEOUT ${patience})
endif()

# The headers alone, the symbols, and a program outside against an installed tree.
set(installed ${CMAKE_SOURCE_DIR}/tests/install)
set(compilers CC=${CMAKE_C_COMPILER})
add_test(NAME install/headers COMMAND ${installed}/headers.sh ${CMAKE_SOURCE_DIR}/include
                                      ${SITU_GENERATED})
add_test(NAME install/symbols COMMAND ${installed}/symbols.sh ${CMAKE_BINARY_DIR})
add_test(NAME install/pkg_config COMMAND ${installed}/outside.sh pkg_config ${CMAKE_BINARY_DIR})
add_test(NAME install/find_package COMMAND ${installed}/outside.sh find_package
                                           ${CMAKE_BINARY_DIR})
set_tests_properties(install/headers install/symbols install/pkg_config install/find_package
                     PROPERTIES LABELS install TIMEOUT ${patience} ENVIRONMENT "${compilers}")

# The tools that guard the rest.
file(GLOB tools CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/tools/test_*.py)
find_program(CTAGS ctags)
foreach(file IN LISTS tools)
  get_filename_component(name ${file} NAME_WE)
  if(CTAGS)
    add_test(NAME tools/${name} COMMAND ${Python3_EXECUTABLE} -B ${file} -v)
    set_tests_properties(tools/${name} PROPERTIES LABELS tools TIMEOUT ${patience})
  endif()
endforeach()

if(TARGET situ_python)
  add_test(NAME example/test_towers.py
           COMMAND ${CMAKE_SOURCE_DIR}/.venv/bin/python -B -m pytest -q -rs -p no:cacheprovider
                   -p pytest_situ ${CMAKE_SOURCE_DIR}/examples/test_towers.py
           WORKING_DIRECTORY ${CMAKE_BINARY_DIR})
  set_tests_properties(example/test_towers.py PROPERTIES LABELS example TIMEOUT ${patience})
endif()

# What the texts show of the command and of the examples is what these print.
if(TARGET situ_command AND TARGET situ_python)
  add_test(NAME docs/test_texts
           COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_SOURCE_DIR}/tests/docs/test_texts.py
                   ${CMAKE_BINARY_DIR})
  set_tests_properties(docs/test_texts PROPERTIES LABELS docs TIMEOUT ${patience})
endif()

# Cases of the reference beside the repository, where they are.
foreach(cases names/names names/names_python placer/placer placer/placer_random bfc/bfc)
  get_filename_component(family ${cases} DIRECTORY)
  get_filename_component(name ${cases} NAME)
  if(EXISTS ${CMAKE_SOURCE_DIR}/tests/conform/${family}.c)
    add_test(NAME conform/${name}
             COMMAND ${CMAKE_SOURCE_DIR}/tests/conform/compare.sh $<TARGET_FILE:conform> ${family}
                     ${name}
             WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    set_tests_properties(conform/${name} PROPERTIES LABELS conform TIMEOUT ${patience}
                                                    SKIP_RETURN_CODE 77)
  endif()
endforeach()
