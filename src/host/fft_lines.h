/* SPDX-License-Identifier: Apache-2.0
 * fft_lines.h: FFTs of LANES lines of a tensor at a time: loads them, transforms them, stores the
 * results. Included after fft_passes.h with the same macros. No include guard.
 *
 * The parts of lane l of element i are at buffer[2 * LANES * i + l] and LANES after it. */

/* Reads elements of complex lines; with `swap`, imaginary and real parts are exchanged. */
CLONES static void F(load_complex)(const S *x, const int64_t *at, int64_t stride, int64_t n,
                                   bool swap, struct F(value) * buffer) {
  S *to = (S *)(void *)buffer;
  for (int64_t i = 0; i < n; i++)
    for (int l = 0; l < LANES; l++) {
      const S *from = x + 2 * (at[l] + i * stride);
      to[2 * LANES * i + l] = from[swap];
      to[2 * LANES * i + LANES + l] = from[!swap];
    }
}

CLONES static void F(store_complex)(const struct F(value) * buffer, int lanes, S *y,
                                    const int64_t *at, int64_t stride, int64_t n, bool swap,
                                    S scale) {
  const S *from = (const S *)(const void *)buffer;
  for (int64_t i = 0; i < n; i++)
    for (int l = 0; l < lanes; l++) {
      S *to = y + 2 * (at[l] + i * stride);
      to[swap] = from[2 * LANES * i + l] * scale;
      to[!swap] = from[2 * LANES * i + LANES + l] * scale;
    }
}

/* Reads real lines: with `pairs`, elements 2 i and 2 i + 1 are the parts of number i. */
CLONES static void F(load_real)(const S *x, const int64_t *at, int64_t stride, int64_t n,
                                bool pairs, struct F(value) * buffer) {
  S *to = (S *)(void *)buffer;
  for (int64_t i = 0; i < n; i++)
    for (int l = 0; l < LANES; l++) {
      const S *from = x + at[l] + (pairs ? 2 * i : i) * stride;
      to[2 * LANES * i + l] = from[0];
      to[2 * LANES * i + LANES + l] = pairs ? from[stride] : 0;
    }
}

CLONES static void F(store_real)(const struct F(value) * buffer, int lanes, S *y, const int64_t *at,
                                 int64_t stride, int64_t n, bool pairs, S scale) {
  const S *from = (const S *)(const void *)buffer;
  for (int64_t i = 0; i < n; i++)
    for (int l = 0; l < lanes; l++) {
      S *to = y + at[l] + (pairs ? 2 * i : i) * stride;
      to[0] = (pairs ? from[2 * LANES * i + LANES + l] : from[2 * LANES * i + l]) * scale;
      if (pairs) to[stride] = from[2 * LANES * i + l] * scale;
    }
}

/* From the FFT z of the pairs of a real line of n = 2 h elements to its h + 1 frequencies:
 * y[k] = even + w^k odd, even = (z[k] + conj z[h - k]) / 2, odd = (z[k] - conj z[h - k]) / 2 i. */
CLONES static void F(split_pairs)(const struct fft_plan *plan, const struct F(value) * z,
                                  struct F(value) * y) {
  const struct F(factor) *w = plan->real_twiddles;
  const int64_t h = plan->half->n;
  if (h < 1) return;
  for (int64_t k = 0; k <= h; k++) {
    const struct F(value) *a = &z[k % h], *b = &z[(h - k) % h];
    struct F(value) odd, turned;
    odd.re = (a->im + b->im) * (S)0.5, odd.im = (b->re - a->re) * (S)0.5;
    MUL(turned, odd, w[k]);
    y[k].re = (a->re + b->re) * (S)0.5 + turned.re;
    y[k].im = (a->im - b->im) * (S)0.5 + turned.im;
  }
}

/* The inverse, times 2, with the parts exchanged: z[k] = even + i odd, even = x[k] + conj x[h - k],
 * odd = (x[k] - conj x[h - k]) w^-k. The imaginary parts of x[0] and x[h] do not count. */
CLONES static void F(join_pairs)(const struct fft_plan *plan, struct F(value) * x,
                                 struct F(value) * z) {
  const struct F(factor) *w = plan->real_twiddles;
  const int64_t h = plan->half->n;
  memset(&x[0].im, 0, sizeof x[0].im);
  memset(&x[h].im, 0, sizeof x[h].im);
  for (int64_t k = 0; k < h; k++) {
    const struct F(value) *a = &x[k], *b = &x[h - k];
    const struct F(factor) back = {w[k].re, -w[k].im};
    struct F(value) odd, turned;
    odd.re = a->re - b->re, odd.im = a->im + b->im;
    MUL(turned, odd, back);
    z[k].im = a->re + b->re - turned.im;
    z[k].re = a->im - b->im + turned.re;
  }
}

/* All n frequencies of a real line of odd length, with the parts exchanged. */
CLONES static void F(mirror)(struct F(value) * x, int64_t n) {
  memset(&x[0].im, 0, sizeof x[0].im);
  for (int64_t k = 0; k <= n / 2; k++) {
    const struct F(value) z = x[k];
    x[k].re = z.im, x[k].im = z.re;
    if (k) x[n - k].re = -z.im, x[n - k].im = z.re;
  }
}

static void F(run_complex)(const struct fft_lines *lines, const int64_t *from, const int64_t *to,
                           int lanes, struct F(value) * buffer, struct F(value) * work) {
  const struct fft_plan *plan = lines->plan;
  F(load_complex)(lines->x, from, lines->x_stride, plan->n, lines->inverse, buffer);
  const struct F(value) *y = F(transform)(plan, buffer, work);
  F(store_complex)
  (y, lanes, lines->y, to, lines->y_stride, plan->n, lines->inverse, (S)lines->scale);
}

static void F(run_real)(const struct fft_lines *lines, const int64_t *from, const int64_t *to,
                        int lanes, struct F(value) * buffer, struct F(value) * work) {
  const struct fft_plan *plan = lines->plan, *half = plan->half;
  F(load_real)(lines->x, from, lines->x_stride, half ? half->n : plan->n, half, buffer);
  struct F(value) *y = F(transform)(half ? half : plan, buffer, work);
  if (half) {
    struct F(value) *const other = y == buffer ? work : buffer;
    F(split_pairs)(plan, y, other);
    y = other;
  }
  F(store_complex)
  (y, lanes, lines->y, to, lines->y_stride, plan->n / 2 + 1, false, (S)lines->scale);
}

static void F(run_inverse_real)(const struct fft_lines *lines, const int64_t *from,
                                const int64_t *to, int lanes, struct F(value) * buffer,
                                struct F(value) * work) {
  const struct fft_plan *plan = lines->plan, *half = plan->half;
  struct F(value) *x = half ? work : buffer;
  F(load_complex)(lines->x, from, lines->x_stride, plan->n / 2 + 1, false, x);
  if (half)
    F(join_pairs)(plan, x, buffer);
  else
    F(mirror)(x, plan->n);
  struct F(value) *y = F(transform)(half ? half : plan, buffer, work);
  if (!half) /* exchange the parts: the real ones are stored */
    for (int64_t i = 0; i < plan->n; i++) y[i].re = y[i].im;
  F(store_real)
  (y, lanes, lines->y, to, lines->y_stride, half ? half->n : plan->n, half, (S)lines->scale);
}

/* Transforms `lanes` lines from `first` on, at most LANES. */
static void F(run_lines)(const struct fft_lines *lines, int64_t first, int lanes, void *memory) {
  struct F(value) *buffer = memory, *work = buffer + lines->plan->buffer;
  int64_t from[LANES], to[LANES];
  for (int l = 0; l < LANES; l++) {
    const int64_t line = first + (l < lanes ? l : 0);
    from[l] = fft_line_at(lines, line, lines->x_at);
    to[l] = fft_line_at(lines, line, lines->y_at);
  }
  if (lines->kind == FFT_COMPLEX) F(run_complex)(lines, from, to, lanes, buffer, work);
  if (lines->kind == FFT_REAL) F(run_real)(lines, from, to, lanes, buffer, work);
  if (lines->kind == FFT_INVERSE_REAL) F(run_inverse_real)(lines, from, to, lanes, buffer, work);
}

#undef F
#undef ADD
#undef SUB
#undef MUL
#undef STORE
#undef PASS_ARGS
#undef PASS
#undef ODD_PASS
#undef S
#undef V
#undef LANES
#undef SUFFIX
