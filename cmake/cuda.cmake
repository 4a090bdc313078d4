# SPDX-License-Identifier: Apache-2.0
# cuda.cmake: a driver of CUDA that stands in for GPUs (tests/cuda), and the tests that run on it. Kernels are compiled
# by the real NVRTC: the machine's, or the one that `make setup-cuda` puts in build/nvrtc. Without one there are no such
# tests. What was compiled stays in the build folder.
file(GLOB standin CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/cuda/ptx/*.c ${CMAKE_SOURCE_DIR}/tests/cuda/driver/*.c)
file(GLOB nvrtc ${CMAKE_BINARY_DIR}/nvrtc/lib/python*/site-packages/nvidia/*/lib)
find_library(NVRTC_LIBRARY NAMES nvrtc libnvrtc.so.13 libnvrtc.so.12 libnvrtc.so.11.2
             PATHS ${nvrtc} /usr/local/cuda/lib64)
find_path(CUDA_HEADER cuda.h PATHS /usr/local/cuda/include)

if(tests AND standin AND NOT SITU_SANITIZE)
  set(standin_folder ${CMAKE_BINARY_DIR}/standin)
  add_library(cuda_standin SHARED ${standin})
  target_include_directories(cuda_standin PRIVATE ${CMAKE_SOURCE_DIR}/tests ${CMAKE_SOURCE_DIR}/src
                                                  ${CMAKE_SOURCE_DIR}/include)
  target_compile_options(cuda_standin PRIVATE -O2 -frounding-math -fno-math-errno)
  target_link_libraries(cuda_standin PRIVATE situ_flags m)
  set_target_properties(cuda_standin PROPERTIES OUTPUT_NAME cuda SOVERSION 1 C_VISIBILITY_PRESET hidden
                        LIBRARY_OUTPUT_DIRECTORY ${standin_folder})
  # Libraries that go with it: their names, their versions.
  foreach(library "cublas;13" "nccl;2")
    list(GET library 0 name)
    list(GET library 1 version)
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/cuda/${name}/*.c)
    add_library(${name}_standin SHARED ${sources})
    target_include_directories(${name}_standin PRIVATE ${CMAKE_SOURCE_DIR}/tests ${CMAKE_SOURCE_DIR}/src
                                                       ${CMAKE_SOURCE_DIR}/include)
    target_link_libraries(${name}_standin PRIVATE situ_flags cuda_standin)
    set_target_properties(${name}_standin PROPERTIES OUTPUT_NAME ${name} SOVERSION ${version}
                          C_VISIBILITY_PRESET hidden LIBRARY_OUTPUT_DIRECTORY ${standin_folder})
  endforeach()
endif()

# A test on the stand-in: its name, its command, and more words for add_test.
function(add_cuda_test name command)
  get_filename_component(nvrtc_folder ${NVRTC_LIBRARY} DIRECTORY)
  add_test(NAME cuda/${name} COMMAND ${command} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} ${ARGN})
  set(environment LD_LIBRARY_PATH=${CMAKE_BINARY_DIR}/standin:${nvrtc_folder} SITU_CUDA=1
                  SITU_KERNEL_CACHE=${CMAKE_BINARY_DIR}/kernels)
  set_tests_properties(cuda/${name} PROPERTIES LABELS cuda TIMEOUT 3600 ENVIRONMENT "${environment}")
endfunction()

if(TARGET cuda_standin AND NVRTC_LIBRARY)
  file(GLOB cuda_tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/cuda/test_*.c)
  foreach(file IN LISTS cuda_tests)
    get_filename_component(name ${file} NAME_WE)
    add_internal_program(cuda_${name} tests/cuda ${file})
    target_include_directories(cuda_${name} PRIVATE ${CMOCKA_INCLUDE})
    if(CUDA_HEADER)
      target_include_directories(cuda_${name} SYSTEM PRIVATE ${CUDA_HEADER})
    endif()
    target_link_libraries(cuda_${name} PRIVATE situ_support ${CMOCKA_LIBRARY} ${CMAKE_DL_LIBS})
    set_target_properties(cuda_${name} PROPERTIES OUTPUT_NAME ${name})
    add_cuda_test(${name} cuda_${name})
  endforeach()
  add_cuda_test(test_conformance backend_test_conformance)
  add_cuda_test(test_numerics api_test_numerics)
  if(TARGET situ_python)
    add_cuda_test(towers "${Python3_EXECUTABLE};${CMAKE_SOURCE_DIR}/tests/cuda/towers.py;${CMAKE_BINARY_DIR};\
${CMAKE_SOURCE_DIR}/examples/towers2.py")
    foreach(name variables scans)
      add_cuda_test(${name} "${CMAKE_BINARY_DIR}/situ;run;${CMAKE_SOURCE_DIR}/tests/backend/${name}.py;2")
    endforeach()
    add_cuda_test(mirrored "${CMAKE_BINARY_DIR}/situ;run;${CMAKE_SOURCE_DIR}/tests/cuda/mirrored.py")
  endif()
  # The self-test of a device that is very slow ends in time, with a verdict.
  add_cuda_test(selftest "${CMAKE_BINARY_DIR}/situ;selftest;--device;/gpu:1" CONFIGURATIONS All)
  set_tests_properties(cuda/selftest PROPERTIES TIMEOUT 120 PASS_REGULAR_EXPRESSION
                       "\nPASSED: ")
  # A long one, only with ctest -C All (make test-cuda): every op in every type on both devices.
  add_cuda_test(test_ops ops_test_ops CONFIGURATIONS All)
endif()
