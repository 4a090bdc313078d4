/* SPDX-License-Identifier: Apache-2.0
 * loops.c: see loops.h. The compiler may use the vectors of the machine, but must not make a call
 * of memcpy from a loop, which is another thing to measure. */
#include "loops.h"

#include "team.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define VECTORS __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define VECTORS
#endif

enum { MAX_RANKS = 256, PARTS = 64, CHAINS = 12 };

VECTORS static void add(const float *restrict a, const float *restrict b, float *restrict out,
                        int64_t n) {
  for (int64_t i = 0; i < n; i++) out[i] = a[i] + b[i];
}

VECTORS static void relu(const float *restrict a, float *restrict out, int64_t n) {
  for (int64_t i = 0; i < n; i++) out[i] = a[i] > 0 ? a[i] : 0;
}

VECTORS static void copy(const float *restrict a, float *restrict out, int64_t n) {
  for (int64_t i = 0; i < n; i++) out[i] = a[i];
}

/* Many partial sums: additions that do not wait for each other. `n` is a multiple of PARTS. */
VECTORS static double sum(const float *a, int64_t n) {
  float parts[PARTS] = {0};
  for (int64_t i = 0; i < n; i += PARTS)
    for (int k = 0; k < PARTS; k++) parts[k] += a[i + k];
  double all = 0;
  for (int k = 0; k < PARTS; k++) all += (double)parts[k];
  return all;
}

static void add_part(void *context, int rank, int64_t begin, int64_t end) {
  const struct loops *l = context;
  (void)rank;
  add(l->a + begin, l->b + begin, l->out + begin, end - begin);
}

static void relu_part(void *context, int rank, int64_t begin, int64_t end) {
  const struct loops *l = context;
  (void)rank;
  relu(l->a + begin, l->out + begin, end - begin);
}

static void copy_part(void *context, int rank, int64_t begin, int64_t end) {
  const struct loops *l = context;
  (void)rank;
  copy(l->a + begin, l->out + begin, end - begin);
}

static double sums[MAX_RANKS];

static void sum_part(void *context, int rank, int64_t begin, int64_t end) {
  const struct loops *l = context;
  sums[rank] = sum(l->a + begin, end - begin);
}

void loops_add(void *context) { team_run(add_part, context, ((struct loops *)context)->n); }
void loops_relu(void *context) { team_run(relu_part, context, ((struct loops *)context)->n); }
void loops_copy(void *context) { team_run(copy_part, context, ((struct loops *)context)->n); }

void loops_sum(void *context) {
  struct loops *l = context;
  team_run(sum_part, context, l->n);
  l->sum = 0;
  for (int i = 0; i < team_size(); i++) l->sum += sums[i];
}

/* Independent chains of vectors of `width` floats that stay in registers. */
#define MULTIPLY_ADD(name, width, attribute)                                         \
  typedef float name##_floats __attribute__((vector_size((width)*4)));               \
  attribute static float name(int64_t turns) {                                       \
    name##_floats x[CHAINS], m = {0}, c = {0};                                       \
    m += 0.999f;                                                                     \
    c += 0.001f;                                                                     \
    for (int k = 0; k < CHAINS; k++) x[k] = m + (float)k;                            \
    for (int64_t i = 0; i < turns; i++)                                              \
      _Pragma("GCC unroll 12") for (int k = 0; k < CHAINS; k++) x[k] = x[k] * m + c; \
    for (int k = 1; k < CHAINS; k++) x[0] += x[k];                                   \
    return x[0][0];                                                                  \
  }

#if defined(__x86_64__)
MULTIPLY_ADD(wide, 16, __attribute__((target("avx512f"))))
MULTIPLY_ADD(middle, 8, __attribute__((target("avx2,fma"))))
#endif
MULTIPLY_ADD(narrow, 4, )

/* The widest vectors that the machine has. */
static float multiply_add(int64_t turns, int *width) {
#if defined(__x86_64__)
  *width = 16;
  if (__builtin_cpu_supports("avx512f")) return wide(turns);
  *width = 8;
  if (__builtin_cpu_supports("fma")) return middle(turns);
#endif
  *width = 4;
  return narrow(turns);
}

enum { TURNS_PER_ITEM = 256 };

static void peak_part(void *context, int rank, int64_t begin, int64_t end) {
  int width;
  sums[rank] = (double)multiply_add((end - begin) * TURNS_PER_ITEM, &width);
  if (!rank) *(int *)context = width;
}

void loops_peak(void *context) {
  struct loops_peak *peak = context;
  peak->items = 1024 * team_size();
  team_run(peak_part, &peak->width, peak->items);
}

double loops_peak_operations(const struct loops_peak *peak) {
  return (double)peak->items * TURNS_PER_ITEM * CHAINS * peak->width * 2;
}
