/* SPDX-License-Identifier: Apache-2.0
 * tridiagonal_steps.h: products and systems of tridiagonal and banded matrices, for one type of
 * elements. No include guard. */

static situ_status F(tridiagonal_matmul_one)(const struct dense *dense, int64_t index,
                                             void *workspace) {
  const struct compute *compute = dense->compute;
  const situ_shape *rhs = &compute->in[3]->shape;
  const int64_t n = dense->n, sides = rhs->dim[rhs->rank - 1];
  E *super = workspace, *diagonal = super + n, *sub = diagonal + n, *x = sub + n,
    *y = x + n * sides;
  for (int i = 0; i < 3; i++) dense_load(compute->in[i], index * n, n, IS_COMPLEX, super + i * n);
  dense_load(compute->in[3], index * n * sides, n * sides, IS_COMPLEX, x);
  for (int64_t i = 0; i < n && !interrupt_pending(); i++)
    for (int64_t j = 0; j < sides; j++) {
      E sum = MUL(diagonal[i], x[i * sides + j]);
      if (i + 1 < n) sum += MUL(super[i], x[(i + 1) * sides + j]);
      if (i > 0) sum += MUL(sub[i], x[(i - 1) * sides + j]);
      y[i * sides + j] = sum;
    }
  dense_store(dense, 0, index * n * sides, n * sides, IS_COMPLEX, y);
  return NULL;
}

/* A tridiagonal matrix during elimination: u is the diagonal, v and w the two diagonals above it.
 */
struct F(band) {
  int64_t n, sides;
  E *u, *v, *w, *x;
};

/* Exchanges rows i and i + 1, whose element below the diagonal is `below`; returns the new one. */
static E F(exchange)(const struct F(band) * band, int64_t i, E below) {
  E *u = band->u, *v = band->v, *w = band->w;
  const E pivot = u[i], beside = v[i];
  u[i] = below;
  v[i] = u[i + 1];
  w[i] = i + 2 < band->n ? v[i + 1] : NUMBER(0);
  u[i + 1] = beside;
  if (i + 2 < band->n) v[i + 1] = NUMBER(0);
  for (int64_t j = 0; j < band->sides; j++) {
    const E kept = band->x[i * band->sides + j];
    band->x[i * band->sides + j] = band->x[(i + 1) * band->sides + j];
    band->x[(i + 1) * band->sides + j] = kept;
  }
  return pivot;
}

/* Makes a pivot at least as large as `least`, if that is positive. */
static E F(perturbed)(E pivot, double least) {
  if (least <= 0 || MAGNITUDE(pivot) >= least) return pivot;
  return NUMBER(RE(pivot) < 0 ? -least : least);
}

/* Elimination and substitution; false if a pivot is 0. */
static bool F(solve_band)(const struct F(band) * band, const E *sub, bool pivoting, double least) {
  const int64_t n = band->n, sides = band->sides;
  E *u = band->u, *v = band->v, *w = band->w, *x = band->x;
  for (int64_t i = 0; i + 1 < n && !interrupt_pending(); i++) {
    E below = sub[i + 1];
    w[i] = NUMBER(0);
    if (pivoting && MAGNITUDE(below) > MAGNITUDE(u[i])) below = F(exchange)(band, i, below);
    u[i] = F(perturbed)(u[i], least);
    if (MAGNITUDE(u[i]) == 0) return false;
    const E share = DIV(below, u[i]);
    u[i + 1] -= MUL(share, v[i]);
    if (i + 2 < n) v[i + 1] -= MUL(share, w[i]);
    for (int64_t j = 0; j < sides; j++) x[(i + 1) * sides + j] -= MUL(share, x[i * sides + j]);
  }
  u[n - 1] = F(perturbed)(u[n - 1], least);
  if (MAGNITUDE(u[n - 1]) == 0) return false;
  for (int64_t i = n - 1; i >= 0 && !interrupt_pending(); i--)
    for (int64_t j = 0; j < sides; j++) {
      E rest = x[i * sides + j];
      if (i + 1 < n) rest -= MUL(v[i], x[(i + 1) * sides + j]);
      if (i + 2 < n) rest -= MUL(w[i], x[(i + 2) * sides + j]);
      x[i * sides + j] = DIV(rest, u[i]);
    }
  return true;
}

static situ_status F(tridiagonal_solve_one)(const struct dense *dense, int64_t index,
                                            void *workspace) {
  const struct compute *compute = dense->compute;
  const situ_shape *rhs = &compute->in[1]->shape;
  const int64_t n = dense->n, sides = rhs->dim[rhs->rank - 1];
  E *super = workspace, *diagonal = super + n, *sub = diagonal + n, *w = sub + n, *x = w + n;
  double least = 0;
  dense_load(compute->in[0], index * 3 * n, 3 * n, IS_COMPLEX, super);
  dense_load(compute->in[1], index * n * sides, n * sides, IS_COMPLEX, x);
  if (call_bool(compute->call, "perturb_singular")) {
    for (int64_t i = 0; i < 3 * n; i++) least = fmax(least, MAGNITUDE(super[i]));
    least = fmax(least * precision_of(dense), smallest_of(dense));
  }
  const struct F(band) band = {n, sides, diagonal, super, w, x};
  if (!F(solve_band)(&band, sub, call_bool(compute->call, "partial_pivoting"), least))
    for (int64_t i = 0; i < n * sides; i++) x[i] = NUMBER(NAN);
  dense_store(dense, 0, index * n * sides, n * sides, IS_COMPLEX, x);
  return NULL;
}

/* Element (i, j) of a banded triangle whose diagonals are rows, the main one first if it is a lower
 * triangle, else last. */
static E F(band_element)(const struct dense *dense, const E *a, bool lower, int64_t i, int64_t j) {
  const int64_t off = lower ? i - j : j - i;
  return a[(lower ? off : dense->m - 1 - off) * dense->n + i];
}

static situ_status F(banded_solve_one)(const struct dense *dense, int64_t index, void *workspace) {
  const struct compute *compute = dense->compute;
  const bool lower = call_bool(compute->call, "lower"),
             adjoint = call_bool(compute->call, "adjoint");
  const situ_shape *out = &compute->out[0]->shape;
  const int64_t n = dense->n, bands = dense->m, sides = out->dim[out->rank - 1];
  E *a = workspace, *x = a + bands * n;
  dense_load(compute->in[0], batch_index(out, &compute->in[0]->shape, index) * bands * n, bands * n,
             IS_COMPLEX, a);
  dense_load(compute->in[1], batch_index(out, &compute->in[1]->shape, index) * n * sides, n * sides,
             IS_COMPLEX, x);
  const bool down = lower != adjoint;
  for (int64_t step = 0; step < n && !interrupt_pending(); step++) {
    const int64_t r = down ? step : n - 1 - step;
    for (int64_t off = 1; off < bands && off <= step; off++) {
      const int64_t c = down ? r - off : r + off;
      const E share = adjoint ? CONJ(F(band_element)(dense, a, lower, c, r))
                              : F(band_element)(dense, a, lower, r, c);
      for (int64_t j = 0; j < sides; j++) x[r * sides + j] -= MUL(share, x[c * sides + j]);
    }
    const E top = F(band_element)(dense, a, lower, r, r);
    if (!(MAGNITUDE(top) > 0)) return INVALID("Input matrix is not invertible.");
    for (int64_t j = 0; j < sides; j++)
      x[r * sides + j] = DIV(x[r * sides + j], adjoint ? CONJ(top) : top);
  }
  dense_store(dense, 0, index * n * sides, n * sides, IS_COMPLEX, x);
  return NULL;
}
