/* SPDX-License-Identifier: Apache-2.0
 * gradient.c: see gradient.h. */
#include "ops/gradient.h"

#include <stdlib.h>

#include "tensor/number.h"
#include "tensor/shape.h"
#include "tensor/type.h"

void gradient_fail(struct gradient *g, situ_status status) {
  g->error = status_first(g->error, status);
}

struct term gradient_emit(struct gradient *g, const char *op, const struct term *in, int n_in,
                          const situ_attr *attrs, int n_attrs) {
  struct term out = NO_TERM;
  for (int i = 0; i < n_in && !g->error; i++)
    if (!term_exists(in[i]))
      gradient_fail(
          g, INTERNAL("The gradient of %s leaves out input %d of %s.", g->schema->op->name, i, op));
  if (g->error) return NO_TERM;
  gradient_fail(g, g->target->emit(g->to, op, in, n_in, attrs, n_attrs, &out));
  return g->error ? NO_TERM : out;
}

/* What is known */

situ_type gradient_type(const struct gradient *g, struct term term) {
  return term_exists(term) ? g->target->type(g->to, term) : SITU_NO_TYPE;
}

situ_shape gradient_shape(const struct gradient *g, struct term term) {
  return term_exists(term) ? g->target->shape(g->to, term) : SITU_ANY_SHAPE;
}

static const situ_tensor *constant_value(const struct gradient *g, struct term term) {
  return term_exists(term) ? g->target->value(g->to, term) : NULL;
}

bool gradient_is_real(situ_type type) {
  if (type_is_float8(type)) return false; /* as in TensorFlow */
  return type_is_real(type) || type_is_complex(type) || type == SITU_VARIANT;
}

/* Attributes */

static struct call call_of(const struct gradient *g) {
  return (struct call){.schema = g->schema, .attrs = g->attrs, .node = g->node};
}

bool gradient_bool(const struct gradient *g, const char *name) {
  const struct call call = call_of(g);
  return call_bool(&call, name);
}

int64_t gradient_integer(const struct gradient *g, const char *name) {
  const struct call call = call_of(g);
  return call_integer(&call, name);
}

double gradient_real(const struct gradient *g, const char *name) {
  const struct call call = call_of(g);
  return call_real(&call, name);
}

const char *gradient_text(const struct gradient *g, const char *name) {
  const struct call call = call_of(g);
  return call_text(&call, name);
}

const struct attr_value *gradient_attr(const struct gradient *g, const char *name) {
  const struct call call = call_of(g);
  return call_attr(&call, name);
}

situ_attr gradient_keep_as(struct gradient *g, const char *name, const char *as) {
  const struct attr_value *value = gradient_attr(g, name);
  if (value) return attr_public(as, value);
  gradient_fail(g, INTERNAL("%s has no attribute '%s'.", g->schema->op->name, name));
  return (situ_attr){.name = as};
}

situ_attr gradient_keep(struct gradient *g, const char *name) {
  return gradient_keep_as(g, name, name);
}

/* Constants */

struct term gradient_constant(struct gradient *g, situ_type type, situ_shape shape,
                              const void *data) {
  situ_tensor *tensor = NULL;
  if (g->error) return NO_TERM;
  gradient_fail(g, situ_tensor_create(type, shape, data, &tensor));
  if (!tensor) return NO_TERM;
  const struct term term = gradient_emit(
      g, "Const", NULL, 0, ATTRS(situ_attr_tensor("value", tensor), situ_attr_type("dtype", type)));
  situ_tensor_release(tensor);
  return term;
}

struct term gradient_number(struct gradient *g, situ_type type, double value) {
  double data[2];
  number_store(type, data, 0, value);
  return gradient_constant(g, type, SITU_SCALAR, data);
}

struct term gradient_int(struct gradient *g, int64_t value) {
  return gradient_number(g, SITU_INT32, (double)value);
}

struct term gradient_ints(struct gradient *g, const int64_t *values, int count) {
  int32_t few[64];
  if (count > (int)COUNT_OF(few)) gradient_fail(g, INTERNAL("%d numbers in a constant.", count));
  for (int i = 0; !g->error && i < count; i++) few[i] = (int32_t)values[i];
  return gradient_constant(g, SITU_INT32, SITU_SHAPE(count), few);
}

/* Shapes */

struct term gradient_shape_of(struct gradient *g, struct term term) {
  const situ_shape shape = gradient_shape(g, term);
  return shape_is_known(&shape) ? gradient_ints(g, shape.dim, shape.rank) : OP(g, "Shape", term);
}

struct term gradient_rank_of(struct gradient *g, struct term term) {
  const situ_shape shape = gradient_shape(g, term);
  return shape.rank >= 0 ? gradient_int(g, shape.rank) : OP(g, "Rank", term);
}

struct term gradient_axes_of(struct gradient *g, struct term term) {
  static const int64_t axes[SITU_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};
  const situ_shape shape = gradient_shape(g, term);
  if (shape.rank >= 0) return gradient_ints(g, axes, shape.rank);
  return OP(g, "Range", gradient_int(g, 0), OP(g, "Rank", term), gradient_int(g, 1));
}

bool gradient_integers(const struct gradient *g, struct term term, int64_t items[SITU_MAX_RANK],
                       int *count) {
  const situ_tensor *value = constant_value(g, term);
  const int64_t n = value ? situ_shape_count(situ_tensor_shape(value)) : SITU_MAX_RANK + 1;
  if (n > SITU_MAX_RANK) return false;
  *count = (int)n;
  for (int64_t i = 0; i < n; i++)
    items[i] = number_integer_at(situ_tensor_type(value), situ_tensor_data(value), i);
  return true;
}

bool gradient_known(const struct gradient *g, struct term term, situ_shape *out) {
  *out = gradient_shape(g, term);
  return shape_is_known(out);
}

struct term gradient_zeros(struct gradient *g, struct term like) {
  return OP(g, gradient_type(g, like) == SITU_VARIANT ? "TensorListZerosLike" : "ZerosLike", like);
}

struct term gradient_read(struct gradient *g, struct term handle) {
  return gradient_emit(g, "ReadVariableOp", TERMS(handle),
                       ATTRS(situ_attr_type("dtype", gradient_type(g, handle))));
}

struct term gradient_ones(struct gradient *g, struct term like) {
  const struct term shape = gradient_shape_of(g, like);
  return OP(g, "Fill", shape, gradient_number(g, gradient_type(g, like), 1));
}

struct term gradient_sum(struct gradient *g, const struct term *terms, int count) {
  if (count == 1) return terms[0];
  const bool lists = gradient_type(g, terms[0]) == SITU_VARIANT;
  return gradient_emit(g, lists ? "TensorListAddN" : "AddN", terms, count, NO_ATTRS);
}

struct term gradient_slices(struct gradient *g, struct term values, struct term indices,
                            struct term like) {
  struct term out = NO_TERM;
  const struct term shape = gradient_shape_of(g, like);
  if (!g->error) gradient_fail(g, g->target->slices(g->to, values, indices, like, shape, &out));
  return g->error ? NO_TERM : out;
}

struct term gradient_sum_rows(struct gradient *g, struct term values, struct term indices,
                              struct term shape, const situ_shape *known) {
  const int64_t zero = 0, one = 1;
  if (known->rank > 0 && known->dim[0] != SITU_ANY)
    return OP(g, "UnsortedSegmentSum", values, indices, gradient_int(g, known->dim[0]));
  const struct term first =
      OP(g, "Slice", shape, gradient_ints(g, &zero, 1), gradient_ints(g, &one, 1));
  const struct term rows = OP(g, "Reshape", first, gradient_ints(g, NULL, 0));
  return OP(g, "UnsortedSegmentSum", values, indices, rows);
}

struct term gradient_join(struct gradient *g, const struct term *terms, int count) {
  const situ_attr to_int64 = situ_attr_type("DstT", SITU_INT64);
  struct term *all = malloc(sizeof *all * ((size_t)count + 1));
  bool wide = false;
  if (!all) return gradient_fail(g, NO_MEMORY()), NO_TERM;
  for (int i = 0; i < count; i++) wide = wide || gradient_type(g, terms[i]) == SITU_INT64;
  for (int i = 0; i < count; i++) {
    const bool narrow = gradient_type(g, terms[i]) == SITU_INT32;
    all[i] = wide && narrow ? gradient_emit(g, "Cast", &terms[i], 1, &to_int64, 1) : terms[i];
  }
  all[count] = gradient_int(g, 0);
  const struct term joined = gradient_emit(g, "ConcatV2", all, count + 1, NO_ATTRS);
  free(all);
  return joined;
}

struct term gradient_identity(struct gradient *g, struct term term) {
  return OP(g, "Identity", term);
}

struct term gradient_or_zeros(struct gradient *g, struct term term, struct term like) {
  return term_exists(term) ? term : gradient_zeros(g, like);
}

struct term gradient_reshape_as(struct gradient *g, struct term term, struct term like) {
  const situ_shape have = gradient_shape(g, term), want = gradient_shape(g, like);
  if (shape_is_known(&have) && shape_equal(&have, &want)) return term;
  return OP(g, "Reshape", term, gradient_shape_of(g, like));
}

/* Broadcasting */

/* Sums over the axes along which x, of known shape, was broadcast. */
static struct term sum_known(struct gradient *g, struct term term, const situ_shape *sum,
                             struct term x) {
  const situ_shape to = gradient_shape(g, x);
  int64_t axes[SITU_MAX_RANK];
  int count = 0;
  for (int d = 0; d < sum->rank; d++) {
    const int own = d - (sum->rank - to.rank);
    if (own < 0 || (to.dim[own] == 1 && sum->dim[d] != 1)) axes[count++] = d;
  }
  if (!count) return term;
  return gradient_reshape_as(g, OP(g, "Sum", term, gradient_ints(g, axes, count)), x);
}

struct term gradient_sum_to(struct gradient *g, struct term term, struct term x, struct term y) {
  const situ_shape a = gradient_shape(g, x), b = gradient_shape(g, y);
  situ_shape sum;
  if (!term_exists(term) || g->error) return g->error ? NO_TERM : term;
  if (shape_is_known(&a) && shape_is_known(&b) && shape_broadcast(&a, &b, &sum))
    return sum_known(g, term, &sum, x);
  const struct term shape = gradient_shape_of(g, x);
  const struct term axes = OP(g, "BroadcastGradientArgs", shape, gradient_shape_of(g, y));
  return OP(g, "Reshape", OP(g, "Sum", term, axes), shape);
}

void gradient_broadcast(struct gradient *g, struct term dx, struct term dy) {
  g->dx[0] = gradient_sum_to(g, dx, g->in[0], g->in[1]);
  g->dx[1] = gradient_sum_to(g, dy, g->in[1], g->in[0]);
}

void gradient_missing(struct gradient *g) {
  gradient_fail(g, situ_status_create(SITU_UNIMPLEMENTED,
                                      "No gradient defined for operation '%s' (op type: %s)",
                                      g->node, g->schema->op->name));
}
