/* SPDX-License-Identifier: Apache-2.0
 * special_functions.cl: the kernels of special_functions.def, and Betainc. */
#include "kernel/strided_index.h"

#if T_IS_REAL
#include "ops/math/bessel.h"
#include "ops/math/incomplete_gamma.h"
#include "ops/math/integrals.h"
#include "ops/math/elementwise_kernels.h"

#define next_after(x, y) nextafter(x, y)
#define GUARD_(y)
#define UNARY(name, class, cost, f, ...) UNARY_KERNEL(name, T, f)
#define BINARY(name, class, cost, f, guard, ...) BINARY_KERNELS(name, T, f, )
#define BINARY_OF(ports, args, ...) BINARY(__VA_ARGS__)
#define FLOAT_BINARY_OF(ports, args, ...) BINARY(__VA_ARGS__)
#include "ops/math/special_functions.def"
#undef UNARY
#undef BINARY
#undef BINARY_OF
#undef FLOAT_BINARY_OF
#undef next_after
#undef GUARD_
#undef UNARY_KERNEL
#undef BINARY_KERNELS

/* Operands are of the shape of the result (stride 1) or one element (stride 0). */
KERNEL(Betainc, IN(T, a), IN(T, b), IN(T, x), OUT(T, z), SIZE(sa), SIZE(sb), SIZE(sx), SIZE(n)) {
  EACH(i, n);
  z[i] = (T)incomplete_beta((C)a[i * sa], (C)b[i * sb], (C)x[i * sx]);
}
#endif
