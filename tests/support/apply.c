/* SPDX-License-Identifier: Apache-2.0
 * apply.c: runs one op eagerly on host tensors, for the tests of ops. */
#include "support/apply.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#include "host/half.h"
#include "graph/eval.h"
#include "schema/schema.h"

enum { MOST = 16 };

situ_status apply_op(const char *op, const struct apply_attr *attrs, situ_tensor *const *in,
                     int n_in, situ_tensor **out) {
  const struct schema *schema = schema_find(op);
  if (!schema) return INVALID("No op %s", op);
  struct attr_value values[MOST] = {{0}};
  struct operand operands[MOST] = {{0}}, outputs[4] = {{0}};
  situ_type types[MOST];
  for (int i = 0; attrs && attrs[i].name; i++) {
    const int at = schema_attr(schema, attrs[i].name);
    assert_true(at >= 0);
    values[at].kind = schema->attrs[at].kind;
    if (values[at].kind == SITU_ATTR_TYPE)
      values[at].type = (situ_type)attrs[i].value;
    else
      values[at].integer = attrs[i].value;
  }
  for (int i = 0; i < n_in; i++) {
    types[i] = situ_tensor_type(in[i]);
    operands[i] =
        (struct operand){.type = types[i], .shape = situ_tensor_shape(in[i]), .value = in[i]};
  }
  int n_out = 0;
  TRY(schema_resolve(schema, "node", types, n_in, values, &n_out));
  assert_true(n_out <= 4);
  for (int i = 0; i < n_out; i++) outputs[i].type = schema_output_type(schema, values, i);
  struct call call = {.schema = schema,
                      .attrs = values,
                      .node = "node",
                      .n_in = n_in,
                      .n_out = n_out,
                      .in = operands,
                      .out = outputs};
  return eval_call(&call, out);
}

static situ_tensor *apply(const char *op, const struct apply_attr *attrs, situ_tensor *const *in,
                          int n_in) {
  situ_tensor *out[4] = {NULL};
  situ_status s = apply_op(op, attrs, in, n_in, out);
  if (s) print_error("%s\n", situ_status_message(s));
  assert_null(s);
  return out[0];
}

situ_tensor *apply1(const char *op, const struct apply_attr *attrs, situ_tensor *a) {
  return apply(op, attrs, (situ_tensor *[]){a}, 1);
}

situ_tensor *apply2(const char *op, const struct apply_attr *attrs, situ_tensor *a,
                    situ_tensor *b) {
  return apply(op, attrs, (situ_tensor *[]){a, b}, 2);
}

situ_tensor *apply_numbers(situ_type type, situ_shape shape, int range) {
  situ_tensor *tensor = NULL;
  assert_null(situ_tensor_create(type, shape, NULL, &tensor));
  const bool positive = type == SITU_UINT8 || type == SITU_BOOL;
  const uint64_t span = (uint64_t)(positive ? range + 1 : 2 * range + 1);
  uint64_t seed = 7;
  for (int64_t i = 0; i < situ_shape_count(shape); i++) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    apply_set(tensor, i, (double)((seed >> 33) % span) - (positive ? 0 : range));
  }
  return tensor;
}

situ_tensor *apply_ints(const int32_t *items, int count) {
  situ_tensor *tensor = NULL;
  const situ_shape shape = count < 0 ? SITU_SCALAR : SITU_SHAPE(count);
  assert_null(situ_tensor_create(SITU_INT32, shape, items, &tensor));
  return tensor;
}

/* Every type with a plain C type: enum name, C type. */
#define PLAIN(X)      \
  X(FLOAT, float)     \
  X(DOUBLE, double)   \
  X(INT16, int16_t)   \
  X(UINT16, uint16_t) \
  X(INT32, int32_t) X(INT64, int64_t) X(INT8, int8_t) X(UINT8, uint8_t) X(BOOL, uint8_t)

double apply_get(const situ_tensor *tensor, int64_t i) {
  const void *data = situ_tensor_data(tensor);
#define GET(TYPE, ctype) \
  if (situ_tensor_type(tensor) == SITU_##TYPE) return (double)((const ctype *)data)[i];
  PLAIN(GET)
  float wide = 0;
  assert_int_equal(situ_tensor_type(tensor), SITU_HALF);
  half_to_float((const uint16_t *)data + i, &wide, 1);
  return (double)wide;
}

void apply_set(situ_tensor *tensor, int64_t i, double value) {
  void *data = (void *)(uintptr_t)situ_tensor_data(tensor);
#define SET(TYPE, ctype)                         \
  if (situ_tensor_type(tensor) == SITU_##TYPE) { \
    ((ctype *)data)[i] = (ctype)value;           \
    return;                                      \
  }
  PLAIN(SET)
  const float wide = (float)value;
  assert_int_equal(situ_tensor_type(tensor), SITU_HALF);
  half_from_float(&wide, (uint16_t *)data + i, 1);
}
