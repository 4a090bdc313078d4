/* SPDX-License-Identifier: Apache-2.0
 * strided_index.c: strided operands row by row. */
#include "kernel/host.h"
#include "kernel/strided_index.h"

enum { LAST = SITU_MAX_RANK - 1 };

/* A place in the result: its index, and where it lies in each input. */
struct place {
  int64_t at[SITU_MAX_RANK];
  int64_t offset[STRIDED_INDEX_INPUTS];
};

/* strides of input k begin at stride[k * SITU_MAX_RANK]. */
static int64_t stride_of(const union arg *stride, int k, int d) {
  return stride[k * SITU_MAX_RANK + d].integer;
}

static void go_to(struct place *place, int64_t i, const union arg *dim, const union arg *stride,
                  int n) {
  for (int d = LAST; d >= 0 && i > 0; d--) {
    place->at[d] = i % dim[d].integer;
    i /= dim[d].integer;
    for (int k = 0; k < n; k++) place->offset[k] += place->at[d] * stride_of(stride, k, d);
  }
}

/* Goes on by m elements of the same row, and to the next row at its end. */
static void go_on(struct place *place, int64_t m, const union arg *dim, const union arg *stride,
                  int n) {
  place->at[LAST] += m;
  for (int k = 0; k < n; k++) place->offset[k] += m * stride_of(stride, k, LAST);
  for (int d = LAST; d > 0 && place->at[d] == dim[d].integer; d--) {
    for (int k = 0; k < n; k++)
      place->offset[k] += stride_of(stride, k, d - 1) - place->at[d] * stride_of(stride, k, d);
    place->at[d] = 0;
    place->at[d - 1]++;
  }
}

situ_status strided_for_rows(const union arg *args, int64_t begin, int64_t end, host_kernel *flat,
                             int n, const size_t *size) {
  const union arg *const dim = args + n + 1, *const stride = dim + SITU_MAX_RANK;
  struct place place = {{0}, {0}};
  union arg row[2 * STRIDED_INDEX_INPUTS + 2];
  for (int k = 0; k < n; k++) row[n + 1 + k].integer = stride_of(stride, k, LAST);
  go_to(&place, begin, dim, stride, n);
  for (int64_t i = begin, m; i < end; i += m) {
    m = min_i64(dim[LAST].integer - place.at[LAST], end - i);
    for (int k = 0; k < n; k++)
      row[k].pointer = (char *)args[k].pointer + place.offset[k] * (int64_t)size[k];
    row[n].pointer = (char *)args[n].pointer + i * (int64_t)size[n];
    row[2 * n + 1].integer = m;
    TRY(flat(row, 0, m));
    if (i + m < end) go_on(&place, m, dim, stride, n);
  }
  return NULL;
}
