/* SPDX-License-Identifier: Apache-2.0
 * qr_steps.h: the QR decomposition of one matrix, for one type of elements. No include guard. */

static situ_status F(qr_one)(const struct dense *dense, int64_t index, void *workspace) {
  const int64_t m = dense->m, n = dense->n, k = dense->k;
  const int64_t wide = call_bool(dense->compute->call, "full_matrices") ? m : k;
  E *a = workspace, *q = a + m * n, *tau = q + m * m, *work = tau + k;
  dense_load(dense->compute->in[0], index * m * n, m * n, IS_COMPLEX, a);
  F(householder_qr)(m, n, a, tau, work);
  F(householder_product)(m, k, 0, a, n, tau, wide, q, work);
  dense_store(dense, 0, index * m * wide, m * wide, IS_COMPLEX, q);
  for (int64_t i = 0; i < wide; i++)
    for (int64_t j = 0; j < n && j < i; j++) a[i * n + j] = NUMBER(0);
  dense_store(dense, 1, index * wide * n, wide * n, IS_COMPLEX, a);
  return NULL;
}
