/* SPDX-License-Identifier: Apache-2.0
 * math.h: OpenCL's mathematical functions on the host: one word for float and double, as in OpenCL.
 */
#ifndef SITU_KERNEL_MATH_H
#define SITU_KERNEL_MATH_H

#include <math.h>

/* exp(x) is expf(x) of a float: the name inside its own macro is the function of <math.h>. */
#define MATH1(name, x) _Generic((x), float : name##f, double : name)(x)
#define MATH2(name, x, y) _Generic((x), float : name##f, double : name)(x, y)
#define exp(x) MATH1(exp, x)
#define expm1(x) MATH1(expm1, x)
#define log(x) MATH1(log, x)
#define log1p(x) MATH1(log1p, x)
#define sin(x) MATH1(sin, x)
#define cos(x) MATH1(cos, x)
#define tan(x) MATH1(tan, x)
#define asin(x) MATH1(asin, x)
#define acos(x) MATH1(acos, x)
#define atan(x) MATH1(atan, x)
#define sinh(x) MATH1(sinh, x)
#define cosh(x) MATH1(cosh, x)
#define tanh(x) MATH1(tanh, x)
#define sqrt(x) MATH1(sqrt, x)
#define rsqrt(x) (1 / sqrt(x))
#define fabs(x) MATH1(fabs, x)
#define floor(x) MATH1(floor, x)
#define ceil(x) MATH1(ceil, x)
#define rint(x) MATH1(rint, x)
#define trunc(x) MATH1(trunc, x)
#define erf(x) MATH1(erf, x)
#define erfc(x) MATH1(erfc, x)
#define lgamma(x) MATH1(lgamma, x)
#define pow(x, y) MATH2(pow, x, y)
#define fmod(x, y) MATH2(fmod, x, y)
#define atan2(x, y) MATH2(atan2, x, y)

#endif
