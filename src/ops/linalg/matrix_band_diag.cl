/* SPDX-License-Identifier: Apache-2.0
 * matrix_band_diag.cl: several diagonals of matrices [batch][rows][columns]. */
#include "kernel/matrix_band.h"

KERNEL(bands_put, IN(T, x), IN(T, padding), OUT(T, y), SIZE(rows), SIZE(columns), SIZE(lower),
       SIZE(upper), SIZE(length), SIZE(right), SIZE(n)) {
  EACH(i, n);
  const i64 row = i / columns % rows, column = i % columns, d = column - row;
  y[i] = d < lower || d > upper
             ? padding[0]
             : x[band_place(i / columns / rows, row, column, rows, columns, lower, upper, length,
                            right)];
}

KERNEL(bands_take, IN(T, x), IN(T, padding), OUT(T, y), SIZE(rows), SIZE(columns), SIZE(lower),
       SIZE(upper), SIZE(length), SIZE(right), SIZE(n)) {
  EACH(i, n);
  const i64 count = upper - lower + 1, d = upper - i / length % count;
  const i64 along = i % length - band_start(d, rows, columns, length, right);
  const i64 row = along - (d < 0 ? d : 0), column = along + (d > 0 ? d : 0);
  y[i] = along < 0 || row >= rows || column >= columns
             ? padding[0]
             : x[(i / length / count * rows + row) * columns + column];
}

KERNEL(bands_set, IN(T, x), IN(T, diagonals), OUT(T, y), SIZE(rows), SIZE(columns), SIZE(lower),
       SIZE(upper), SIZE(length), SIZE(right), SIZE(n)) {
  EACH(i, n);
  const i64 row = i / columns % rows, column = i % columns, d = column - row;
  y[i] = d < lower || d > upper
             ? x[i]
             : diagonals[band_place(i / columns / rows, row, column, rows, columns, lower, upper,
                                    length, right)];
}
