/* SPDX-License-Identifier: Apache-2.0
 * chebyshev.h: what the special functions share: their declaration, Chebyshev series, infinity.
 *
 * Special functions are part of the kernel dialect. They are computed in type W, so that half and
 * float get correctly rounded results but for rare cases, and there is one copy of them on the
 * host. */
#ifndef SITU_OPS_MATH_CHEBYSHEV_H
#define SITU_OPS_MATH_CHEBYSHEV_H

#ifdef SITU_HOST
#define SPECIAL static UNUSED __attribute__((noinline))
#define SPECIAL_TABLE static const
#else
#define SPECIAL INLINE
#define SPECIAL_TABLE const
#endif

#define SPECIAL_PI ((W)3.14159265358979323846)
#define SPECIAL_EPSILON (sizeof(W) == 8 ? (W)1.1102230246251565e-16 : (W)5.9604645e-8)

/* The sum of terms[k] T_k(2 u - 1) for 0 <= u <= 1, by Clenshaw's recurrence. */
SPECIAL W chebyshev(W u, const W *terms, int count) {
  const W t = 4 * u - 2;
  W b1 = 0, b2 = 0;
  for (int k = count - 1; k > 0; k--) {
    const W b0 = t * b1 - b2 + terms[k];
    b2 = b1;
    b1 = b0;
  }
  return t / 2 * b1 - b2 + terms[0];
}

SPECIAL W special_infinity(void) { return exp((W)1e4); }
SPECIAL W special_nan(void) { return special_infinity() - special_infinity(); }

#endif
