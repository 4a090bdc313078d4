/* SPDX-License-Identifier: Apache-2.0
 * string_elements.c: see string_elements.h. */
#include "ops/string/string_elements.h"

#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"
#include "ops/broadcast.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

static bool same(situ_string a, situ_string b) {
  return a.length == b.length && (!a.length || !memcmp(a.data, b.data, a.length));
}

/* Shapes that cannot be broadcast are unequal: the result is a scalar. */
static situ_status compare(struct compute *compute, bool equal) {
  const situ_tensor *x = compute->in[0], *y = compute->in[1];
  const situ_shape shape = compute->call->out[0].shape;
  situ_shape met;
  void *data = NULL;
  TRY(compute_output(compute, 0, shape, &data));
  bool *z = data;
  if (!shape_broadcast(&x->shape, &y->shape, &met)) {
    z[0] = !equal;
    return NULL;
  }
  struct broadcast b;
  broadcast_plan(&shape, (const situ_shape *[]){&x->shape, &y->shape}, 2, &b);
  const int64_t n = situ_shape_count(shape);
  for (int64_t i = 0; i < n && !interrupt_pending(); i++)
    z[i] = equal == same(situ_tensor_string(x, broadcast_position(&b, 0, i)),
                         situ_tensor_string(y, broadcast_position(&b, 1, i)));
  return NULL;
}

situ_status string_elements_equal(struct compute *compute) { return compare(compute, true); }

situ_status string_elements_not_equal(struct compute *compute) { return compare(compute, false); }

/* Add */

/* Concatenates two strings in `buffer`, which it advances. */
static situ_string join(situ_string a, situ_string b, char **buffer) {
  char *to = *buffer;
  if (a.length) memcpy(to, a.data, a.length);
  if (b.length) memcpy(to + a.length, b.data, b.length);
  *buffer += a.length + b.length;
  return (situ_string){to, a.length + b.length};
}

situ_status string_elements_add(struct compute *compute) {
  const situ_tensor *x = compute->in[0], *y = compute->in[1];
  const situ_shape shape = compute->call->out[0].shape;
  const int64_t n = situ_shape_count(shape);
  struct broadcast b;
  size_t bytes = 1;
  broadcast_plan(&shape, (const situ_shape *[]){&x->shape, &y->shape}, 2, &b);
  for (int64_t i = 0; i < n; i++)
    bytes += situ_tensor_string(x, broadcast_position(&b, 0, i)).length +
             situ_tensor_string(y, broadcast_position(&b, 1, i)).length;
  char *buffer = malloc(bytes), *end = buffer;
  situ_string *all = calloc((size_t)n + 1, sizeof *all);
  situ_status status = buffer && all ? NULL : NO_MEMORY();
  for (int64_t i = 0; i < n && !status && !interrupt_pending(); i++)
    all[i] = join(situ_tensor_string(x, broadcast_position(&b, 0, i)),
                  situ_tensor_string(y, broadcast_position(&b, 1, i)), &end);
  if (!status) status = situ_tensor_create_strings(shape, all, &compute->out[0]);
  free(buffer);
  free(all);
  return status;
}

/* ScatterNd */

struct scatter {
  const situ_tensor *indices, *updates;
  situ_shape shape;
  int depth;          /* numbers per index tuple */
  int64_t inner;      /* strings per update */
  bool skips;         /* ignores indices out of bounds */
  situ_string *parts; /* the strings of the result */
  char **owned;       /* results of concatenations */
};

static int64_t index_at(const situ_tensor *indices, int64_t i) {
  const void *data = situ_tensor_data(indices);
  if (indices->type == SITU_INT16) return ((const int16_t *)data)[i];
  return indices->type == SITU_INT32 ? ((const int32_t *)data)[i] : ((const int64_t *)data)[i];
}

/* The row that tuple k selects; -1: none. */
static situ_status row_of(const struct scatter *s, int64_t k, int64_t *row) {
  bool inside = true;
  *row = 0;
  for (int d = 0; d < s->depth; d++) {
    const int64_t at = index_at(s->indices, k * s->depth + d), size = s->shape.dim[d];
    inside = inside && at >= 0 && at < size;
    if (!inside && !s->skips)
      return INVALID("indices[%lld] = %lld is not in [0, %lld)", (long long)k, (long long)at,
                     (long long)size);
    *row = *row * size + at;
  }
  if (!inside) *row = -1;
  return NULL;
}

/* Appends a string to element `at`. */
static situ_status append(struct scatter *s, int64_t at, situ_string text) {
  const situ_string old = s->parts[at];
  if (!old.length) {
    s->parts[at] = text;
    return NULL;
  }
  char *joined = malloc(old.length + text.length + 1);
  if (!joined) return NO_MEMORY();
  memcpy(joined, old.data, old.length);
  if (text.length) memcpy(joined + old.length, text.data, text.length);
  joined[old.length + text.length] = 0;
  free(s->owned[at]);
  s->owned[at] = joined;
  s->parts[at] = (situ_string){joined, old.length + text.length};
  return NULL;
}

static situ_status scatter_all(struct scatter *s) {
  const int64_t picks = s->inner ? situ_shape_count(s->updates->shape) / s->inner : 0;
  for (int64_t k = 0; k < picks; k++) {
    int64_t row = -1;
    TRY(interrupt_check());
    TRY(row_of(s, k, &row));
    for (int64_t i = 0; row >= 0 && i < s->inner; i++)
      TRY(append(s, row * s->inner + i, situ_tensor_string(s->updates, k * s->inner + i)));
  }
  return NULL;
}

situ_status string_elements_scatter_nd(struct compute *compute) {
  struct scatter s = {.indices = compute->in[0],
                      .updates = compute->in[1],
                      .shape = compute->call->out[0].shape,
                      .inner = 1};
  s.depth = (int)s.indices->shape.dim[s.indices->shape.rank - 1];
  s.skips = !strcmp(call_text(compute->call, "bad_indices_policy"), "IGNORE");
  for (int d = s.depth; d < s.shape.rank; d++) s.inner *= s.shape.dim[d];
  const size_t n = (size_t)situ_shape_count(s.shape);
  s.parts = calloc(n + 1, sizeof *s.parts);
  s.owned = calloc(n + 1, sizeof *s.owned);
  situ_status status = s.parts && s.owned ? NULL : NO_MEMORY();
  if (!status) status = scatter_all(&s);
  if (!status) status = situ_tensor_create_strings(s.shape, s.parts, &compute->out[0]);
  for (size_t i = 0; s.owned && i < n; i++) free(s.owned[i]);
  free(s.parts);
  free(s.owned);
  return status;
}
