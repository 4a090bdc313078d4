/* SPDX-License-Identifier: Apache-2.0
 * optimizer_ops.cl: kernels of optimizer_updates.cl for dense gradients (apply_) and for indexed
 * slices (sparse_apply_), which update only those slices. */
#if T_IS_REAL
#define value(x) ((C)(x)[0])

/* x to the power of minus p, which mostly is the root of x. */
INLINE C JOIN(ftrl_power, T_NAME)(C x, C p) { return p == (C)-0.5 ? sqrt(x) : pow(x, -p); }

/* The new value of a variable, and of *linear. by_lr: *linear holds the sum times the rate. */
INLINE C JOIN(ftrl_next, T_NAME)(C old, C g, C shrunk, C rate, C l1, C l2, C p, int by_lr, C var,
                                 C *linear) {
  const C scale = by_lr ? rate : 1, divisor = by_lr ? 1 : rate, least = scale * l1;
  const C power = JOIN(ftrl_power, T_NAME)(old + g * g, p);
  const C change = (power - JOIN(ftrl_power, T_NAME)(old, p)) / divisor * var;
  const C line = *linear + scale * shrunk - change;
  *linear = line;
  if (fabs(line) <= least) return 0;
  return ((line > 0 ? least : -least) - line) / (power / divisor + 2 * scale * l2);
}

/* x nearer to 0 by l1, and smaller by l2. */
INLINE C JOIN(shrink, T_NAME)(C x, C rate, C l1, C l2) {
  const C rest = fabs(x) - rate * l1;
  if (l1 > 0) x = rest <= 0 ? 0 : x > 0 ? rest : -rest;
  return x / (1 + rate * l2);
}

#define UPDATE(name, ...) KERNEL(apply_##name, __VA_ARGS__, SIZE(n))
#define PLACE(i, g, grad) \
  EACH(i, n);             \
  const C g = (C)grad[i]
#include "ops/state/optimizer_updates.cl"
#undef UPDATE
#undef PLACE

/* Pick k is of row rows[k]; the first one of its row, seen[row], changes the row by the sum of all
 * of them, in their order. */
#define UPDATE(name, ...)                                                                       \
  KERNEL(sparse_apply_##name, __VA_ARGS__, IN(i64, rows), IN(i32, seen), IN(i32, next),         \
         SIZE(inner), SIZE(n))
#define PLACE(i, g, grad)                            \
  EACH(item, n);                                     \
  const i64 k = item / inner, column = item % inner; \
  if (rows[k] < 0 || seen[rows[k]] != k) return;     \
  const i64 i = rows[k] * inner + column;            \
  C g = (C)grad[item];                               \
  for (i64 j = next[k]; j >= 0; j = next[j]) g += (C)grad[j * inner + column]
#include "ops/state/optimizer_updates.cl"
#undef UPDATE
#undef PLACE

#undef value
#endif
