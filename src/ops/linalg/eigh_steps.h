/* SPDX-License-Identifier: Apache-2.0
 * eigh_steps.h: eigenvalues of one Hermitian matrix, for one type of elements. No include guard. */

static situ_status F(eigh_one)(const struct dense *dense, int64_t index, void *workspace) {
  const int64_t n = dense->n, parts = IS_COMPLEX ? 2 : 1;
  const bool vectors = call_bool(dense->compute->call, "compute_v");
  E *a = workspace, *q = a + n * n, *zt = q + n * n, *tau = zt + n * n, *work = tau + n;
  double *d = (double *)(work + 2 * n), *e = d + n;
  dense_load(dense->compute->in[0], index * n * n, n * n, IS_COMPLEX, a);
  for (int64_t i = 0; i < n; i++) { /* the lower triangle counts */
    a[i * n + i] = NUMBER(RE(a[i * n + i]));
    for (int64_t j = i + 1; j < n; j++) a[i * n + j] = CONJ(a[j * n + i]);
  }
  F(householder_tridiagonal)(n, a, d, e, tau, work);
  struct rotated z = {0};
  if (vectors) {
    F(householder_product)(n, n - 1, 1, a, n, tau, n, q, work);
    for (int64_t i = 0; i < n * n; i++) zt[i % n * n + i / n] = q[i];
    z = (struct rotated){(double *)zt, n * parts};
  }
  if (!bidiagonal_eigen(n, d, e, &z))
    return INVALID(
        "Self-adjoint eigen decomposition was not successful. The input might not be "
        "valid.");
  dense_store(dense, 0, index * n, n, false, d);
  for (int64_t i = 0; vectors && i < n * n; i++) q[i % n * n + i / n] = zt[i];
  if (vectors) dense_store(dense, 1, index * n * n, n * n, IS_COMPLEX, q);
  return NULL;
}
