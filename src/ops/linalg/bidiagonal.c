/* SPDX-License-Identifier: Apache-2.0
 * bidiagonal.c: implicit QR iterations for singular values of bidiagonal matrices, and implicit QL
 * iterations for eigenvalues of symmetric tridiagonal ones. The rotations of an iteration also turn
 * the rows of transposed bases, along which loops are vectorized. */
#include "ops/linalg/bidiagonal.h"

#include <float.h>
#include <math.h>

#include "base/interrupt.h"
#include "kernel/host.h"

enum { MOST_ITERATIONS = 60 }; /* per value */

/* Rows a and b become c a + s b and c b - s a. */
CLONES static void rotate(const struct rotated *x, int64_t row_a, int64_t row_b, double c,
                          double s) {
  if (!x->rows) return;
  double *restrict a = x->rows + row_a * x->width, *restrict b = x->rows + row_b * x->width;
  for (int64_t i = 0; i < x->width; i++) {
    const double p = a[i], q = b[i];
    a[i] = c * p + s * q;
    b[i] = c * q - s * p;
  }
}

static void swap_rows(const struct rotated *x, int64_t row_a, int64_t row_b) {
  if (!x->rows) return;
  double *a = x->rows + row_a * x->width, *b = x->rows + row_b * x->width;
  for (int64_t i = 0; i < x->width; i++) {
    const double kept = a[i];
    a[i] = b[i];
    b[i] = kept;
  }
}

/* Selection sort, which moves each row at most once. */
static void sort(int64_t n, double *d, bool down, const struct rotated *u,
                 const struct rotated *v) {
  for (int64_t i = 0; i < n; i++) {
    int64_t best = i;
    for (int64_t j = i + 1; j < n; j++)
      if (down ? d[j] > d[best] : d[j] < d[best]) best = j;
    if (best == i) continue;
    const double kept = d[i];
    d[i] = d[best];
    d[best] = kept;
    swap_rows(u, i, best);
    if (v) swap_rows(v, i, best);
  }
}

/* The rotation that maps (x, z) to (r, 0). */
static double rotation(double x, double z, double *c, double *s) {
  const double r = hypot(x, z);
  *c = r == 0 ? 1 : x / r;
  *s = r == 0 ? 0 : z / r;
  return r;
}

/* d[i] is 0: rotates e[i] out of its row. */
static void chase_row(int64_t i, int64_t high, double *d, double *e, const struct rotated *u) {
  double f = e[i], c, s;
  e[i] = 0;
  for (int64_t k = i + 1; k <= high && f != 0; k++) {
    d[k] = rotation(d[k], f, &c, &s);
    rotate(u, k, i, c, s);
    if (k == high) break;
    f = -s * e[k];
    e[k] *= c;
  }
}

/* d[high] is 0: rotates e[high - 1] out of its column. */
static void chase_column(int64_t low, int64_t high, double *d, double *e, const struct rotated *v) {
  double f = e[high - 1], c, s;
  e[high - 1] = 0;
  for (int64_t k = high - 1; k >= low && f != 0; k--) {
    d[k] = rotation(d[k], f, &c, &s);
    rotate(v, k, high, c, s);
    if (k == low) break;
    f = -s * e[k - 1];
    e[k - 1] *= c;
  }
}

/* Wilkinson's shift: the eigenvalue of the last 2 x 2 block of B^T B that is closer to its last
 * element. */
static double svd_shift(int64_t low, int64_t high, const double *d, const double *e) {
  const double above = high - 1 > low ? e[high - 2] : 0;
  const double a = d[high - 1] * d[high - 1] + above * above;
  const double b = d[high - 1] * e[high - 1];
  const double t = d[high] * d[high] + e[high - 1] * e[high - 1];
  if (b == 0) return t;
  const double mean = (a - t) / 2;
  return t - b * b / (mean + (mean < 0 ? -1 : 1) * hypot(mean, b));
}

static void svd_step(int64_t low, int64_t high, double *d, double *e, const struct rotated *u,
                     const struct rotated *v) {
  double x = d[low] - svd_shift(low, high, d, e) / d[low], z = e[low], c, s;
  for (int64_t k = low; k < high; k++) {
    const double r = rotation(x, z, &c, &s);
    if (k > low) e[k - 1] = r;
    x = c * d[k] + s * e[k];
    e[k] = c * e[k] - s * d[k];
    z = s * d[k + 1];
    d[k + 1] *= c;
    rotate(v, k, k + 1, c, s);
    d[k] = rotation(x, z, &c, &s);
    x = c * e[k] + s * d[k + 1];
    d[k + 1] = c * d[k + 1] - s * e[k];
    rotate(u, k, k + 1, c, s);
    if (k + 1 == high) break;
    z = s * e[k + 1];
    e[k + 1] *= c;
  }
  e[high - 1] = x;
}

/* One iteration on the rows up to `high`, whose e[high - 1] is not 0. */
static void svd_iterate(int64_t high, double *d, double *e, const struct rotated *u,
                        const struct rotated *v) {
  int64_t low = high - 1;
  while (low > 0 && e[low - 1] != 0) low--;
  for (int64_t i = low; i < high; i++)
    if (fabs(d[i]) <= DBL_EPSILON) {
      d[i] = 0;
      chase_row(i, high, d, e, u);
      return;
    }
  if (fabs(d[high]) <= DBL_EPSILON) {
    d[high] = 0;
    chase_column(low, high, d, e, v);
    return;
  }
  svd_step(low, high, d, e, u, v);
}

static void scale(int64_t n, double *x, double factor) {
  for (int64_t i = 0; i < n; i++) x[i] *= factor;
}

/* Makes values positive by the sign of singular vectors. */
static void make_positive(int64_t n, double *d, const struct rotated *v) {
  for (int64_t i = 0; i < n; i++) {
    if (d[i] >= 0) continue;
    d[i] = -d[i];
    if (v->rows) scale(v->width, v->rows + i * v->width, -1);
  }
}

bool bidiagonal_svd(int64_t n, double *d, double *e, const struct rotated *u,
                    const struct rotated *v) {
  double norm = 0;
  int tries = 0;
  for (int64_t i = 0; i < n; i++) norm = fmax(norm, fmax(fabs(d[i]), i + 1 < n ? fabs(e[i]) : 0));
  if (norm == 0) return true;
  scale(n, d, 1 / norm);
  scale(n - 1, e, 1 / norm);
  for (int64_t high = n - 1; high > 0;) {
    for (int64_t i = 0; i < high; i++)
      if (fabs(e[i]) <= DBL_EPSILON / 2 * (fabs(d[i]) + fabs(d[i + 1])) || fabs(e[i]) < DBL_MIN)
        e[i] = 0;
    if (e[high - 1] == 0) {
      high--;
      tries = 0;
    } else if (tries++ < MOST_ITERATIONS && !interrupt_pending()) {
      svd_iterate(high, d, e, u, v);
    } else {
      return false;
    }
  }
  scale(n, d, norm);
  make_positive(n, d, v);
  sort(n, d, true, u, v);
  return true;
}

/* One implicit QL iteration on the rows from `low` to `high`. */
static void eigen_step(int64_t low, int64_t high, double *d, double *e, const struct rotated *z) {
  double g = (d[low + 1] - d[low]) / (2 * e[low]);
  g = d[high] - d[low] + e[low] / (g + copysign(hypot(g, 1), g));
  double c = 1, s = 1, p = 0;
  for (int64_t i = high - 1; i >= low; i--) {
    const double f = s * e[i], b = c * e[i];
    const double r = rotation(g, f, &c, &s);
    e[i + 1] = r;
    if (r == 0) {
      d[i + 1] -= p;
      e[high] = 0;
      return;
    }
    g = d[i + 1] - p;
    const double t = (d[i] - g) * s + 2 * c * b;
    p = s * t;
    d[i + 1] = g + p;
    g = c * t - b;
    rotate(z, i + 1, i, c, s);
  }
  d[low] -= p;
  e[low] = g;
  e[high] = 0;
}

bool bidiagonal_eigen(int64_t n, double *d, double *e, const struct rotated *z) {
  if (n) e[n - 1] = 0;
  for (int64_t low = 0; low < n; low++)
    for (int tries = 0;; tries++) {
      int64_t high = low;
      while (high < n - 1 &&
             !(fabs(e[high]) <= DBL_EPSILON * (fabs(d[high]) + fabs(d[high + 1]))) &&
             !(fabs(e[high]) < DBL_MIN))
        high++;
      if (high == low) break;
      if (tries == MOST_ITERATIONS || interrupt_pending()) return false;
      eigen_step(low, high, d, e, z);
    }
  sort(n, d, false, z, NULL);
  return true;
}
