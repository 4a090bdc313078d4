/* SPDX-License-Identifier: Apache-2.0
 * scatter.cl: scatter kernels: write slices to indexed positions, in the order of the indices. */

#if T_IS_INTEGER && T_IS_SIGNED && T_BYTES >= 2
/* The row of a tensor of dimensions `dim` that index tuple k selects; the first `depth` dimensions
 * are indexed. -1 for an invalid index that is skipped: negative ones (`skip` is 1), or all (2). */
KERNEL(number_rows, IN(T, index), OUT(i64, rows), SIZES(dim), SIZE(depth), SIZE(skip),
       SIZE(n)) {
  EACH(k, n);
  UNPACK(dim);
  i64 row = 0;
  bool inside = true;
  rows[k] = -1;
  for (i64 d = 0; d < depth; d++) {
    const i64 at = (i64)index[k * depth + d];
    inside = inside && at >= 0 && at < dim[d];
    if (at >= dim[d] ? skip < 2 : at < 0 && !skip) FAIL(INDEX, k, at, dim[d]);
    row = row * dim[d] + at;
  }
  rows[k] = inside ? row : -1;
}
#endif

#if T_IS_INTEGER && T_IS_SIGNED && T_BYTES == 4
/* Chains of the picks of each row, in order: seen[row] is the first, next[k] the one after pick k,
 * or -1. A work item handles the rows with one remainder modulo `n`; the host handles all of its
 * items in one pass. */
#ifdef SITU_HOST
RANGE(chain_picks, IN(i64, rows), OUT(T, seen), OUT(T, next), SIZE(picks), SIZE(n)) {
  for (i64 k = 0; k < picks; k++)
    if (rows[k] >= 0 && rows[k] % n >= begin && rows[k] % n < end) seen[rows[k]] = -1;
  for (i64 k = picks - 1; k >= 0; k--) {
    if (rows[k] < 0 || rows[k] % n < begin || rows[k] % n >= end) continue;
    next[k] = seen[rows[k]];
    seen[rows[k]] = (T)k;
  }
}
#else
KERNEL(chain_picks, IN(i64, rows), OUT(T, seen), OUT(T, next), SIZE(picks), SIZE(n)) {
  EACH(part, n);
  for (i64 k = 0; k < picks; k++)
    if (rows[k] >= 0 && rows[k] % n == part) seen[rows[k]] = -1;
  for (i64 k = picks - 1; k >= 0; k--) {
    if (rows[k] < 0 || rows[k] % n != part) continue;
    next[k] = seen[rows[k]];
    seen[rows[k]] = (T)k;
  }
}
#endif
#endif

#include "ops/math/type_limits.cl"

#if !T_IS_BOOL
/* The identity elements of the reductions: 0, 1, the lowest and the highest number; with
 * `is_short`, those of bfloat16, which is stored so after the reduction. */
KERNEL(put_identity, OUT(T, y), SIZE(which), SIZE(is_short), SIZE(n)) {
  EACH(i, n);
  C highest = HIGHEST_FINITE, lowest = LOWEST_FINITE;
#if T_IS_REAL && T_BYTES == 4
  if (is_short) highest = HIGHEST_BFLOAT16;
  if (is_short) lowest = -HIGHEST_BFLOAT16;
#endif
  (void)is_short;
  y[i] = which == 0 ? (T)0 : which == 1 ? (T)1 : which == 2 ? (T)lowest : (T)highest;
}
#endif

/* Sets row rows[k] of y to f(row, row k of the updates), for every k in order. A work item handles
 * one column of all rows, so no two write the same element. */
#ifdef SITU_HOST
#define SCATTER(name, f)                                                                       \
  RANGE(scatter_##name, IN(i64, rows), IN(T, updates), OUT(T, y), SIZE(picks), SIZE(inner),    \
        SIZE(pitch), SIZE(n)) {                                                                \
    (void)n;                                                                                   \
    for (i64 k = 0; k < picks; k++) {                                                          \
      if (rows[k] < 0) continue;                                                               \
      const T *from = updates + k * pitch;                                                     \
      T *to = y + rows[k] * inner;                                                             \
      for (i64 i = begin; i < end; i++) {                                                      \
        const C old = (C)to[i], u = (C)from[pitch ? i : 0];                                    \
        (void)old;                                                                             \
        to[i] = (T)(f);                                                                        \
      }                                                                                        \
    }                                                                                          \
  }
#else
#define SCATTER(name, f)                                                                       \
  KERNEL(scatter_##name, IN(i64, rows), IN(T, updates), OUT(T, y), SIZE(picks), SIZE(inner),   \
         SIZE(pitch), SIZE(n)) {                                                               \
    EACH(i, n);                                                                                \
    for (i64 k = 0; k < picks; k++) {                                                          \
      if (rows[k] < 0) continue;                                                               \
      const i64 to = rows[k] * inner + i;                                                      \
      const C old = (C)y[to], u = (C)updates[k * pitch + (pitch ? i : 0)];                     \
      (void)old;                                                                               \
      y[to] = (T)(f);                                                                          \
    }                                                                                          \
  }
#endif

SCATTER(update, u)
#if !T_IS_BOOL
SCATTER(add, old + u)
SCATTER(sub, old - u)
SCATTER(mul, old * u)
SCATTER(min, old < u ? old : u)
SCATTER(max, old > u ? old : u)
#if T_IS_REAL
SCATTER(div, old / u)
#else
SCATTER(div, u == 0 ? (C)0 : old / u)
#endif
#endif
#undef SCATTER

#undef LOWEST_FINITE
#undef HIGHEST_FINITE
#undef HIGHEST_BFLOAT16
