/* SPDX-License-Identifier: Apache-2.0
 * cl.h: the functions and constants of OpenCL 1.2 that are used, loaded at run time: OpenCL is
 * needed neither to build nor to run situ.
 */
#ifndef SITU_BACKEND_OPENCL_CL_H
#define SITU_BACKEND_OPENCL_CL_H

#include "base/dl.h"

typedef struct cl_platform *cl_platform;
typedef struct cl_device *cl_device;
typedef struct cl_context *cl_context;
typedef struct cl_queue *cl_queue;
typedef struct cl_memory *cl_memory;
typedef struct cl_program *cl_program;
typedef struct cl_kernel *cl_kernel;
typedef struct cl_event *cl_event;

/* Part of a buffer. */
struct cl_region {
  size_t origin, size;
};

#ifndef CL_CALLBACK
#define CL_CALLBACK
#endif

/* Functions that are used. */
#define CL_FUNCTIONS(X)                                                                          \
  X(int32_t, clGetPlatformIDs, (uint32_t, cl_platform *, uint32_t *))                            \
  X(int32_t, clGetPlatformInfo, (cl_platform, uint32_t, size_t, void *, size_t *))               \
  X(int32_t, clGetDeviceIDs, (cl_platform, uint64_t, uint32_t, cl_device *, uint32_t *))         \
  X(int32_t, clGetDeviceInfo, (cl_device, uint32_t, size_t, void *, size_t *))                   \
  X(cl_context, clCreateContext,                                                                 \
    (const intptr_t *, uint32_t, const cl_device *,                                              \
     void(CL_CALLBACK *)(const char *, const void *, size_t, void *), void *, int32_t *))        \
  X(int32_t, clReleaseContext, (cl_context))                                                     \
  X(cl_queue, clCreateCommandQueue, (cl_context, cl_device, uint64_t, int32_t *))                \
  X(int32_t, clReleaseCommandQueue, (cl_queue))                                                  \
  X(cl_memory, clCreateBuffer, (cl_context, uint64_t, size_t, void *, int32_t *))                \
  X(cl_memory, clCreateSubBuffer, (cl_memory, uint64_t, uint32_t, const void *, int32_t *))      \
  X(int32_t, clReleaseMemObject, (cl_memory))                                                    \
  X(cl_program, clCreateProgramWithSource,                                                       \
    (cl_context, uint32_t, const char **, const size_t *, int32_t *))                            \
  X(cl_program, clCreateProgramWithBinary,                                                       \
    (cl_context, uint32_t, const cl_device *, const size_t *, const unsigned char **, int32_t *, \
     int32_t *))                                                                                 \
  X(int32_t, clBuildProgram,                                                                     \
    (cl_program, uint32_t, const cl_device *, const char *,                                      \
     void(CL_CALLBACK *)(cl_program, void *), void *))                                           \
  X(int32_t, clGetProgramInfo, (cl_program, uint32_t, size_t, void *, size_t *))                 \
  X(int32_t, clGetProgramBuildInfo, (cl_program, cl_device, uint32_t, size_t, void *, size_t *)) \
  X(int32_t, clReleaseProgram, (cl_program))                                                     \
  X(cl_kernel, clCreateKernel, (cl_program, const char *, int32_t *))                            \
  X(int32_t, clReleaseKernel, (cl_kernel))                                                       \
  X(int32_t, clSetKernelArg, (cl_kernel, uint32_t, size_t, const void *))                        \
  X(int32_t, clEnqueueNDRangeKernel,                                                             \
    (cl_queue, cl_kernel, uint32_t, const size_t *, const size_t *, const size_t *, uint32_t,    \
     const cl_event *, cl_event *))                                                              \
  X(int32_t, clEnqueueReadBuffer,                                                                \
    (cl_queue, cl_memory, uint32_t, size_t, size_t, void *, uint32_t, const cl_event *,          \
     cl_event *))                                                                                \
  X(int32_t, clEnqueueWriteBuffer,                                                               \
    (cl_queue, cl_memory, uint32_t, size_t, size_t, const void *, uint32_t, const cl_event *,    \
     cl_event *))                                                                                \
  X(int32_t, clEnqueueCopyBuffer,                                                                \
    (cl_queue, cl_memory, cl_memory, size_t, size_t, size_t, uint32_t, const cl_event *,         \
     cl_event *))                                                                                \
  X(int32_t, clEnqueueMarkerWithWaitList, (cl_queue, uint32_t, const cl_event *, cl_event *))    \
  X(int32_t, clSetEventCallback,                                                                 \
    (cl_event, int32_t, void(CL_CALLBACK *)(cl_event, int32_t, void *), void *))                 \
  X(int32_t, clReleaseEvent, (cl_event))                                                         \
  X(int32_t, clFlush, (cl_queue))                                                                \
  X(int32_t, clFinish, (cl_queue))

struct cl_functions {
  CL_FUNCTIONS(DL_FIELD)
};

/* Valid after cl_load has returned true. */
extern struct cl_functions cl;

/* Errors with a name: number, name, explanation. */
#define CL_ERRORS(X)                                                  \
  X(-1, DEVICE_NOT_FOUND, "no device")                                \
  X(-2, DEVICE_NOT_AVAILABLE, "the device is not available")          \
  X(-4, MEM_OBJECT_ALLOCATION_FAILURE, "the device has no memory")    \
  X(-5, OUT_OF_RESOURCES, "the device is out of resources or failed") \
  X(-6, OUT_OF_HOST_MEMORY, "the driver has no memory")               \
  X(-11, BUILD_PROGRAM_FAILURE, "the kernel does not compile")        \
  X(-14, EXEC_STATUS_ERROR, "an earlier command failed")              \
  X(-30, INVALID_VALUE, "an argument is wrong")                       \
  X(-36, INVALID_COMMAND_QUEUE, "the queue is gone")                  \
  X(-38, INVALID_MEM_OBJECT, "the memory is gone")                    \
  X(-42, INVALID_BINARY, "the compiled kernel is of another device")  \
  X(-46, INVALID_KERNEL_NAME, "the kernel is not in its program")     \
  X(-52, INVALID_KERNEL_ARGS, "an argument of the kernel is missing") \
  X(-54, INVALID_WORK_GROUP_SIZE, "the work-group is too large")      \
  X(-61, INVALID_BUFFER_SIZE, "the buffer is too large")              \
  X(-1001, PLATFORM_NOT_FOUND, "no driver is installed")

enum {
#define CL_ERROR_ENUM(number, name, text) CL_##name = number,
  CL_ERRORS(CL_ERROR_ENUM)
#undef CL_ERROR_ENUM
      CL_SUCCESS = 0
};

/* Constants of cl.h. */
enum {
  CL_PLATFORM_NAME = 0x0902,
  CL_DEVICE_TYPE = 0x1000,
  CL_DEVICE_MAX_WORK_GROUP_SIZE = 0x1004,
  CL_DEVICE_MAX_MEM_ALLOC_SIZE = 0x1010,
  CL_DEVICE_MEM_BASE_ADDR_ALIGN = 0x1019,
  CL_DEVICE_GLOBAL_MEM_SIZE = 0x101F,
  CL_DEVICE_AVAILABLE = 0x1027,
  CL_DEVICE_COMPILER_AVAILABLE = 0x1028,
  CL_DEVICE_NAME = 0x102B,
  CL_DRIVER_VERSION = 0x102D,
  CL_DEVICE_VERSION = 0x102F,
  CL_DEVICE_EXTENSIONS = 0x1030,
  CL_DEVICE_PCI_BUS_ID_NV = 0x4008,
  CL_DEVICE_PCI_SLOT_ID_NV = 0x4009,
  CL_DEVICE_TOPOLOGY_AMD = 0x4037,
  CL_DEVICE_BOARD_NAME_AMD = 0x4038,
  CL_DEVICE_PCI_BUS_INFO_KHR = 0x410F,
  CL_DEVICE_UUID_KHR = 0x106A,
  CL_MEM_READ_WRITE = 1,
  CL_BUFFER_CREATE_TYPE_REGION = 0x1220,
  CL_PROGRAM_BINARY_SIZES = 0x1165,
  CL_PROGRAM_BINARIES = 0x1166,
  CL_PROGRAM_BUILD_LOG = 0x1183,
  CL_COMPLETE = 0,
  CL_DEVICE_TYPE_CPU = 2,
  CL_DEVICE_TYPE_GPU = 4,
};
#define CL_DEVICE_TYPE_ALL 0xFFFFFFFFull

/* Loads the ICD loader once; on failure `*why` is set to the reason. */
bool cl_load(const char **why);

/* Formats an error: "CL_OUT_OF_RESOURCES (-5): the device ...". Returns `out`. */
const char *cl_error(int32_t error, char out[128]);

/* Converts an error to a status; NULL for CL_SUCCESS. `doing` describes the operation:
 * "allocating". */
situ_status cl_status(int32_t error, const char *label, const char *doing) SITU_MUST_USE;

#endif
