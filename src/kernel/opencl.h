/* SPDX-License-Identifier: Apache-2.0
 * opencl.h: the kernel dialect as OpenCL C 1.2: the text in front of a kernel file.
 *
 * Before it stand T_NAME (float, double, half, int32, int64, int8, uint8, int16, uint16, truth),
 * T_BYTES, the class as 0 or 1 (T_IS_REAL, T_IS_INTEGER, T_IS_BOOL, T_IS_SIGNED), HAS_DOUBLE and
 * HAS_HALF; behind it the types, as typedefs, not macros: `typedef float T; typedef float C;`. See
 * host/source.c. */
#pragma OPENCL FP_CONTRACT OFF

typedef char i8;
typedef uchar u8;
typedef short i16;
typedef ushort u16;
typedef int i32;
typedef uint u32;
typedef long i64;
typedef ulong u64;

#define JOIN_(a, b) a##_##b
#define JOIN(a, b) JOIN_(a, b)
#define INLINE static inline
#define PRECISE_LOG(x) log(x)

/* A program is one kernel, PICK_name, of its file; ALL_KERNELS takes all. A kernel with a barrier
 * is a GROUP_KERNEL, which is compiled whether it was picked or not: what it declares in local
 * memory may stand in kernels only. */
#define SECOND(a, b, ...) b
#define CHOOSE(...) SECOND(__VA_ARGS__)
#define TAKEN(name, ...) \
  __kernel __attribute__((reqd_work_group_size(256, 1, 1))) void situ_##name(__VA_ARGS__)
#define LEFT(name, ...) static void situ_##name(__VA_ARGS__)
#ifdef ALL_KERNELS
#define KERNEL TAKEN
#else
#define KERNEL(name, ...) CHOOSE(PICK_##name TAKEN, LEFT, )(name, __VA_ARGS__)
#endif
#define GROUP_KERNEL TAKEN
#define IN(type, x) __global const type *x
#define OUT(type, y) __global type *y
#define SIZE(n) i64 n
#define SIZES(d) i64 d##0, i64 d##1, i64 d##2, i64 d##3, i64 d##4, i64 d##5, i64 d##6, i64 d##7
#define UNPACK(d) const i64 d[8] = {d##0, d##1, d##2, d##3, d##4, d##5, d##6, d##7}
#define REAL(v) C v
#define EACH(i, n)                \
  const i64 i = get_global_id(0); \
  if (i >= (n)) return
#define FAIL(fault, a, b, c) return

#if T_IS_REAL
#define IF_REAL(...) __VA_ARGS__
#else
#define IF_REAL(...)
#endif
#if T_IS_INTEGER
#define IF_INTEGER(...) __VA_ARGS__
#else
#define IF_INTEGER(...)
#endif
#if T_IS_BOOL
#define IF_BOOL(...) __VA_ARGS__
#define IF_NUMBER(...)
#else
#define IF_BOOL(...)
#define IF_NUMBER(...) __VA_ARGS__
#endif
#if T_IS_SIGNED
#define IF_SIGNED(...) __VA_ARGS__
#else
#define IF_SIGNED(...)
#endif
