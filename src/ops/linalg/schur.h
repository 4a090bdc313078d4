/* SPDX-License-Identifier: Apache-2.0
 * schur.h: the Schur decomposition of a complex matrix, and functions of triangular matrices. */
#ifndef SITU_OPS_LINALG_SCHUR_H
#define SITU_OPS_LINALG_SCHUR_H

#include "base/base.h"

/* a (n x n) = Z T Z^H: a becomes the upper triangular T; z (n x n) is set to Z. `work` has room for
 * n * n + 3 n elements. Returns false if the QR iterations do not converge. */
bool schur_decompose(int64_t n, double _Complex *a, double _Complex *z, double _Complex *work);

/* The eigenvectors of T as columns of the upper triangular x (n x n). */
void schur_eigenvectors(int64_t n, const double _Complex *t, double _Complex *x);

/* The principal square root and logarithm of an upper triangular matrix; `work` has room for
 * 3 n * n elements. */
void schur_square_root(int64_t n, const double _Complex *t, double _Complex *root);
void schur_logarithm(int64_t n, const double _Complex *t, double _Complex *y,
                     double _Complex *work);

#endif
