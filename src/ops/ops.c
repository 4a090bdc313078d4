/* SPDX-License-Identifier: Apache-2.0
 * ops.c: the table of all families, and what their files share. */
#include "ops/ops.h"

const struct op_family *const op_families[] = {
#define FAMILY(name) &name##_family,
    OP_FAMILIES(FAMILY)
#undef FAMILY
        NULL};

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
  return INVALID("%s must have rank %d but has rank %d", what, rank, given);
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

situ_status op_wrap_axis(int64_t axis, int rank, int *out) {
  if (axis < -rank || axis >= rank)
    return INVALID("Expected dimension in the range [%d, %d), but got %lld", -rank, rank,
                   (long long)axis);
  *out = (int)(axis < 0 ? axis + rank : axis);
  return NULL;
}
