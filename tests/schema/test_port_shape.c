/* SPDX-License-Identifier: Apache-2.0
 * test_port_shape.c: shapes of inputs and ranges of attributes in op definitions. */
#include "api/helpers.h"

#include "schema/port_shape.h"
#include "schema/signature.h"

static situ_status no_shape(struct call *call) {
  (void)call;
  return NULL;
}

static situ_status own_words(struct call *call) {
  (void)call;
  return INVALID("in its own words");
}

/* Checks a call of an op with these inputs; returns the error, or NULL. */
static situ_status check(const char *inputs, const situ_shape *shapes, int n,
                         situ_status (*shape)(struct call *), bool building) {
  const struct op_def op = {.name = "Op",
                            .inputs = inputs,
                            .attrs = "depth:int",
                            .doc = "Op.",
                            .devices = "CPU",
                            .shape = shape};
  const struct attr_value depth = {.kind = SITU_ATTR_INT, .integer = 7};
  struct arena arena = {0};
  struct schema schema;
  struct operand in[4] = {0};
  situ_status status = signature_parse(&op, &arena, &schema);
  for (int i = 0; i < n; i++) in[i].shape = shapes[i];
  struct call call = {.schema = &schema,
                      .attrs = &depth,
                      .node = "node",
                      .n_in = n,
                      .in = in,
                      .building = building};
  if (!status) status = call_infer_shapes(&call);
  arena_free(&arena);
  return status;
}

#define SHAPES(...) (const situ_shape[]){__VA_ARGS__}, COUNT_OF(((const situ_shape[]){__VA_ARGS__}))

static void fails(situ_status status, const char *text) {
  assert_int_equal(situ_status_code(status), SITU_INVALID_ARGUMENT);
  if (strcmp(situ_status_message(status), text)) print_error("%s\n", situ_status_message(status));
  assert_string_equal(situ_status_message(status), text);
  situ_status_release(status);
}

static const situ_shape one = {0, {0}}, three = {1, {3}}, unknown = {SITU_ANY, {0}};
static const situ_shape pairs = {2, {3, 2}}, open = {2, {SITU_ANY, 2}}, cube = {3, {5, 3, 2}};

static void shapes_that_agree_pass(void **state) {
  (void)state;
  OK(check("a:float[n,2] b:float[n]", SHAPES(pairs, three), no_shape, true));
  OK(check("a:float[n,2] b:float[n]", SHAPES(open, three), no_shape, true));
  OK(check("a:float[n,2] b:float[n]", SHAPES(unknown, unknown), no_shape, true));
  OK(check("a:float[...s] b:float[...s]", SHAPES(pairs, open), no_shape, true));
  OK(check("a:float[...,2] b:float[?,...s] c:float[...s]", SHAPES(cube, cube, pairs), no_shape,
           true));
  OK(check("a:float[]|[?] b:float[]|[?]", SHAPES(one, three), no_shape, true));
  OK(check("a:float[depth]", SHAPES({1, {7}}), no_shape, true));
}

static void errors_are_those_of_tensorflow(void **state) {
  (void)state;
  fails(check("a:float[n,2]", SHAPES(three), no_shape, true), "Shape must be rank 2 but is rank 1");
  fails(check("a:float[...,2,2]", SHAPES(three), no_shape, true),
        "Shape must be at least rank 2 but is rank 1");
  fails(check("a:float[]|[?]", SHAPES(pairs), no_shape, true),
        "Shape must be at most rank 1 but is rank 2");
  fails(check("a:float[?,4]", SHAPES(pairs), no_shape, true), "Dimension must be 4 but is 2");
  fails(check("a:float[depth]", SHAPES(three), no_shape, true), "Dimension must be 7 but is 3");
  fails(check("a:float[?,n] b:float[n]", SHAPES(pairs, three), no_shape, true),
        "Dimensions must be equal, but are 2 and 3");
  fails(check("a:float[...s] b:float[...s]", SHAPES(three, {1, {4}}), no_shape, true),
        "Dimension 0 in both shapes must be equal, but are 3 and 4. Shapes are [3] and [4].");
  fails(check("a:float[...s] b:float[...s]", SHAPES(three, pairs), no_shape, true),
        "Shapes must be equal rank, but are 1 and 2");
}

static void kernels_have_their_own_words(void **state) {
  (void)state;
  fails(check("a:float[]", SHAPES(three), own_words, true), "Shape must be rank 0 but is rank 1");
  fails(check("a:float[]", SHAPES(three), own_words, false), "in its own words");
  fails(check("a:float[]", SHAPES(three), no_shape, false),
        "Shape must be rank 0 but is rank 1\nInput 'a' of Op");
}

static void unreadable_shapes_are_errors(void **state) {
  (void)state;
  static const char *const wrong[] = {"a:float[",   "a:float[n",        "a:float[]|",
                                      "a:float[N]", "a:float[...,...]", "a:float[n,]x",
                                      "a:float[,n]"};
  for (size_t i = 0; i < COUNT_OF(wrong); i++) {
    situ_status status = check(wrong[i], SHAPES(unknown), no_shape, true);
    if (situ_status_code(status) != SITU_INTERNAL) print_error("%s\n", wrong[i]);
    assert_int_equal(situ_status_code(status), SITU_INTERNAL);
    situ_status_release(status);
  }
}

/* Resolves a call with the attribute `sizes` or `count`; returns the error, or NULL. */
static situ_status resolve(const char *attrs, struct attr_value value) {
  const struct op_def op = {
      .name = "Op", .attrs = attrs, .doc = "Op.", .devices = "CPU", .shape = no_shape};
  struct arena arena = {0};
  struct schema schema;
  int n_out;
  situ_status status = signature_parse(&op, &arena, &schema);
  if (!status) status = schema_resolve(&schema, "node", NULL, 0, &value, &n_out);
  arena_free(&arena);
  return status;
}

static struct attr_value list(const int64_t *items, int count) {
  return (struct attr_value){.kind = SITU_ATTR_INTS, .list = {items, count}};
}

static struct attr_value integer(int64_t value) {
  return (struct attr_value){.kind = SITU_ATTR_INT, .integer = value};
}

static void integers_that_are_narrowed_must_fit(void **state) {
  (void)state;
  const int64_t large[] = {1, (int64_t)1 << 32, 3, 4, 5};
  OK(resolve("count:int32>=1", integer(INT32_MAX)));
  fails(resolve("count:int32>=1", integer((int64_t)1 << 32)),
        "Attr count has value 4294967296 out of range for an int32 (op 'Op')");
  fails(resolve("count:int32", integer(INT64_MIN)),
        "Attr count has value -9223372036854775808 out of range for an int32 (op 'Op')");
  fails(resolve("count:int32>=1", integer(0)),
        "Value for attr 'count' of 0 must be at least minimum 1 (op 'Op')");
  OK(resolve("sizes:list(int)", list(large, 2)));
  fails(resolve("sizes:list(int32)", list(large, 2)),
        "Attr sizes has value 4294967296 out of range for an int32 (op 'Op')");
  OK(resolve("sizes:list(int)>=4", list(large, 5)));
  fails(resolve("sizes:list(int)>=4", list(large, 3)),
        "Length for attr 'sizes' of 3 must be at least minimum 4 (op 'Op')");
  fails(resolve("sizes:list(int)[4]", list(large, 5)),
        "Length for attr 'sizes' of 5 must be 4 (op 'Op')");
}

static void catalogues_show_plain_types(void **state) {
  (void)state;
  const struct op_def op = {
      .name = "Op",
      .attrs = "a:int32>=1 b:list(int32) c:list(int)>=4 d:list(int)[4] e:int>=2",
      .doc = "Op.",
      .devices = "CPU",
      .shape = no_shape};
  struct arena arena = {0};
  struct schema schema;
  OK(signature_parse(&op, &arena, &schema));
  static const char *const types[] = {"int>=1", "list(int)", "list(int)>=4", "list(int)", "int>=2"};
  for (int i = 0; i < 5; i++) assert_string_equal(schema.attrs[i].type, types[i]);
  arena_free(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(shapes_that_agree_pass),
      cmocka_unit_test(errors_are_those_of_tensorflow),
      cmocka_unit_test(kernels_have_their_own_words),
      cmocka_unit_test(unreadable_shapes_are_errors),
      cmocka_unit_test(integers_that_are_narrowed_must_fit),
      cmocka_unit_test(catalogues_show_plain_types),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
