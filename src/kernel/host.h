/* SPDX-License-Identifier: Apache-2.0
 * host.h: the kernel dialect as C: macros that compile a .cl file to host kernels.
 *
 *   KERNEL(scale, IN(T, x), OUT(T, y), REAL(factor), SIZE(n)) {
 *     EACH(i, n);
 *     y[i] = (T)((C)x[i] * factor);
 *   }
 *
 * defines `scale_float`, a host_kernel that unpacks its arguments in order and computes the work
 * items begin <= i < end. The body becomes an inline function of one item. Work items are
 * independent, as on a GPU: none reads what another one writes. The loop is therefore marked ivdep,
 * no pointer is `restrict`, and a kernel that accesses only index i can run in place.
 *
 * RANGE(name, args...) { ... } is for special host loops: the body is the whole function, uses
 * `begin` and `end`, and is under #ifdef SITU_HOST next to the KERNEL for GPUs.
 *
 * Arguments: IN(type, x), OUT(type, y): memory. SIZE(n): an i64. REAL(v): a number, as C.
 *            SIZES(d): SITU_MAX_RANK values of i64 (ARG_INTS); UNPACK(d) declares them in the body.
 * FAIL(FAULT, a, b, c) reports a fault of kernel.h and ends the item; GPUs only end the item.
 *
 * T is the element type, C the type of computations (float for half, int for small integers).
 * The GPU versions and the rules for all three are in dialect.md.
 */
#ifndef SITU_KERNEL_HOST_H
#define SITU_KERNEL_HOST_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/macros.h"
#include "device/backend.h"
#include "kernel/foreach.h"
#include "kernel/kernel.h"

#define SITU_HOST 1
#define HAS_DOUBLE 1
#define HAS_HALF 1

/* OpenCL's type names. bool is stored as uchar. */
typedef int8_t i8;
typedef uint8_t u8;
typedef int16_t i16;
typedef uint16_t u16;
typedef int32_t i32;
typedef int64_t i64;
typedef uint32_t u32;
typedef uint64_t u64;
typedef unsigned char uchar;
typedef unsigned int uint;
__extension__ typedef _Float16 half;
typedef double W;
typedef struct {
  u64 low, high;
} u128; /* only copied */
typedef struct {
  float re, im;
} complex64;
typedef struct {
  double re, im;
} complex128;

#define UNUSED __attribute__((unused))

/* OpenCL's functions to reinterpret bits. */
INLINE UNUSED u32 as_uint(float value) {
  u32 bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}
INLINE UNUSED float as_float(u32 bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
INLINE UNUSED u64 as_ulong(double value) {
  u64 bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}
INLINE UNUSED double as_double(u64 bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* Work items are independent: no checks for overlapping memory. */
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed"
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif

#define PARAM_IN(type, x) , const type *x
#define PARAM_OUT(type, y) , type *y
#define PARAM_SIZE(n) , const i64 n
#define PARAM_SIZES(d) , const i64 *d
#define PARAM_REAL(v) , const C v
#define PARAM(a) PARAM_##a

#define NAME_IN(type, x) , x
#define NAME_OUT(type, y) , y
#define NAME_SIZE(n) , n
#define NAME_SIZES(d) , d
#define NAME_REAL(v) , v
#define NAME(a) NAME_##a

#define TAKE_IN(type, x) const type *const x = (arg_++)->pointer;
#define TAKE_OUT(type, y) type *const y = (arg_++)->pointer;
#define TAKE_SIZE(n) const i64 n = (arg_++)->integer;
#define TAKE_SIZES(d)                  \
  const i64 *const d = &arg_->integer; \
  arg_ += SITU_MAX_RANK;
#define TAKE_REAL(v) const C v = (C)(arg_++)->real;
#define TAKE(a) TAKE_##a

#define KERNEL(name, ...)                                                                   \
  INLINE void JOIN(name##_item, T_NAME)(const i64 id,                                       \
                                        struct fault *fault_ FOR_EACH(PARAM, __VA_ARGS__)); \
  CLONES static situ_status JOIN(name, T_NAME)(const union arg *arg_, int64_t begin,        \
                                               int64_t end) {                               \
    struct fault fault = {0};                                                               \
    FOR_EACH(TAKE, __VA_ARGS__)                                                             \
    INDEPENDENT for (i64 id = begin; id < end; id++)                                        \
        JOIN(name##_item, T_NAME)(id, &fault FOR_EACH(NAME, __VA_ARGS__));                  \
    return fault.kind ? kernel_fault(&fault) : NULL;                                        \
  }                                                                                         \
  INLINE void JOIN(name##_item, T_NAME)(const i64 id,                                       \
                                        UNUSED struct fault *fault_ FOR_EACH(PARAM, __VA_ARGS__))

#define RANGE(name, ...)                                                                     \
  INLINE void JOIN(name##_range, T_NAME)(const i64 begin, const i64 end,                     \
                                         struct fault *fault_ FOR_EACH(PARAM, __VA_ARGS__)); \
  CLONES static situ_status JOIN(name, T_NAME)(const union arg *arg_, int64_t begin,         \
                                               int64_t end) {                                \
    struct fault fault = {0};                                                                \
    FOR_EACH(TAKE, __VA_ARGS__)                                                              \
    JOIN(name##_range, T_NAME)(begin, end, &fault FOR_EACH(NAME, __VA_ARGS__));              \
    return fault.kind ? kernel_fault(&fault) : NULL;                                         \
  }                                                                                          \
  INLINE void JOIN(name##_range, T_NAME)(const i64 begin, const i64 end,                     \
                                         UNUSED struct fault *fault_ FOR_EACH(PARAM, __VA_ARGS__))

#define EACH(i, n)  \
  const i64 i = id; \
  (void)(n)
#define UNPACK(d) (void)(d)
#define FAIL(what, a, b, c)                          \
  do {                                               \
    *fault_ = (struct fault){FAULT_##what, a, b, c}; \
    return;                                          \
  } while (0)

/* The table of a kernel for a class of types: KERNEL_TABLE(scale, REAL) defines scale_kernel. */
#define TABLE_ENTRY(name, TYPE, suffix) [SITU_##TYPE] = name##_##suffix,
#define KERNEL_TABLE(kernel_name, CLASS)              \
  static const struct kernel kernel_name##_kernel = { \
      .name = #kernel_name,                           \
      .file = FILE_##CLASS,                           \
      .bits = IS_BITS_##CLASS,                        \
      .host = {TYPES_##CLASS(TABLE_ENTRY, kernel_name)}}

/* Classes of types: X(..., type, name), where `name` is the suffix of the kernels that
 * kernel/types.h defines. BITS is for kernels that only copy elements, one per element size,
 * defined by `kernel/sizes.h`. */
#define TYPES_REAL(X, ...) \
  X(__VA_ARGS__, FLOAT, float) X(__VA_ARGS__, DOUBLE, double) X(__VA_ARGS__, HALF, half)
#define TYPES_SIGNED(X, ...)   \
  TYPES_REAL(X, __VA_ARGS__)   \
  X(__VA_ARGS__, INT32, int32) \
  X(__VA_ARGS__, INT64, int64) X(__VA_ARGS__, INT8, int8) X(__VA_ARGS__, INT16, int16)
#define TYPES_INTEGER(X, ...)  \
  X(__VA_ARGS__, INT32, int32) \
  X(__VA_ARGS__, INT64, int64) \
  X(__VA_ARGS__, INT8, int8)   \
  X(__VA_ARGS__, UINT8, uint8) \
  X(__VA_ARGS__, INT16, int16) \
  X(__VA_ARGS__, UINT16, uint16) X(__VA_ARGS__, UINT32, uint32) X(__VA_ARGS__, UINT64, uint64)
#define TYPES_NUMBER(X, ...) TYPES_REAL(X, __VA_ARGS__) TYPES_INTEGER(X, __VA_ARGS__)
#define TYPES_BOOL(X, ...) X(__VA_ARGS__, BOOL, truth)
#define TYPES_ANY(X, ...) TYPES_NUMBER(X, __VA_ARGS__) TYPES_BOOL(X, __VA_ARGS__)
#define TYPES_COMPLEX(X, ...) \
  X(__VA_ARGS__, COMPLEX64, complex64) X(__VA_ARGS__, COMPLEX128, complex128)
#define TYPES_REAL_COMPLEX(X, ...) TYPES_REAL(X, __VA_ARGS__) TYPES_COMPLEX(X, __VA_ARGS__)
#define TYPES_SIGNED_COMPLEX(X, ...) TYPES_SIGNED(X, __VA_ARGS__) TYPES_COMPLEX(X, __VA_ARGS__)
#define TYPES_NUMBER_COMPLEX(X, ...) TYPES_NUMBER(X, __VA_ARGS__) TYPES_COMPLEX(X, __VA_ARGS__)
#define TYPES_ANY_COMPLEX(X, ...) TYPES_ANY(X, __VA_ARGS__) TYPES_COMPLEX(X, __VA_ARGS__)
#define TYPES_BITS(X, ...)         \
  X(__VA_ARGS__, FLOAT, 32)        \
  X(__VA_ARGS__, DOUBLE, 64)       \
  X(__VA_ARGS__, HALF, 16)         \
  X(__VA_ARGS__, BFLOAT16, 16)     \
  X(__VA_ARGS__, UINT32, 32)       \
  X(__VA_ARGS__, UINT64, 64)       \
  X(__VA_ARGS__, COMPLEX64, 64)    \
  X(__VA_ARGS__, COMPLEX128, 128)  \
  X(__VA_ARGS__, INT32, 32)        \
  X(__VA_ARGS__, INT64, 64)        \
  X(__VA_ARGS__, INT16, 16)        \
  X(__VA_ARGS__, UINT16, 16)       \
  X(__VA_ARGS__, INT8, 8)          \
  X(__VA_ARGS__, FLOAT8_E5M2, 8)   \
  X(__VA_ARGS__, FLOAT8_E4M3FN, 8) \
  X(__VA_ARGS__, INT4, 8) X(__VA_ARGS__, UINT4, 8) X(__VA_ARGS__, UINT8, 8) X(__VA_ARGS__, BOOL, 8)

/* Source file of the kernels of a class, as included by types.h or sizes.h. */
#define FILE_REAL types_file
#define IS_BITS_REAL false
#define FILE_SIGNED types_file
#define IS_BITS_SIGNED false
#define FILE_INTEGER types_file
#define IS_BITS_INTEGER false
#define FILE_NUMBER types_file
#define IS_BITS_NUMBER false
#define FILE_BOOL types_file
#define IS_BITS_BOOL false
#define FILE_ANY types_file
#define IS_BITS_ANY false
#define FILE_BITS sizes_file
#define IS_BITS_BITS true

/* The kernels of complex types are in a file of their own, included by complex_types.h. */
#define FILE_COMPLEX NULL, .complex_file = complex_file
#define IS_BITS_COMPLEX false
#define FILE_REAL_COMPLEX types_file, .complex_file = complex_file
#define IS_BITS_REAL_COMPLEX false
#define FILE_SIGNED_COMPLEX types_file, .complex_file = complex_file
#define IS_BITS_SIGNED_COMPLEX false
#define FILE_NUMBER_COMPLEX types_file, .complex_file = complex_file
#define IS_BITS_NUMBER_COMPLEX false
#define FILE_ANY_COMPLEX types_file, .complex_file = complex_file
#define IS_BITS_ANY_COMPLEX false

/* The same classes as type lists for the attributes of op definitions. */
#define TYPE_NAMES_REAL "bfloat16 half float double"
#define TYPE_NAMES_SIGNED "bfloat16 half float double int32 int64 int8 int16"
#define TYPE_NAMES_INTEGER "int32 int64 int8 uint8 int16 uint16 uint32 uint64"
#define TYPE_NAMES_NUMBER TYPE_NAMES_REAL " " TYPE_NAMES_INTEGER
#define TYPE_NAMES_BOOL "bool"
#define TYPE_NAMES_ANY TYPE_NAMES_NUMBER " bool"

#define TYPE_NAMES_COMPLEX "complex64 complex128"
#define TYPE_NAMES_REAL_COMPLEX TYPE_NAMES_REAL " " TYPE_NAMES_COMPLEX
#define TYPE_NAMES_SIGNED_COMPLEX TYPE_NAMES_SIGNED " " TYPE_NAMES_COMPLEX
#define TYPE_NAMES_NUMBER_COMPLEX TYPE_NAMES_NUMBER " " TYPE_NAMES_COMPLEX
#define TYPE_NAMES_ANY_COMPLEX TYPE_NAMES_ANY " " TYPE_NAMES_COMPLEX

#endif
