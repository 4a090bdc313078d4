/* SPDX-License-Identifier: Apache-2.0
 * types.h: includes the kernel file KERNELS once per element type. No include guard: each family of
 * ops includes it.
 *
 *   #define KERNELS "ops/nn/softmax.cl"
 *   #include "kernel/types.h"
 *   KERNEL_TABLE(softmax, REAL);
 *
 * In kernels, T is the element type, C the type of computations and T_NAME the type name.
 * IF_REAL(...), IF_SIGNED, IF_INTEGER, IF_NUMBER, IF_BOOL expand to their arguments for types of
 * the class only; #if can test T_IS_REAL, T_IS_INTEGER, T_IS_BOOL, T_IS_SIGNED, T_BYTES.
 */
#include "kernel/host.h"
#include "kernel/math.h"

UNUSED static const char types_file[] = KERNELS;

/* Real types. */
#define T_IS_REAL 1
#define T_IS_INTEGER 0
#define T_IS_BOOL 0
#define T_IS_SIGNED 1
#define IF_REAL(...) __VA_ARGS__
#define IF_SIGNED(...) __VA_ARGS__
#define IF_INTEGER(...)
#define IF_NUMBER(...) __VA_ARGS__
#define IF_BOOL(...)

#define T float
#define T_BYTES 4
#define C float
#define T_NAME float
#include "kernel/once.h"

#define T double
#define T_BYTES 8
#define C double
#define T_NAME double
#include "kernel/once.h"

#define T half
#define T_BYTES 2
#define C float
#define T_NAME half
#include "kernel/once.h"

/* Signed integers. */
#undef T_IS_REAL
#undef T_IS_INTEGER
#undef IF_REAL
#undef IF_INTEGER
#define T_IS_REAL 0
#define T_IS_INTEGER 1
#define IF_REAL(...)
#define IF_INTEGER(...) __VA_ARGS__

#define T int32_t
#define T_BYTES 4
#define C int32_t
#define T_NAME int32
#include "kernel/once.h"

#define T int64_t
#define T_BYTES 8
#define C int64_t
#define T_NAME int64
#include "kernel/once.h"

#define T int8_t
#define T_BYTES 1
#define C int32_t
#define T_NAME int8
#include "kernel/once.h"

#define T int16_t
#define T_BYTES 2
#define C int32_t
#define T_NAME int16
#include "kernel/once.h"

/* Unsigned integers. */
#undef T_IS_SIGNED
#undef IF_SIGNED
#define T_IS_SIGNED 0
#define IF_SIGNED(...)

#define T uint8_t
#define T_BYTES 1
#define C int32_t
#define T_NAME uint8
#include "kernel/once.h"

#define T uint16_t
#define T_BYTES 2
#define C int32_t
#define T_NAME uint16
#include "kernel/once.h"

#define T uint32_t
#define T_BYTES 4
#define C uint32_t
#define T_NAME uint32
#include "kernel/once.h"

#define T uint64_t
#define T_BYTES 8
#define C uint64_t
#define T_NAME uint64
#include "kernel/once.h"

/* Booleans. */
#undef T_IS_INTEGER
#undef T_IS_BOOL
#undef IF_INTEGER
#undef IF_NUMBER
#undef IF_BOOL
#define T_IS_INTEGER 0
#define T_IS_BOOL 1
#define IF_INTEGER(...)
#define IF_NUMBER(...)
#define IF_BOOL(...) __VA_ARGS__

#define T uchar
#define T_BYTES 1
#define C int32_t
#define T_NAME truth
#include "kernel/once.h"

#undef T_IS_REAL
#undef T_IS_INTEGER
#undef T_IS_BOOL
#undef T_IS_SIGNED
#undef IF_REAL
#undef IF_SIGNED
#undef IF_INTEGER
#undef IF_NUMBER
#undef IF_BOOL
#undef KERNELS
