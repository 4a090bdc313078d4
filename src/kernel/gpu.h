/* SPDX-License-Identifier: Apache-2.0
 * gpu.h: the macros of the kernel dialect that opencl.h and cuda.h share; both define TAKEN (a
 * kernel that is compiled) and LEFT (one that is not) and include it. */
#define JOIN_(a, b) a##_##b
#define JOIN(a, b) JOIN_(a, b)
#define PRECISE_LOG(x) log(x)

/* Type of computations in double precision if the device supports it. */
#if HAS_DOUBLE
typedef double W;
#else
typedef float W;
#endif

/* Elements that are only copied, and parts of complex numbers. */
typedef struct {
  u64 low, high;
} u128;
typedef struct {
  float re, im;
} complex64;
#if HAS_DOUBLE
typedef struct {
  double re, im;
} complex128;
#endif
#if T_BYTES == 16
#define ZERO ZERO_128
#else
#define ZERO ((T)0)
#endif

/* A program compiles one kernel of its file, selected by PICK_name, or all with ALL_KERNELS. */
#define SECOND(a, b, ...) b
#define CHOOSE(...) SECOND(__VA_ARGS__)
#ifdef ALL_KERNELS
#define KERNEL TAKEN
#define IS_PICKED(name) 1
#else
#define IS_PICKED_(name) CHOOSE(PICK_##name 1, 0, )
#define IS_PICKED(name) IS_PICKED_(name)
#define KERNEL(name, ...) CHOOSE(PICK_##name TAKEN, LEFT, )(name, __VA_ARGS__)
#endif

#define SIZE(n) i64 n
#define SIZES(d) i64 d##0, i64 d##1, i64 d##2, i64 d##3, i64 d##4, i64 d##5, i64 d##6, i64 d##7
#define UNPACK(d) const i64 d[8] = {d##0, d##1, d##2, d##3, d##4, d##5, d##6, d##7}
#define REAL(v) C v
#define EACH(i, n)                     \
  const i64 i = (i64)get_global_id(0); \
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
