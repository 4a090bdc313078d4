/* SPDX-License-Identifier: Apache-2.0
 * complex.cl: element-wise kernels of complex numbers, with the names and arguments of those of
 * elementwise.cl. OpenCL C has no complex type: numbers are structs. */
#include "kernel/strided_index.h"

#define F(name) JOIN(name, T_NAME)

INLINE T F(make)(R re, R im) {
  T z;
  z.re = re;
  z.im = im;
  return z;
}

/* The first of two numbers if the condition holds, else the second. */
INLINE T F(choose)(bool first, T a, T b) {
  return F(make)(first ? a.re : b.re, first ? a.im : b.im);
}

#define NUMBER(re) F(make)((R)(re), (R)0)
#define ADD(a, b) F(make)((a).re + (b).re, (a).im + (b).im)
#define SUB(a, b) F(make)((a).re - (b).re, (a).im - (b).im)
#define NEG(a) F(make)(-(a).re, -(a).im)
#define SCALE(a, s) F(make)((a).re * (s), (a).im * (s))
#define TIMES_I(a) F(make)(-(a).im, (a).re)
#define IS_ZERO(a) ((a).re == 0 && (a).im == 0)
#define MUL(a, b) F(mul)(a, b)
#define DIV(a, b) F(div)(a, b)

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

INLINE R F(magnitude)(T a) {
  const R x = fabs(a.re), y = fabs(a.im), most = x > y ? x : y, least = x > y ? y : x;
  if (most == 0 || most - most != 0) return x == INFINITY || y == INFINITY ? (R)INFINITY : x + y;
  const R ratio = least / most;
  return most * sqrt(1 + ratio * ratio);
}

INLINE T F(exponential)(T a) {
  const R e = exp(a.re);
  return F(make)(a.im == 0 ? e : e * cos(a.im), a.im == 0 ? a.im : e * sin(a.im));
}

INLINE T F(logarithm)(T a) { return F(make)(log(F(magnitude)(a)), atan2(a.im, a.re)); }

/* log(1 + a), accurate near 0. */
INLINE T F(logarithm1)(T a) {
  const R u = a.re * (2 + a.re) + a.im * a.im;
  const bool near = u > (R)-0.5 && u < (R)1;
  const R re = near ? log1p(u) / 2 : log(F(magnitude)(F(make)(1 + a.re, a.im)));
  return F(make)(re, atan2(a.im, 1 + a.re));
}

INLINE T F(exponential1)(T a) {
  const R half_sin = sin(a.im / 2), grown = expm1(a.re);
  return F(make)(grown * cos(a.im) - 2 * half_sin * half_sin, (grown + 1) * sin(a.im));
}

INLINE T F(root)(T a) {
  const R m = F(magnitude)(a);
  const R t = sqrt((m + fabs(a.re)) / 2), other = m == 0 ? (R)0 : fabs(a.im) / (2 * t);
  const R re = a.re >= 0 ? t : other, im = a.re >= 0 ? other : t;
  return F(make)(re, a.im < 0 ? -im : im);
}

INLINE T F(hyperbolic_sine)(T a) {
  return F(make)(sinh(a.re) * cos(a.im), cosh(a.re) * sin(a.im));
}

INLINE T F(hyperbolic_cosine)(T a) {
  return F(make)(cosh(a.re) * cos(a.im), sinh(a.re) * sin(a.im));
}

INLINE T F(hyperbolic_tangent)(T a) {
  const R t = tan(a.im), s = sinh(a.re), c = sqrt(1 + s * s), b = 1 + t * t;
  const R d = 1 + b * s * s, tail = 4 * sin(a.im) * cos(a.im) * exp(-2 * fabs(a.re));
  const bool far = fabs(a.re) > 20; /* where sinh overflows */
  return F(make)(far ? (a.re < 0 ? (R)-1 : (R)1) : b * c * s / d, far ? tail : t / d);
}

#define SINE(a) F(over_i)(F(hyperbolic_sine)(TIMES_I(a)))
INLINE T F(over_i)(T a) { return F(make)(a.im, -a.re); }

INLINE T F(inverse_sinh)(T a) { /* log(a + sqrt(a^2 + 1)), odd: computed in the right half plane */
  const bool left = a.re < 0;
  const T x = F(choose)(left, NEG(a), a);
  const T one = F(make)(1 + x.im, -x.re), other = F(make)(1 - x.im, x.re); /* 1 - i x, 1 + i x */
  const T r = F(mul)(F(root)(one), F(root)(other));
  const T y = F(logarithm)(ADD(x, r));
  return F(choose)(left, NEG(y), y);
}

INLINE T F(inverse_cosh)(T a) { /* log(a + sqrt(a + 1) sqrt(a - 1)) */
  const T r = F(mul)(F(root)(F(make)(a.re + 1, a.im)), F(root)(F(make)(a.re - 1, a.im)));
  return F(logarithm)(ADD(a, r));
}

INLINE T F(inverse_tanh)(T a) { /* (log(1 + a) - log(1 - a)) / 2 */
  const T x = F(logarithm1)(a), y = F(logarithm1)(NEG(a));
  return F(make)((x.re - y.re) / 2, (x.im - y.im) / 2);
}

INLINE T F(inverse_cosine)(T a) { /* pi / 2 - asin(a) */
  const T s = F(over_i)(F(inverse_sinh)(TIMES_I(a)));
  return F(make)((R)1.57079632679489661923 - s.re, -s.im);
}

INLINE T F(power_of)(T a, T b) {
  const T power = F(exponential)(F(mul)(b, F(logarithm)(a)));
  return F(choose)(IS_ZERO(b), NUMBER(1), F(choose)(IS_ZERO(a), NUMBER(0), power));
}

INLINE T F(sign_of)(T a) {
  const R m = F(magnitude)(a);
  return F(make)(m == 0 ? (R)0 : a.re / m, m == 0 ? (R)0 : a.im / m);
}

INLINE T F(logistic)(T a) { return F(div)(NUMBER(1), ADD(NUMBER(1), F(exponential)(NEG(a)))); }

#define UNARY(name, expression)                  \
  KERNEL(name, IN(T, x_), OUT(T, y_), SIZE(n)) { \
    EACH(i, n);                                  \
    const T x = x_[i];                           \
    y_[i] = expression;                          \
  }
UNARY(Neg, NEG(x))
UNARY(Sign, F(sign_of)(x))
UNARY(Square, MUL(x, x))
UNARY(Reciprocal, DIV(NUMBER(1), x))
UNARY(Inv, DIV(NUMBER(1), x))
UNARY(Sqrt, F(root)(x))
UNARY(Rsqrt, DIV(NUMBER(1), F(root)(x)))
UNARY(Exp, F(exponential)(x))
UNARY(Expm1, F(exponential1)(x))
UNARY(Log, F(logarithm)(x))
UNARY(Log1p, F(logarithm1)(x))
UNARY(Sin, SINE(x))
UNARY(Cos, F(hyperbolic_cosine)(TIMES_I(x)))
UNARY(Tan, F(over_i)(F(hyperbolic_tangent)(TIMES_I(x))))
UNARY(Asin, F(over_i)(F(inverse_sinh)(TIMES_I(x))))
UNARY(Acos, F(inverse_cosine)(x))
UNARY(Atan, F(over_i)(F(inverse_tanh)(TIMES_I(x))))
UNARY(Sinh, F(hyperbolic_sine)(x))
UNARY(Cosh, F(hyperbolic_cosine)(x))
UNARY(Tanh, F(hyperbolic_tangent)(x))
UNARY(Asinh, F(inverse_sinh)(x))
UNARY(Acosh, F(inverse_cosh)(x))
UNARY(Atanh, F(inverse_tanh)(x))
UNARY(Sigmoid, F(logistic)(x))
UNARY(Conj, F(make)(x.re, -x.im))
#undef UNARY

KERNEL(ComplexAbs, IN(T, x), OUT(R, y), SIZE(n)) {
  EACH(i, n);
  y[i] = F(magnitude)(x[i]);
}

KERNEL(Angle, IN(T, x), OUT(R, y), SIZE(n)) {
  EACH(i, n);
  y[i] = atan2(x[i].im, x[i].re);
}

/* The product of matrices from the products of their parts; signs are -1 of conjugates. */
KERNEL(join_products, IN(R, rr), IN(R, ii), IN(R, ri), IN(R, ir), OUT(T, z), SIZE(a_sign),
       SIZE(b_sign), SIZE(n)) {
  EACH(i, n);
  z[i] = F(make)(rr[i] - ii[i] * (R)(a_sign * b_sign), ri[i] * (R)b_sign + ir[i] * (R)a_sign);
}

#ifdef SITU_HOST
#define BINARY(name, S, D, expression)                                                       \
  RANGE(name, IN(S, x_), IN(S, y_), OUT(D, z_), SIZE(sx), SIZE(sy)) {                     \
    for (i64 i = begin; i < end; i++) {                                                   \
      const S x = x_[i * sx], y = y_[i * sy];                                             \
      z_[i] = expression;                                                                 \
    }                                                                                     \
  }                                                                                       \
  static situ_status F(name##_wide)(const union arg *args, int64_t begin, int64_t end) {  \
    return strided_for_rows(args, begin, end, F(name), 2,                                 \
                            (const size_t[]){sizeof(S), sizeof(S), sizeof(D)});           \
  }
#else
#define BINARY(name, S, D, expression)                                                       \
  KERNEL(name, IN(S, x_), IN(S, y_), OUT(D, z_), SIZE(sx), SIZE(sy), SIZE(n)) {           \
    EACH(i, n);                                                                           \
    const S x = x_[i * sx], y = y_[i * sy];                                               \
    z_[i] = expression;                                                                   \
  }                                                                                       \
  KERNEL(name##_wide, IN(S, x_), IN(S, y_), OUT(D, z_), SIZES(dim), SIZES(sx), SIZES(sy), \
         SIZE(n)) {                                                                       \
    EACH(i, n);                                                                           \
    UNPACK(dim);                                                                          \
    UNPACK(sx);                                                                           \
    UNPACK(sy);                                                                           \
    const S x = x_[strided_offset(i, dim, sx)], y = y_[strided_offset(i, dim, sy)];       \
    z_[i] = expression;                                                                   \
  }
#endif
BINARY(Complex, R, T, F(make)(x, y))
BINARY(Add, T, T, ADD(x, y))
BINARY(AddV2, T, T, ADD(x, y))
BINARY(Sub, T, T, SUB(x, y))
BINARY(Mul, T, T, MUL(x, y))
BINARY(Div, T, T, DIV(x, y))
BINARY(RealDiv, T, T, DIV(x, y))
BINARY(DivNoNan, T, T, F(choose)(IS_ZERO(y), NUMBER(0), DIV(x, y)))
BINARY(Pow, T, T, F(power_of)(x, y))
BINARY(SquaredDifference, T, T,
       F(make)((x.re - y.re) * (x.re - y.re) + (x.im - y.im) * (x.im - y.im), (R)0))
BINARY(Xlogy, T, T, F(choose)(IS_ZERO(x), NUMBER(0), MUL(x, F(logarithm)(y))))
BINARY(Xdivy, T, T, F(choose)(IS_ZERO(x), NUMBER(0), DIV(x, y)))
BINARY(InvGrad, T, T, NEG(MUL(y, MUL(x, x))))
BINARY(ReciprocalGrad, T, T, NEG(MUL(y, MUL(x, x))))
BINARY(SqrtGrad, T, T, F(choose)(IS_ZERO(y), NUMBER(0), DIV(SCALE(y, (R)0.5), x)))
BINARY(RsqrtGrad, T, T,
       F(choose)(IS_ZERO(y), NUMBER(0), MUL(SCALE(y, (R)-0.5), MUL(x, MUL(x, x)))))
BINARY(TanhGrad, T, T, MUL(y, SUB(NUMBER(1), MUL(x, x))))
BINARY(SigmoidGrad, T, T, MUL(y, MUL(x, SUB(NUMBER(1), x))))
BINARY(Equal, T, uchar, x.re == y.re && x.im == y.im)
BINARY(NotEqual, T, uchar, x.re != y.re || x.im != y.im)
#undef BINARY

#undef F
#undef NUMBER
#undef ADD
#undef SUB
#undef NEG
#undef SCALE
#undef TIMES_I
#undef IS_ZERO
#undef MUL
#undef DIV
#undef SINE
