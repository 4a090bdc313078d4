/* SPDX-License-Identifier: Apache-2.0
 * strided_index.c: applies one-dimensional kernels to the rows of strided operands. */
#include "kernel/host.h"
#include "kernel/strided_index.h"

enum { LAST = SITU_MAX_RANK - 1 };

/* A position in the output and the corresponding offset in each input. */
struct position {
  int64_t at[SITU_MAX_RANK];
  int64_t offset[STRIDED_INDEX_INPUTS];
};

/* The strides of input k start at stride[k * SITU_MAX_RANK]. */
static int64_t get_stride(const union arg *stride, int k, int d) {
  return stride[k * SITU_MAX_RANK + d].integer;
}

static void seek(struct position *position, int64_t i, const union arg *dim,
                 const union arg *stride, int n) {
  for (int d = LAST; d >= 0 && i > 0; d--) {
    position->at[d] = i % dim[d].integer;
    i /= dim[d].integer;
    for (int k = 0; k < n; k++) position->offset[k] += position->at[d] * get_stride(stride, k, d);
  }
}

/* Advances by m elements within a row, and to the next row at its end. */
static void advance(struct position *position, int64_t m, const union arg *dim,
                    const union arg *stride, int n) {
  position->at[LAST] += m;
  for (int k = 0; k < n; k++) position->offset[k] += m * get_stride(stride, k, LAST);
  for (int d = LAST; d > 0 && position->at[d] == dim[d].integer; d--) {
    for (int k = 0; k < n; k++)
      position->offset[k] +=
          get_stride(stride, k, d - 1) - position->at[d] * get_stride(stride, k, d);
    position->at[d] = 0;
    position->at[d - 1]++;
  }
}

situ_status strided_for_rows(const union arg *args, int64_t begin, int64_t end, host_kernel *flat,
                             int n, const size_t *size) {
  const union arg *const dim = args + n + 1, *const stride = dim + SITU_MAX_RANK;
  struct position position = {{0}, {0}};
  union arg row[2 * STRIDED_INDEX_INPUTS + 2];
  for (int k = 0; k < n; k++) row[n + 1 + k].integer = get_stride(stride, k, LAST);
  seek(&position, begin, dim, stride, n);
  for (int64_t i = begin, m; i < end; i += m) {
    m = min_i64(dim[LAST].integer - position.at[LAST], end - i);
    for (int k = 0; k < n; k++)
      row[k].pointer = (char *)args[k].pointer + position.offset[k] * (int64_t)size[k];
    row[n].pointer = (char *)args[n].pointer + i * (int64_t)size[n];
    row[2 * n + 1].integer = m;
    TRY(flat(row, 0, m));
    if (i + m < end) advance(&position, m, dim, stride, n);
  }
  return NULL;
}
