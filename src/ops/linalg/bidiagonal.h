/* SPDX-License-Identifier: Apache-2.0
 * bidiagonal.h: singular values of real bidiagonal and eigenvalues of real symmetric tridiagonal
 * matrices. */
#ifndef SITU_OPS_LINALG_BIDIAGONAL_H
#define SITU_OPS_LINALG_BIDIAGONAL_H

#include "base/base.h"

/* A vector of plane rotations that act on rows of a matrix: `width` doubles per row (complex rows
 * count twice). Without rows: NULL. */
struct rotated {
  double *rows;
  int64_t width;
};

/* Singular values of the upper bidiagonal matrix with the diagonal d (n) and e above it (n - 1), in
 * descending order in d: implicit QR iterations. Rows i of u^T and v^T become the singular vectors
 * of d[i]. Returns false if they do not converge. */
bool bidiagonal_svd(int64_t n, double *d, double *e, const struct rotated *u,
                    const struct rotated *v);

/* Eigenvalues of the symmetric tridiagonal matrix with the diagonal d (n) and e beside it (n), in
 * ascending order in d: implicit QL iterations. Row i of z^T becomes the eigenvector of d[i].
 * Returns false if they do not converge. */
bool bidiagonal_eigen(int64_t n, double *d, double *e, const struct rotated *z);

#endif
