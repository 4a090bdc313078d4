/* SPDX-License-Identifier: Apache-2.0
 * svd.h: the singular value decomposition of one matrix with at least as many rows as columns. */
#ifndef SITU_OPS_LINALG_SVD_H
#define SITU_OPS_LINALG_SVD_H

#include "base/base.h"

/* a (m x n, m >= n, overwritten) = U S V^H: s in descending order, the columns of U and V in the
 * rows of ut (n x m) and vt (n x n). `work` has room for m * n + 4 n + 2 m elements. Returns false
 * if the iterations do not converge. */
bool svd_thin_real(int64_t m, int64_t n, double *a, double *s, double *ut, double *vt,
                   double *work);
bool svd_thin_complex(int64_t m, int64_t n, double _Complex *a, double *s, double _Complex *ut,
                      double _Complex *vt, double _Complex *work);

#endif
