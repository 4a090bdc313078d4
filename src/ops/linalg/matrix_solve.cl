/* SPDX-License-Identifier: Apache-2.0
 * matrix_solve.cl: LU, triangular and Cholesky kernels for square matrices [batch][size][size];
 * one work item per matrix. The same source serves real and complex elements (structs, where R is
 * the type of a part). */
#include "kernel/interrupt.h"
#if !T_IS_REAL && !T_IS_INTEGER && !T_IS_BOOL
#define HAS_ELEMENTS 1
#define F(name) JOIN(name##_element, T_NAME)
#define PART R
INLINE T F(make)(R re, R im) {
  T z;
  z.re = re;
  z.im = im;
  return z;
}
INLINE T F(mul)(T a, T b) {
  return F(make)(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re);
}
/* Smith's method: does not overflow where the quotient does not. */
INLINE T F(div)(T a, T b) {
  const bool wide = fabs(b.re) >= fabs(b.im);
  const R p = wide ? b.re : b.im, q = wide ? b.im : b.re, ratio = q / p, d = p + q * ratio;
  const R re = wide ? a.re + a.im * ratio : a.re * ratio + a.im;
  const R im = wide ? a.im - a.re * ratio : a.im * ratio - a.re;
  return F(make)(re / d, im / d);
}
#define NUMBER(x) F(make)((R)(x), (R)0)
#define ADD(a, b) F(make)((a).re + (b).re, (a).im + (b).im)
#define SUB(a, b) F(make)((a).re - (b).re, (a).im - (b).im)
#define MUL(a, b) F(mul)(a, b)
#define DIV(a, b) F(div)(a, b)
#define NEG(a) F(make)(-(a).re, -(a).im)
#define SIZE_OF(a) (fabs((a).re) + fabs((a).im))
#define REAL_PART(a) (a).re
#define CONJ(a) F(make)((a).re, -(a).im)
#elif T_IS_REAL && T_BYTES >= 4
#define HAS_ELEMENTS 1
#define PART T
#define NUMBER(x) ((T)(x))
#define ADD(a, b) ((a) + (b))
#define SUB(a, b) ((a) - (b))
#define MUL(a, b) ((a) * (b))
#define DIV(a, b) ((a) / (b))
#define NEG(a) (-(a))
#define SIZE_OF(a) fabs(a)
#define REAL_PART(a) (a)
#define CONJ(a) (a)
#else
#define HAS_ELEMENTS 0
#endif

#if HAS_ELEMENTS
/* Solves a x = b by elimination with pivoting; `work` is as large as a. Without right-hand sides
 * (`identity`), x is the inverse. */
KERNEL(matrix_solve, IN(T, a), IN(T, b), OUT(T, work), OUT(T, x), SIZE(size), SIZE(sides),
       SIZE(identity), SIZE(adjoint), SIZE(n)) {
  EACH(i, n);
  const i64 m = i * size * size, v = i * size * sides;
  for (i64 k = 0; k < size * size; k++)
    work[m + k] = adjoint ? CONJ(a[m + k % size * size + k / size]) : a[m + k];
  for (i64 k = 0; k < size * sides; k++)
    x[v + k] = identity ? NUMBER(k / size == k % size) : b[v + k];
  for (i64 c = 0; c < size; c++) {
    if (INTERRUPTED) break;
    i64 pivot = c;
    for (i64 r = c + 1; r < size; r++)
      if (SIZE_OF(work[m + r * size + c]) > SIZE_OF(work[m + pivot * size + c])) pivot = r;
    const T top = work[m + pivot * size + c];
    if (!(SIZE_OF(top) > 0)) {
      if (identity) FAIL(SINGULAR, 0, 0, 0);
      FAIL(SINGULAR_MATRIX, 0, 0, 0);
    }
    for (i64 k = 0; k < size; k++) {
      const T kept = work[m + c * size + k];
      work[m + c * size + k] = work[m + pivot * size + k];
      work[m + pivot * size + k] = kept;
    }
    for (i64 k = 0; k < sides; k++) {
      const T kept = x[v + c * sides + k];
      x[v + c * sides + k] = x[v + pivot * sides + k];
      x[v + pivot * sides + k] = kept;
    }
    for (i64 r = 0; r < size; r++) {
      const T share = r == c ? NUMBER(0) : DIV(work[m + r * size + c], top);
      if (SIZE_OF(share) == 0) continue;
      for (i64 k = c; k < size; k++)
        work[m + r * size + k] = SUB(work[m + r * size + k], MUL(share, work[m + c * size + k]));
      for (i64 k = 0; k < sides; k++)
        x[v + r * sides + k] = SUB(x[v + r * sides + k], MUL(share, x[v + c * sides + k]));
    }
  }
  for (i64 r = 0; r < size; r++)
    for (i64 k = 0; k < sides; k++)
      x[v + r * sides + k] = DIV(x[v + r * sides + k], work[m + r * size + r]);
}

KERNEL(matrix_determinant, IN(T, a), OUT(T, work), OUT(T, y), SIZE(size), SIZE(n)) {
  EACH(i, n);
  const i64 m = i * size * size;
  T product = NUMBER(1);
  for (i64 k = 0; k < size * size; k++) work[m + k] = a[m + k];
  for (i64 c = 0; c < size && SIZE_OF(product) != 0; c++) {
    if (INTERRUPTED) break;
    i64 pivot = c;
    for (i64 r = c + 1; r < size; r++)
      if (SIZE_OF(work[m + r * size + c]) > SIZE_OF(work[m + pivot * size + c])) pivot = r;
    const T top = work[m + pivot * size + c];
    product = MUL(product, top);
    if (pivot != c) product = NEG(product);
    for (i64 k = c; k < size; k++) {
      const T kept = work[m + c * size + k];
      work[m + c * size + k] = work[m + pivot * size + k];
      work[m + pivot * size + k] = kept;
    }
    for (i64 r = c + 1; r < size && SIZE_OF(top) != 0; r++) {
      const T share = DIV(work[m + r * size + c], top);
      for (i64 k = c; k < size; k++)
        work[m + r * size + k] = SUB(work[m + r * size + k], MUL(share, work[m + c * size + k]));
    }
  }
  y[i] = product;
}

/* The lower triangle whose product with its adjoint is a: its adjoint by elimination along rows,
 * which are vectorized, in the upper triangle, transposed at the end. */
KERNEL(matrix_cholesky, IN(T, a), OUT(T, y), SIZE(size), SIZE(n)) {
  EACH(i, n);
  const i64 m = i * size * size;
  for (i64 r = 0; r < size; r++)
    for (i64 c = r; c < size; c++) y[m + r * size + c] = CONJ(a[m + c * size + r]);
  for (i64 c = 0; c < size; c++) {
    if (INTERRUPTED) break;
    const PART pivot = REAL_PART(y[m + c * size + c]);
    if (!(pivot > 0)) FAIL(NOT_POSITIVE, 0, 0, 0);
    const T root = NUMBER(sqrt(pivot));
    y[m + c * size + c] = root;
    for (i64 k = c + 1; k < size; k++) y[m + c * size + k] = DIV(y[m + c * size + k], root);
    for (i64 r = c + 1; r < size; r++) {
      const T share = CONJ(y[m + c * size + r]);
      for (i64 k = r; k < size; k++)
        y[m + r * size + k] = SUB(y[m + r * size + k], MUL(share, y[m + c * size + k]));
    }
  }
  for (i64 r = 0; r < size; r++)
    for (i64 c = r + 1; c < size; c++) {
      y[m + c * size + r] = CONJ(y[m + r * size + c]);
      y[m + r * size + c] = NUMBER(0);
    }
}

/* Solves a x = b for triangular a, or its adjoint. The strides a_step and b_step broadcast in the
 * batch. */
KERNEL(triangular_solve, IN(T, a), IN(T, b), OUT(T, x), SIZE(size), SIZE(sides), SIZE(lower),
       SIZE(adjoint), SIZE(n), SIZES(dim), SIZES(a_step), SIZES(b_step)) {
  EACH(i, n);
  UNPACK(dim);
  UNPACK(a_step);
  UNPACK(b_step);
  i64 m = 0, v = 0, rest_of_batch = i;
  for (i64 d = 7; d >= 0; d--) {
    m += rest_of_batch % dim[d] * a_step[d];
    v += rest_of_batch % dim[d] * b_step[d];
    rest_of_batch /= dim[d];
  }
  const i64 w = i * size * sides;
  const bool down = (lower != 0) != (adjoint != 0);
  for (i64 step = 0; step < size; step++) {
    if (INTERRUPTED) break;
    const i64 r = down ? step : size - 1 - step;
    for (i64 k = 0; k < sides; k++) x[w + r * sides + k] = b[v + r * sides + k];
    for (i64 done = 0; done < step; done++) {
      const i64 c = down ? done : size - 1 - done;
      const T share = adjoint ? CONJ(a[m + c * size + r]) : a[m + r * size + c];
      for (i64 k = 0; k < sides; k++)
        x[w + r * sides + k] = SUB(x[w + r * sides + k], MUL(share, x[w + c * sides + k]));
    }
    const T top = adjoint ? CONJ(a[m + r * size + r]) : a[m + r * size + r];
    for (i64 k = 0; k < sides; k++) x[w + r * sides + k] = DIV(x[w + r * sides + k], top);
  }
}
#endif
#undef HAS_ELEMENTS
#undef F
#undef PART
#undef NUMBER
#undef ADD
#undef SUB
#undef MUL
#undef DIV
#undef NEG
#undef SIZE_OF
#undef REAL_PART
#undef CONJ
