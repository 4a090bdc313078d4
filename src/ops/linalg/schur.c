/* SPDX-License-Identifier: Apache-2.0
 * schur.c: the Schur decomposition of a complex matrix by single-shift QR iterations on its
 * Hessenberg form, and functions of upper triangular matrices. */
#include "ops/linalg/schur.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/complex_number.h"
#include "base/interrupt.h"
#include "ops/linalg/householder.h"

enum {
  MOST_ITERATIONS = 60, /* per eigenvalue */
  MOST_ROOTS = 100
};

typedef double _Complex number;

static number mul(number a, number b) {
  return CMPLX(creal(a) * creal(b) - cimag(a) * cimag(b),
               creal(a) * cimag(b) + cimag(a) * creal(b));
}

static double size_of(number a) { return fabs(creal(a)) + fabs(cimag(a)); }

/* A rotation [c s; -conj(s) c] that maps (x, y) to (r, 0). */
struct rotation {
  double c;
  number s;
};

static struct rotation rotation_of(number x, number y) {
  const double a = hypot(creal(x), cimag(x)), b = hypot(creal(y), cimag(y)), r = hypot(a, b);
  if (r == 0 || b == 0) return (struct rotation){1, 0};
  if (a == 0) return (struct rotation){0, conj(y) / b};
  return (struct rotation){a / r, mul(x / a, conj(y) / r)};
}

/* Rows a and b become c a + s b and c b - conj(s) a. */
static void rotate(struct rotation g, number *a, number *b, int64_t n, int64_t step) {
  for (int64_t i = 0; i < n; i++) {
    const number p = a[i * step], q = b[i * step];
    a[i * step] = g.c * p + mul(g.s, q);
    b[i * step] = g.c * q - mul(conj(g.s), p);
  }
}

/* The eigenvalue of the last 2 x 2 block that is closer to its last element. */
static number shift_of(int64_t n, const number *h, int64_t high, int tries) {
  const number *above = h + (high - 1) * n, *last = h + high * n;
  if (tries % 10 == 9) return last[high] + size_of(last[high - 1]); /* breaks cycles */
  const number a = above[high - 1], d = last[high], bc = mul(above[high], last[high - 1]);
  const number mean = (a - d) / 2, root = csqrt(mul(mean, mean) + bc);
  const number sum = size_of(mean + root) > size_of(mean - root) ? mean + root : mean - root;
  return size_of(sum) == 0 ? d : d - bc / sum;
}

/* One QR iteration on the rows from `low` to `high`; zt collects the rotations. `turns`: their
 * memory. */
static void iterate(int64_t n, number *h, number *zt, int64_t low, int64_t high, number shift,
                    struct rotation *turns) {
  for (int64_t i = low; i <= high; i++) h[i * n + i] -= shift;
  for (int64_t k = low; k < high; k++) {
    number *row = h + k * n, *next = row + n;
    turns[k] = rotation_of(row[k], next[k]);
    rotate(turns[k], row + k, next + k, n - k, 1);
    next[k] = 0;
  }
  for (int64_t k = low; k < high; k++) {
    const struct rotation adjoint = {turns[k].c, conj(turns[k].s)};
    rotate(adjoint, h + k, h + k + 1, min_i64(k + 2, high + 1), n);
    rotate(adjoint, zt + k * n, zt + (k + 1) * n, n, 1);
  }
  for (int64_t i = low; i <= high; i++) h[i * n + i] += shift;
}

static bool is_small(int64_t n, const number *h, int64_t row) {
  const double beside = size_of(h[row * n + row]) + size_of(h[(row - 1) * n + row - 1]);
  const double value = size_of(h[row * n + row - 1]);
  return value <= DBL_EPSILON * beside || value < DBL_MIN;
}

static bool make_triangular(int64_t n, number *h, number *zt, struct rotation *turns) {
  int tries = 0;
  for (int64_t high = n - 1; high > 0;) {
    int64_t low = high;
    while (low > 0 && !is_small(n, h, low)) low--;
    if (low > 0) h[low * n + low - 1] = 0;
    if (low == high) {
      high--;
      tries = 0;
    } else if (tries++ < MOST_ITERATIONS && !interrupt_pending()) {
      iterate(n, h, zt, low, high, shift_of(n, h, high, tries), turns);
    } else {
      return false;
    }
  }
  return true;
}

bool schur_decompose(int64_t n, number *a, number *z, number *work) {
  number *zt = work, *tau = zt + n * n, *workspace = tau + n;
  householder_hessenberg_complex(n, a, tau, workspace);
  householder_product_complex(n, n - 2, 1, a, n, tau, n, z, workspace);
  for (int64_t i = 0; i < n * n; i++) zt[i % n * n + i / n] = z[i];
  for (int64_t i = 2; i < n; i++)
    for (int64_t j = 0; j + 1 < i; j++) a[i * n + j] = 0;
  if (!make_triangular(n, a, zt, (struct rotation *)(void *)workspace)) return false;
  for (int64_t i = 0; i < n * n; i++) z[i % n * n + i / n] = zt[i];
  return true;
}

void schur_eigenvectors(int64_t n, const number *t, number *x) {
  double most = 0;
  for (int64_t i = 0; i < n * n; i++) most = fmax(most, size_of(t[i]));
  const double least = fmax(DBL_EPSILON * most, DBL_MIN);
  memset(x, 0, (size_t)(n * n) * sizeof *x);
  for (int64_t k = 0; k < n && !interrupt_pending(); k++) {
    x[k * n + k] = 1;
    for (int64_t i = k - 1; i >= 0; i--) {
      number sum = t[i * n + k], gap = t[k * n + k] - t[i * n + i];
      for (int64_t j = i + 1; j < k; j++) sum += mul(t[i * n + j], x[j * n + k]);
      if (size_of(gap) < least) gap = least;
      x[i * n + k] = sum / gap;
    }
  }
}

void schur_square_root(int64_t n, const number *t, number *root) {
  memset(root, 0, (size_t)(n * n) * sizeof *root);
  for (int64_t j = 0; j < n && !interrupt_pending(); j++) {
    root[j * n + j] = csqrt(t[j * n + j]);
    for (int64_t i = j - 1; i >= 0; i--) {
      number sum = t[i * n + j];
      for (int64_t k = i + 1; k < j; k++) sum -= mul(root[i * n + k], root[k * n + j]);
      const number both = root[i * n + i] + root[j * n + j];
      root[i * n + j] = sum == 0 ? 0 : sum / both;
    }
  }
}

/* The distance of an upper triangular matrix from the identity. */
static double distance(int64_t n, const number *t) {
  double most = 0;
  for (int64_t i = 0; i < n; i++) {
    double sum = 0;
    for (int64_t j = i; j < n; j++) sum += size_of(t[i * n + j] - (i == j));
    most = fmax(most, sum);
  }
  return most;
}

/* y += weight x (1 + node x)^-1 for upper triangular x. */
static void add_quotient(int64_t n, const number *x, double node, double weight, number *y) {
  for (int64_t r = 0; r < n && !interrupt_pending(); r++) { /* row r of q with q (1 + node x) = x */
    for (int64_t c = r; c < n; c++) {
      number sum = x[r * n + c];
      for (int64_t k = r; k < c; k++) sum -= mul(y[r * n + k], node * x[k * n + c]);
      y[r * n + c] = sum / (1 + node * x[c * n + c]);
    }
  }
  for (int64_t i = 0; i < n * n; i++) y[i] *= weight;
}

/* log(1 + x) = integral of x (1 + s x)^-1 over s from 0 to 1: Gauss-Legendre with 8 nodes, which is
 * a Pade approximant. Before, square roots bring the matrix close to the identity. */
void schur_logarithm(int64_t n, const number *t, number *y, number *work) {
  static const double nodes[] = {0.1834346424956498, 0.5255324099163290, 0.7966664774136267,
                                 0.9602898564975363};
  static const double weights[] = {0.3626837833783620, 0.3137066458778873, 0.2223810344533745,
                                   0.1012285362903763};
  const size_t bytes = (size_t)(n * n) * sizeof *t;
  number *x = work, *root = x + n * n, *part = root + n * n;
  double factor = 1;
  memcpy(x, t, bytes);
  for (int i = 0; i < MOST_ROOTS && distance(n, x) > 0.25; i++) {
    factor *= 2;
    schur_square_root(n, x, root);
    memcpy(x, root, bytes);
  }
  for (int64_t i = 0; i < n; i++) x[i * n + i] -= 1;
  memset(y, 0, bytes);
  for (int i = 0; i < 8; i++) {
    const double node = (1 + (i % 2 ? -1 : 1) * nodes[i / 2]) / 2, weight = weights[i / 2] / 2;
    memset(part, 0, bytes);
    add_quotient(n, x, node, weight, part);
    for (int64_t k = 0; k < n * n; k++) y[k] += factor * part[k];
  }
}
