/* SPDX-License-Identifier: Apache-2.0
 * matrix_diag.cl: diagonals and bands of matrices [batch][rows][columns]. */

/* A matrix with a diagonal, and zeros elsewhere. */
KERNEL(diagonal_put, IN(T, d), OUT(T, y), SIZE(size), SIZE(n)) {
  EACH(i, n);
  const i64 row = i / size % size, column = i % size;
  y[i] = row == column ? d[i / size / size * size + row] : ZERO;
}

KERNEL(diagonal_take, IN(T, x), OUT(T, d), SIZE(rows), SIZE(columns), SIZE(length), SIZE(n)) {
  EACH(i, n);
  d[i] = x[i / length * rows * columns + i % length * (columns + 1)];
}

KERNEL(diagonal_set, IN(T, x), IN(T, d), OUT(T, y), SIZE(rows), SIZE(columns), SIZE(length),
       SIZE(n)) {
  EACH(i, n);
  const i64 row = i / columns % rows, column = i % columns;
  y[i] = row == column ? d[i / columns / rows * length + row] : x[i];
}

/* Keeps at most `lower` subdiagonals and `upper` superdiagonals; negative: all. */
KERNEL(band_part, IN(T, x), OUT(T, y), SIZE(rows), SIZE(columns), SIZE(lower), SIZE(upper),
       SIZE(n)) {
  EACH(i, n);
  const i64 row = i / columns % rows, column = i % columns;
  const bool kept =
      (lower < 0 || row - column <= lower) && (upper < 0 || column - row <= upper);
  y[i] = kept ? x[i] : ZERO;
}
