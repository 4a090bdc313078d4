/* SPDX-License-Identifier: Apache-2.0
 * householder_steps.h: the functions of householder.h for one type of elements. No include guard.
 *
 * Inner loops run along rows, so that they are vectorized. */

/* Turns x into the vector of its reflection; returns tau, and the multiple of the unit vector. */
static E F(reflector)(int64_t n, E *x, double *beta) {
  double most = 0, rest = 0;
  for (int64_t i = 0; i < n; i++) most = fmax(most, fmax(fabs(RE(x[i])), fabs(IM(x[i]))));
  const E alpha = x[0];
  for (int64_t i = 1; most > 0 && i < n; i++) rest += ABS2(x[i] / most);
  x[0] = NUMBER(1);
  *beta = RE(alpha);
  if (rest == 0 && IM(alpha) == 0) return NUMBER(0);
  const double norm = most * sqrt(rest + ABS2(alpha / most));
  *beta = RE(alpha) >= 0 ? -norm : norm;
  const E scale = DIV(NUMBER(1), alpha - *beta);
  for (int64_t i = 1; i < n; i++) x[i] = MUL(x[i], scale);
  return (*beta - alpha) / *beta;
}

/* a = (I - t v v^H) a for a of m x n. `w` has room for n elements. */
CLONES static void F(apply_left)(int64_t m, int64_t n, E *restrict a, int64_t lda,
                                 const E *restrict v, E t, E *restrict w) {
  int64_t i = 0;
  for (int64_t j = 0; j < n; j++) w[j] = NUMBER(0);
  for (; i + 4 <= m; i += 4) {
    const E c0 = CONJ(v[i]), c1 = CONJ(v[i + 1]), c2 = CONJ(v[i + 2]), c3 = CONJ(v[i + 3]);
    const E *r0 = a + i * lda, *r1 = r0 + lda, *r2 = r1 + lda, *r3 = r2 + lda;
    for (int64_t j = 0; j < n; j++)
      w[j] += MUL(c0, r0[j]) + MUL(c1, r1[j]) + MUL(c2, r2[j]) + MUL(c3, r3[j]);
  }
  for (; i < m; i++)
    for (int64_t j = 0; j < n; j++) w[j] += MUL(CONJ(v[i]), a[i * lda + j]);
  for (i = 0; i < m; i++) {
    const E c = MUL(t, v[i]);
    for (int64_t j = 0; j < n; j++) a[i * lda + j] -= MUL(c, w[j]);
  }
}

/* a = a (I - t v v^H) for a of m x n. */
CLONES static void F(apply_right)(int64_t m, int64_t n, E *restrict a, int64_t lda,
                                  const E *restrict v, E t) {
  for (int64_t i = 0; i < m; i++) {
    E *row = a + i * lda, sum[4] = {NUMBER(0), NUMBER(0), NUMBER(0), NUMBER(0)};
    int64_t j = 0;
    for (; j + 4 <= n; j += 4)
      for (int lane = 0; lane < 4; lane++) sum[lane] += MUL(row[j + lane], v[j + lane]);
    for (; j < n; j++) sum[0] += MUL(row[j], v[j]);
    const E c = MUL(t, sum[0] + sum[1] + sum[2] + sum[3]);
    for (j = 0; j < n; j++) row[j] -= MUL(c, CONJ(v[j]));
  }
}

static void F(get_column)(int64_t count, const E *a, int64_t lda, E *to) {
  for (int64_t i = 0; i < count; i++) to[i] = a[i * lda];
}

static void F(put_column)(int64_t count, const E *from, E *a, int64_t lda) {
  for (int64_t i = 0; i < count; i++) a[i * lda] = from[i];
}

void F(householder_qr)(int64_t m, int64_t n, E *a, E *tau, E *work) {
  const int64_t k = min_i64(m, n);
  E *v = work, *w = work + m;
  for (int64_t c = 0; c < k && !interrupt_pending(); c++) {
    E *at = a + c * n + c;
    double beta;
    F(get_column)(m - c, at, n, v);
    tau[c] = F(reflector)(m - c, v, &beta);
    F(apply_left)(m - c, n - c - 1, at + 1, n, v, CONJ(tau[c]), w);
    v[0] = NUMBER(beta);
    F(put_column)(m - c, v, at, n);
  }
}

void F(householder_product)(int64_t m, int64_t k, int64_t offset, const E *a, int64_t lda,
                            const E *tau, int64_t wide, E *q, E *work) {
  E *v = work, *w = work + m;
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < wide; j++) q[i * wide + j] = NUMBER(i == j);
  for (int64_t c = k - 1; c >= 0 && !interrupt_pending(); c--) {
    const int64_t top = c + offset;
    if (top >= m) continue;
    F(get_column)(m - top, a + top * lda + c, lda, v);
    v[0] = NUMBER(1);
    F(apply_left)(m - top, wide - top, q + top * wide + top, wide, v, tau[c], w);
  }
}

void F(householder_bidiagonal)(int64_t m, int64_t n, E *a, double *d, double *e, E *tau_q, E *tau_p,
                               E *work) {
  E *v = work, *w = work + m;
  for (int64_t c = 0; c < n && !interrupt_pending(); c++) {
    E *at = a + c * n + c;
    F(get_column)(m - c, at, n, v);
    tau_q[c] = F(reflector)(m - c, v, &d[c]);
    F(apply_left)(m - c, n - c - 1, at + 1, n, v, CONJ(tau_q[c]), w);
    F(put_column)(m - c, v, at, n);
    if (c + 1 >= n) continue;
    E *row = at + 1;
    for (int64_t j = 0; j < n - c - 1; j++) w[j] = CONJ(row[j]);
    tau_p[c] = F(reflector)(n - c - 1, w, &e[c]);
    F(apply_right)(m - c - 1, n - c - 1, row + n, n, w, tau_p[c]);
    for (int64_t j = 0; j < n - c - 1; j++) row[j] = w[j];
  }
}

void F(householder_product_of_rows)(int64_t n, const E *a, const E *tau, E *p, E *work) {
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++) p[i * n + j] = NUMBER(i == j);
  for (int64_t c = n - 2; c >= 0 && !interrupt_pending(); c--)
    F(apply_left)(n - c - 1, n - c - 1, p + (c + 1) * (n + 1), n, a + c * n + c + 1, tau[c], work);
}

/* a = a - v w^H - w v^H */
CLONES static void F(update_twice)(int64_t n, E *restrict a, int64_t lda, const E *restrict v,
                                   const E *restrict w) {
  for (int64_t i = 0; i < n; i++) {
    const E p = v[i], q = w[i];
    for (int64_t j = 0; j < n; j++) a[i * lda + j] -= MUL(p, CONJ(w[j])) + MUL(q, CONJ(v[j]));
  }
}

/* x = t a v of a Hermitian matrix: the conjugate of v^H a. */
CLONES static void F(multiply)(int64_t n, const E *restrict a, int64_t lda, const E *restrict v,
                               E t, E *restrict x) {
  int64_t i = 0;
  for (int64_t j = 0; j < n; j++) x[j] = NUMBER(0);
  for (; i + 4 <= n; i += 4) {
    const E c0 = CONJ(v[i]), c1 = CONJ(v[i + 1]), c2 = CONJ(v[i + 2]), c3 = CONJ(v[i + 3]);
    const E *r0 = a + i * lda, *r1 = r0 + lda, *r2 = r1 + lda, *r3 = r2 + lda;
    for (int64_t j = 0; j < n; j++)
      x[j] += MUL(c0, r0[j]) + MUL(c1, r1[j]) + MUL(c2, r2[j]) + MUL(c3, r3[j]);
  }
  for (; i < n; i++)
    for (int64_t j = 0; j < n; j++) x[j] += MUL(CONJ(v[i]), a[i * lda + j]);
  for (int64_t j = 0; j < n; j++) x[j] = MUL(t, CONJ(x[j]));
}

void F(householder_tridiagonal)(int64_t n, E *a, double *d, double *e, E *tau, E *work) {
  E *v = work, *x = work + n;
  for (int64_t c = 0; c + 1 < n && !interrupt_pending(); c++) {
    const int64_t size = n - c - 1;
    E *at = a + (c + 1) * n + c, inner = NUMBER(0);
    F(get_column)(size, at, n, v);
    tau[c] = F(reflector)(size, v, &e[c]);
    F(multiply)(size, at + 1, n, v, tau[c], x);
    for (int64_t i = 0; i < size; i++) inner += MUL(CONJ(x[i]), v[i]);
    inner = MUL(tau[c], inner) / 2;
    for (int64_t i = 0; i < size; i++) x[i] -= MUL(inner, v[i]);
    F(update_twice)(size, at + 1, n, v, x);
    F(put_column)(size, v, at, n);
  }
  for (int64_t i = 0; i < n; i++) d[i] = RE(a[i * n + i]);
}

void F(householder_hessenberg)(int64_t n, E *a, E *tau, E *work) {
  E *v = work, *w = work + n;
  for (int64_t c = 0; c + 2 < n && !interrupt_pending(); c++) {
    const int64_t size = n - c - 1;
    E *at = a + (c + 1) * n + c;
    double beta;
    F(get_column)(size, at, n, v);
    tau[c] = F(reflector)(size, v, &beta);
    F(apply_left)(size, size, at + 1, n, v, CONJ(tau[c]), w);
    F(apply_right)(n, size, a + c + 1, n, v, tau[c]);
    v[0] = NUMBER(beta);
    F(put_column)(size, v, at, n);
  }
}
