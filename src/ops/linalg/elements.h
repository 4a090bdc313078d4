/* SPDX-License-Identifier: Apache-2.0
 * elements.h: includes ALGORITHMS once for real and once for complex matrices. No include guard.
 *
 * E is the element type, F(name) the name of a function for it. Matrices are row-major. MUL, DIV,
 * CONJ, RE, IM, ABS2, MAGNITUDE and NUMBER are the arithmetic of elements; MUL does not check for
 * NaN as the operator of complex numbers does. */
#include <math.h>

#include "base/complex_number.h"
#include "kernel/host.h"

#ifndef SITU_OPS_LINALG_ELEMENTS_H
#define SITU_OPS_LINALG_ELEMENTS_H
typedef double _Complex complex_double;

UNUSED static inline complex_double complex_mul(complex_double a, complex_double b) {
  return CMPLX(creal(a) * creal(b) - cimag(a) * cimag(b),
               creal(a) * cimag(b) + cimag(a) * creal(b));
}

/* Smith's method: does not overflow where the quotient does not. */
UNUSED static inline complex_double complex_div(complex_double a, complex_double b) {
  const bool wide = fabs(creal(b)) >= fabs(cimag(b));
  const double p = wide ? creal(b) : cimag(b), q = wide ? cimag(b) : creal(b);
  const double ratio = q / p, d = p + q * ratio;
  const double re = wide ? creal(a) + cimag(a) * ratio : creal(a) * ratio + cimag(a);
  const double im = wide ? cimag(a) - creal(a) * ratio : cimag(a) * ratio - creal(a);
  return CMPLX(re / d, im / d);
}

UNUSED static inline double complex_square(complex_double a) {
  return creal(a) * creal(a) + cimag(a) * cimag(a);
}
#endif

#define E double
#define F(name) name##_real
#define MUL(a, b) ((a) * (b))
#define DIV(a, b) ((a) / (b))
#define CONJ(a) (a)
#define RE(a) (a)
#define IM(a) ((void)(a), 0.0)
#define ABS2(a) ((a) * (a))
#define MAGNITUDE(a) fabs(a)
#define NUMBER(re) ((double)(re))
#define WITH_PARTS(re, im) ((void)(im), (re))
#define IS_COMPLEX 0
#include ALGORITHMS
#undef E
#undef F
#undef MUL
#undef DIV
#undef CONJ
#undef RE
#undef IM
#undef ABS2
#undef MAGNITUDE
#undef NUMBER
#undef WITH_PARTS
#undef IS_COMPLEX

/* Without clones, as in kernel/complex_types.h. */
#pragma push_macro("CLONES")
#undef CLONES
#define CLONES
#define E complex_double
#define F(name) name##_complex
#define MUL(a, b) complex_mul(a, b)
#define DIV(a, b) complex_div(a, b)
#define CONJ(a) conj(a)
#define RE(a) creal(a)
#define IM(a) cimag(a)
#define ABS2(a) complex_square(a)
#define MAGNITUDE(a) hypot(creal(a), cimag(a))
#define NUMBER(re) CMPLX((double)(re), 0.0)
#define WITH_PARTS(re, im) CMPLX(re, im)
#define IS_COMPLEX 1
#include ALGORITHMS
#undef E
#undef F
#undef MUL
#undef DIV
#undef CONJ
#undef RE
#undef IM
#undef ABS2
#undef MAGNITUDE
#undef NUMBER
#undef WITH_PARTS
#undef IS_COMPLEX
#pragma pop_macro("CLONES")
#undef ALGORITHMS
