/* SPDX-License-Identifier: Apache-2.0
 * matrix_solve.cl: LU, triangular and Cholesky kernels for square matrices [batch][size][size];
 * one work item per matrix. */

#if T_IS_REAL && T_BYTES >= 4
/* x of a x = b, by elimination with pivots; `work` is as large as a. Without right sides
 * (`identity`) x is the inverse. */
KERNEL(matrix_solve, IN(T, a), IN(T, b), OUT(T, work), OUT(T, x), SIZE(size), SIZE(sides),
       SIZE(identity), SIZE(adjoint), SIZE(n)) {
  EACH(i, n);
  const i64 m = i * size * size, v = i * size * sides;
  for (i64 k = 0; k < size * size; k++)
    work[m + k] = adjoint ? a[m + k % size * size + k / size] : a[m + k];
  for (i64 k = 0; k < size * sides; k++)
    x[v + k] = identity ? (T)(k / size == k % size) : b[v + k];
  for (i64 c = 0; c < size; c++) {
    i64 pivot = c;
    for (i64 r = c + 1; r < size; r++)
      if (fabs(work[m + r * size + c]) > fabs(work[m + pivot * size + c])) pivot = r;
    const T top = work[m + pivot * size + c];
    if (top == 0) FAIL(SINGULAR, 0, 0, 0);
    for (i64 k = 0; k < size; k++) {
      const T kept = work[m + c * size + k];
      work[m + c * size + k] = work[m + pivot * size + k];
      work[m + pivot * size + k] = kept;
    }
    for (i64 k = 0; k < sides; k++) {
      const T kept = x[v + c * sides + k];
      x[v + c * sides + k] = x[v + pivot * sides + k];
      x[v + pivot * sides + k] = kept;
    }
    for (i64 r = 0; r < size; r++) {
      const T share = r == c ? (T)0 : work[m + r * size + c] / top;
      if (share == 0) continue;
      for (i64 k = c; k < size; k++) work[m + r * size + k] -= share * work[m + c * size + k];
      for (i64 k = 0; k < sides; k++) x[v + r * sides + k] -= share * x[v + c * sides + k];
    }
  }
  for (i64 r = 0; r < size; r++)
    for (i64 k = 0; k < sides; k++) x[v + r * sides + k] /= work[m + r * size + r];
}

KERNEL(matrix_determinant, IN(T, a), OUT(T, work), OUT(T, y), SIZE(size), SIZE(n)) {
  EACH(i, n);
  const i64 m = i * size * size;
  T product = 1;
  for (i64 k = 0; k < size * size; k++) work[m + k] = a[m + k];
  for (i64 c = 0; c < size && product != 0; c++) {
    i64 pivot = c;
    for (i64 r = c + 1; r < size; r++)
      if (fabs(work[m + r * size + c]) > fabs(work[m + pivot * size + c])) pivot = r;
    const T top = work[m + pivot * size + c];
    product *= pivot == c ? top : -top;
    for (i64 k = c; k < size; k++) {
      const T kept = work[m + c * size + k];
      work[m + c * size + k] = work[m + pivot * size + k];
      work[m + pivot * size + k] = kept;
    }
    for (i64 r = c + 1; r < size && top != 0; r++) {
      const T share = work[m + r * size + c] / top;
      for (i64 k = c; k < size; k++) work[m + r * size + k] -= share * work[m + c * size + k];
    }
  }
  y[i] = product;
}

/* The lower triangle whose product with its transpose is a. */
KERNEL(matrix_cholesky, IN(T, a), OUT(T, y), SIZE(size), SIZE(n)) {
  EACH(i, n);
  const i64 m = i * size * size;
  for (i64 r = 0; r < size; r++)
    for (i64 c = 0; c < size; c++) {
      T rest = a[m + r * size + c];
      for (i64 k = 0; k < c && c <= r; k++) rest -= y[m + r * size + k] * y[m + c * size + k];
      if (r == c && !(rest > 0)) FAIL(NOT_POSITIVE, 0, 0, 0);
      y[m + r * size + c] = c > r ? (T)0 : r == c ? sqrt(rest) : rest / y[m + c * size + c];
    }
}

/* x of a x = b where a is a triangle; adjoint: of the transpose. */
KERNEL(triangular_solve, IN(T, a), IN(T, b), OUT(T, x), SIZE(size), SIZE(sides), SIZE(lower),
       SIZE(adjoint), SIZE(n)) {
  EACH(i, n);
  const i64 m = i * size * size, v = i * size * sides;
  const bool down = (lower != 0) != (adjoint != 0);
  for (i64 step = 0; step < size; step++) {
    const i64 r = down ? step : size - 1 - step;
    const T top = a[m + r * size + r];
    if (top == 0) FAIL(SINGULAR, 0, 0, 0);
    for (i64 k = 0; k < sides; k++) {
      T rest = b[v + r * sides + k];
      for (i64 done = 0; done < step; done++) {
        const i64 c = down ? done : size - 1 - done;
        rest -= (adjoint ? a[m + c * size + r] : a[m + r * size + c]) * x[v + c * sides + k];
      }
      x[v + r * sides + k] = rest / top;
    }
  }
}
#endif
