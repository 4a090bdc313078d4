/* SPDX-License-Identifier: Apache-2.0
 * test_tape.c: gradients of eager calls. */
#include "api/helpers.h"

#include <pthread.h>

#include "schema/schema.h"
#include "situ/tape.h"

static situ_eager *eager;

/* Runs an op and records it on the tapes. */
static situ_tensor *run(const char *op, situ_tensor *const *inputs, int n, situ_tape *const *tapes,
                        int n_tapes) {
  const situ_call call = {.op = schema_find(op)->id, .inputs = inputs, .n_inputs = n};
  situ_tensor *out = NULL;
  int count = 0;
  OK(situ_eager_run(eager, &call, &out, 1, &count));
  for (int i = 0; i < n_tapes; i++) OK(situ_tape_record(tapes[i], &call, &out, 1));
  return out;
}

static void expect_number(situ_tensor *tensor, float want) {
  float have = 0;
  assert_non_null(tensor);
  OK(situ_tensor_read(tensor, &have, sizeof have));
  assert_float_equal(have, want, 1e-5);
  situ_tensor_release(tensor);
}

static situ_tensor *number(float value) { return floats(SITU_SCALAR, &value); }

static void begin(const char *gpus) {
  fleet(gpus);
  OK(situ_eager_create(NULL, &eager));
}

static void products(void **state) {
  (void)state;
  begin("");
  for (int round = 0; round < 3; round++) { /* the second time it is found */
    situ_tape *tape = NULL;
    situ_tensor *x = number(3), *c = number(2), *out[2];
    OK(situ_tape_create(eager, &tape));
    OK(situ_tape_watch(tape, x));
    situ_tensor *a = run("Mul", (situ_tensor *[]){x, c}, 2, &tape, 1);
    situ_tensor *y = run("Mul", (situ_tensor *[]){a, x}, 2, &tape, 1);
    situ_tensor *free_one = run("Neg", &c, 1, &tape, 1);
    OK(situ_tape_gradient(tape, &y, 1, (situ_tensor *[]){x, c}, 2, NULL, NULL, 0, out));
    expect_number(out[0], 12);
    assert_null(out[1]);
    OK(situ_tape_gradient(tape, &y, 1, &a, 1, &c, NULL, 0, out));
    expect_number(out[0], 6);
    OK(situ_tape_gradient(tape, &free_one, 1, &x, 1, NULL, NULL, 0, out));
    assert_null(out[0]);
    situ_tensor *all[] = {x, c, a, y, free_one};
    for (int i = 0; i < 5; i++) situ_tensor_release(all[i]);
    situ_tape_release(tape);
  }
  situ_eager_release(eager);
}

static void gradients_of_gradients(void **state) {
  (void)state;
  begin("");
  situ_tape *tapes[2] = {NULL};
  situ_tensor *x = number(3), *first = NULL, *second = NULL;
  for (int i = 0; i < 2; i++) {
    OK(situ_tape_create(eager, &tapes[i]));
    OK(situ_tape_watch(tapes[i], x));
  }
  situ_tensor *square = run("Square", &x, 1, tapes, 2);
  situ_tensor *cube = run("Mul", (situ_tensor *[]){square, x}, 2, tapes, 2);
  OK(situ_tape_gradient(tapes[0], &cube, 1, &x, 1, NULL, &tapes[1], 1, &first));
  OK(situ_tape_gradient(tapes[1], &first, 1, &x, 1, NULL, NULL, 0, &second));
  expect_number(first, 27);
  expect_number(second, 18);
  situ_tensor_release(cube);
  situ_tensor_release(square);
  situ_tensor_release(x);
  for (int i = 0; i < 2; i++) situ_tape_release(tapes[i]);
  situ_eager_release(eager);
}

/* A custom gradient: ten times the incoming gradient. */
static situ_status ten_times(void *context, situ_tensor *const *dys, int n_dys, situ_tensor **dxs,
                             int n_dxs) {
  assert_int_equal(n_dys, 1);
  assert_int_equal(n_dxs, 1);
  ++*(int *)context;
  situ_tensor *ten = number(10);
  dxs[0] = run("Mul", (situ_tensor *[]){dys[0], ten}, 2, NULL, 0);
  situ_tensor_release(ten);
  return NULL;
}

static void released(void *context) { *(int *)context += 100; }

static void functions_have_their_own(void **state) {
  (void)state;
  begin("");
  int calls = 0;
  situ_tape *tape = NULL;
  situ_tensor *x = number(3), *out = NULL;
  OK(situ_tape_create(eager, &tape));
  OK(situ_tape_watch(tape, x));
  situ_tensor *a = run("Square", &x, 1, &tape, 1), *b = run("Neg", &a, 1, NULL, 0);
  OK(situ_tape_record_function(tape, &a, 1, &b, 1, ten_times, &calls, released));
  situ_tensor *c = run("Mul", (situ_tensor *[]){b, x}, 2, &tape, 1);
  OK(situ_tape_gradient(tape, &c, 1, &x, 1, NULL, NULL, 0, &out));
  expect_number(out, 3 * 10 * 6 - 9); /* through the function, and straight */
  assert_int_equal(calls, 1);
  situ_tape_reset(tape);
  assert_int_equal(calls, 101);
  OK(situ_tape_record_function(tape, &a, 1, &b, 1, ten_times, &calls, released));
  assert_int_equal(calls, 201); /* nothing is watched: it is not kept */
  situ_tensor *all[] = {x, a, b, c};
  for (int i = 0; i < 4; i++) situ_tensor_release(all[i]);
  situ_tape_release(tape);
  situ_eager_release(eager);
}

static void on_a_gpu(void **state) {
  (void)state;
  begin("A=64MiB");
  situ_tape *tape = NULL;
  situ_tensor *host = number(3), *x = NULL, *out = NULL;
  OK(situ_eager_copy(eager, host, "/gpu:0", &x));
  OK(situ_tape_create(eager, &tape));
  OK(situ_tape_watch(tape, x));
  situ_tensor *y = run("Square", &x, 1, &tape, 1);
  OK(situ_tape_gradient(tape, &y, 1, &x, 1, NULL, NULL, 0, &out));
  assert_string_equal(situ_tensor_device(out), situ_tensor_device(y));
  expect_number(out, 6);
  situ_tensor_release(y);
  situ_tensor_release(x);
  situ_tensor_release(host);
  situ_tape_release(tape);
  situ_eager_release(eager);
}

/* Lists of types and shapes, and names of functions, are the caller's until a call is kept. */
static void attributes_are_copied(void **state) {
  (void)state;
  begin("");
  situ_tape *tape = NULL;
  situ_tensor *x[2] = {number(3), number(4)}, *y[2] = {NULL}, *out[2] = {NULL};
  int64_t types[2] = {SITU_FLOAT, SITU_FLOAT};
  const situ_attr attr = situ_attr_types("T", types, 2);
  const situ_call call = {
      .op = schema_find("IdentityN")->id, .inputs = x, .n_inputs = 2, .attrs = &attr, .n_attrs = 1};
  int count = 0;
  OK(situ_tape_create(eager, &tape));
  for (int i = 0; i < 2; i++) OK(situ_tape_watch(tape, x[i]));
  OK(situ_eager_run(eager, &call, y, 2, &count));
  OK(situ_tape_record(tape, &call, y, 2));
  types[0] = types[1] = SITU_STRING;
  situ_tensor *z = run("Mul", y, 2, &tape, 1);
  OK(situ_tape_gradient(tape, &z, 1, x, 2, NULL, NULL, 0, out));
  expect_number(out[0], 4);
  expect_number(out[1], 3);
  situ_tensor_release(z);
  for (int i = 0; i < 2; i++) situ_tensor_release(x[i]);
  for (int i = 0; i < 2; i++) situ_tensor_release(y[i]);
  situ_tape_release(tape);
  situ_eager_release(eager);
}

static void wrong_calls_are_refused(void **state) {
  (void)state;
  begin("");
  situ_tape *tape = NULL;
  situ_tensor *x = number(3), *none = NULL, *out = NULL;
  OK(situ_tape_create(eager, &tape));
  OK(situ_tape_watch(tape, x));
  situ_tensor *y = run("Square", &x, 1, &tape, 1);
  FAILS(situ_tape_gradient(tape, &none, 1, &x, 1, NULL, NULL, 0, &out), SITU_INVALID_ARGUMENT,
        "NULL");
  FAILS(situ_tape_gradient(tape, &y, 1, &none, 1, NULL, NULL, 0, &out), SITU_INVALID_ARGUMENT,
        "NULL");
  FAILS(situ_tape_gradient(tape, &y, 1, &x, 1, NULL, NULL, 1, &out), SITU_INVALID_ARGUMENT, "NULL");
  situ_call call = {.op = 1 << 20, .inputs = &x, .n_inputs = 1};
  FAILS(situ_tape_record(tape, &call, &y, 1), SITU_INVALID_ARGUMENT, "does not exist");
  call = (situ_call){.op = schema_find("Square")->id, .n_inputs = 1};
  FAILS(situ_tape_record(tape, &call, &y, 1), SITU_INVALID_ARGUMENT, "NULL");
  int count = 0;
  FAILS(situ_eager_run(eager, &call, &out, 1, &count), SITU_INVALID_ARGUMENT, "NULL");
  OK(situ_tape_gradient(tape, &y, 1, &x, 1, NULL, NULL, 0, &out));
  expect_number(out, 6);
  situ_tensor_release(y);
  situ_tensor_release(x);
  situ_tape_release(tape);
  situ_eager_release(eager);
}

static void *clear_caches(void *stop) {
  while (!*(_Atomic bool *)stop) situ_eager_clear_cache(eager);
  return NULL;
}

static void caches_are_cleared_while_gradients_run(void **state) {
  (void)state;
  begin("");
  _Atomic bool stop = false;
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, clear_caches, &stop), 0);
  for (int round = 0; round < 200; round++) {
    situ_tape *tape = NULL;
    situ_tensor *x = number(3), *out = NULL;
    OK(situ_tape_create(eager, &tape));
    OK(situ_tape_watch(tape, x));
    situ_tensor *y = run("Mul", (situ_tensor *[]){x, x}, 2, &tape, 1);
    OK(situ_tape_gradient(tape, &y, 1, &x, 1, NULL, NULL, 0, &out));
    expect_number(out, 6);
    situ_tensor_release(x);
    situ_tensor_release(y);
    situ_tape_release(tape);
  }
  stop = true;
  pthread_join(thread, NULL);
  situ_eager_release(eager);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(products),
      cmocka_unit_test(gradients_of_gradients),
      cmocka_unit_test(functions_have_their_own),
      cmocka_unit_test(on_a_gpu),
      cmocka_unit_test(attributes_are_copied),
      cmocka_unit_test(caches_are_cleared_while_gradients_run),
      cmocka_unit_test(wrong_calls_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
