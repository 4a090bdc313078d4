/* SPDX-License-Identifier: Apache-2.0
 * opencl.h: the kernel dialect as OpenCL C 1.2: the prelude of a kernel file.
 *
 * host/kernel_source.c defines T_NAME (float, double, half, int32, int64, int8, uint8, int16,
 * uint16, truth), T_BYTES, the class as 0 or 1 (T_IS_REAL, T_IS_INTEGER, T_IS_BOOL, T_IS_SIGNED),
 * HAS_DOUBLE and HAS_HALF before it, and the types as typedefs after it: `typedef float T; typedef
 * float C;`. */
#pragma OPENCL FP_CONTRACT OFF

typedef char i8;
typedef uchar u8;
typedef short i16;
typedef ushort u16;
typedef int i32;
typedef uint u32;
typedef long i64;
typedef ulong u64;

#define ZERO_128 ((u128){0, 0})
#define INLINE static inline

/* A kernel with a barrier is a GROUP_KERNEL, which is always compiled: OpenCL allows local
 * variables in kernel functions only. */
#define TAKEN(name, ...) \
  __kernel __attribute__((reqd_work_group_size(256, 1, 1))) void situ_##name(__VA_ARGS__)
#define LEFT(name, ...) static void situ_##name(__VA_ARGS__)
#define GROUP_KERNEL TAKEN
#define IN(type, x) __global const type *x
#define OUT(type, y) __global type *y

#include "kernel/gpu.h"
