/* SPDX-License-Identifier: Apache-2.0
 * test_call.c: the functions that op definitions use on a call, and recording. */
#include "api/helpers.h"

#include "schema/schema.h"

static const struct kernel nothing = {.name = "nothing"};

/* A call of BiasAdd on [2,3] and [3] that records. */
struct fixture {
  struct arena arena;
  struct recorder recorder;
  struct attr_value attrs[2];
  struct operand in[2], out[1];
  struct call call;
};

static void begin(struct fixture *f) {
  *f = (struct fixture){
      .in = {{SITU_FLOAT, 0, SITU_SHAPE(2, 3), NULL}, {SITU_FLOAT, 1, SITU_SHAPE(3), NULL}},
      .out = {{SITU_FLOAT, 2, SITU_SHAPE(2, 3), NULL}}};
  int n_out = 0;
  const struct schema *schema = schema_find("BiasAdd");
  OK(schema_resolve(schema, "n", (situ_type[]){SITU_FLOAT, SITU_FLOAT}, 2, f->attrs, &n_out));
  f->recorder = (struct recorder){.arena = &f->arena, .next_slot = 3};
  f->call = (struct call){.schema = schema,
                          .attrs = f->attrs,
                          .node = "n",
                          .n_in = 2,
                          .n_out = 1,
                          .in = f->in,
                          .out = f->out,
                          .to = &f->recorder};
}

static void attributes_have_names(void **state) {
  (void)state;
  struct fixture f;
  begin(&f);
  assert_int_equal(call_type(&f.call, "T"), SITU_FLOAT);
  assert_string_equal(call_text(&f.call, "data_format"), "NHWC");
  assert_null(call_attr(&f.call, "no"));
  assert_int_equal(call_integer(&f.call, "no"), 0);
  assert_true(call_real(&f.call, "no") == 0 && !call_bool(&f.call, "no"));
  assert_string_equal(call_text(&f.call, "no"), "");
  assert_int_equal(call_type(&f.call, "no"), SITU_NO_TYPE);
}

static void launches_are_copied_and_costed(void **state) {
  (void)state;
  struct fixture f;
  begin(&f);
  for (int i = 0; i < 100; i++)
    OK(LAUNCH(&f.call, &nothing, SITU_FLOAT, 6, 0, 6, ARG_IN(&f.call, 0), ARG_IN(&f.call, 1),
              ARG_OUT(&f.call, 0), ARG_INT(i), ARG_NUM(0.5)));
  OK(LAUNCH(&f.call, &nothing, SITU_FLOAT, 0, 0, 0, ARG_INT(1))); /* no work: not recorded */
  assert_int_equal(f.recorder.n_launches, 100);
  for (int i = 0; i < 100; i++) {
    const struct launch *launch = &f.recorder.launches[i];
    assert_ptr_equal(launch->kernel, &nothing);
    assert_int_equal(launch->n_args, 5);
    assert_int_equal(launch->args[2].slot, 2);
    assert_int_equal(launch->args[3].integer, i);
    assert_true(launch->args[4].real == 0.5);
    assert_true(launch->bytes == 4 * (6 + 3 + 6));
    assert_string_equal(launch->node, "n");
  }
  arena_free(&f.arena);
}

static void scratch_gets_new_slots(void **state) {
  (void)state;
  struct fixture f;
  begin(&f);
  uint32_t first = 7;
  int32_t a = 0, b = 0;
  OK(call_scratch(&f.call, 100, &a));
  OK(LAUNCH(&f.call, &nothing, SITU_FLOAT, 6, 0, 6, ARG_AT(a)));
  OK(call_state(&f.call, &first, sizeof first, &b));
  first = 8;
  assert_int_equal(a, 3);
  assert_int_equal(b, 4);
  assert_int_equal(f.recorder.next_slot, 5);
  assert_int_equal(f.recorder.n_scratch, 2);
  assert_null(f.recorder.scratch[0].initial);
  assert_int_equal(f.recorder.scratch[0].launch, 0);
  assert_int_equal(f.recorder.scratch[1].launch, 1);
  assert_int_equal(*(const uint32_t *)f.recorder.scratch[1].initial, 7);
  assert_true(f.recorder.launches[0].bytes == 100);
  arena_free(&f.arena);
}

static void integers_are_read_where_known(void **state) {
  (void)state;
  struct fixture f;
  int64_t items[SITU_MAX_RANK];
  int count = 0;
  begin(&f);
  FAILS(call_integers(&f.call, 1, items, &count), SITU_INVALID_ARGUMENT, "int32 or int64");
  f.in[1].type = SITU_INT32;
  OK(call_integers(&f.call, 1, items, &count));
  assert_int_equal(count, SITU_ANY);
  situ_tensor *tensor = NULL;
  OK(situ_tensor_create(SITU_INT32, SITU_SHAPE(3), (int32_t[]){5, -1, 7}, &tensor));
  f.in[1].value = tensor;
  OK(call_integers(&f.call, 1, items, &count));
  assert_int_equal(count, 3);
  assert_int_equal(items[1], -1);
  assert_int_equal(call_element(&f.call, 1, 2), 7);
  situ_tensor_release(tensor);
  OK(situ_tensor_create(SITU_INT32, SITU_SHAPE(9), NULL, &tensor));
  f.in[1].value = tensor;
  f.in[1].shape = SITU_SHAPE(9);
  FAILS(call_integers(&f.call, 1, items, &count), SITU_INVALID_ARGUMENT, "9 elements");
  situ_tensor_release(tensor);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(attributes_have_names),
      cmocka_unit_test(launches_are_copied_and_costed),
      cmocka_unit_test(scratch_gets_new_slots),
      cmocka_unit_test(integers_are_read_where_known),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
