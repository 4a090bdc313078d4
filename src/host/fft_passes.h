/* SPDX-License-Identifier: Apache-2.0
 * fft_passes.h: the passes of a mixed-radix FFT, for one type of numbers. No include guard.
 *
 * S is the scalar type, V the type of the data: S, or a vector of S that transforms several lines
 * at once. LANES is the number of scalars in V, SUFFIX ends the names of the functions.
 *
 * A pass of radix p reads x[i + ido * (j + p * k)] and writes y[i + ido * (k + l1 * j)], with i <
 * ido, j < p, k < l1 and n = l1 * p * ido: after the last pass the elements are in order. Element j
 * is multiplied by exp(-2 pi i j l1 i / n), the twiddle factor w[(j - 1) * ido + i]. Vectors are
 * never passed or returned by value, whose ABI depends on the instruction set. */

#define F(name) JOIN(name, SUFFIX)

struct F(value) {
  V re, im;
};
struct F(factor) {
  S re, im;
};

#define ADD(y, a, b) (y).re = (a).re + (b).re, (y).im = (a).im + (b).im
#define SUB(y, a, b) (y).re = (a).re - (b).re, (y).im = (a).im - (b).im
#define MUL(y, a, w) \
  (y).re = (a).re * (w).re - (a).im * (w).im, (y).im = (a).re * (w).im + (a).im * (w).re
/* Stores the output j of a butterfly. */
#define STORE(j, a)                                              \
  do {                                                           \
    if ((j) > 0 && turns)                                        \
      MUL(y[i + ido * (k + l1 * (j))], a, w[((j)-1) * ido + i]); \
    else                                                         \
      y[i + ido * (k + l1 * (j))] = (a);                         \
  } while (0)
#define PASS_ARGS                                                         \
  const int64_t ido, const int64_t l1, const struct F(value) *restrict x, \
      struct F(value) *restrict y, const struct F(factor) *restrict w

INLINE void F(radix2)(PASS_ARGS, const bool turns) {
  for (int64_t k = 0; k < l1; k++)
    for (int64_t i = 0; i < ido; i++) {
      const struct F(value) *in = x + i + ido * 2 * k;
      struct F(value) a, b;
      ADD(a, in[0], in[ido]);
      SUB(b, in[0], in[ido]);
      STORE(0, a);
      STORE(1, b);
    }
}

INLINE void F(radix4)(PASS_ARGS, const bool turns) {
  for (int64_t k = 0; k < l1; k++)
    for (int64_t i = 0; i < ido; i++) {
      const struct F(value) *in = x + i + ido * 4 * k;
      struct F(value) a, b, c, d, z;
      ADD(a, in[0], in[2 * ido]);
      SUB(b, in[0], in[2 * ido]);
      ADD(c, in[ido], in[3 * ido]);
      SUB(d, in[ido], in[3 * ido]);
      ADD(z, a, c);
      STORE(0, z);
      z.re = b.re + d.im, z.im = b.im - d.re; /* b - i d */
      STORE(1, z);
      SUB(z, a, c);
      STORE(2, z);
      z.re = b.re - d.im, z.im = b.im + d.re;
      STORE(3, z);
    }
}

/* An odd radix: pairs of inputs have the same cosines and opposite sines. `turn` has the p-th roots
 * of unity, exp(-2 pi i j / p). */
INLINE void F(radix_odd)(const int64_t p, const struct F(factor) *restrict turn, PASS_ARGS,
                         const bool turns) {
  const int64_t half = p / 2;
  for (int64_t k = 0; k < l1; k++)
    for (int64_t i = 0; i < ido; i++) {
      const struct F(value) *in = x + i + ido * p * k;
      struct F(value) sum[FFT_MAX_RADIX / 2], difference[FFT_MAX_RADIX / 2], total = in[0];
      for (int64_t j = 1; j <= half; j++) {
        ADD(sum[j - 1], in[ido * j], in[ido * (p - j)]);
        SUB(difference[j - 1], in[ido * j], in[ido * (p - j)]);
        ADD(total, total, sum[j - 1]);
      }
      STORE(0, total);
      for (int64_t m = 1; m <= half; m++) {
        struct F(value) even = in[0], odd = {0}, z;
        for (int64_t j = 1; j <= half; j++) {
          const struct F(factor) root = turn[j * m % p];
          even.re += sum[j - 1].re * root.re, even.im += sum[j - 1].im * root.re;
          odd.re -= difference[j - 1].im * root.im, odd.im += difference[j - 1].re * root.im;
        }
        ADD(z, even, odd);
        STORE(m, z);
        SUB(z, even, odd);
        STORE(p - m, z);
      }
    }
}

/* The last pass (ido = 1) has no twiddle factors. */
#define PASS(name, ...)                                                         \
  CLONES static void F(name##_pass)(PASS_ARGS, const struct F(factor) * turn) { \
    (void)turn;                                                                 \
    if (ido == 1)                                                               \
      F(name)(__VA_ARGS__ 1, l1, x, y, w, false);                               \
    else                                                                        \
      F(name)(__VA_ARGS__ ido, l1, x, y, w, true);                              \
  }
#define ODD_PASS(p)                                                                 \
  CLONES static void F(radix##p##_pass)(PASS_ARGS, const struct F(factor) * turn) { \
    if (ido == 1)                                                                   \
      F(radix_odd)(p, turn, 1, l1, x, y, w, false);                                 \
    else                                                                            \
      F(radix_odd)(p, turn, ido, l1, x, y, w, true);                                \
  }
PASS(radix2, )
PASS(radix4, )
ODD_PASS(3)
ODD_PASS(5)
ODD_PASS(7)
ODD_PASS(11)
ODD_PASS(13)

CLONES static void F(radix_any_pass)(const int64_t p, PASS_ARGS, const struct F(factor) * turn) {
  F(radix_odd)(p, turn, ido, l1, x, y, w, true);
}

static void F(pass)(int64_t p, PASS_ARGS, const struct F(factor) * turn) {
  switch (p) {
    case 2:
      F(radix2_pass)(ido, l1, x, y, w, turn);
      break;
    case 3:
      F(radix3_pass)(ido, l1, x, y, w, turn);
      break;
    case 4:
      F(radix4_pass)(ido, l1, x, y, w, turn);
      break;
    case 5:
      F(radix5_pass)(ido, l1, x, y, w, turn);
      break;
    case 7:
      F(radix7_pass)(ido, l1, x, y, w, turn);
      break;
    case 11:
      F(radix11_pass)(ido, l1, x, y, w, turn);
      break;
    case 13:
      F(radix13_pass)(ido, l1, x, y, w, turn);
      break;
    default:
      F(radix_any_pass)(p, ido, l1, x, y, w, turn);
  }
}

/* Transforms x; `work` has as many elements. Returns where the result is: x or work. */
static struct F(value) *
    F(mixed_radix)(const struct fft_plan *plan, struct F(value) * x, struct F(value) * work) {
  int64_t l1 = 1;
  for (int f = 0; f < plan->n_factors && !interrupt_pending(); f++) {
    const int64_t p = plan->factors[f].radix, ido = plan->n / l1 / p;
    F(pass)(p, ido, l1, x, work, plan->factors[f].twiddles, plan->factors[f].roots);
    struct F(value) *const y = work;
    work = x;
    x = y;
    l1 *= p;
  }
  return x;
}

/* Bluestein: a convolution with a chirp, by FFTs of a longer, smooth length. The inverse FFT is the
 * forward one with real and imaginary parts exchanged. */
CLONES static void F(chirp_in)(const struct fft_plan *plan, const struct F(value) * x,
                               struct F(value) * y) {
  const struct F(factor) *chirp = plan->chirp;
  for (int64_t i = 0; i < plan->n; i++) MUL(y[i], x[i], chirp[i]);
  memset(y + plan->n, 0, (size_t)(plan->convolution->n - plan->n) * sizeof *y);
}

CLONES static void F(chirp_filter)(const struct fft_plan *plan, struct F(value) * x) {
  const struct F(factor) *filter = plan->filter;
  for (int64_t i = 0; i < plan->convolution->n; i++) {
    struct F(value) z;
    MUL(z, x[i], filter[i]);
    x[i].re = z.im, x[i].im = z.re;
  }
}

CLONES static void F(chirp_out)(const struct fft_plan *plan, const struct F(value) * x,
                                struct F(value) * y) {
  const struct F(factor) *chirp = plan->chirp;
  for (int64_t i = 0; i < plan->n; i++) {
    const struct F(value) z = {x[i].im, x[i].re};
    MUL(y[i], z, chirp[i]);
  }
}

/* The FFT of x; `work` has plan->work elements. Returns where the result is. */
static struct F(value) *
    F(transform)(const struct fft_plan *plan, struct F(value) * x, struct F(value) * work) {
  if (!plan->convolution) return F(mixed_radix)(plan, x, work);
  const int64_t length = plan->convolution->n;
  struct F(value) *const other = work + length;
  F(chirp_in)(plan, x, work);
  struct F(value) *y = F(mixed_radix)(plan->convolution, work, other);
  F(chirp_filter)(plan, y);
  y = F(mixed_radix)(plan->convolution, y, y == work ? other : work);
  F(chirp_out)(plan, y, x);
  return x;
}
