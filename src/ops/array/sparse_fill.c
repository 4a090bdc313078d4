/* SPDX-License-Identifier: Apache-2.0
 * sparse_fill.c: SparseFillEmptyRows: a default value in each empty row of a sparse tensor. */
#include <stdlib.h>
#include <string.h>

#include "ops/gradient.h"
#include "ops/ops.h"
#include "tensor/tensor.h"

static situ_status fill_shape(struct call *call) {
  TRY(op_need_sparse(call, 0, "sparse tensor"));
  TRY(op_need_rank(call, 3, 0, "default_value"));
  const situ_shape *in = &call->in[0].shape;
  const int64_t rank = in->rank == 2 ? in->dim[1] : SITU_ANY;
  call->out[0].shape = SITU_SHAPE(SITU_ANY, rank);
  call->out[1].shape = SITU_SHAPE(SITU_ANY);
  call->out[2].shape = SITU_SHAPE(SITU_ANY);
  call->out[3].shape = SITU_SHAPE(in->rank == 2 ? in->dim[0] : SITU_ANY);
  return NULL;
}

/* The layout of the result: the first element of each row. */
struct layout {
  int64_t rows, rank, n, total; /* the result has `total` elements for n of the input */
  int64_t *next;                /* by row: the index of its next element */
  int64_t *from;                /* by element of the result: its index in the input, or -1 */
};

static situ_status count_rows(const int64_t *indices, struct layout *layout, bool *empty) {
  for (int64_t i = 0; i < layout->n; i++) {
    const int64_t row = indices[i * layout->rank];
    if (row < 0 || row >= layout->rows)
      return INVALID("indices(%lld, 0) is invalid: %lld >= %lld", (long long)i, (long long)row,
                     (long long)layout->rows);
    layout->next[row]++;
  }
  for (int64_t row = 0; row < layout->rows; row++) {
    const int64_t count = layout->next[row];
    empty[row] = !count;
    layout->next[row] = layout->total;
    layout->total += count ? count : 1;
  }
  return NULL;
}

static situ_status place_elements(const struct compute *compute, const int64_t *indices,
                                  struct layout *layout, const bool *empty) {
  void *to = NULL, *map = NULL;
  TRY(compute_output(compute, 0, SITU_SHAPE(layout->total, layout->rank), &to));
  TRY(compute_output(compute, 3, SITU_SHAPE(layout->n), &map));
  layout->from = calloc((size_t)layout->total + 1, sizeof *layout->from);
  if (!layout->from) return NO_MEMORY();
  const size_t bytes = (size_t)layout->rank * sizeof(int64_t);
  for (int64_t row = 0; row < layout->rows; row++) {
    if (!empty[row]) continue;
    int64_t *filled = (int64_t *)to + layout->next[row] * layout->rank;
    memset(filled, 0, bytes);
    filled[0] = row;
    layout->from[layout->next[row]] = -1;
  }
  for (int64_t i = 0; i < layout->n; i++) {
    const int64_t at = layout->next[indices[i * layout->rank]]++;
    memcpy((int64_t *)to + at * layout->rank, indices + i * layout->rank, bytes);
    ((int64_t *)map)[i] = at;
    layout->from[at] = i;
  }
  return NULL;
}

static situ_status fill_values(const struct compute *compute, const struct layout *layout) {
  const situ_tensor *values = compute->in[1], *other = compute->in[3];
  const situ_shape shape = SITU_SHAPE(layout->total);
  if (values->type == SITU_STRING) {
    situ_string *all = calloc((size_t)layout->total + 1, sizeof *all);
    if (!all) return NO_MEMORY();
    for (int64_t i = 0; i < layout->total; i++)
      all[i] = layout->from[i] < 0 ? situ_tensor_string(other, 0)
                                   : situ_tensor_string(values, layout->from[i]);
    const situ_status status = situ_tensor_create_strings(shape, all, &compute->out[1]);
    free(all);
    return status;
  }
  void *to = NULL;
  TRY(compute_output(compute, 1, shape, &to));
  const size_t size = situ_type_size(values->type);
  for (int64_t i = 0; i < layout->total; i++) {
    const char *from = layout->from[i] < 0 ? situ_tensor_data(other)
                                           : (const char *)situ_tensor_data(values) +
                                                 (size_t)layout->from[i] * size;
    memcpy((char *)to + (size_t)i * size, from, size);
  }
  return NULL;
}

static situ_status compute_fill(struct compute *compute) {
  const int64_t *sizes = situ_tensor_data(compute->in[2]);
  const int64_t *indices = situ_tensor_data(compute->in[0]);
  struct layout layout = {.rank = situ_tensor_shape(compute->in[0]).dim[1],
                          .n = situ_tensor_shape(compute->in[0]).dim[0]};
  if (situ_shape_count(compute->in[2]->shape) < 1 || layout.rank < 1)
    return INVALID("Dense shape cannot be empty.");
  layout.rows = sizes[0];
  if (layout.rows < 0) return INVALID("dense_shape[0] must be >= 0");
  if (!layout.rows && layout.n)
    return INVALID("Received SparseTensor with dense_shape[0] = 0 but indices.shape[0] = %lld",
                   (long long)layout.n);
  void *empty = NULL;
  TRY(compute_output(compute, 2, SITU_SHAPE(layout.rows), &empty));
  layout.next = calloc((size_t)layout.rows + 1, sizeof *layout.next);
  situ_status status = layout.next ? count_rows(indices, &layout, empty) : NO_MEMORY();
  if (!status) status = place_elements(compute, indices, &layout, empty);
  if (!status) status = fill_values(compute, &layout);
  free(layout.next);
  free(layout.from);
  return status;
}

/* Scatters each value to its index in the output; the others are the default value. */
static void fill_grad(struct gradient *g) {
  if (!term_exists(g->dy[1])) return;
  const struct term axes = gradient_int(g, 0);
  g->dx[1] = OP(g, "GatherV2", g->dy[1], gradient_output(g->out[0], 3), axes);
  g->dx[3] = OP(g, "Sub", OP(g, "Sum", g->dy[1], axes), OP(g, "Sum", g->dx[1], axes));
}

static const struct op_def op_defs[] = {
    {.name = "SparseFillEmptyRows",
     .inputs = "indices:int64[n,r] values:T[n] dense_shape:int64[r] default_value:T[]",
     .outputs = "output_indices:int64 output_values:T empty_row_indicator:bool "
                "reverse_index_map:int64",
     .attrs = "T:{" ALL_TYPES "}",
     .python = "",
     .doc = "Adds a default value in the first column of each empty row of a sparse tensor.",
     .args = "indices: Indices of the elements, one row each.\n"
             "values: Values of the elements.\n"
             "dense_shape: Shape of the sparse tensor.\n"
             "default_value: Value to insert, a scalar.",
     .devices = "CPU",
     .flags = 0,
     .shape = fill_shape,
     .grad = fill_grad,
     .compute = compute_fill},
};

OP_FAMILY(sparse_fill, op_defs);
