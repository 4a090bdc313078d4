/* SPDX-License-Identifier: Apache-2.0
 * cuda.h: the kernel dialect as CUDA C++ for NVRTC: the prelude of a kernel file.
 *
 * host/kernel_source.c defines T_NAME, T_BYTES, the type class as 0 or 1 (T_IS_REAL, T_IS_INTEGER,
 * T_IS_BOOL, T_IS_SIGNED), HAS_HALF and HAS_DOUBLE before it, and the types as typedefs after it:
 * `typedef half T; typedef float C;`. No CUDA header is needed: half is defined here, because NVRTC
 * without headers has none. */
typedef signed char i8;
typedef unsigned char u8;
typedef unsigned char uchar;
typedef short i16;
typedef unsigned short u16;
typedef unsigned short ushort;
typedef int i32;
typedef unsigned int u32;
typedef unsigned int uint;
typedef long long i64;
typedef unsigned long long u64;
typedef unsigned long long ulong;

/* A 16-bit number; arithmetic is done in float. */
class half {
  unsigned short bits;

 public:
  half() = default;
#define HALF_FROM(type, letter, ptx_type) \
  __device__ half(type x) { asm("cvt.rn.f16." ptx_type " %0, %1;" : "=h"(bits) : letter(x)); }
  HALF_FROM(float, "f", "f32")
  HALF_FROM(double, "d", "f64")
  HALF_FROM(int, "r", "s32")
  HALF_FROM(unsigned int, "r", "u32")
  HALF_FROM(long long, "l", "s64")
  HALF_FROM(unsigned long long, "l", "u64")
#undef HALF_FROM
  __device__ operator float() const {
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
    return x;
  }
};

#define ZERO_128 (u128{0, 0})
#define INLINE static __device__ __forceinline__
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fffffff)
#define as_float(u) __uint_as_float(u)
#define as_uint(f) __float_as_uint(f)
#define as_double(u) __longlong_as_double((i64)(u))
#define as_ulong(d) ((u64)__double_as_longlong(d))

#define get_local_id(d) ((u64)threadIdx.x)
#define get_local_size(d) ((u64)blockDim.x)
#define get_group_id(d) ((u64)blockIdx.x)
#define get_num_groups(d) ((u64)gridDim.x)
#define get_global_id(d) ((u64)blockIdx.x * blockDim.x + threadIdx.x)
#define get_global_size(d) ((u64)gridDim.x * blockDim.x)
#define CLK_LOCAL_MEM_FENCE 0
#define barrier(fence) __syncthreads()
#define __local __shared__
#define __global

#define TAKEN(name, ...) extern "C" __global__ void __launch_bounds__(256) situ_##name(__VA_ARGS__)
#define LEFT(name, ...) static __device__ void situ_##name(__VA_ARGS__)
#define GROUP_KERNEL KERNEL
#define IN(type, x) const type *x
#define OUT(type, y) type *y

#include "kernel/gpu.h"
