/* SPDX-License-Identifier: Apache-2.0
 * fft.h: fast Fourier transforms of lines of tensors on the host: radix 2, 3, 4, 5, 7, 11 and 13,
 * other primes up to FFT_MAX_RADIX directly, and Bluestein's algorithm for the rest. Twiddle
 * factors are computed in double precision. */
#ifndef SITU_HOST_FFT_H
#define SITU_HOST_FFT_H

#include "base/base.h"

struct fft_plan;

enum { FFT_MAX_RADIX = 61 };

enum fft_kind {
  FFT_COMPLEX,      /* n complex to n complex numbers */
  FFT_REAL,         /* n real numbers to n / 2 + 1 frequencies */
  FFT_INVERSE_REAL, /* n / 2 + 1 frequencies to n real numbers */
};

/* Lines of tensors x and y, which may be the same memory only if the lines are the same. Line l is
 * ((o * count[0]) + i) * count[1] + j and begins at at[0] * o + at[1] * i + at[2] * j. Positions
 * and strides are in elements (real or complex numbers). */
struct fft_lines {
  const struct fft_plan *plan;
  enum fft_kind kind;
  bool inverse; /* of FFT_COMPLEX: the sign of the exponent is positive */
  double scale; /* results are multiplied by it */
  const void *x;
  void *y;
  int64_t count[2], x_at[3], y_at[3], x_stride, y_stride;
};

/* Returns the plan of a length >= 1 from a cache of recently used ones; the caller releases it.
 * Real transforms have plans of their own. */
situ_status fft_plan_acquire(int64_t n, bool is_double, bool is_real,
                             struct fft_plan **out) SITU_MUST_USE;
void fft_plan_release(struct fft_plan *plan);

/* Transforms the lines begin <= l < end. */
situ_status fft_run(const struct fft_lines *lines, int64_t begin, int64_t end) SITU_MUST_USE;

/* Estimates the floating-point operations of a transform of length n. */
double fft_flops(int64_t n);

#endif
