/* SPDX-License-Identifier: Apache-2.0
 * driver.h: the functions and constants of the CUDA driver API that are used, loaded at run time:
 * CUDA is needed neither to build nor to run situ.
 *
 * Functions have the versioned names of the library (cuda.h maps cuMemAlloc to cuMemAlloc_v2). A
 * test compares this file with cuda.h if it is installed.
 */
#ifndef SITU_BACKEND_CUDA_DRIVER_H
#define SITU_BACKEND_CUDA_DRIVER_H

#include "base/dl.h"

typedef unsigned cuda_result; /* an enum of cuda.h */
typedef int cuda_device;
typedef unsigned long long cuda_pointer;
typedef struct CUctx_st *cuda_context;
typedef struct CUstream_st *cuda_stream;
typedef struct CUevent_st *cuda_event;
typedef struct CUmod_st *cuda_module;
typedef struct CUfunc_st *cuda_function;

enum { CUDA_UUID_BYTES = 16 };
typedef struct CUuuid_st cuda_uuid; /* of CUDA_UUID_BYTES bytes */

/* Constants of cuda.h: our name, value, their name. */
#define CUDA_NUMBERS(X)                                                 \
  X(OK, 0, CUDA_SUCCESS)                                                \
  X(INVALID_VALUE, 1, CUDA_ERROR_INVALID_VALUE)                         \
  X(OUT_OF_MEMORY, 2, CUDA_ERROR_OUT_OF_MEMORY)                         \
  X(NOT_INITIALIZED, 3, CUDA_ERROR_NOT_INITIALIZED)                     \
  X(DEINITIALIZED, 4, CUDA_ERROR_DEINITIALIZED)                         \
  X(STUB_LIBRARY, 34, CUDA_ERROR_STUB_LIBRARY)                          \
  X(DEVICE_UNAVAILABLE, 46, CUDA_ERROR_DEVICE_UNAVAILABLE)              \
  X(NO_DEVICE, 100, CUDA_ERROR_NO_DEVICE)                               \
  X(INVALID_DEVICE, 101, CUDA_ERROR_INVALID_DEVICE)                     \
  X(INVALID_IMAGE, 200, CUDA_ERROR_INVALID_IMAGE)                       \
  X(INVALID_CONTEXT, 201, CUDA_ERROR_INVALID_CONTEXT)                   \
  X(NO_BINARY, 209, CUDA_ERROR_NO_BINARY_FOR_GPU)                       \
  X(ECC_UNCORRECTABLE, 214, CUDA_ERROR_ECC_UNCORRECTABLE)               \
  X(INVALID_PTX, 218, CUDA_ERROR_INVALID_PTX)                           \
  X(NVLINK_UNCORRECTABLE, 220, CUDA_ERROR_NVLINK_UNCORRECTABLE)         \
  X(NO_JIT_COMPILER, 221, CUDA_ERROR_JIT_COMPILER_NOT_FOUND)            \
  X(UNSUPPORTED_PTX, 222, CUDA_ERROR_UNSUPPORTED_PTX_VERSION)           \
  X(INVALID_HANDLE, 400, CUDA_ERROR_INVALID_HANDLE)                     \
  X(NOT_FOUND, 500, CUDA_ERROR_NOT_FOUND)                               \
  X(NOT_READY, 600, CUDA_ERROR_NOT_READY)                               \
  X(ILLEGAL_ADDRESS, 700, CUDA_ERROR_ILLEGAL_ADDRESS)                   \
  X(OUT_OF_RESOURCES, 701, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES)          \
  X(LAUNCH_TIMEOUT, 702, CUDA_ERROR_LAUNCH_TIMEOUT)                     \
  X(PEER_ALREADY_ENABLED, 704, CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED)  \
  X(CONTEXT_DESTROYED, 709, CUDA_ERROR_CONTEXT_IS_DESTROYED)            \
  X(ASSERT, 710, CUDA_ERROR_ASSERT)                                     \
  X(HARDWARE_STACK, 714, CUDA_ERROR_HARDWARE_STACK_ERROR)               \
  X(ILLEGAL_INSTRUCTION, 715, CUDA_ERROR_ILLEGAL_INSTRUCTION)           \
  X(MISALIGNED, 716, CUDA_ERROR_MISALIGNED_ADDRESS)                     \
  X(INVALID_ADDRESS_SPACE, 717, CUDA_ERROR_INVALID_ADDRESS_SPACE)       \
  X(INVALID_PC, 718, CUDA_ERROR_INVALID_PC)                             \
  X(LAUNCH_FAILED, 719, CUDA_ERROR_LAUNCH_FAILED)                       \
  X(NOT_PERMITTED, 800, CUDA_ERROR_NOT_PERMITTED)                       \
  X(NOT_SUPPORTED, 801, CUDA_ERROR_NOT_SUPPORTED)                       \
  X(UNKNOWN, 999, CUDA_ERROR_UNKNOWN)                                   \
  X(CAPABILITY_MAJOR, 75, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) \
  X(CAPABILITY_MINOR, 76, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR) \
  X(PROCESSORS, 16, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)           \
  X(STREAM_NON_BLOCKING, 1, CU_STREAM_NON_BLOCKING)                     \
  X(EVENT_BLOCKING_SYNC, 1, CU_EVENT_BLOCKING_SYNC)                     \
  X(EVENT_DISABLE_TIMING, 2, CU_EVENT_DISABLE_TIMING)                   \
  X(JIT_ERROR_LOG, 5, CU_JIT_ERROR_LOG_BUFFER)                          \
  X(JIT_ERROR_LOG_SIZE, 6, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)

/* Those that cuda.h has since 12.8 at the latest. */
#define CUDA_NEW_NUMBERS(X)                                       \
  X(CONTAINED, 226, CUDA_ERROR_CONTAINED)                         \
  X(MPS_CLIENT_TERMINATED, 810, CUDA_ERROR_MPS_CLIENT_TERMINATED) \
  X(EXTERNAL_DEVICE, 911, CUDA_ERROR_EXTERNAL_DEVICE)

enum {
#define CUDA_NUMBER_ENUM(name, value, theirs) CUDA_##name = value,
  CUDA_NUMBERS(CUDA_NUMBER_ENUM) CUDA_NEW_NUMBERS(CUDA_NUMBER_ENUM)
#undef CUDA_NUMBER_ENUM
};

/* Every function that is used, once. */
#define CUDA_FUNCTIONS(X)                                                                          \
  X(cuda_result, cuInit, (unsigned))                                                               \
  X(cuda_result, cuDriverGetVersion, (int *))                                                      \
  X(cuda_result, cuGetErrorName, (cuda_result, const char **))                                     \
  X(cuda_result, cuGetErrorString, (cuda_result, const char **))                                   \
  X(cuda_result, cuDeviceGetCount, (int *))                                                        \
  X(cuda_result, cuDeviceGet, (cuda_device *, int))                                                \
  X(cuda_result, cuDeviceGetName, (char *, int, cuda_device))                                      \
  X(cuda_result, cuDeviceTotalMem_v2, (size_t *, cuda_device))                                     \
  X(cuda_result, cuDeviceGetAttribute, (int *, unsigned, cuda_device))                             \
  X(cuda_result, cuDeviceGetPCIBusId, (char *, int, cuda_device))                                  \
  X(cuda_result, cuDeviceGetUuid, (cuda_uuid *, cuda_device))                                      \
  X(cuda_result, cuDeviceCanAccessPeer, (int *, cuda_device, cuda_device))                         \
  X(cuda_result, cuDevicePrimaryCtxRetain, (cuda_context *, cuda_device))                          \
  X(cuda_result, cuDevicePrimaryCtxRelease_v2, (cuda_device))                                      \
  X(cuda_result, cuCtxPushCurrent_v2, (cuda_context))                                              \
  X(cuda_result, cuCtxPopCurrent_v2, (cuda_context *))                                             \
  X(cuda_result, cuCtxEnablePeerAccess, (cuda_context, unsigned))                                  \
  X(cuda_result, cuMemGetInfo_v2, (size_t *, size_t *))                                            \
  X(cuda_result, cuMemAlloc_v2, (cuda_pointer *, size_t))                                          \
  X(cuda_result, cuMemFree_v2, (cuda_pointer))                                                     \
  X(cuda_result, cuMemAllocHost_v2, (void **, size_t))                                             \
  X(cuda_result, cuMemFreeHost, (void *))                                                          \
  X(cuda_result, cuMemcpyHtoDAsync_v2, (cuda_pointer, const void *, size_t, cuda_stream))          \
  X(cuda_result, cuMemcpyDtoHAsync_v2, (void *, cuda_pointer, size_t, cuda_stream))                \
  X(cuda_result, cuMemcpyDtoDAsync_v2, (cuda_pointer, cuda_pointer, size_t, cuda_stream))          \
  X(cuda_result, cuMemcpyPeerAsync,                                                                \
    (cuda_pointer, cuda_context, cuda_pointer, cuda_context, size_t, cuda_stream))                 \
  X(cuda_result, cuStreamCreate, (cuda_stream *, unsigned))                                        \
  X(cuda_result, cuStreamDestroy_v2, (cuda_stream))                                                \
  X(cuda_result, cuStreamWaitEvent, (cuda_stream, cuda_event, unsigned))                           \
  X(cuda_result, cuStreamSynchronize, (cuda_stream))                                               \
  X(cuda_result, cuStreamQuery, (cuda_stream))                                                     \
  X(cuda_result, cuLaunchHostFunc, (cuda_stream, void (*)(void *), void *))                        \
  X(cuda_result, cuEventCreate, (cuda_event *, unsigned))                                          \
  X(cuda_result, cuEventDestroy_v2, (cuda_event))                                                  \
  X(cuda_result, cuEventRecord, (cuda_event, cuda_stream))                                         \
  X(cuda_result, cuEventQuery, (cuda_event))                                                       \
  X(cuda_result, cuEventSynchronize, (cuda_event))                                                 \
  X(cuda_result, cuModuleLoadDataEx, (cuda_module *, const void *, unsigned, unsigned *, void **)) \
  X(cuda_result, cuModuleUnload, (cuda_module))                                                    \
  X(cuda_result, cuModuleGetFunction, (cuda_function *, cuda_module, const char *))                \
  X(cuda_result, cuLaunchKernel,                                                                   \
    (cuda_function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,          \
     cuda_stream, void **, void **))

/* Not in drivers before 11.4: the id of a part of a GPU (MIG), where cuDeviceGetUuid gives the id
 * of the whole. */
#define CUDA_OPTIONS(X) X(cuda_result, cuDeviceGetUuid_v2, (cuda_uuid *, cuda_device))

struct cuda_functions {
  CUDA_FUNCTIONS(DL_FIELD)
  CUDA_OPTIONS(DL_FIELD)
};

/* The loaded driver, once cuda_load said true. */
extern struct cuda_functions cuda;

/* Loads and starts the driver; false, and why not, where there is none or it has no device. */
bool cuda_load(const char **why);

/* The status of a failed call: "GPU 0 (NVIDIA T4) failed launching x: CUDA_ERROR_... (700): ..." */
situ_status cuda_status(cuda_result result, const char *label, const char *doing) SITU_MUST_USE;

/* "CUDA_ERROR_ILLEGAL_ADDRESS (700): an illegal memory access was encountered" */
const char *cuda_error(cuda_result result, char out[192]);

#endif
