/* SPDX-License-Identifier: Apache-2.0
 * matrix_band.h: index arithmetic of arrays of diagonals (ops/linalg/matrix_band_diag.c). */
#ifndef SITU_KERNEL_MATRIX_BAND_H
#define SITU_KERNEL_MATRIX_BAND_H

/* Where diagonal d of a matrix begins in its row of `length` elements. `right` has bit 0 for
 * diagonals above the main one that stand at the right, bit 1 for those below. */
INLINE i64 band_start(i64 d, i64 rows, i64 columns, i64 length, i64 right) {
  const bool left = (d >= 0 && !(right & 1)) || (d <= 0 && !(right & 2));
  const i64 tall = rows + (d < 0 ? d : 0), wide = columns - (d > 0 ? d : 0);
  return left ? 0 : length - (tall < wide ? tall : wide);
}

/* The place of element [row, column] of matrix `batch` among the diagonals lower to upper. */
INLINE i64 band_place(i64 batch, i64 row, i64 column, i64 rows, i64 columns, i64 lower, i64 upper,
                      i64 length, i64 right) {
  const i64 d = column - row, along = row < column ? row : column;
  return (batch * (upper - lower + 1) + upper - d) * length +
         band_start(d, rows, columns, length, right) + along;
}

#endif
