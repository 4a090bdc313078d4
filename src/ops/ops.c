/* SPDX-License-Identifier: Apache-2.0
 * ops.c: the table of op families, and helpers that they share. */
#include "ops/ops.h"

#include "ops/families.h"
#include "tensor/number.h"
#include "tensor/shape.h"
#include "tensor/type.h"

const struct op_family *const op_families[] = {
#define FAMILY(name) &name##_family,
    OP_FAMILIES(FAMILY)
#undef FAMILY
        NULL};

int64_t op_lanes(int64_t length) {
  const int64_t each = 4; /* minimum number of elements per lane */
  int64_t lanes = 1;
  while (lanes < GROUP_ITEMS && lanes * each < length) lanes *= 2;
  return lanes;
}

int64_t op_lanes_across(int64_t length, int64_t inner) {
  const int64_t most = 32; /* columns that one memory access reads */
  int64_t columns = 1;
  while (columns < inner && columns < most) columns *= 2;
  return min_i64(op_lanes(length), GROUP_ITEMS / columns);
}

situ_status op_same_shape(struct call *call) {
  call->out[0].shape = call->in[0].shape;
  return NULL;
}

situ_status op_scalar_shape(struct call *call) {
  for (int i = 0; i < call->n_out; i++) call->out[i].shape = SITU_SCALAR;
  return NULL;
}

situ_status op_no_shape(struct call *call) {
  (void)call;
  return NULL;
}

situ_status op_need_rank(const struct call *call, int i, int rank, const char *what) {
  const int given = call->in[i].shape.rank;
  if (given == SITU_ANY || given == rank) return NULL;
  return INVALID("Shape must be rank %d but is rank %d (%s)", rank, given, what);
}

situ_status op_equal_shapes(struct call *call) {
  situ_shape *out = &call->out[0].shape;
  *out = call->in[0].shape;
  for (int i = 1; i < call->n_in; i++) {
    const situ_shape *in = &call->in[i].shape;
    char a[SHAPE_STRING_SIZE], b[SHAPE_STRING_SIZE];
    if (!shape_compatible(out, in))
      return INVALID("The inputs must have the same shape: %s vs. %s", shape_print(out, a),
                     shape_print(in, b));
    *out = shape_merge(out, in);
  }
  return NULL;
}

/* A dimension of an input, SITU_ANY where it is not known. */
static int64_t dim_of(const struct call *call, int input, int dim) {
  return call->in[input].shape.rank == SITU_ANY ? SITU_ANY : call->in[input].shape.dim[dim];
}

situ_status op_need_sparse(const struct call *call, int first, const char *what) {
  for (int i = 0; i < 3; i++) {
    const int rank = call->in[first + i].shape.rank, want = i ? 1 : 2;
    static const char *const parts[] = {"indices", "values", "shape"};
    if (rank != SITU_ANY && rank != want)
      return INVALID("The %s of %s must have rank %d but has rank %d", parts[i], what, want, rank);
  }
  const int64_t rows = dim_of(call, first, 0), values = dim_of(call, first + 1, 0);
  const int64_t columns = dim_of(call, first, 1), rank = dim_of(call, first + 2, 0);
  if (rows != values && rows != SITU_ANY && values != SITU_ANY)
    return INVALID(
        "Number of values must match first dimension of indices of %s. Got %lld values, "
        "%lld rows of indices",
        what, (long long)values, (long long)rows);
  if (columns != rank && columns != SITU_ANY && rank != SITU_ANY)
    return INVALID(
        "Number of dimensions must match second dimension of indices of %s. Got %lld "
        "dimensions, %lld columns of indices",
        what, (long long)rank, (long long)columns);
  return NULL;
}

situ_status op_host_scalar(const struct call *call, int input, int64_t *value, bool *known) {
  int64_t items[SITU_MAX_RANK];
  int count;
  TRY(call_integers(call, input, items, &count));
  *known = count != SITU_ANY;
  if (!*known) return NULL;
  if (count != 1) return INVALID("Input %d must be one number but has %d", input, count);
  *value = items[0];
  return NULL;
}

/* Element 0 as a number. */
static double first_number(const situ_tensor *tensor) {
  const void *data = situ_tensor_data(tensor);
  const situ_type type = situ_tensor_type(tensor);
  if (type_is_real(type)) return number_at(type, data, 0);
  if (type == SITU_UINT64) return (double)*(const uint64_t *)data;
  return (double)number_integer_at(type, data, 0);
}

situ_status op_host_number(const struct call *call, int input, double *value, bool *known) {
  const struct operand *in = &call->in[input];
  *known = in->value != NULL;
  if (!*known) return NULL;
  if (situ_shape_count(in->shape) != 1)
    return INVALID("Input %d must be one number but has %lld", input,
                   (long long)situ_shape_count(in->shape));
  *value = first_number(in->value);
  return NULL;
}

situ_status op_host_shape(const struct call *call, int input, bool open, situ_shape *out) {
  const situ_shape *shape = &call->in[input].shape;
  int64_t dims[SITU_MAX_RANK];
  unsigned unknown;
  int count;
  *out = SITU_ANY_SHAPE;
  TRY(op_need_rank(call, input, 1, "shape"));
  if (shape->rank == 1 && shape->dim[0] > SITU_MAX_RANK)
    return INVALID("A shape of %lld dimensions; at most %d are possible", (long long)shape->dim[0],
                   (int)SITU_MAX_RANK);
  TRY(call_sizes(call, input, dims, &count, &unknown));
  if (count == SITU_ANY) {
    if (shape->rank == 1 && shape->dim[0] != SITU_ANY) out->rank = (int)shape->dim[0];
    for (int d = 0; d < out->rank; d++) out->dim[d] = SITU_ANY;
    return NULL;
  }
  out->rank = count;
  for (int d = 0; d < count; d++) {
    if (unknown >> d & 1)
      dims[d] = SITU_ANY;
    else if (dims[d] < (open ? -1 : 0))
      return INVALID("Dimension %d must be >= 0, but is %lld", d, (long long)dims[d]);
    out->dim[d] = dims[d];
  }
  return shape_check(out);
}

situ_status op_wrap_axis(int64_t axis, int rank, int *out) {
  if (axis < -rank || axis >= rank)
    return INVALID("Expected dimension in the range [%d, %d), but got %lld", -rank, rank,
                   (long long)axis);
  *out = (int)(axis < 0 ? axis + rank : axis);
  return NULL;
}
