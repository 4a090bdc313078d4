/* SPDX-License-Identifier: Apache-2.0
 * set_ops.c: union, intersection and difference of the sets in the last dimension of tensors, and
 * their sizes.
 *
 * The elements of both operands are sorted by set, value and operand; equal values are then
 * adjacent. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/interrupt.h"
#include "base/sort.h"
#include "ops/ops.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

enum { SET_RANK = 64 };

/* An operand: the elements of sets. A dense tensor has no indices. */
struct operand_set {
  const situ_tensor *indices, *values;
  int rank;
  int64_t dim[SET_RANK];
};

/* Element `at` of operand `side` in set `group`. */
struct item {
  int64_t group, at;
  int side;
};

/* A set operation: which operands must have a value. */
enum set_operation { A_MINUS_B, B_MINUS_A, INTERSECTION, UNION };

struct sets {
  struct operand_set side[2];
  int n_sides;
  struct item *items;
  int64_t count;
};

/* Values */

static int64_t integer_at(const situ_tensor *tensor, int64_t i) {
  const void *data = situ_tensor_data(tensor);
  switch (tensor->type) {
    case SITU_INT8:
      return ((const int8_t *)data)[i];
    case SITU_INT16:
      return ((const int16_t *)data)[i];
    case SITU_INT32:
      return ((const int32_t *)data)[i];
    case SITU_UINT8:
      return ((const uint8_t *)data)[i];
    case SITU_UINT16:
      return ((const uint16_t *)data)[i];
    default:
      return ((const int64_t *)data)[i];
  }
}

static int compare_values(const situ_tensor *a, int64_t i, const situ_tensor *b, int64_t k) {
  if (a->type != SITU_STRING) {
    const int64_t x = integer_at(a, i), y = integer_at(b, k);
    return (x > y) - (x < y);
  }
  const situ_string x = situ_tensor_string(a, i), y = situ_tensor_string(b, k);
  const size_t n = x.length < y.length ? x.length : y.length;
  const int order = n ? memcmp(x.data, y.data, n) : 0;
  return order ? order : (x.length > y.length) - (x.length < y.length);
}

static int compare_items(const void *a, const void *b, void *context) {
  const struct item *x = a, *y = b;
  const struct sets *sets = context;
  if (x->group != y->group) return x->group > y->group ? 1 : -1;
  const int order =
      compare_values(sets->side[x->side].values, x->at, sets->side[y->side].values, y->at);
  return order ? order : x->side - y->side;
}

/* Operands */

static situ_status dense_operand(const situ_tensor *tensor, struct operand_set *out) {
  char shape[SHAPE_STRING_SIZE];
  *out = (struct operand_set){.values = tensor, .rank = tensor->shape.rank};
  if (out->rank < 2)
    return INVALID("Shape %s has rank %d < 2", shape_print(&tensor->shape, shape), out->rank);
  for (int d = 0; d < out->rank; d++) out->dim[d] = tensor->shape.dim[d];
  return NULL;
}

/* Writes dimensions as "[2,3]". */
static void print_dims(const int64_t *dim, int rank, char *out, size_t size) {
  size_t at = (size_t)snprintf(out, size, "[");
  for (int d = 0; d < rank && at < size; d++)
    at += (size_t)snprintf(out + at, size - at, d ? ",%lld" : "%lld", (long long)dim[d]);
  if (at < size) snprintf(out + at, size - at, "]");
}

static situ_status check_row(const struct operand_set *set, int64_t row) {
  const int64_t *index = (const int64_t *)situ_tensor_data(set->indices) + row * set->rank;
  char a[256], b[256];
  bool inside = true;
  int order = row ? 0 : 1;
  for (int d = 0; d < set->rank; d++) {
    inside = inside && index[d] >= 0 && index[d] < set->dim[d];
    if (!order) order = (index[d] > index[d - set->rank]) - (index[d] < index[d - set->rank]);
  }
  if (inside && order > 0) return NULL;
  print_dims(index, set->rank, a, sizeof a);
  print_dims(set->dim, set->rank, b, sizeof b);
  if (!inside)
    return INVALID("indices[%lld] = %s is out of bounds: need 0 <= index < %s", (long long)row, a,
                   b);
  if (!order) return INVALID("indices[%lld] = %s is repeated", (long long)row, a);
  return INVALID(
      "indices[%lld] = %s is out of order. Many sparse ops require sorted indices.\n"
      "    Use `tf.sparse.reorder` to create a correctly ordered copy.",
      (long long)row, a);
}

/* Inputs `first` ... `first` + 2 of a call are a sparse tensor. */
static situ_status sparse_operand(const struct compute *compute, int first,
                                  struct operand_set *out) {
  const situ_tensor *shape = compute->in[first + 2];
  *out = (struct operand_set){.indices = compute->in[first], .values = compute->in[first + 1]};
  if (shape->shape.rank != 1) return INVALID("Shape must be a 1D tensor");
  out->rank = (int)min_i64(shape->shape.dim[0], SET_RANK + 1);
  if (out->rank < 2 || out->rank > SET_RANK) return INVALID("Invalid rank %d.", out->rank);
  if (out->indices->shape.rank != 2 || out->values->shape.rank != 1)
    return INVALID("indices must be a matrix and values a vector.");
  const int64_t rows = out->indices->shape.dim[0];
  if (rows != out->values->shape.dim[0])
    return INVALID(
        "indices and values rows (indexing dimension) must match. (indices = %lld, "
        "values = %lld)",
        (long long)rows, (long long)out->values->shape.dim[0]);
  if (out->indices->shape.dim[1] != out->rank)
    return INVALID("Order length must be SparseTensor rank.");
  for (int d = 0; d < out->rank; d++) out->dim[d] = ((const int64_t *)situ_tensor_data(shape))[d];
  for (int64_t i = 0; i < rows && call_bool(compute->call, "validate_indices"); i++)
    TRY(check_row(out, i));
  return NULL;
}

/* The number of sets of an operand. */
static situ_status count_groups(const struct operand_set *set, int64_t *count) {
  *count = 1;
  for (int d = 0; d < set->rank - 1; d++)
    if (set->dim[d] < 0 || __builtin_mul_overflow(*count, set->dim[d], count))
      return INVALID("The shape of the sets is too large.");
  return NULL;
}

static situ_status check_shapes(const struct sets *sets) {
  const struct operand_set *a = &sets->side[0], *b = &sets->side[1];
  char x[256], y[256];
  if (a->rank == b->rank && !memcmp(a->dim, b->dim, (size_t)(a->rank - 1) * sizeof a->dim[0]))
    return NULL;
  print_dims(a->dim, a->rank - 1, x, sizeof x);
  print_dims(b->dim, b->rank - 1, y, sizeof y);
  return INVALID("Mismatched shapes %s vs %s", x, y);
}

/* The set that element i of an operand belongs to. */
static situ_status group_of(const struct operand_set *set, int64_t i, int64_t *group) {
  *group = 0;
  if (!set->indices) {
    *group = i / set->dim[set->rank - 1];
    return NULL;
  }
  const int64_t *index = (const int64_t *)situ_tensor_data(set->indices) + i * set->rank;
  for (int d = 0; d < set->rank - 1; d++) {
    if (index[d] < 0 || index[d] >= set->dim[d])
      return INVALID("Index out of range, index %lld of dimension %d, expected < %lld.",
                     (long long)index[d], d, (long long)set->dim[d]);
    *group = *group * set->dim[d] + index[d];
  }
  return NULL;
}

/* Sorts the elements of all operands. */
static situ_status sort_items(struct sets *sets) {
  int64_t n = 0, groups;
  for (int s = 0; s < sets->n_sides; s++) {
    TRY(count_groups(&sets->side[s], &groups));
    n += situ_shape_count(sets->side[s].values->shape);
  }
  sets->items = calloc((size_t)n + 1, sizeof *sets->items);
  if (!sets->items) return NO_MEMORY();
  for (int s = 0; s < sets->n_sides; s++) {
    const int64_t own = situ_shape_count(sets->side[s].values->shape);
    for (int64_t i = 0; i < own; i++) {
      struct item *item = &sets->items[sets->count++];
      *item = (struct item){.at = i, .side = s};
      TRY(interrupt_check());
      TRY(group_of(&sets->side[s], i, &item->group));
    }
  }
  return sort_array(sets->items, (size_t)n, sizeof *sets->items, compare_items, sets);
}

/* The end of the run of items from `at` on with one value in one set; *sides has a bit per operand
 * that has the value. */
static int64_t run_end(const struct sets *sets, int64_t at, unsigned *sides) {
  const struct item *first = &sets->items[at];
  *sides = 0;
  for (; at < sets->count; at++) {
    const struct item *item = &sets->items[at];
    if (item->group != first->group || compare_values(sets->side[item->side].values, item->at,
                                                      sets->side[first->side].values, first->at))
      break;
    *sides |= 1u << item->side;
  }
  return at;
}

/* Set operations */

static situ_status operation_of(const struct call *call, enum set_operation *out) {
  static const char *const names[] = {"a-b", "b-a", "intersection", "union"};
  const char *name = call_text(call, "set_operation");
  for (size_t i = 0; i < COUNT_OF(names); i++) {
    *out = (enum set_operation)i;
    if (!strcasecmp(name, names[i])) return NULL;
  }
  return INVALID("Invalid set_operation %s.", name);
}

static bool belongs(enum set_operation operation, unsigned sides) {
  return operation == UNION          ? true
         : operation == INTERSECTION ? sides == 3
         : operation == A_MINUS_B    ? sides == 1
                                     : sides == 2;
}

/* Keeps one item per value of the result, at the front. Returns the size of the largest set. */
static int64_t keep_results(struct sets *sets, enum set_operation operation) {
  int64_t kept = 0, most = 0, size = 0;
  for (int64_t at = 0; at < sets->count;) {
    unsigned sides;
    const struct item first = sets->items[at];
    at = run_end(sets, at, &sides);
    if (!belongs(operation, sides)) continue;
    size = kept && sets->items[kept - 1].group == first.group ? size + 1 : 1;
    most = max_i64(most, size);
    sets->items[kept++] = first;
  }
  sets->count = kept;
  return most;
}

static situ_status put_values(struct compute *compute, const struct sets *sets) {
  const situ_type type = sets->side[0].values->type;
  const size_t size = situ_type_size(type);
  void *data = NULL;
  if (type != SITU_STRING) TRY(compute_output(compute, 1, SITU_SHAPE(sets->count), &data));
  situ_string *strings = data ? NULL : calloc((size_t)sets->count + 1, sizeof *strings);
  if (!data && !strings) return NO_MEMORY();
  for (int64_t i = 0; i < sets->count; i++) {
    const struct item *item = &sets->items[i];
    const situ_tensor *from = sets->side[item->side].values;
    if (strings)
      strings[i] = situ_tensor_string(from, item->at);
    else
      memcpy((char *)data + (size_t)i * size,
             (const char *)situ_tensor_data(from) + (size_t)item->at * size, size);
  }
  situ_status status = NULL;
  if (strings)
    status = situ_tensor_create_strings(SITU_SHAPE(sets->count), strings, &compute->out[1]);
  free(strings);
  return status;
}

static situ_status put_results(struct compute *compute, const struct sets *sets, int64_t most) {
  const struct operand_set *like = &sets->side[sets->n_sides - 1];
  const int rank = like->rank;
  void *data = NULL;
  TRY(compute_output(compute, 0, SITU_SHAPE(sets->count, rank), &data));
  int64_t *index = data, size = 0;
  for (int64_t i = 0; i < sets->count; i++, index += rank) {
    int64_t rest = sets->items[i].group;
    size = i && sets->items[i - 1].group == rest ? size + 1 : 0;
    index[rank - 1] = size;
    for (int d = rank - 2; d >= 0; d--) {
      index[d] = rest % like->dim[d];
      rest /= like->dim[d];
    }
  }
  TRY(put_values(compute, sets));
  TRY(compute_output(compute, 2, SITU_SHAPE(rank), &data));
  memcpy(data, like->dim, (size_t)rank * sizeof(int64_t));
  ((int64_t *)data)[rank - 1] = most;
  return NULL;
}

static situ_status combine(struct compute *compute, struct sets *sets) {
  enum set_operation operation;
  TRY(operation_of(compute->call, &operation));
  TRY(check_shapes(sets));
  situ_status status = sort_items(sets);
  if (!status) status = put_results(compute, sets, keep_results(sets, operation));
  free(sets->items);
  return status;
}

static situ_status compute_dense_dense(struct compute *compute) {
  struct sets sets = {.n_sides = 2};
  TRY(dense_operand(compute->in[0], &sets.side[0]));
  TRY(dense_operand(compute->in[1], &sets.side[1]));
  return combine(compute, &sets);
}

static situ_status compute_dense_sparse(struct compute *compute) {
  struct sets sets = {.n_sides = 2};
  TRY(dense_operand(compute->in[0], &sets.side[0]));
  TRY(sparse_operand(compute, 1, &sets.side[1]));
  return combine(compute, &sets);
}

static situ_status compute_sparse_sparse(struct compute *compute) {
  struct sets sets = {.n_sides = 2};
  TRY(sparse_operand(compute, 0, &sets.side[0]));
  TRY(sparse_operand(compute, 3, &sets.side[1]));
  return combine(compute, &sets);
}

/* The rank of the result is that of the operands, if one of them is known. */
static situ_status combine_shape(struct call *call) {
  int64_t rank = SITU_ANY;
  for (int i = 0; i < call->n_in; i++) {
    const situ_shape *shape = &call->in[i].shape;
    const bool dense = i == 0 ? call->n_in < 6 : i == 1 && call->n_in == 2;
    const bool indices = !dense && (i == 0 || (call->n_in == 4 ? i == 1 : i == 3));
    const int64_t own = shape->rank == SITU_ANY       ? SITU_ANY
                        : dense                       ? shape->rank
                        : indices && shape->rank == 2 ? shape->dim[1]
                                                      : SITU_ANY;
    if (own != SITU_ANY) rank = own;
  }
  call->out[0].shape = SITU_SHAPE(SITU_ANY, rank);
  call->out[1].shape = SITU_SHAPE(SITU_ANY);
  call->out[2].shape = SITU_SHAPE(rank);
  return NULL;
}

/* SetSize */

static situ_status size_shape(struct call *call) {
  call->out[0].shape = SITU_ANY_SHAPE;
  return NULL;
}

static situ_status count_values(struct compute *compute, struct sets *sets) {
  const struct operand_set *set = &sets->side[0];
  situ_shape shape = {set->rank - 1, {0}};
  void *data = NULL;
  if (shape.rank > SITU_MAX_RANK) return INVALID("Invalid rank %d.", set->rank);
  for (int d = 0; d < shape.rank; d++) shape.dim[d] = set->dim[d];
  TRY(shape_check(&shape));
  TRY(sort_items(sets));
  TRY(compute_output(compute, 0, shape, &data));
  memset(data, 0, (size_t)situ_shape_count(shape) * sizeof(int32_t));
  for (int64_t at = 0; at < sets->count;) {
    unsigned sides;
    ((int32_t *)data)[sets->items[at].group]++;
    at = run_end(sets, at, &sides);
  }
  return NULL;
}

static situ_status compute_size(struct compute *compute) {
  struct sets sets = {.n_sides = 1};
  TRY(sparse_operand(compute, 0, &sets.side[0]));
  const situ_status status = count_values(compute, &sets);
  free(sets.items);
  return status;
}

#define SET_TYPES "T:{int8 int16 int32 int64 uint8 uint16 string}"
#define VALIDATE "validate_indices: Fail if indices are not sorted or out of bounds."
#define SPARSE_DOC(name, which)                                                              \
  name "_indices: Indices of the " which " sets, a matrix.\n" name                           \
       "_values: Elements of the " which " sets.\n" name "_shape: Dense shape of the " which \
       " sets.\n"
#define SET_OP(NAME, inputs_, args_, compute_)                                                 \
  {                                                                                            \
    .name = NAME, .inputs = inputs_,                                                           \
    .outputs = "result_indices:int64 result_values:T result_shape:int64",                      \
    .attrs = "set_operation:string validate_indices:bool=true " SET_TYPES,                     \
    .doc =                                                                                     \
        "Combines the sets in the last dimensions of two tensors; the result is sparse, with " \
        "the values of each set in ascending order.",                                          \
    .args = args_ "set_operation: One of 'a-b', 'b-a', 'intersection', 'union'.\n" VALIDATE,   \
    .devices = "CPU", .flags = OP_NO_GRADIENT, .shape = combine_shape, .compute = compute_     \
  }

static const struct op_def op_defs[] = {
    SET_OP("DenseToDenseSetOperation", "set1:T set2:T",
           "set1: First sets, a tensor of rank 2 or more.\nset2: Second sets.\n",
           compute_dense_dense),
    SET_OP("DenseToSparseSetOperation",
           "set1:T set2_indices:int64[m,q] set2_values:T[m] set2_shape:int64[q]",
           "set1: First sets, a tensor of rank 2 or more.\n" SPARSE_DOC("set2", "second"),
           compute_dense_sparse),
    SET_OP("SparseToSparseSetOperation",
           "set1_indices:int64[n,r] set1_values:T[n] set1_shape:int64[r] "
           "set2_indices:int64[m,q] set2_values:T[m] set2_shape:int64[q]",
           SPARSE_DOC("set1", "first") SPARSE_DOC("set2", "second"), compute_sparse_sparse),
    {.name = "SetSize",
     .inputs = "set_indices:int64 set_values:T set_shape:int64",
     .outputs = "size:int32",
     .attrs = "validate_indices:bool=true " SET_TYPES,
     .doc = "The number of distinct elements of each set in the last dimension of a sparse tensor.",
     .args = "set_indices: Indices of the sets, a matrix.\nset_values: Elements of the sets.\n"
             "set_shape: Dense shape of the sets.\n" VALIDATE,
     .devices = "CPU",
     .flags = OP_NO_GRADIENT,
     .shape = size_shape,
     .compute = compute_size},
};

OP_FAMILY(set_ops, op_defs);
