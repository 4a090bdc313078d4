/* SPDX-License-Identifier: Apache-2.0
 * sparse_layout.c: SparseReorder, SparseReshape, SparseSlice, SparseSplit and SparseConcat: ops
 * that move the elements of sparse tensors. */
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "ops/gradient.h"
#include "ops/ops.h"
#include "ops/sparse/sparse_elements.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

/* Elements that become an output: their positions in `in`, and the offset of their new indices. */
struct selection {
  const struct sparse *in;
  int64_t *at, count;
  int64_t offset[SITU_MAX_RANK];
};

static situ_status gather_strings(const situ_tensor *values, const struct selection *selection,
                                  situ_tensor **out) {
  situ_string *strings = malloc((size_t)(selection->count + 1) * sizeof *strings);
  if (!strings) return NO_MEMORY();
  for (int64_t i = 0; i < selection->count; i++)
    strings[i] = situ_tensor_string(values, selection->at[i]);
  const situ_status status = situ_tensor_create_strings(SITU_SHAPE(selection->count), strings, out);
  free(strings);
  return status;
}

static situ_status return_values(struct compute *compute, int output,
                                 const struct selection *selection) {
  const situ_tensor *values = selection->in->values;
  if (values->type == SITU_STRING) return gather_strings(values, selection, &compute->out[output]);
  const size_t size = situ_type_size(values->type);
  const char *from = situ_tensor_data(values);
  void *to = NULL;
  TRY(compute_output(compute, output, SITU_SHAPE(selection->count), &to));
  for (int64_t i = 0; i < selection->count; i++)
    memcpy((char *)to + (size_t)i * size, from + (size_t)selection->at[i] * size, size);
  return NULL;
}

static situ_status return_indices(struct compute *compute, int output,
                                  const struct selection *selection) {
  const struct sparse *in = selection->in;
  void *to = NULL;
  TRY(compute_output(compute, output, SITU_SHAPE(selection->count, in->rank), &to));
  int64_t *index = to;
  for (int64_t i = 0; i < selection->count; i++)
    for (int d = 0; d < in->rank; d++)
      *index++ = in->indices[selection->at[i] * in->rank + d] - selection->offset[d];
  return NULL;
}

static situ_status return_dims(struct compute *compute, int output, const int64_t *dims, int rank) {
  void *to = NULL;
  TRY(compute_output(compute, output, SITU_SHAPE(rank), &to));
  if (rank) memcpy(to, dims, sizeof *dims * (size_t)rank);
  return NULL;
}

/* SparseReorder */

static situ_status reorder_shape(struct call *call) {
  TRY(op_need_sparse(call, 0, "sparse tensor"));
  for (int i = 0; i < 2; i++) call->out[i].shape = call->in[i].shape;
  return NULL;
}

/* Orders by indices, then by position. */
static int compare_indices(const void *a, const void *b, void *context) {
  const struct sparse *in = context;
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  for (int d = 0; d < in->rank; d++) {
    const int64_t first = in->indices[x * in->rank + d], second = in->indices[y * in->rank + d];
    if (first != second) return first < second ? -1 : 1;
  }
  return x < y ? -1 : x > y;
}

static situ_status compute_reorder(struct compute *compute) {
  struct sparse in;
  TRY(sparse_read(compute, 0, &in));
  struct selection all = {.in = &in, .count = in.count};
  all.at = malloc((size_t)(in.count + 1) * sizeof *all.at);
  if (!all.at) return NO_MEMORY();
  for (int64_t i = 0; i < in.count; i++) all.at[i] = i;
  situ_status status = sort_array(all.at, (size_t)in.count, sizeof *all.at, compare_indices, &in);
  if (!status) status = return_indices(compute, 0, &all);
  if (!status) status = return_values(compute, 1, &all);
  free(all.at);
  return status;
}

/* Gathers the gradients of the elements in their original order. */
static void reorder_grad(struct gradient *g) {
  const struct term count = OP(g, "Size", g->in[1]);
  const struct term positions = OP(g, "Range", gradient_int(g, 0), count, gradient_int(g, 1));
  const struct term sorted = OP(g, "SparseReorder", g->in[0], positions, g->in[2]);
  const struct term back = OP(g, "InvertPermutation", gradient_output(sorted, 1));
  g->dx[1] = OP(g, "GatherV2", g->dy[1], back, gradient_int(g, 0));
}

/* SparseReshape */

static situ_status reshape_shape(struct call *call) {
  TRY(op_need_rank(call, 0, 2, "input_indices"));
  TRY(op_need_rank(call, 1, 1, "input_shape"));
  TRY(op_need_rank(call, 2, 1, "new_shape"));
  const situ_shape *indices = &call->in[0].shape, *sizes = &call->in[2].shape;
  const int64_t rank = sizes->rank == 1 ? sizes->dim[0] : SITU_ANY;
  call->out[0].shape = SITU_SHAPE(indices->rank == 2 ? indices->dim[0] : SITU_ANY, rank);
  call->out[1].shape = SITU_SHAPE(rank);
  return NULL;
}

/* Multiplies; false on overflow. */
static bool multiply(int64_t *product, int64_t factor) {
  return !__builtin_mul_overflow(*product, factor, product);
}

/* Replaces the size -1 by the rest of `total` elements. */
static situ_status infer_sizes(int64_t total, int64_t *sizes, int rank) {
  int64_t product = 1;
  int open = -1;
  for (int d = 0; d < rank; d++) {
    if (sizes[d] == -1 && open >= 0)
      return INVALID("only one output dimension may be -1, not both %d and %d", open, d);
    if (sizes[d] < -1)
      return INVALID("size %d must be non-negative, not %lld", d, (long long)sizes[d]);
    if (sizes[d] == -1)
      open = d;
    else if (!multiply(&product, sizes[d]))
      return INVALID("Encountered overflow when multiplying %lld with %lld", (long long)product,
                     (long long)sizes[d]);
  }
  if (open >= 0 && product == 0)
    return INVALID(
        "reshape cannot infer the missing input size for an empty tensor unless all specified "
        "input sizes are non-zero");
  if (open >= 0 && total % product)
    return INVALID(
        "Input to reshape is a SparseTensor with %lld dense values, but the requested shape "
        "requires a multiple of %lld",
        (long long)total, (long long)product);
  if (open >= 0) sizes[open] = total / product;
  if (open < 0 && product != total)
    return INVALID(
        "Input to reshape is a tensor with %lld dense values, but the requested shape has %lld",
        (long long)total, (long long)product);
  return NULL;
}

static situ_status count_dense(const int64_t *dims, int rank, int64_t *total) {
  *total = 1;
  for (int d = 0; d < rank; d++) {
    if (dims[d] < 0)
      return INVALID("Dimension %d of input_shape must be >= 0 but is %lld", d, (long long)dims[d]);
    if (!multiply(total, dims[d]))
      return INVALID("Encountered overflow when multiplying %lld with %lld", (long long)*total,
                     (long long)dims[d]);
  }
  return NULL;
}

/* The row-major position of an index; indices out of range wrap. */
static int64_t flatten(const int64_t *index, const int64_t *dims, int rank) {
  uint64_t at = 0;
  for (int d = 0; d < rank; d++) at = at * (uint64_t)dims[d] + (uint64_t)index[d];
  return (int64_t)at;
}

static void unflatten(int64_t at, const int64_t *dims, int rank, int64_t *index) {
  for (int d = rank - 1; d >= 0; d--) {
    index[d] = dims[d] ? at % dims[d] : 0;
    at = dims[d] ? at / dims[d] : at;
  }
}

static situ_status compute_reshape(struct compute *compute) {
  const situ_tensor *indices = compute->in[0], *from = compute->in[1], *to = compute->in[2];
  const int64_t *dims = situ_tensor_data(from), *data = situ_tensor_data(indices);
  if (indices->shape.rank != 2 || from->shape.rank != 1 || to->shape.rank != 1)
    return INVALID("SparseReshape needs a matrix of indices and vectors of sizes");
  if (indices->shape.dim[1] != from->shape.dim[0])
    return INVALID("Input tensor rank must match input shape length, got %lld and %lld",
                   (long long)indices->shape.dim[1], (long long)from->shape.dim[0]);
  const int rank = (int)from->shape.dim[0], new_rank = (int)to->shape.dim[0];
  if (to->shape.dim[0] > SITU_MAX_RANK)
    return INVALID("A tensor has at most %d dimensions", (int)SITU_MAX_RANK);
  int64_t sizes[SITU_MAX_RANK] = {0}, total;
  if (new_rank) memcpy(sizes, situ_tensor_data(to), sizeof *sizes * (size_t)new_rank);
  TRY(count_dense(dims, rank, &total));
  TRY(infer_sizes(total, sizes, new_rank));
  const int64_t n = indices->shape.dim[0];
  if (n && !total)
    return INVALID("Input tensor has %lld non zero elements but its shape is empty", (long long)n);
  void *out = NULL;
  TRY(compute_output(compute, 0, SITU_SHAPE(n, new_rank), &out));
  for (int64_t i = 0; i < n; i++)
    unflatten(flatten(data + i * rank, dims, rank), sizes, new_rank, (int64_t *)out + i * new_rank);
  return return_dims(compute, 1, sizes, new_rank);
}

/* SparseSlice */

static situ_status slice_shape(struct call *call) {
  TRY(op_need_sparse(call, 0, "sparse tensor"));
  TRY(op_need_rank(call, 3, 1, "start"));
  TRY(op_need_rank(call, 4, 1, "size"));
  const situ_shape *dims = &call->in[2].shape;
  call->out[0].shape = SITU_SHAPE(SITU_ANY, dims->rank == 1 ? dims->dim[0] : SITU_ANY);
  call->out[1].shape = SITU_SHAPE(SITU_ANY);
  call->out[2].shape = *dims;
  return NULL;
}

/* Whether index `i` is between start and start + size, without overflow. */
static bool is_between(int64_t i, int64_t start, int64_t size) {
  int64_t end;
  if (__builtin_add_overflow(start, size, &end)) end = size < 0 ? INT64_MIN : INT64_MAX;
  return start <= i && i < end;
}

static bool is_selected(const struct sparse *in, int64_t i, const int64_t *start,
                        const int64_t *size) {
  for (int d = 0; d < in->rank; d++)
    if (!is_between(in->indices[i * in->rank + d], start[d], size[d])) return false;
  return true;
}

/* Selects the elements of a box. The caller frees selection->at. */
static situ_status select_box(const struct sparse *in, const int64_t *start, const int64_t *size,
                              struct selection *out) {
  *out = (struct selection){.in = in, .at = malloc((size_t)(in->count + 1) * sizeof *out->at)};
  if (!out->at) return NO_MEMORY();
  for (int d = 0; d < in->rank; d++) out->offset[d] = start[d];
  for (int64_t i = 0; i < in->count; i++)
    if (is_selected(in, i, start, size)) out->at[out->count++] = i;
  return NULL;
}

/* The overlap of a slice with a dimension. */
static situ_status slice_size(int64_t dim, int64_t start, int64_t size, int64_t *out) {
  int64_t last, rest;
  const bool fits = !__builtin_sub_overflow(dim, size, &last) && start < last;
  if (__builtin_sub_overflow(dim, start, &rest)) rest = INT64_MAX;
  *out = fits ? size : start < dim ? rest : 0;
  return *out < 0 ? INVALID("Expected a non-negative size, got %lld", (long long)*out) : NULL;
}

static situ_status need_length(const struct compute *compute, int input, const char *what,
                               int rank) {
  const int64_t n = situ_shape_count(compute->in[input]->shape);
  if (compute->in[input]->shape.rank == 1 && n == rank) return NULL;
  return INVALID("Expected %s to be a vector of length %d but got length %lld", what, rank,
                 (long long)n);
}

static situ_status compute_slice(struct compute *compute) {
  struct sparse in;
  TRY(sparse_read(compute, 0, &in));
  TRY(need_length(compute, 3, "start", in.rank));
  TRY(need_length(compute, 4, "size", in.rank));
  const int64_t *start = situ_tensor_data(compute->in[3]), *size = situ_tensor_data(compute->in[4]);
  int64_t dims[SITU_MAX_RANK];
  for (int d = 0; d < in.rank; d++) TRY(slice_size(in.dims[d], start[d], size[d], &dims[d]));
  struct selection selection;
  TRY(select_box(&in, start, size, &selection));
  situ_status status = return_indices(compute, 0, &selection);
  if (!status) status = return_values(compute, 1, &selection);
  if (!status) status = return_dims(compute, 2, dims, in.rank);
  free(selection.at);
  return status;
}

static void slice_grad(struct gradient *g) {
  g->dx[1] = OP(g, "SparseSliceGrad", g->dy[1], g->in[0], g->in[3], g->out[0]);
}

static situ_status slice_grad_shape(struct call *call) {
  TRY(op_need_rank(call, 0, 1, "backprop_val_grad"));
  TRY(op_need_rank(call, 1, 2, "input_indices"));
  TRY(op_need_rank(call, 3, 2, "output_indices"));
  const situ_shape *indices = &call->in[1].shape;
  call->out[0].shape = SITU_SHAPE(indices->rank == 2 ? indices->dim[0] : SITU_ANY);
  return NULL;
}

static situ_status check_slice_grad(const struct compute *compute) {
  const situ_shape *grad = &compute->in[0]->shape, *in = &compute->in[1]->shape;
  const situ_shape *start = &compute->in[2]->shape, *out = &compute->in[3]->shape;
  if (grad->rank != 1 || in->rank != 2 || start->rank != 1 || out->rank != 2)
    return INVALID("SparseSliceGrad needs vectors of gradients and starts, matrices of indices");
  if (in->dim[1] != out->dim[1] || in->dim[1] != start->dim[0])
    return INVALID(
        "The input and output should have the same ndims: got: %lld and %lld, start has %lld",
        (long long)in->dim[1], (long long)out->dim[1], (long long)start->dim[0]);
  if (out->dim[0] > in->dim[0])
    return INVALID("# rows of output_indices should be not greater than of input_indices");
  if (out->dim[0] != grad->dim[0])
    return INVALID("# elements of backprop_val_grad and # rows of output_indices should match");
  return NULL;
}

/* The indices have the same order in both lists: the search continues after the last match. */
static situ_status compute_slice_grad(struct compute *compute) {
  TRY(check_slice_grad(compute));
  const situ_tensor *grad = compute->in[0];
  const int64_t *in = situ_tensor_data(compute->in[1]), *start = situ_tensor_data(compute->in[2]);
  const int64_t *out = situ_tensor_data(compute->in[3]);
  const int64_t n = compute->in[1]->shape.dim[0], rank = compute->in[1]->shape.dim[1];
  const int64_t selected = compute->in[3]->shape.dim[0];
  const size_t size = situ_type_size(grad->type);
  void *to = NULL;
  TRY(compute_output(compute, 0, SITU_SHAPE(n), &to));
  memset(to, 0, (size_t)n * size);
  for (int64_t i = 0, next = 0; i < n && next < selected; i++) {
    bool same = true;
    for (int64_t d = 0; d < rank && same; d++)
      same = (uint64_t)in[i * rank + d] == (uint64_t)out[next * rank + d] + (uint64_t)start[d];
    if (!same) continue;
    memcpy((char *)to + (size_t)i * size,
           (const char *)situ_tensor_data(grad) + (size_t)next++ * size, size);
  }
  return NULL;
}

/* SparseSplit */

static situ_status split_shape(struct call *call) {
  TRY(op_need_rank(call, 0, 0, "split_dim"));
  TRY(op_need_sparse(call, 1, "sparse tensor"));
  const situ_shape *dims = &call->in[3].shape;
  const int n = call->n_out / 3;
  for (int i = 0; i < n; i++) {
    call->out[i].shape = SITU_SHAPE(SITU_ANY, dims->rank == 1 ? dims->dim[0] : SITU_ANY);
    call->out[n + i].shape = SITU_SHAPE(SITU_ANY);
    call->out[2 * n + i].shape = *dims;
  }
  return NULL;
}

/* Returns part `k` of `n`, `size` long from `start` on along an axis. */
static situ_status return_part(struct compute *compute, const struct sparse *in, int axis, int k,
                               int64_t start, int64_t size) {
  const int n = compute->call->n_out / 3;
  int64_t starts[SITU_MAX_RANK] = {0}, dims[SITU_MAX_RANK];
  memcpy(dims, in->dims, sizeof *dims * (size_t)in->rank);
  starts[axis] = start;
  dims[axis] = size;
  struct selection selection;
  TRY(select_box(in, starts, dims, &selection));
  situ_status status = return_indices(compute, k, &selection);
  if (!status) status = return_values(compute, n + k, &selection);
  if (!status) status = return_dims(compute, 2 * n + k, dims, in->rank);
  free(selection.at);
  return status;
}

static situ_status compute_split(struct compute *compute) {
  struct sparse in;
  TRY(sparse_read(compute, 1, &in));
  for (int64_t i = 0; i < in.count; i++)
    if (!sparse_is_inside(&in, i, ~0u))
      return INVALID("Sparse index tuple indices[%lld, :] is out of bounds", (long long)i);
  const int64_t given = *(const int64_t *)situ_tensor_data(compute->in[0]);
  const int64_t axis = given < 0 ? given + in.rank : given, n = compute->call->n_out / 3;
  if (axis < 0 || axis >= in.rank)
    return INVALID("Input axis should be in range [%d, %d), got %lld", -in.rank, in.rank,
                   (long long)given);
  if (n > in.dims[axis])
    return INVALID(
        "Input num_split should be between 1 and the splitting dimension size (%lld), got %lld",
        (long long)in.dims[axis], (long long)n);
  const int64_t least = in.dims[axis] / n, rest = in.dims[axis] % n;
  for (int64_t k = 0, start = 0; k < n; k++) {
    const int64_t size = least + (k < rest);
    TRY(return_part(compute, &in, (int)axis, (int)k, start, size));
    start += size;
  }
  return NULL;
}

/* SparseConcat: concatenates the parts, and sorts as SparseReorder does if the axis is not 0. */

static situ_status concat_shape(struct call *call) {
  const int n = call->n_in / 3;
  int64_t rows = 0, rank = SITU_ANY;
  for (int i = 0; i < n; i++) {
    const situ_shape *indices = &call->in[i].shape, *values = &call->in[n + i].shape;
    TRY(op_need_rank(call, i, 2, "indices"));
    TRY(op_need_rank(call, n + i, 1, "values"));
    TRY(op_need_rank(call, 2 * n + i, 1, "shapes"));
    const int64_t count = values->rank == 1 ? values->dim[0] : SITU_ANY;
    const int64_t columns = indices->rank == 2 ? indices->dim[1] : SITU_ANY;
    rows = rows == SITU_ANY || count == SITU_ANY ? SITU_ANY : rows + count;
    if (rank != SITU_ANY && columns != SITU_ANY && rank != columns)
      return INVALID("Dimensions must be equal, but are %lld and %lld for 'SparseConcat'",
                     (long long)rank, (long long)columns);
    rank = rank == SITU_ANY ? columns : rank;
  }
  call->out[0].shape = SITU_SHAPE(rows, rank);
  call->out[1].shape = SITU_SHAPE(rows);
  call->out[2].shape = SITU_SHAPE(rank);
  return NULL;
}

/* Reads part `i` of the lists of inputs. */
static situ_status read_part(const struct compute *compute, int n, int i, struct sparse *out) {
  situ_tensor *const in[] = {compute->in[i], compute->in[n + i], compute->in[2 * n + i]};
  struct compute one = *compute;
  one.in = in;
  return sparse_read(&one, 0, out);
}

static situ_status check_parts(const struct sparse *parts, int n, int axis) {
  for (int i = 1; i < n; i++) {
    if (parts[i].rank != parts[0].rank)
      return INVALID("Ranks of all input tensors must match: expected %d but got %d at position %d",
                     parts[0].rank, parts[i].rank, i);
    for (int d = 0; d < parts[0].rank; d++)
      if (d != axis && parts[i].dims[d] != parts[0].dims[d])
        return INVALID(
            "Input shapes must match: expected %lld for dimension %d but got %lld at position %d",
            (long long)parts[0].dims[d], d, (long long)parts[i].dims[d], i);
  }
  return NULL;
}

/* All parts as one sparse tensor with the values of `values`. */
static situ_status join_parts(const struct sparse *parts, int n, int axis, int64_t *indices,
                              int64_t *dims) {
  int64_t before = 0;
  for (int i = 0; i < n; i++) {
    const int64_t cells = parts[i].count * parts[i].rank;
    for (int64_t k = 0; k < cells; k++)
      *indices++ = (int64_t)((uint64_t)parts[i].indices[k] +
                             (k % parts[i].rank == axis ? (uint64_t)before : 0));
    if (__builtin_add_overflow(before, parts[i].dims[axis], &before))
      return INVALID("Encountered overflow in the size of dimension %d", axis);
  }
  memcpy(dims, parts[0].dims, sizeof *dims * (size_t)parts[0].rank);
  dims[axis] = before;
  return NULL;
}

static situ_status return_joined_strings(const struct sparse *parts, int n, const int64_t *order,
                                         int64_t count, situ_tensor **out) {
  situ_string *all = malloc((size_t)(2 * count + 1) * sizeof *all);
  if (!all) return NO_MEMORY();
  situ_string *sorted = all + count;
  int64_t k = 0;
  for (int i = 0; i < n; i++)
    for (int64_t e = 0; e < parts[i].count; e++) all[k++] = situ_tensor_string(parts[i].values, e);
  for (k = 0; k < count; k++) sorted[k] = all[order[k]];
  const situ_status status = situ_tensor_create_strings(SITU_SHAPE(count), sorted, out);
  free(all);
  return status;
}

/* The values of the parts, in the order of the concatenated elements. */
static situ_status return_joined_values(struct compute *compute, const struct sparse *parts, int n,
                                        const int64_t *order, int64_t count) {
  if (parts[0].values->type == SITU_STRING)
    return return_joined_strings(parts, n, order, count, &compute->out[1]);
  const size_t size = situ_type_size(parts[0].values->type);
  char *all = malloc((size_t)count * size + 1), *end = all;
  void *to = NULL;
  situ_status status = all ? compute_output(compute, 1, SITU_SHAPE(count), &to) : NO_MEMORY();
  for (int i = 0; i < n && !status; i++) {
    const size_t bytes = (size_t)parts[i].count * size;
    if (bytes) memcpy(end, situ_tensor_data(parts[i].values), bytes);
    end += bytes;
  }
  for (int64_t k = 0; k < count && !status; k++)
    memcpy((char *)to + (size_t)k * size, all + (size_t)order[k] * size, size);
  free(all);
  return status;
}

static situ_status concat_parts(struct compute *compute, struct sparse *parts, int n, int axis) {
  int64_t count = 0, dims[SITU_MAX_RANK], rank = parts[0].rank;
  for (int i = 0; i < n; i++) count += parts[i].count;
  int64_t *memory = malloc((size_t)(count * (rank + 1) + 1) * sizeof *memory);
  if (!memory) return NO_MEMORY();
  int64_t *order = memory, *indices = memory + count;
  for (int64_t k = 0; k < count; k++) order[k] = k;
  struct sparse joined = {.indices = indices, .count = count, .rank = (int)rank};
  struct selection all = {.in = &joined, .at = order, .count = count};
  situ_status status = join_parts(parts, n, axis, indices, dims);
  const size_t moved = axis ? (size_t)count : 0; /* along axis 0 they are in order */
  if (!status) status = sort_array(order, moved, sizeof *order, compare_indices, &joined);
  if (!status) status = return_indices(compute, 0, &all);
  if (!status) status = return_joined_values(compute, parts, n, order, count);
  if (!status) status = return_dims(compute, 2, dims, (int)rank);
  free(memory);
  return status;
}

static situ_status compute_concat(struct compute *compute) {
  const int n = compute->call->n_in / 3;
  struct sparse *parts = calloc((size_t)n, sizeof *parts);
  situ_status status = parts ? NULL : NO_MEMORY();
  for (int i = 0; i < n && !status; i++) status = read_part(compute, n, i, &parts[i]);
  const int64_t given = call_integer(compute->call, "concat_dim");
  const int rank = status ? 0 : parts[0].rank;
  const int64_t axis = given < 0 ? given + rank : given;
  if (!status && (axis < 0 || axis >= rank))
    status = INVALID("Concat dimension must be in range [%d, %d), got %lld", -rank, rank,
                     (long long)given);
  if (!status) status = check_parts(parts, n, (int)axis);
  if (!status) status = concat_parts(compute, parts, n, (int)axis);
  free(parts);
  return status;
}

#define SPARSE_ARGS                                   \
  "indices: Indices of the elements, one row each.\n" \
  "values: Values of the elements.\n"                 \
  "shape: Shape of the sparse tensor.\n"

static const struct op_def op_defs[] = {
    {.name = "SparseReorder",
     .inputs = "input_indices:int64 input_values:T input_shape:int64",
     .outputs = "output_indices:int64 output_values:T",
     .attrs = "T:{" ALL_TYPES "}",
     .doc = "Sorts the elements of a sparse tensor in row-major order.",
     .args = "input_indices: Indices of the elements, one row each.\n"
             "input_values: Values of the elements.\n"
             "input_shape: Shape of the sparse tensor.",
     .devices = "CPU",
     .shape = reorder_shape,
     .grad = reorder_grad,
     .compute = compute_reorder},
    {.name = "SparseReshape",
     .inputs = "input_indices:int64 input_shape:int64 new_shape:int64",
     .outputs = "output_indices:int64 output_shape:int64",
     .doc = "Computes the indices of the elements of a sparse tensor in another shape.",
     .args = "input_indices: Indices of the elements, one row each.\n"
             "input_shape: Shape of the sparse tensor.\n"
             "new_shape: Shape of the result; one size may be -1.",
     .devices = "CPU",
     .flags = OP_NO_GRADIENT,
     .shape = reshape_shape,
     .compute = compute_reshape},
    {.name = "SparseSlice",
     .inputs = "indices:int64 values:T shape:int64 start:int64 size:int64",
     .outputs = "output_indices:int64 output_values:T output_shape:int64",
     .attrs = "T:{" ALL_TYPES "}",
     .doc = "Selects a box of a sparse tensor.",
     .args = SPARSE_ARGS "start: Index of the first corner of the box.\n"
                         "size: Size of the box, which may exceed the tensor.",
     .devices = "CPU",
     .shape = slice_shape,
     .grad = slice_grad,
     .compute = compute_slice},
    {.name = "SparseSliceGrad",
     .inputs = "backprop_val_grad:T input_indices:int64 input_start:int64 output_indices:int64",
     .outputs = "val_grad:T",
     .attrs = "T:{" NUMERIC "}",
     .doc = "The gradient of SparseSlice with respect to the values.",
     .args = "backprop_val_grad: Gradient of the values of the slice.\n"
             "input_indices: Indices of the elements of the sliced tensor.\n"
             "input_start: Start of the slice.\n"
             "output_indices: Indices of the elements of the slice.",
     .devices = "CPU",
     .flags = OP_NO_GRADIENT,
     .shape = slice_grad_shape,
     .compute = compute_slice_grad},
    {.name = "SparseSplit",
     .inputs = "split_dim:int64 indices:int64 values:T shape:int64",
     .outputs = "output_indices:num_split*int64 output_values:num_split*T "
                "output_shape:num_split*int64",
     .attrs = "num_split:int>=1 T:{" ALL_TYPES "}",
     .doc = "Splits a sparse tensor along a dimension; the first parts are larger if the size is "
            "no multiple of their number.",
     .args = "split_dim: Dimension to split.\n" SPARSE_ARGS "num_split: Number of parts.",
     .devices = "CPU",
     .flags = OP_NO_GRADIENT,
     .shape = split_shape,
     .compute = compute_split},
    {.name = "SparseConcat",
     .inputs = "indices:N*int64 values:N*T shapes:N*int64",
     .outputs = "output_indices:int64 output_values:T output_shape:int64",
     .attrs = "concat_dim:int N:int>=2 T:{" ALL_TYPES "}",
     .doc = "Concatenates sparse tensors.",
     .args = "indices: Indices of the elements of each tensor.\n"
             "values: Values of the elements of each tensor.\n"
             "shapes: Shape of each tensor.\n"
             "concat_dim: Dimension along which they are concatenated.",
     .devices = "CPU",
     .flags = OP_NO_GRADIENT,
     .shape = concat_shape,
     .compute = compute_concat},
};

OP_FAMILY(sparse_layout, op_defs);
