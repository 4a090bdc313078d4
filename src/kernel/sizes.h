/* SPDX-License-Identifier: Apache-2.0
 * sizes.h: includes the kernel file KERNELS once per element size, for kernels that only copy
 * elements; ZERO is an element of zero bits. KERNEL_TABLE(slice, BITS) assigns every type the
 * kernel of its size. No include guard, as types.h. */
#include "kernel/host.h"

UNUSED static const char sizes_file[] = KERNELS;

#define ZERO ((T)0)
#define T uint8_t
#define T_BYTES 1
#define C T
#define T_NAME 8
#include "kernel/once.h"

#define T uint16_t
#define T_BYTES 2
#define C T
#define T_NAME 16
#include "kernel/once.h"

#define T uint32_t
#define T_BYTES 4
#define C T
#define T_NAME 32
#include "kernel/once.h"

#define T uint64_t
#define T_BYTES 8
#define C T
#define T_NAME 64
#include "kernel/once.h"

#undef ZERO
#define ZERO ((u128){0, 0})
#define T u128
#define T_BYTES 16
#define C T
#define T_NAME 128
#include "kernel/once.h"
#undef ZERO

#undef KERNELS
