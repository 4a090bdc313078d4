/* SPDX-License-Identifier: Apache-2.0
 * lu_steps.h: the LU decomposition of one matrix, for one type of elements. No include guard. */

/* a = P L U in place, with partial pivoting; row i of L U is row p[i] of a. *odd: an odd number of
 * rows were exchanged. Returns whether all pivots differ from 0. */
CLONES static bool F(eliminate)(int64_t n, E *restrict a, int64_t *restrict p, bool *odd) {
  bool whole = true;
  *odd = false;
  for (int64_t i = 0; i < n; i++) p[i] = i;
  for (int64_t c = 0; c < n && !interrupt_pending(); c++) {
    int64_t pivot = c;
    for (int64_t r = c + 1; r < n; r++)
      if (ABS2(a[r * n + c]) > ABS2(a[pivot * n + c])) pivot = r;
    if (pivot != c) {
      const int64_t kept = p[c];
      p[c] = p[pivot];
      p[pivot] = kept;
      *odd = !*odd;
      for (int64_t k = 0; k < n; k++) {
        const E element = a[c * n + k];
        a[c * n + k] = a[pivot * n + k];
        a[pivot * n + k] = element;
      }
    }
    if (!(ABS2(a[c * n + c]) > 0)) {
      whole = false;
      continue;
    }
    const E top = a[c * n + c];
    for (int64_t r = c + 1; r < n; r++) {
      const E share = DIV(a[r * n + c], top);
      a[r * n + c] = share;
      for (int64_t k = c + 1; k < n; k++) a[r * n + k] -= MUL(share, a[c * n + k]);
    }
  }
  return whole;
}

static situ_status F(lu_one)(const struct dense *dense, int64_t index, void *workspace) {
  const int64_t n = dense->n;
  E *a = workspace;
  int64_t *p = (int64_t *)(void *)(a + n * n);
  bool odd;
  dense_load(dense->compute->in[0], index * n * n, n * n, IS_COMPLEX, a);
  if (!F(eliminate)(n, a, p, &odd)) return INVALID("Input is not invertible.");
  dense_store(dense, 0, index * n * n, n * n, IS_COMPLEX, a);
  const bool wide = dense->compute->out[1]->type == SITU_INT64;
  for (int64_t i = 0; i < n; i++)
    if (wide)
      ((int64_t *)dense->out[1])[index * n + i] = p[i];
    else
      ((int32_t *)dense->out[1])[index * n + i] = (int32_t)p[i];
  return NULL;
}

static situ_status F(log_determinant_one)(const struct dense *dense, int64_t index,
                                          void *workspace) {
  const int64_t n = dense->n;
  E *a = workspace;
  int64_t *p = (int64_t *)(void *)(a + n * n);
  bool odd;
  dense_load(dense->compute->in[0], index * n * n, n * n, IS_COMPLEX, a);
  F(eliminate)(n, a, p, &odd);
  E sign = NUMBER(odd ? -1 : 1);
  double sum = 0;
  for (int64_t i = 0; i < n; i++) {
    const double size = MAGNITUDE(a[i * n + i]);
    sum += log(size);
    sign = size == 0 ? NUMBER(0) : MUL(sign, a[i * n + i] / size);
  }
  if (RE(sign) == 0 && IM(sign) == 0) sum = -INFINITY;
  dense_store(dense, 0, index, 1, IS_COMPLEX, &sign);
  dense_store(dense, 1, index, 1, false, &sum);
  return NULL;
}
