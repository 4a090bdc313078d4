/* SPDX-License-Identifier: Apache-2.0
 * test_schema.c: the table of op definitions, and the default attributes of a call. */
#include "api/helpers.h"

#include "schema/schema.h"

static void every_op_definition_can_be_parsed(void **state) {
  (void)state;
  OK(schema_check());
  assert_true(schema_count() > 100);
  for (int i = 0; i < schema_count(); i++) {
    const struct schema *schema = schema_get(i);
    assert_int_equal(schema->id, i);
    assert_ptr_equal(schema_find(schema->op->name), schema);
    assert_true(schema->op->doc[strlen(schema->op->doc) - 1] == '.');
    const unsigned runs = OP_CONSTANT | OP_FED | OP_ALIAS | OP_VARIABLE;
    assert_true(schema->op->record || schema->op->compute || schema->op->flags & runs ||
                !schema->n_outputs);
  }
}

static void unknown_ops_have_a_neighbor(void **state) {
  (void)state;
  assert_null(schema_find("Matmul"));
  assert_null(schema_find(""));
  assert_string_equal(schema_nearest("Reshap"), "Reshape");
  assert_string_equal(schema_nearest("relu"), "Relu");
  assert_null(schema_nearest("Blancmange"));
}

static void types_and_defaults_are_filled_in(void **state) {
  (void)state;
  const struct schema *bias = schema_find("BiasAdd");
  struct attr_value attrs[2] = {0};
  int n_out = 0;
  OK(schema_resolve(bias, "n", (situ_type[]){SITU_HALF, SITU_HALF}, 2, attrs, &n_out));
  assert_int_equal(n_out, 1);
  assert_int_equal(attrs[schema_attr(bias, "T")].type, SITU_HALF);
  assert_string_equal(attrs[schema_attr(bias, "data_format")].text, "NHWC");
  assert_int_equal(schema_output_type(bias, attrs, 0), SITU_HALF);
  assert_int_equal(schema_attr(bias, "no"), -1);
}

static void lists_are_counted(void **state) {
  (void)state;
  const struct schema *concat = schema_find("ConcatV2");
  struct attr_value attrs[3] = {0};
  const situ_type types[] = {SITU_FLOAT, SITU_FLOAT, SITU_FLOAT, SITU_INT64};
  int n_out = 0;
  OK(schema_resolve(concat, "n", types, 4, attrs, &n_out));
  assert_int_equal(attrs[schema_attr(concat, "N")].integer, 3);
  assert_int_equal(attrs[schema_attr(concat, "Tidx")].type, SITU_INT64);
  assert_string_equal(schema_input_port(concat, attrs, 2)->name, "values");
  assert_string_equal(schema_input_port(concat, attrs, 3)->name, "axis");
  const struct schema *unpack = schema_find("Unpack");
  struct attr_value num[3] = {0};
  num[schema_attr(unpack, "num")] = (struct attr_value){.kind = SITU_ATTR_INT, .integer = 5};
  OK(schema_resolve(unpack, "n", types, 1, num, &n_out));
  assert_int_equal(n_out, 5);
}

/* Resolves with these types and attributes, and expects a failure that says so. */
static void refused(const char *op, const char *types, const char *attr, struct attr_value value,
                    const char *text) {
  const struct schema *schema = schema_find(op);
  struct attr_value attrs[8] = {0};
  situ_type in[8];
  int n = 0, n_out = 0;
  for (const char *c = types; *c; c++)
    in[n++] = *c == 'f' ? SITU_FLOAT : *c == 'i' ? SITU_INT32 : SITU_STRING;
  if (attr) attrs[schema_attr(schema, attr)] = value;
  const situ_status s = schema_resolve(schema, "here", in, n, attrs, &n_out);
  assert_int_equal(situ_status_code(s), SITU_INVALID_ARGUMENT);
  if (!strstr(situ_status_message(s), text)) print_error("%s\n", situ_status_message(s));
  assert_non_null(strstr(situ_status_message(s), text));
  assert_string_equal(situ_status_node(s), "here");
  situ_status_release(s);
}

static void wrong_calls_are_refused(void **state) {
  (void)state;
  const struct attr_value none = {0};
  refused("Add", "fi", NULL, none,
          "Input 'y' of 'Add' Op has type int32 that does not match type float32 of argument 'x'.");
  refused("Concat", "fff", NULL, none,
          "Input 'concat_dim' of 'Concat' Op has type float32 that does not match expected type of "
          "int32.");
  refused("Add", "f", NULL, none, "takes 2 inputs");
  refused("Add", "fff", NULL, none, "takes 2 inputs");
  refused(
      "Mul", "ss", NULL, none,
      "Value for attr 'T' of string is not in the list of allowed values: bfloat16, half, float, "
      "double, int8, int16, int32, int64, uint8, uint16, uint32, uint64, complex64, complex128");
  refused("ConcatV2", "fi", NULL, none, "must be at least minimum 2");
  refused("Unpack", "f", NULL, none, "missing attr 'num'");
  refused("BiasAdd", "ff", "data_format",
          (struct attr_value){.kind = SITU_ATTR_STRING, .text = "NHW"},
          "Attr 'data_format' of 'BiasAdd' Op passed string 'NHW' not in: \"NHWC\", \"NCHW\".");
  refused("BiasAdd", "ff", "data_format", (struct attr_value){.kind = SITU_ATTR_INT},
          "'int' when 'string' expected for attr 'data_format'");
  refused("AddN", "ff", "N", (struct attr_value){.kind = SITU_ATTR_INT, .integer = 3}, "inputs");
  refused("AddN", "ff", "N", (struct attr_value){.kind = SITU_ATTR_INT, .integer = -1}, "inputs");
}

static void devices_depend_on_the_type(void **state) {
  (void)state;
  const struct schema *identity = schema_find("Identity");
  struct attr_value attr = {.kind = SITU_ATTR_TYPE, .type = SITU_STRING};
  assert_true(schema_supports(identity, &attr, "CPU"));
  assert_false(schema_supports(identity, &attr, "GPU"));
  attr.type = SITU_HALF;
  assert_true(schema_supports(identity, &attr, "GPU"));
  assert_false(schema_supports(identity, &attr, "TPU"));
}

static void inputs_have_ports(void **state) {
  (void)state;
  const struct schema *concat = schema_find("ConcatV2"), *add = schema_find("Add");
  for (int i = 0; i < 3; i++) assert_string_equal(schema_port(concat, i, 4)->name, "values");
  assert_true(schema_port(concat, 3, 4)->is_host);
  assert_null(schema_port(concat, 4, 4));
  const struct schema *stitch = schema_find("DynamicStitch");
  assert_ptr_equal(schema_port(stitch, 1, 4), &stitch->inputs[0]);
  assert_ptr_equal(schema_port(stitch, 2, 4), &stitch->inputs[1]);
  assert_ptr_equal(schema_port(add, 1, 2), &add->inputs[1]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_op_definition_can_be_parsed),
      cmocka_unit_test(unknown_ops_have_a_neighbor),
      cmocka_unit_test(types_and_defaults_are_filled_in),
      cmocka_unit_test(lists_are_counted),
      cmocka_unit_test(wrong_calls_are_refused),
      cmocka_unit_test(devices_depend_on_the_type),
      cmocka_unit_test(inputs_have_ports),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
