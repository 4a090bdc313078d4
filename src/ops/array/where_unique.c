/* SPDX-License-Identifier: Apache-2.0
 * where_unique.c: Where, Unique, ListDiff, DynamicPartition, DynamicStitch: ops whose output
 * shape depends on data. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"
#include "kernel/host.h"
#include "ops/gradient.h"
#include "ops/ops.h"
#include "tensor/number.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"
#include "tensor/type.h"

enum { CHECK_EVERY = 1024 }; /* elements between checks for interrupts */

static int64_t element(const situ_tensor *tensor, int64_t i) {
  const void *data = situ_tensor_data(tensor);
  return tensor->type == SITU_INT64 ? ((const int64_t *)data)[i] : ((const int32_t *)data)[i];
}

static void put(void *data, situ_type type, int64_t i, int64_t value) {
  if (type == SITU_INT64)
    ((int64_t *)data)[i] = value;
  else
    ((int32_t *)data)[i] = (int32_t)value;
}

/* Whether element i of a tensor is not 0, false or NaN's bits are 0. */
static bool is_set(const situ_tensor *tensor, int64_t i) {
  const size_t size = situ_type_size(tensor->type);
  const unsigned char *at = (const unsigned char *)situ_tensor_data(tensor) + (size_t)i * size;
  const situ_type part = type_real(tensor->type);
  const size_t part_size = situ_type_size(part);
  const bool real = type_is_real(part);
  for (size_t k = 0; k < size; k++) /* -0 is 0 */
    if (at[k] & (real && k % part_size == part_size - 1 ? 0x7f : 0xff)) return true;
  return false;
}

/* Where */

static situ_status where_shape(struct call *call) {
  const int rank = call->in[0].shape.rank;
  call->out[0].shape = (situ_shape){2, {SITU_ANY, rank == SITU_ANY ? SITU_ANY : rank}};
  return NULL;
}

static situ_status compute_where(struct compute *compute) {
  const situ_tensor *in = compute->in[0];
  const int64_t n = situ_shape_count(in->shape);
  const int rank = in->shape.rank;
  int64_t count = 0, *at = NULL;
  void *data = NULL;
  for (int64_t i = 0; i < n; i++) {
    if (i % CHECK_EVERY == 0) TRY(interrupt_check());
    count += is_set(in, i);
  }
  TRY(compute_output(compute, 0, (situ_shape){2, {count, rank}}, &data));
  at = data;
  for (int64_t i = 0; i < n; i++) {
    if (i % CHECK_EVERY == 0) TRY(interrupt_check());
    if (!is_set(in, i)) continue;
    int64_t rest = i;
    for (int d = rank - 1; d >= 0; d--) {
      at[d] = rest % in->shape.dim[d];
      rest /= in->shape.dim[d];
    }
    at += rank;
  }
  return NULL;
}

/* Unique */

/* The bytes of an element. */
static situ_string bytes_of(const situ_tensor *tensor, int64_t i) {
  if (tensor->type == SITU_STRING) return situ_tensor_string(tensor, i);
  const size_t size = situ_type_size(tensor->type);
  return (situ_string){(const char *)situ_tensor_data(tensor) + (size_t)i * size, size};
}

/* A tensor as slices along an axis, which are compared; elements of a vector are slices of one. */
struct slices {
  const situ_tensor *tensor;
  int64_t outer, count, inner;
};

/* The offset of element k of slice i. */
static int64_t slice_element(const struct slices *s, int64_t i, int64_t k) {
  return (k / s->inner * s->count + i) * s->inner + k % s->inner;
}

/* Whether a number is NaN. */
static bool is_nan(const situ_tensor *tensor, int64_t i) {
  const situ_type part = type_real(tensor->type);
  const int parts = type_is_complex(tensor->type) ? 2 : 1;
  if (!type_is_real(part)) return false;
  for (int k = 0; k < parts; k++)
    if (isnan(number_at(part, situ_tensor_data(tensor), parts * i + k))) return true;
  return false;
}

static bool equal_elements(const situ_tensor *a, int64_t i, const situ_tensor *b, int64_t k) {
  const situ_string x = bytes_of(a, i), y = bytes_of(b, k);
  if (!is_set(a, i) && !is_set(b, k) && a->type != SITU_STRING) return true; /* equal: 0 and -0 */
  return x.length == y.length && (!x.length || !memcmp(x.data, y.data, x.length)) && !is_nan(a, i);
}

static bool equal_slices(const struct slices *a, int64_t i, const struct slices *b, int64_t k) {
  for (int64_t n = 0; n < a->outer * a->inner; n++)
    if (!equal_elements(a->tensor, slice_element(a, i, n), b->tensor, slice_element(b, k, n)))
      return false;
  return true;
}

/* Hash table of the distinct slices, in the order of first occurrence. */
struct table {
  int64_t *slots; /* indices of distinct slices; -1: empty */
  int64_t *first; /* the first occurrence of each distinct slice */
  size_t mask;
  int64_t count;
};

static uint64_t hash_of(const struct slices *s, int64_t i) {
  uint64_t hash = 1469598103934665603u;
  for (int64_t n = 0; n < s->outer * s->inner; n++) {
    const int64_t at = slice_element(s, i, n);
    const situ_string text = bytes_of(s->tensor, at);
    if (s->tensor->type != SITU_STRING && !is_set(s->tensor, at)) continue; /* equal: 0 and -0 */
    for (size_t k = 0; k < text.length; k++)
      hash = (hash ^ (unsigned char)text.data[k]) * 1099511628211u;
  }
  return hash ^ hash >> 29;
}

static situ_status table_create(int64_t n, struct table *out) {
  size_t size = 16;
  while (size < 2 * (size_t)n) size *= 2;
  *out = (struct table){.mask = size - 1};
  out->slots = malloc(size * sizeof *out->slots);
  out->first = malloc((size_t)max_i64(1, n) * sizeof *out->first);
  if (out->slots) memset(out->slots, 0xff, size * sizeof *out->slots);
  return out->slots && out->first ? NULL : NO_MEMORY();
}

static void table_free(struct table *table) {
  free(table->slots);
  free(table->first);
}

/* The index of slice i among the distinct slices; -1 if it is new and `add` is false. */
static int64_t table_find(struct table *table, const struct slices *of, const struct slices *all,
                          int64_t i, bool add) {
  size_t at = hash_of(all, i) & table->mask;
  for (; table->slots[at] >= 0; at = (at + 1) & table->mask)
    if (equal_slices(all, i, of, table->first[table->slots[at]])) return table->slots[at];
  if (!add) return -1;
  table->first[table->count] = i;
  table->slots[at] = table->count;
  return table->count++;
}

static situ_status own_strings(struct compute *compute, int index);

/* Output `index`: the slices at `n` indices; `shape` is that of the result. */
static situ_status take(struct compute *compute, int index, const struct slices *from,
                        const int64_t *places, int64_t n, situ_shape shape) {
  const size_t size = situ_type_size(from->tensor->type);
  const char *data = situ_tensor_data(from->tensor);
  void *to = NULL;
  TRY(compute_output(compute, index, shape, &to));
  char *at = to;
  for (int64_t o = 0; o < from->outer; o++)
    for (int64_t i = 0; i < n && from->inner; i++, at += (size_t)from->inner * size)
      memcpy(at, data + (size_t)((o * from->count + places[i]) * from->inner) * size,
             (size_t)from->inner * size);
  return own_strings(compute, index);
}

/* The axis of UniqueV2, or -1 for the elements of a vector. */
static situ_status unique_axis(const struct call *call, const situ_shape *in, int *axis) {
  *axis = -1;
  const situ_tensor *given = call->n_in > 1 ? call->in[1].value : NULL;
  if (call->n_in > 1 && call->in[1].shape.rank != SITU_ANY && call->in[1].shape.rank != 1)
    return INVALID("axis expects a 1D vector.");
  const int64_t n = given ? situ_shape_count(given->shape) : 0;
  if (n > 1) return INVALID("axis does not support input tensors larger than 1 elements");
  if (n == 0) return in->rank == 1 ? NULL : INVALID("unique expects a 1D vector.");
  const int64_t at = call_element(call, 1, 0);
  *axis = (int)(at < 0 ? at + in->rank : at);
  if (*axis < 0 || *axis >= in->rank) return INVALID("axis has to be between [0, %d)", in->rank);
  return NULL;
}

static situ_status unique_shape(struct call *call) {
  if (call->n_in < 2) {
    TRY(op_need_rank(call, 0, 1, "x"));
    call->out[0].shape = SITU_SHAPE(SITU_ANY);
    call->out[1].shape = call->in[0].shape;
  } else {
    const situ_shape *in = &call->in[0].shape;
    int axis = -1;
    call->out[0].shape = SITU_ANY_SHAPE;
    call->out[1].shape = SITU_SHAPE(SITU_ANY);
    if (call->in[1].shape.rank > 1 || (call->in[1].value && in->rank != SITU_ANY))
      TRY(unique_axis(call, in, &axis));
    if (call->in[1].value && in->rank != SITU_ANY) {
      axis = axis < 0 ? 0 : axis;
      call->out[0].shape = *in;
      call->out[0].shape.dim[axis] = SITU_ANY;
      call->out[1].shape = SITU_SHAPE(in->dim[axis]);
    }
  }
  if (call->n_out > 2) call->out[2].shape = SITU_SHAPE(SITU_ANY);
  return NULL;
}

static struct slices slices_of(const situ_tensor *tensor, int axis) {
  struct slices s = {tensor, 1, tensor->shape.dim[axis], 1};
  for (int d = 0; d < axis; d++) s.outer *= tensor->shape.dim[d];
  for (int d = axis + 1; d < tensor->shape.rank; d++) s.inner *= tensor->shape.dim[d];
  return s;
}

static situ_status count_each(struct compute *compute, const struct slices *s, int64_t distinct) {
  const situ_type type = compute->call->out[1].type;
  void *counts = NULL;
  TRY(compute_output(compute, 2, SITU_SHAPE(distinct), &counts));
  memset(counts, 0, (size_t)distinct * situ_type_size(type));
  for (int64_t i = 0; i < s->count; i++) {
    if (i % CHECK_EVERY == 0) TRY(interrupt_check());
    const int64_t at = element(compute->out[1], i);
    put(counts, type, at, element(compute->out[2], at) + 1);
  }
  return NULL;
}

static situ_status compute_unique(struct compute *compute) {
  const situ_tensor *in = compute->in[0];
  const situ_type type = compute->call->out[1].type;
  struct table table;
  void *numbers = NULL;
  int axis;
  TRY(unique_axis(compute->call, &in->shape, &axis));
  axis = axis < 0 ? 0 : axis;
  const struct slices s = slices_of(in, axis);
  situ_shape shape = in->shape;
  situ_status status = table_create(s.count, &table);
  if (!status) status = compute_output(compute, 1, SITU_SHAPE(s.count), &numbers);
  for (int64_t i = 0; i < s.count && !status; i++) {
    put(numbers, type, i, table_find(&table, &s, &s, i, true));
    status = interrupt_check();
  }
  shape.dim[axis] = status ? 0 : table.count;
  if (!status) status = take(compute, 0, &s, table.first, table.count, shape);
  if (!status && compute->call->n_out > 2) status = count_each(compute, &s, table.count);
  table_free(&table);
  return status;
}

/* ListDiff */

static situ_status difference_shape(struct call *call) {
  call->out[0].shape = call->out[1].shape = SITU_SHAPE(SITU_ANY);
  TRY(op_need_rank(call, 0, 1, "x"));
  return op_need_rank(call, 1, 1, "y");
}

static situ_status compute_difference(struct compute *compute) {
  const situ_tensor *x = compute->in[0], *y = compute->in[1];
  const int64_t n = situ_shape_count(x->shape), m = situ_shape_count(y->shape);
  int64_t count = 0, *kept = malloc((size_t)max_i64(1, n) * sizeof *kept);
  struct table table;
  situ_status status = table_create(m, &table);
  if (!status && !kept) status = NO_MEMORY();
  const struct slices xs = slices_of(x, 0), ys = slices_of(y, 0);
  for (int64_t i = 0; i < m && !status; i++) {
    table_find(&table, &ys, &ys, i, true);
    status = interrupt_check();
  }
  for (int64_t i = 0; i < n && !status; i++) {
    if (table_find(&table, &ys, &xs, i, false) < 0) kept[count++] = i;
    status = interrupt_check();
  }
  void *places = NULL;
  if (!status) status = take(compute, 0, &xs, kept, count, SITU_SHAPE(count));
  if (!status) status = compute_output(compute, 1, SITU_SHAPE(count), &places);
  for (int64_t i = 0; i < count && !status; i++)
    put(places, compute->call->out[1].type, i, kept[i]);
  table_free(&table);
  free(kept);
  return status;
}

/* DynamicPartition, DynamicStitch */

/* Duplicates the strings of an output, to which the pointers of an input were copied. */
static situ_status own_strings(struct compute *compute, int index) {
  situ_tensor *copy = NULL;
  if (compute->out[index]->type != SITU_STRING) return NULL;
  TRY(tensor_copy_strings(compute->out[index], &copy));
  situ_tensor_release(compute->out[index]);
  compute->out[index] = copy;
  return NULL;
}

static int64_t rows_behind(const situ_shape *shape, int first) {
  int64_t result = 1;
  for (int d = first; d < shape->rank; d++) result *= shape->dim[d];
  return result;
}

static situ_status partition_shape(struct call *call) {
  const situ_shape *data = &call->in[0].shape, *parts = &call->in[1].shape;
  char a[256], b[256];
  for (int i = 0; i < call->n_out; i++) call->out[i].shape = SITU_ANY_SHAPE;
  if (data->rank == SITU_ANY || parts->rank == SITU_ANY) return NULL;
  situ_shape front = *data;
  front.rank = parts->rank;
  if (data->rank < parts->rank || !shape_compatible(&front, parts))
    return INVALID("data.shape must start with partitions.shape, got %s vs. %s",
                   shape_print(data, a), shape_print(parts, b));
  for (int i = 0; i < call->n_out; i++) {
    situ_shape *out = &call->out[i].shape;
    *out = (situ_shape){1, {SITU_ANY}};
    for (int d = parts->rank; d < data->rank; d++) out->dim[out->rank++] = data->dim[d];
  }
  return NULL;
}

static situ_status compute_partition(struct compute *compute) {
  const situ_tensor *data = compute->in[0], *parts = compute->in[1];
  const int64_t n = situ_shape_count(parts->shape);
  const size_t row =
      (size_t)rows_behind(&data->shape, parts->shape.rank) * situ_type_size(data->type);
  for (int64_t i = 0; i < n; i++)
    if (element(parts, i) < 0 || element(parts, i) >= compute->call->n_out)
      return INVALID("partitions[%lld] = %lld is not in [0, %d)", (long long)i,
                     (long long)element(parts, i), compute->call->n_out);
  for (int p = 0; p < compute->call->n_out; p++) {
    situ_shape shape = {1, {0}};
    for (int d = parts->shape.rank; d < data->shape.rank; d++)
      shape.dim[shape.rank++] = data->shape.dim[d];
    for (int64_t i = 0; i < n; i++) shape.dim[0] += element(parts, i) == p;
    TRY(interrupt_check());
    void *to = NULL;
    TRY(compute_output(compute, p, shape, &to));
    char *at = to;
    for (int64_t i = 0; i < n; i++) {
      if (element(parts, i) != p || !row) continue;
      TRY(interrupt_check());
      memcpy(at, (const char *)situ_tensor_data(data) + (size_t)i * row, row);
      at += row;
    }
    TRY(own_strings(compute, p));
  }
  return NULL;
}

/* Inputs are N indices, then N data. */
static situ_status stitch_shape(struct call *call) {
  const int n = call->n_in / 2;
  situ_shape *out = &call->out[0].shape;
  situ_shape rows = SITU_ANY_SHAPE; /* the dimensions behind those of the indices */
  *out = SITU_ANY_SHAPE;
  for (int k = 0; k < n; k++) {
    const situ_shape *indices = &call->in[k].shape, *data = &call->in[n + k].shape;
    if (indices->rank == SITU_ANY || data->rank == SITU_ANY) continue;
    situ_shape front = *data, behind = {0};
    char a[SHAPE_STRING_SIZE], b[SHAPE_STRING_SIZE];
    front.rank = indices->rank;
    if (data->rank < indices->rank || !shape_compatible(&front, indices))
      return INVALID("data[%d].shape = %s does not start with indices[%d].shape = %s", k,
                     shape_print(data, a), k, shape_print(indices, b));
    for (int d = indices->rank; d < data->rank; d++) behind.dim[behind.rank++] = data->dim[d];
    if (!shape_compatible(&rows, &behind))
      return INVALID("The rows of all data must have the same shape: %s vs. %s of data[%d]",
                     shape_print(&rows, a), shape_print(&behind, b), k);
    rows = shape_merge(&rows, &behind);
  }
  if (rows.rank == SITU_ANY) return NULL;
  if (rows.rank == SITU_MAX_RANK)
    return INVALID("A tensor has at most %d dimensions", (int)SITU_MAX_RANK);
  *out = (situ_shape){1, {SITU_ANY}};
  for (int d = 0; d < rows.rank; d++) out->dim[out->rank++] = rows.dim[d];
  return NULL;
}

static situ_status compute_stitch(struct compute *compute) {
  const int n = compute->call->n_in / 2;
  int64_t most = -1;
  for (int k = 0; k < n; k++)
    for (int64_t i = 0; i < situ_shape_count(compute->in[k]->shape); i++)
      most = max_i64(most, element(compute->in[k], i));
  const situ_tensor *first = compute->in[n];
  situ_shape shape = {1, {most + 1}};
  for (int d = compute->in[0]->shape.rank; d < first->shape.rank; d++)
    shape.dim[shape.rank++] = first->shape.dim[d];
  const size_t row = (size_t)rows_behind(&shape, 1) * situ_type_size(first->type);
  void *to = NULL;
  TRY(compute_output(compute, 0, shape, &to));
  memset(to, 0, (size_t)(most + 1) * row);
  for (int k = 0; k < n; k++) {
    const situ_tensor *indices = compute->in[k];
    const char *from = situ_tensor_data(compute->in[n + k]);
    for (int64_t i = 0; i < situ_shape_count(indices->shape); i++) {
      const int64_t at = element(indices, i);
      TRY(interrupt_check());
      if (at < 0) return INVALID("indices[%lld] = %lld is negative", (long long)i, (long long)at);
      if (row) memcpy((char *)to + (size_t)at * row, from + (size_t)i * row, row);
    }
  }
  return own_strings(compute, 0);
}

/* Gradients */

static void partition_grad(struct gradient *g) {
  const struct term count = OP(g, "Size", g->in[1]);
  const struct term numbers =
      OP(g, "Reshape", OP(g, "Range", gradient_int(g, 0), count, gradient_int(g, 1)),
         OP(g, "Shape", g->in[1]));
  enum { MOST = 64 };
  struct term terms[2 * MOST];
  if (g->n_out > MOST) {
    gradient_fail(g,
                  INVALID("The gradient of more than %d partitions is not supported", (int)MOST));
    return;
  }
  const struct term places = gradient_emit(g, "DynamicPartition", TERMS(numbers, g->in[1]),
                                           ATTRS(situ_attr_int("num_partitions", g->n_out)));
  for (int i = 0; i < g->n_out; i++) {
    terms[i] = gradient_output(places, i);
    terms[g->n_out + i] = gradient_or_zeros(g, g->dy[i], g->out[i]);
  }
  g->dx[0] = gradient_reshape_as(
      g, gradient_emit(g, "DynamicStitch", terms, 2 * g->n_out, NO_ATTRS), g->in[0]);
}

static void stitch_grad(struct gradient *g) {
  const int n = g->n_in / 2;
  for (int i = 0; i < n; i++)
    g->dx[n + i] = OP(g, "GatherV2", g->dy[0], g->in[i], gradient_int(g, 0));
}

#define UNIQUE_DEVICES "CPU* GPU(" NUMERIC ")" /* computed on the host */

static const struct op_def op_defs[] = {
    {.name = "Where",
     .inputs = "input:T",
     .outputs = "index:int64",
     .attrs = "T:{" NUMERIC "}=bool",
     .doc = "The indices of the elements that are true or non-zero, one per line of a matrix, in "
            "row-major order.",
     .args = "input: Tensor of rank 1 or more.",
     .devices = EVERYWHERE,
     .flags = OP_NO_GRADIENT,
     .shape = where_shape,
     .compute = compute_where},
    {.name = "Unique",
     .inputs = "x:T[?]",
     .outputs = "y:T idx:out_idx",
     .attrs = "T:{" ALL_TYPES "} out_idx:{int32 int64}=int32",
     .python = "",
     .doc = "The distinct elements of a vector in the order of their first occurrence, and the "
            "index of each element among them.",
     .args = "x: Vector.\n"
             "out_idx: Integer type of the indices.",
     .devices = UNIQUE_DEVICES,
     .flags = OP_NO_GRADIENT,
     .shape = unique_shape,
     .compute = compute_unique},
    {.name = "UniqueWithCounts",
     .inputs = "x:T[?]",
     .outputs = "y:T idx:out_idx count:out_idx",
     .attrs = "T:{" ALL_TYPES "} out_idx:{int32 int64}=int32",
     .python = "",
     .doc = "The distinct elements of a vector as Unique finds them, and their counts.",
     .args = "x: Vector.\n"
             "out_idx: Integer type of indices and counts.",
     .devices = UNIQUE_DEVICES,
     .flags = OP_NO_GRADIENT,
     .shape = unique_shape,
     .compute = compute_unique},
    {.name = "UniqueV2",
     .inputs = "x:T axis:Taxis",
     .outputs = "y:T idx:out_idx",
     .attrs = "T:{" ALL_TYPES "} Taxis:{int32 int64}=int64 out_idx:{int32 int64}=int32",
     .python = "",
     .doc = "The distinct elements of a vector, or slices along an axis, in the order of their "
            "first occurrence, and the index of each among them.",
     .args = "x: Input tensor.\n"
             "axis: Vector with the axis whose slices are compared; empty for a vector x.\n"
             "out_idx: Integer type of indices and counts.",
     .devices = UNIQUE_DEVICES,
     .flags = OP_NO_GRADIENT,
     .shape = unique_shape,
     .compute = compute_unique},
    {.name = "UniqueWithCountsV2",
     .inputs = "x:T axis:Taxis",
     .outputs = "y:T idx:out_idx count:out_idx",
     .attrs = "T:{" ALL_TYPES "} Taxis:{int32 int64}=int64 out_idx:{int32 int64}=int32",
     .python = "",
     .doc = "The distinct elements or slices as UniqueV2 finds them, and their counts.",
     .args = "x: Input tensor.\n"
             "axis: Vector with the axis whose slices are compared; empty for a vector x.\n"
             "out_idx: Integer type of indices and counts.",
     .devices = UNIQUE_DEVICES,
     .flags = OP_NO_GRADIENT,
     .shape = unique_shape,
     .compute = compute_unique},
    {.name = "ListDiff",
     .inputs = "x:T[?] y:T[?]",
     .outputs = "out:T idx:out_idx",
     .attrs = "T:{" ALL_TYPES "} out_idx:{int32 int64}=int32",
     .doc = "The elements of x that are not in y, and their indices in x.",
     .args = "x: Vector to filter.\n"
             "y: Vector of values to remove.\n"
             "out_idx: Integer type of the indices.",
     .devices = "CPU",
     .flags = OP_NO_GRADIENT,
     .shape = difference_shape,
     .compute = compute_difference},
    {.name = "DynamicPartition",
     .inputs = "data:T partitions:int32",
     .outputs = "outputs:num_partitions*T",
     .attrs = "num_partitions:int>=1 T:{" ALL_TYPES "}",
     .python = "dynamic_partition",
     .doc = "Partitions slices of data: data[i] goes to output partitions[i].",
     .args = "data: Tensor whose shape begins with the shape of partitions.\n"
             "partitions: Index of the output for each slice, 0 <= i < num_partitions.\n"
             "num_partitions: Number of outputs.",
     .devices = MOVABLE,
     .shape = partition_shape,
     .compute = compute_partition,
     .grad = partition_grad},
    {.name = "DynamicStitch",
     .inputs = "indices:N*int32 data:N*T",
     .outputs = "merged:T",
     .attrs = "N:int>=1 T:{" ALL_TYPES "}",
     .python = "dynamic_stitch",
     .doc = "Merges slices of several tensors: merged[indices[m][i]] = data[m][i]; the last one of "
            "equal indices wins.",
     .args = "indices: Tensors with the position of each slice in the result.\n"
             "data: Tensors of slices; the shape of each begins with the shape of its indices.",
     .devices = MOVABLE,
     .shape = stitch_shape,
     .compute = compute_stitch,
     .grad = stitch_grad},
};

OP_FAMILY(where_unique, op_defs);
