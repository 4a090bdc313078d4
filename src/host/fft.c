/* SPDX-License-Identifier: Apache-2.0
 * fft.c: plans of fast Fourier transforms and their cache; transforms of many lines. The passes are
 * in fft_passes.h, compiled for single numbers and for vectors of 32 bytes, which transform several
 * lines at a time. */
#include "host/fft.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"
#include "base/macros.h"

enum { MAX_FACTORS = 64, CACHED_PLANS = 16, VECTOR_BYTES = 32, ROOTS_PER_CHECK = 1024 };

/* Lines whose buffers exceed this many bytes are transformed one at a time. */
static const size_t max_vector_bytes = (size_t)4 << 20;

struct factor {
  int64_t radix;
  void *twiddles; /* complex, (radix - 1) * ido; NULL of the last pass */
  void *roots;    /* complex, the roots of unity of order `radix` */
};

/* Tables are arrays of complex numbers of the precision of the plan. */
struct fft_plan {
  int64_t n;
  bool is_double, is_real;
  int n_factors;
  struct factor factors[MAX_FACTORS];
  struct fft_plan *convolution; /* Bluestein: the FFT of the convolution; else NULL */
  void *chirp, *filter;         /* exp(-i pi k^2 / n); the FFT of its conjugate over the length */
  struct fft_plan *half;        /* real, even n: the FFT of half the length; else NULL */
  void *real_twiddles;          /* exp(-2 pi i k / n), k <= n / 2 */
  int64_t buffer, work;         /* numbers of memory for a line */
  int references;
  struct fft_plan *next; /* in the cache: less recently used */
};

static int64_t fft_line_at(const struct fft_lines *lines, int64_t line, const int64_t at[3]) {
  const int64_t j = line % lines->count[1], rest = line / lines->count[1];
  return rest / lines->count[0] * at[0] + rest % lines->count[0] * at[1] + j * at[2];
}

typedef float float_vector __attribute__((vector_size(VECTOR_BYTES)));
typedef double double_vector __attribute__((vector_size(VECTOR_BYTES)));

#define S float
#define V float
#define LANES 1
#define SUFFIX float
#include "host/fft_passes.h"

#include "host/fft_lines.h"

#define S double
#define V double
#define LANES 1
#define SUFFIX double
#include "host/fft_passes.h"

#include "host/fft_lines.h"

#define S float
#define V float_vector
#define LANES 8
#define SUFFIX float_vector
#include "host/fft_passes.h"

#include "host/fft_lines.h"

#define S double
#define V double_vector
#define LANES 4
#define SUFFIX double_vector
#include "host/fft_passes.h"

#include "host/fft_lines.h"

/* ---- Plans ---- */

/* Sets element `index` of a table to exp(-2 pi i k / n), 0 <= k < n. The angle is reduced to an
 * octant with integers, so that all elements are accurate and symmetric. */
static void set_root(const struct fft_plan *plan, void *table, int64_t index, int64_t k,
                     int64_t n) {
  const int64_t octant = 8 * k / n;
  const int64_t quarter = (octant + 1) / 2;   /* the nearest multiple of n / 4 */
  const int64_t offset = 4 * k - quarter * n; /* from there, in n / 4; at most n / 2 */
  const double angle = M_PI / 2 * (double)offset / (double)n;
  const double c = cos(angle), s = sin(angle);
  const double turned[4][2] = {{c, -s}, {-s, -c}, {-c, s}, {s, c}};
  const double *value = turned[quarter % 4];
  if (plan->is_double) {
    memcpy((double *)table + 2 * index, value, 2 * sizeof *value);
  } else {
    ((float *)table)[2 * index] = (float)value[0];
    ((float *)table)[2 * index + 1] = (float)value[1];
  }
}

static void *make_table(const struct fft_plan *plan, int64_t count) {
  return malloc((size_t)max_i64(1, count) * 2 * (plan->is_double ? sizeof(double) : sizeof(float)));
}

/* Factors of n: 4 first, then 2 and odd primes. Returns the number, or 0 if a prime is too large
 * for a pass. */
static int factorize(int64_t n, int64_t *factors) {
  int count = 0;
  for (; n % 4 == 0; n /= 4) factors[count++] = 4;
  for (int64_t p = 2; p <= FFT_MAX_RADIX; p++)
    for (; n % p == 0; n /= p) factors[count++] = p;
  return n == 1 ? count : 0;
}

/* The smallest length >= n of factors 2, 3 and 5. */
static int64_t smooth_length(int64_t n) {
  int64_t best = 1;
  while (best < n) best *= 2;
  for (int64_t five = 1; five < best; five *= 5)
    for (int64_t three = five; three < best; three *= 3) {
      int64_t length = three;
      while (length < n) length *= 2;
      if (length < best) best = length;
    }
  return best;
}

static void plan_free(struct fft_plan *plan) {
  if (!plan) return;
  for (int f = 0; f < plan->n_factors; f++) {
    free(plan->factors[f].twiddles);
    free(plan->factors[f].roots);
  }
  plan_free(plan->convolution);
  plan_free(plan->half);
  free(plan->chirp);
  free(plan->filter);
  free(plan->real_twiddles);
  free(plan);
}

static situ_status set_factor(struct fft_plan *plan, int f, int64_t radix, int64_t l1) {
  const int64_t ido = plan->n / l1 / radix;
  struct factor *factor = &plan->factors[f];
  factor->radix = radix;
  factor->twiddles = make_table(plan, (radix - 1) * ido);
  factor->roots = make_table(plan, radix);
  if (!factor->twiddles || !factor->roots) return NO_MEMORY();
  for (int64_t j = 1; j < radix; j++)
    for (int64_t i = 0; i < ido; i++) {
      if (i % ROOTS_PER_CHECK == 0) TRY(interrupt_check());
      set_root(plan, factor->twiddles, (j - 1) * ido + i, j * l1 * i, plan->n);
    }
  for (int64_t j = 0; j < radix; j++) set_root(plan, factor->roots, j, j, radix);
  return NULL;
}

static situ_status plan_create(int64_t n, bool is_double, bool is_real, struct fft_plan **out);

/* The FFT of the conjugate chirp, over the length of the convolution. */
static void transform_filter(struct fft_plan *plan, void *memory) {
  const int64_t n = plan->n, length = plan->convolution->n;
  const size_t size = 2 * (plan->is_double ? sizeof(double) : sizeof(float));
  char *x = memory, *chirp = plan->chirp;
  memset(x, 0, (size_t)length * size);
  for (int64_t k = 0; k < n; k++) {
    memcpy(x + (size_t)k * size, chirp + (size_t)k * size, size);
    if (k) memcpy(x + (size_t)(length - k) * size, chirp + (size_t)k * size, size);
  }
  const int64_t parts = 2 * length;
  if (plan->is_double) {
    double *const z = memory, *to = plan->filter;
    for (int64_t i = 1; i < parts; i += 2) z[i] = -z[i];
    const struct value_double *y =
        mixed_radix_double(plan->convolution, memory, (struct value_double *)memory + length);
    for (int64_t i = 0; i < length; i++) {
      to[2 * i] = y[i].re / (double)length;
      to[2 * i + 1] = y[i].im / (double)length;
    }
  } else {
    float *const z = memory, *to = plan->filter;
    for (int64_t i = 1; i < parts; i += 2) z[i] = -z[i];
    const struct value_float *y =
        mixed_radix_float(plan->convolution, memory, (struct value_float *)memory + length);
    for (int64_t i = 0; i < length; i++) {
      to[2 * i] = y[i].re / (float)length;
      to[2 * i + 1] = y[i].im / (float)length;
    }
  }
}

static situ_status set_bluestein(struct fft_plan *plan) {
  const int64_t n = plan->n, length = smooth_length(2 * n - 1);
  TRY(plan_create(length, plan->is_double, false, &plan->convolution));
  plan->chirp = make_table(plan, n);
  plan->filter = make_table(plan, length);
  void *memory = make_table(plan, 2 * length);
  situ_status s = plan->chirp && plan->filter && memory ? NULL : NO_MEMORY();
  for (int64_t k = 0, square = 0; k < n && !s; k++) { /* k^2 modulo 2 n */
    if (k % ROOTS_PER_CHECK == 0) s = interrupt_check();
    set_root(plan, plan->chirp, k, square, 2 * n);
    square = (square + 2 * k + 1) % (2 * n);
  }
  if (!s) transform_filter(plan, memory);
  if (!s) s = interrupt_check(); /* then the filter may be incomplete */
  free(memory);
  plan->work = 2 * length;
  return s;
}

static situ_status set_complex(struct fft_plan *plan) {
  int64_t factors[MAX_FACTORS], l1 = 1;
  const int count = factorize(plan->n, factors);
  plan->buffer = plan->work = plan->n;
  if (!count && plan->n > 1) return set_bluestein(plan);
  for (int f = 0; f < count; f++) {
    plan->n_factors = f + 1;
    TRY(set_factor(plan, f, factors[f], l1));
    l1 *= factors[f];
  }
  return NULL;
}

static situ_status set_half(struct fft_plan *plan) {
  const int64_t h = plan->n / 2;
  TRY(plan_create(h, plan->is_double, false, &plan->half));
  plan->real_twiddles = make_table(plan, h + 1);
  if (!plan->real_twiddles) return NO_MEMORY();
  for (int64_t k = 0; k <= h; k++) {
    if (k % ROOTS_PER_CHECK == 0) TRY(interrupt_check());
    set_root(plan, plan->real_twiddles, k, k, plan->n);
  }
  plan->buffer = h + 1;
  plan->work = max_i64(h + 1, plan->half->work);
  return NULL;
}

static situ_status plan_create(int64_t n, bool is_double, bool is_real, struct fft_plan **out) {
  struct fft_plan *plan = calloc(1, sizeof *plan);
  if (!plan) return NO_MEMORY();
  plan->n = n;
  plan->is_double = is_double;
  plan->is_real = is_real;
  const situ_status s = is_real && n % 2 == 0 ? set_half(plan) : set_complex(plan);
  if (s) {
    plan_free(plan);
    plan = NULL;
  }
  *out = plan;
  return s;
}

/* ---- The cache: a list, the most recently used plan first ---- */

static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
static struct fft_plan *cache;

/* Moves a cached plan to the front and takes a reference; NULL if it is not cached. */
static struct fft_plan *cache_find(int64_t n, bool is_double, bool is_real) {
  for (struct fft_plan **at = &cache; *at; at = &(*at)->next) {
    struct fft_plan *const plan = *at;
    if (plan->n != n || plan->is_double != is_double || plan->is_real != is_real) continue;
    *at = plan->next;
    plan->next = cache;
    cache = plan;
    plan->references++;
    return plan;
  }
  return NULL;
}

/* Adds a plan in front; drops the reference of the cache to the last one of a full cache. */
static void cache_add(struct fft_plan *plan) {
  int count = 1;
  plan->references++;
  plan->next = cache;
  cache = plan;
  for (struct fft_plan *last = cache; last->next; last = last->next) {
    if (++count <= CACHED_PLANS) continue;
    struct fft_plan *const old = last->next;
    last->next = NULL;
    if (--old->references == 0) plan_free(old);
    return;
  }
}

static struct fft_plan *cache_find_locked(int64_t n, bool is_double, bool is_real) {
  pthread_mutex_lock(&cache_lock);
  struct fft_plan *plan = cache_find(n, is_double, is_real);
  pthread_mutex_unlock(&cache_lock);
  return plan;
}

/* Plans are created without the lock: that takes long for long lines, and can be interrupted. */
situ_status fft_plan_acquire(int64_t n, bool is_double, bool is_real, struct fft_plan **out) {
  *out = cache_find_locked(n, is_double, is_real);
  if (*out) return NULL;
  struct fft_plan *plan = NULL;
  TRY(plan_create(n, is_double, is_real, &plan));
  pthread_mutex_lock(&cache_lock);
  *out = cache_find(n, is_double, is_real); /* another thread may have been faster */
  if (!*out) {
    plan->references = 1;
    cache_add(plan);
    *out = plan;
    plan = NULL;
  }
  pthread_mutex_unlock(&cache_lock);
  plan_free(plan);
  return NULL;
}

void fft_plan_release(struct fft_plan *plan) {
  if (!plan) return;
  pthread_mutex_lock(&cache_lock);
  const bool is_last = --plan->references == 0;
  pthread_mutex_unlock(&cache_lock);
  if (is_last) plan_free(plan);
}

/* ---- Lines ---- */

/* Whether `count` lines are worth a pass with vectors of `lanes`. */
static bool fills_vector(int64_t count, int lanes) { return 2 * count >= lanes; }

static void run_all(const struct fft_lines *lines, int64_t begin, int64_t end, int lanes,
                    void *memory) {
  const bool is_double = lines->plan->is_double;
  for (int64_t l = begin; l < end;) {
    const int64_t left = end - l;
    const int width = lanes > 1 && fills_vector(left, lanes) ? (int)min_i64(lanes, left) : 1;
    if (width > 1 && is_double) run_lines_double_vector(lines, l, width, memory);
    if (width > 1 && !is_double) run_lines_float_vector(lines, l, width, memory);
    if (width == 1 && is_double) run_lines_double(lines, l, 1, memory);
    if (width == 1 && !is_double) run_lines_float(lines, l, 1, memory);
    l += width;
  }
}

situ_status fft_run(const struct fft_lines *lines, int64_t begin, int64_t end) {
  const struct fft_plan *plan = lines->plan;
  const size_t number = 2 * (plan->is_double ? sizeof(double) : sizeof(float));
  const size_t line = (size_t)(plan->buffer + plan->work) * number;
  int lanes = plan->is_double ? 4 : 8;
  if (!fills_vector(end - begin, lanes) || line * (size_t)lanes > max_vector_bytes) lanes = 1;
  void *memory = aligned_alloc(64, round_up(line * (size_t)lanes, 64));
  if (!memory) return NO_MEMORY();
  run_all(lines, begin, end, lanes, memory);
  free(memory);
  return NULL;
}

double fft_flops(int64_t n) { return 5 * (double)n * log2((double)max_i64(2, n)); }
