/* SPDX-License-Identifier: Apache-2.0
 * complex_types.h: includes the kernel file KERNELS once per complex type. No include guard, as
 * types.h. In kernels, T is a struct of the parts `re` and `im`, and R the type of a part. */
#include "kernel/host.h"
#include "kernel/math.h"

UNUSED static const char complex_file[] = KERNELS;

/* Without clones for later instruction sets: GCC 12 vectorizes structs of two parts with fmaddsub,
 * and the results are wrong or differ from those of scalar code in the last bit. */
#pragma push_macro("CLONES")
#undef CLONES
#define CLONES

#define T complex64
#define T_BYTES 8
#define C complex64
#define R float
#define T_NAME complex64
#include "kernel/once.h"
#undef R

#define T complex128
#define T_BYTES 16
#define C complex128
#define R double
#define T_NAME complex128
#include "kernel/once.h"
#undef R

#pragma pop_macro("CLONES")

#undef KERNELS
