/* SPDX-License-Identifier: Apache-2.0
 * test_catalog.c: the op definitions as the public API describes them. */
#include "situ/catalog.h"

#include "support/expect.h"

static situ_op find(const char *name) {
  situ_op op = {0};
  OK(situ_ops_find(name, &op));
  assert_string_equal(op.name, name);
  return op;
}

static void ports_have_names_and_types(void **state) {
  (void)state;
  const situ_op op = find("MatMul");
  assert_int_equal(op.n_inputs, 2);
  assert_int_equal(op.n_outputs, 1);
  assert_string_equal(op.inputs[1].name, "b");
  assert_string_equal(op.inputs[1].type_name, "T");
  assert_string_equal(op.attrs[op.inputs[1].type_attr].name, "T");
  assert_int_equal(op.inputs[1].type, SITU_NO_TYPE);
  assert_false(op.inputs[1].is_list || op.inputs[1].is_ref || op.inputs[1].is_host);
  const situ_op shape = find("Reshape");
  assert_true(shape.inputs[1].is_host && !shape.inputs[0].is_host);
  const situ_op decode = find("DecodePng");
  assert_int_equal(decode.inputs[0].type, SITU_STRING);
  assert_int_equal(decode.inputs[0].type_attr, -1);
  assert_string_equal(decode.inputs[0].type_name, "string");
}

static void lists_have_a_length_or_types(void **state) {
  (void)state;
  const situ_op pack = find("Pack");
  assert_true(pack.inputs[0].is_list && !pack.inputs[0].is_types);
  assert_string_equal(pack.attrs[pack.inputs[0].number_attr].name, "N");
  const situ_op identity = find("IdentityN");
  assert_true(identity.inputs[0].is_list && identity.inputs[0].is_types);
  assert_int_equal(identity.inputs[0].number_attr, -1);
  assert_int_equal(identity.attrs[identity.inputs[0].type_attr].kind, SITU_ATTR_TYPES);
}

static void variables_are_references_or_handles(void **state) {
  (void)state;
  const situ_op assign = find("Assign"), handle = find("AssignVariableOp");
  assert_true(assign.inputs[0].is_ref && !assign.inputs[0].is_handle);
  assert_true(assign.outputs[0].is_ref && !assign.inputs[1].is_ref);
  assert_true(handle.inputs[0].is_ref && handle.inputs[0].is_handle);
  assert_int_equal(handle.inputs[0].type, SITU_RESOURCE);
  assert_string_equal(handle.inputs[0].type_name, handle.attrs[handle.inputs[0].handle_attr].name);
}

static void attributes_have_a_type_and_a_default(void **state) {
  (void)state;
  const situ_op conv = find("Conv2D");
  for (int i = 0; i < conv.n_attrs; i++) {
    const situ_op_attr *attr = &conv.attrs[i];
    assert_int_equal(attr->inferred, !strcmp(attr->name, "T"));
    if (!strcmp(attr->name, "T")) {
      assert_true(attr->types >> SITU_FLOAT & 1 && !(attr->types >> SITU_STRING & 1));
      assert_null(attr->default_value);
    } else if (!strcmp(attr->name, "data_format")) {
      assert_int_equal(attr->kind, SITU_ATTR_STRING);
      assert_string_equal(attr->type, "{'NHWC','NCHW'}");
      assert_string_equal(attr->strings, "'NHWC','NCHW'");
      assert_string_equal(attr->default_value, "'NHWC'");
    } else if (!strcmp(attr->name, "strides")) {
      assert_int_equal(attr->kind, SITU_ATTR_INTS);
      assert_null(attr->default_value);
    }
  }
  const situ_op pack = find("Pack");
  assert_string_equal(pack.attrs[pack.inputs[0].number_attr].type, "int>=1");
  assert_int_equal(pack.attrs[pack.inputs[0].number_attr].minimum, 1);
}

static void every_op_is_described(void **state) {
  (void)state;
  for (int i = 0; i < situ_ops_count(); i++) {
    situ_op op;
    char sentence[512];
    OK(situ_ops_get(i, &op));
    for (int k = 0; k < op.n_attrs; k++) assert_true(op.attrs[k].name && *op.attrs[k].type);
    for (int k = 0; k < op.n_outputs; k++) assert_true(*op.outputs[k].type_name);
    for (int k = 0; k < op.n_inputs; k++) {
      OK(situ_ops_argument_doc(i, op.inputs[k].name, sentence, sizeof sentence));
      assert_true(*sentence && *op.inputs[k].type_name);
    }
  }
}

static void errors(void **state) {
  (void)state;
  situ_op op;
  char sentence[8];
  FAILS(situ_ops_get(-1, &op), SITU_INVALID_ARGUMENT, "does not exist");
  FAILS(situ_ops_get(situ_ops_count(), &op), SITU_INVALID_ARGUMENT, "does not exist");
  FAILS(situ_ops_find("MatMull", &op), SITU_NOT_FOUND, "Did you mean 'MatMul'?");
  FAILS(situ_ops_argument_doc(-1, "a", sentence, 8), SITU_INVALID_ARGUMENT, "out of range");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ports_have_names_and_types),
      cmocka_unit_test(lists_have_a_length_or_types),
      cmocka_unit_test(variables_are_references_or_handles),
      cmocka_unit_test(attributes_have_a_type_and_a_default),
      cmocka_unit_test(every_op_is_described),
      cmocka_unit_test(errors),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
