/* SPDX-License-Identifier: Apache-2.0
 * svd_steps.h: the singular value decomposition of one matrix, for one type of elements. No include
 * guard. */

static void F(transpose)(int64_t rows, int64_t columns, const E *x, bool conjugate, E *y) {
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < columns; j++)
      y[j * rows + i] = conjugate ? CONJ(x[i * columns + j]) : x[i * columns + j];
}

static bool F(is_finite)(const E *x, int64_t count) {
  bool finite = true;
  for (int64_t i = 0; i < count; i++) finite = finite && isfinite(RE(x[i])) && isfinite(IM(x[i]));
  return finite;
}

/* Writes the first columns of a basis whose columns are the rows of x. `workspace` is as large as
 * x. */
static void F(put_basis)(const struct dense *dense, int output, int64_t index, int64_t size,
                         int64_t rows, const E *x, E *workspace) {
  F(transpose)(rows, size, x, false, workspace);
  dense_store(dense, output, index * size * rows, size * rows, IS_COMPLEX, workspace);
}

/* Fills the outputs with NaN. */
static void F(put_nan)(const struct dense *dense, int64_t index, bool vectors, E *workspace) {
  const situ_shape *shapes[] = {&dense->compute->out[0]->shape, &dense->compute->out[1]->shape,
                                &dense->compute->out[2]->shape};
  for (int output = 0; output < (vectors ? 3 : 1); output++) {
    const situ_shape *shape = shapes[output];
    int64_t count = shape->dim[shape->rank - 1];
    if (output) count *= shape->dim[shape->rank - 2];
    for (int64_t i = 0; i < count; i++) workspace[i] = NUMBER(NAN);
    dense_store(dense, output, index * count, count, IS_COMPLEX, workspace);
  }
}

/* The offsets of the parts of a decomposition of an m x n matrix with m >= n. */
struct F(svd) {
  int64_t m, n, wide; /* columns of u */
  E *a, *q, *ut, *vt, *tau_q, *tau_p, *work;
  double *d, *e;
};

/* Vectors in the rows of ut (wide x m) and vt (n x n); of the transpose if `vectors`. */
static bool F(decompose)(const struct F(svd) * x, bool vectors) {
  const int64_t parts = IS_COMPLEX ? 2 : 1;
  F(householder_bidiagonal)(x->m, x->n, x->a, x->d, x->e, x->tau_q, x->tau_p, x->work);
  if (!vectors) return bidiagonal_svd(x->n, x->d, x->e, &(struct rotated){0}, &(struct rotated){0});
  F(householder_product)(x->m, x->n, 0, x->a, x->n, x->tau_q, x->wide, x->q, x->work);
  F(transpose)(x->m, x->wide, x->q, false, x->ut);
  F(householder_product_of_rows)(x->n, x->a, x->tau_p, x->q, x->work);
  F(transpose)(x->n, x->n, x->q, false, x->vt);
  return bidiagonal_svd(x->n, x->d, x->e, &(struct rotated){(double *)x->ut, x->m * parts},
                        &(struct rotated){(double *)x->vt, x->n * parts});
}

bool F(svd_thin)(int64_t m, int64_t n, E *a, double *s, E *ut, E *vt, E *work) {
  struct F(svd) x = {.m = m, .n = n, .wide = n, .a = a, .q = work, .ut = ut, .vt = vt, .d = s};
  x.tau_q = x.q + m * n;
  x.tau_p = x.tau_q + n;
  x.work = x.tau_p + n;
  x.e = (double *)(x.work + 2 * m);
  return F(decompose)(&x, true);
}

static situ_status F(svd_one)(const struct dense *dense, int64_t index, void *workspace) {
  const int64_t m = dense->m, n = dense->n, k = dense->k, most = max_i64(m, n);
  const bool vectors = call_bool(dense->compute->call, "compute_uv"), flat = m < n;
  const int64_t wide = call_bool(dense->compute->call, "full_matrices") ? most : k;
  struct F(svd) x = {.m = most, .n = k, .wide = wide, .a = workspace};
  x.q = x.a + m * n;
  x.ut = x.q + most * most;
  x.vt = x.ut + (vectors ? most * most : 0);
  x.tau_q = x.vt + (vectors ? k * k : 0);
  x.tau_p = x.tau_q + k;
  x.work = x.tau_p + k;
  x.d = (double *)(x.work + 2 * most);
  x.e = x.d + k;
  dense_load(dense->compute->in[0], index * m * n, m * n, IS_COMPLEX, flat ? x.q : x.a);
  if (flat) F(transpose)(m, n, x.q, true, x.a);
  if (!F(is_finite)(x.a, m * n) || !F(decompose)(&x, vectors)) {
    F(put_nan)(dense, index, vectors, x.q);
    return NULL;
  }
  dense_store(dense, 0, index * k, k, false, x.d);
  if (!vectors) return NULL;
  F(put_basis)(dense, flat ? 2 : 1, index, most, wide, x.ut, x.q);
  F(put_basis)(dense, flat ? 1 : 2, index, k, k, x.vt, x.q);
  return NULL;
}
