/* SPDX-License-Identifier: Apache-2.0
 * householder.h: reductions of dense matrices by Householder reflections.
 *
 * A reflection is H = I - tau v v^H with v[0] = 1, as in LAPACK: H^H x is a real multiple of the
 * first unit vector. Matrices are row-major; `lda` is the distance of rows. Each function exists
 * for real and for complex elements. */
#ifndef SITU_OPS_LINALG_HOUSEHOLDER_H
#define SITU_OPS_LINALG_HOUSEHOLDER_H

#include <stdint.h>

#define HOUSEHOLDER_FUNCTIONS(E, suffix)                                                           \
  /* QR decomposition of a (m x n): R in the upper triangle, below it the vectors of the           \
   * reflections, whose product is Q. `work` has room for 2 max(m, n) elements. */                 \
  void householder_qr_##suffix(int64_t m, int64_t n, E *a, E *tau, E *work);                       \
  /* The first `wide` columns of the product of k reflections, whose vectors begin `offset` rows   \
   * below the diagonal of a. q: m x wide. */                                                      \
  void householder_product_##suffix(int64_t m, int64_t k, int64_t offset, const E *a, int64_t lda, \
                                    const E *tau, int64_t wide, E *q, E *work);                    \
  /* a (m x n, m >= n) = Q B P^H, where B is real and bidiagonal: d on the diagonal, e above it.   \
   * The vectors of Q are below the diagonal, the conjugates of those of P right of e. */          \
  void householder_bidiagonal_##suffix(int64_t m, int64_t n, E *a, double *d, double *e, E *tau_q, \
                                       E *tau_p, E *work);                                         \
  /* The n x n matrix P of a bidiagonal reduction. */                                              \
  void householder_product_of_rows_##suffix(int64_t n, const E *a, const E *tau, E *p, E *work);   \
  /* Hermitian a (n x n, both triangles) = Q T Q^H, where T is real and tridiagonal. */            \
  void householder_tridiagonal_##suffix(int64_t n, E *a, double *d, double *e, E *tau, E *work);   \
  /* a (n x n) = Q H Q^H, where H has zeros below its subdiagonal (there a keeps the vectors). */  \
  void householder_hessenberg_##suffix(int64_t n, E *a, E *tau, E *work);

HOUSEHOLDER_FUNCTIONS(double, real)
HOUSEHOLDER_FUNCTIONS(double _Complex, complex)

#endif
