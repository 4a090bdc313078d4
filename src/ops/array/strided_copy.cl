/* SPDX-License-Identifier: Apache-2.0
 * strided_copy.cl: kernels that copy elements between strided layouts. */
#include "kernel/strided_index.h"

/* Sets all elements of y to v[0]. */
KERNEL(put_value, IN(T, v), OUT(T, y), SIZE(n)) {
  EACH(i, n);
  y[i] = v[0];
}

KERNEL(put_zeros, OUT(T, y), SIZE(n)) {
  EACH(i, n);
  y[i] = ZERO;
}

/* Copies element i of x, which is dense, to the view of y: `start` plus the index times the
 * strides. */
KERNEL(paste_view, IN(T, x), OUT(T, y), SIZES(dim), SIZES(stride), SIZE(start), SIZE(n)) {
  EACH(i, n);
  UNPACK(dim);
  UNPACK(stride);
  y[start + strided_offset(i, dim, stride)] = x[i];
}

/* Copies between two views: `start` plus the index times the strides. */
KERNEL(move_view, IN(T, x), OUT(T, y), SIZES(dim), SIZES(from), SIZES(to), SIZE(x_start),
       SIZE(y_start), SIZE(n)) {
  EACH(i, n);
  UNPACK(dim);
  UNPACK(from);
  UNPACK(to);
  y[y_start + strided_offset(i, dim, to)] = x[x_start + strided_offset(i, dim, from)];
}

#ifdef SITU_HOST
/* Copies a row with a stride of `step`. */
RANGE(copy_row, IN(T, x), OUT(T, y), SIZE(step)) {
  if (step == 1) {
    INDEPENDENT for (i64 i = begin; i < end; i++) y[i] = x[i];
  } else {
    for (i64 i = begin; i < end; i++) y[i] = x[i * step];
  }
}

/* Copies the view of x to y, which is dense. */
static situ_status JOIN(copy_view, T_NAME)(const union arg *args, int64_t begin, int64_t end) {
  union arg view[2 + 2 * SITU_MAX_RANK];
  memcpy(view, args, sizeof view);
  view[0].pointer = (T *)view[0].pointer + args[COUNT_OF(view)].integer;
  return strided_for_rows(view, begin, end, JOIN(copy_row, T_NAME), 1,
                   (const size_t[]){sizeof(T), sizeof(T)});
}

/* Copies rows: element i is number i % row of row i / row; rows begin a pitch apart. */
RANGE(copy_block, IN(T, x), OUT(T, y), SIZE(row), SIZE(x_pitch), SIZE(x_start), SIZE(y_pitch),
      SIZE(y_start)) {
  for (i64 i = begin, m; i < end; i += m) {
    const i64 r = i / row, at = i % row;
    const T *from = x + x_start + r * x_pitch + at;
    T *to = y + y_start + r * y_pitch + at;
    m = row - at < end - i ? row - at : end - i;
    if (m * (i64)sizeof(T) < 64) {
      for (i64 k = 0; k < m; k++) to[k] = from[k];
    } else {
      memcpy(to, from, (size_t)m * sizeof(T));
    }
  }
}
#else
KERNEL(copy_view, IN(T, x), OUT(T, y), SIZES(dim), SIZES(stride), SIZE(start), SIZE(n)) {
  EACH(i, n);
  UNPACK(dim);
  UNPACK(stride);
  y[i] = x[start + strided_offset(i, dim, stride)];
}

KERNEL(copy_block, IN(T, x), OUT(T, y), SIZE(row), SIZE(x_pitch), SIZE(x_start), SIZE(y_pitch),
       SIZE(y_start), SIZE(n)) {
  EACH(i, n);
  y[y_start + i / row * y_pitch + i % row] = x[x_start + i / row * x_pitch + i % row];
}
#endif
