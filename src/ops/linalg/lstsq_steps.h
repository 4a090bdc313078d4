/* SPDX-License-Identifier: Apache-2.0
 * lstsq_steps.h: one linear least-squares problem, for one type of elements. No include guard.
 *
 * a is m x n, b is m x sides, x is n x sides (`sides`: right-hand sides). */

/* c = a b for a of rows x inner; `adjoint`: c = a^H b for a of inner x rows. */
static void F(product)(int64_t rows, int64_t inner, int64_t columns, const E *a, bool adjoint,
                       const E *b, E *c) {
  for (int64_t i = 0; i < rows * columns; i++) c[i] = NUMBER(0);
  for (int64_t k = 0; k < inner && !interrupt_pending(); k++)
    for (int64_t i = 0; i < rows; i++) {
      const E share = adjoint ? CONJ(a[k * rows + i]) : a[i * inner + k];
      for (int64_t j = 0; j < columns; j++) c[i * columns + j] += MUL(share, b[k * columns + j]);
    }
}

/* Replaces the lower triangle of a Hermitian matrix by its Cholesky factor; false if it is not
 * positive definite. */
static bool F(cholesky)(int64_t n, E *a) {
  for (int64_t r = 0; r < n && !interrupt_pending(); r++)
    for (int64_t c = 0; c <= r; c++) {
      E rest = a[r * n + c];
      for (int64_t k = 0; k < c; k++) rest -= MUL(a[r * n + k], CONJ(a[c * n + k]));
      if (r == c && RE(rest) <= 0) return false;
      a[r * n + c] = r == c ? NUMBER(sqrt(RE(rest))) : DIV(rest, a[c * n + c]);
    }
  return true;
}

/* Solves L L^H x = b in place. */
static void F(solve_factored)(int64_t n, int64_t sides, const E *l, E *x) {
  for (int64_t r = 0; r < n && !interrupt_pending(); r++)
    for (int64_t k = 0; k <= r; k++)
      for (int64_t j = 0; j < sides; j++)
        x[r * sides + j] = k < r ? x[r * sides + j] - MUL(l[r * n + k], x[k * sides + j])
                                 : DIV(x[r * sides + j], l[r * n + r]);
  for (int64_t r = n - 1; r >= 0 && !interrupt_pending(); r--)
    for (int64_t k = n - 1; k >= r; k--)
      for (int64_t j = 0; j < sides; j++)
        x[r * sides + j] = k > r ? x[r * sides + j] - MUL(CONJ(l[k * n + r]), x[k * sides + j])
                                 : DIV(x[r * sides + j], l[r * n + r]);
}

/* By the normal equations: (a^H a + l2)^-1 a^H b, or a^H (a a^H + l2)^-1 b of a wide matrix. */
static situ_status F(solve_normal)(const struct dense *dense, int64_t sides, double l2, const E *a,
                                   E *b, E *x, E *gram) {
  const int64_t m = dense->m, n = dense->n, k = dense->k;
  if (m >= n) {
    F(product)(n, m, n, a, true, a, gram);
  } else {
    for (int64_t i = 0; i < m * m && !interrupt_pending(); i++) {
      gram[i] = NUMBER(0);
      for (int64_t j = 0; j < n; j++) gram[i] += MUL(a[i / m * n + j], CONJ(a[i % m * n + j]));
    }
  }
  for (int64_t i = 0; i < k; i++) gram[i * k + i] += l2;
  if (!F(cholesky)(k, gram))
    return INVALID(
        "Input matrix was rank deficient or ill-conditioned. Try setting fast=False or "
        "provide %s l2_regularizer > 0.",
        m >= n ? "a larger" : "an");
  if (m >= n) F(product)(n, m, sides, a, true, b, x);
  F(solve_factored)(k, sides, gram, m >= n ? x : b);
  if (m < n) F(product)(n, m, sides, a, true, b, x);
  return NULL;
}

/* The solution of the smallest norm: by singular values, of which tiny ones count as 0. */
static situ_status F(solve_singular)(const struct dense *dense, int64_t sides, E *a, const E *b,
                                     E *x, E *workspace) {
  const int64_t m = dense->m, n = dense->n, k = dense->k, most = max_i64(m, n);
  E *turned = workspace, *ut = turned + m * n, *vt = ut + k * most, *t = vt + k * k;
  E *work = t + k * sides;
  double *s = (double *)(work + m * n + 4 * k + 2 * most);
  for (int64_t i = 0; i < m * n; i++)
    turned[m >= n ? i : i % n * m + i / n] = m >= n ? a[i] : CONJ(a[i]);
  if (!F(svd_thin)(most, k, turned, s, ut, vt, work))
    return INVALID(
        "Singular value decomposition was not successful. The input might not be valid.");
  /* a = P S Q^H, with the columns of P and Q in rows. */
  const E *p = m >= n ? ut : vt, *q = m >= n ? vt : ut;
  for (int64_t i = 0; i < k && !interrupt_pending(); i++)
    for (int64_t j = 0; j < sides; j++) {
      E sum = NUMBER(0);
      for (int64_t r = 0; r < m; r++) sum += MUL(CONJ(p[i * m + r]), b[r * sides + j]);
      t[i * sides + j] = s[i] > s[0] * (double)most * dense_epsilon(dense) ? sum / s[i] : NUMBER(0);
    }
  for (int64_t r = 0; r < n * sides; r++) x[r] = NUMBER(0);
  for (int64_t i = 0; i < k && !interrupt_pending(); i++)
    for (int64_t r = 0; r < n; r++)
      for (int64_t j = 0; j < sides; j++) x[r * sides + j] += MUL(q[i * n + r], t[i * sides + j]);
  return NULL;
}

static situ_status F(lstsq_one)(const struct dense *dense, int64_t index, void *workspace) {
  const situ_tensor *rhs = dense->compute->in[1];
  const int64_t m = dense->m, n = dense->n, sides = rhs->shape.dim[rhs->shape.rank - 1];
  const double l2 = *(const double *)situ_tensor_data(dense->compute->in[2]);
  E *a = workspace, *b = a + m * n, *x = b + m * sides, *rest = x + n * sides;
  dense_load(dense->compute->in[0], index * m * n, m * n, IS_COMPLEX, a);
  dense_load(rhs, index * m * sides, m * sides, IS_COMPLEX, b);
  if (call_bool(dense->compute->call, "fast"))
    TRY(F(solve_normal)(dense, sides, l2, a, b, x, rest));
  else
    TRY(F(solve_singular)(dense, sides, a, b, x, rest));
  dense_store(dense, 0, index * n * sides, n * sides, IS_COMPLEX, x);
  return NULL;
}
