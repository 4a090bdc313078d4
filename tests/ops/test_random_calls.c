/* SPDX-License-Identifier: Apache-2.0
 * test_random_calls.c: no op reads out of bounds, traps or reports an internal error, whatever it
 * is called with. The sanitizers see the first two; `make fuzz` tries many more calls.
 *
 * TEST_CALLS sets the number of calls per op, TEST_OP names the only op to call. */
#include "api/helpers.h"

#include "schema/schema.h"
#include "support/random_call.h"

static int calls_per_op(void) {
  const char *calls = getenv("TEST_CALLS");
  return calls ? atoi(calls) : 100;
}

/* Whether a status is an error that only a bug of an op explains. TensorFlow calls a JPEG image
 * without pixels an internal error, and so does situ. */
static bool is_bug(situ_status status) {
  return situ_status_code(status) == SITU_INTERNAL &&
         !strstr(situ_status_message(status), "JPEG encoding failed");
}

/* Returns how many calls succeeded. */
static int call_op(situ_eager *eager, int id, const char *device) {
  struct random_bytes bytes = {.state = (uint64_t)id + 1};
  int succeeded = 0;
  for (int i = calls_per_op(); i > 0; i--) {
    situ_status s = NULL;
    const bool is_called = random_call(eager, id, device, &bytes, &s);
    const bool is_wrong = is_bug(s);
    succeeded += is_called && !s;
    if (is_wrong) print_error("%s: %s\n", schema_get(id)->op->name, situ_status_message(s));
    situ_status_release(s);
    assert_false(is_wrong);
  }
  return succeeded;
}

static void call_all(const char *device) {
  const char *only = getenv("TEST_OP");
  situ_eager *eager = NULL;
  int succeeded = 0;
  OK(situ_eager_create(NULL, &eager));
  for (int id = 0; id < schema_count(); id++) {
    if (only && strcmp(only, schema_get(id)->op->name)) continue;
    if (getenv("SITU_TEST_VERBOSE")) print_error("op %s\n", schema_get(id)->op->name);
    succeeded += call_op(eager, id, device);
    situ_eager_clear_cache(eager);
  }
  print_message("%d calls succeeded\n", succeeded);
  assert_true(succeeded > (only ? 0 : schema_count()));
  situ_eager_release(eager);
}

static void test_cpu(void **state) {
  (void)state;
  call_all("/cpu:0");
}

/* Memory of a simulated GPU is kept apart: a kernel that is given a host address fails. */
static void test_simulated_gpu(void **state) {
  (void)state;
  fleet("A=256MiB");
  call_all("/gpu:0");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_cpu),
                                     cmocka_unit_test(test_simulated_gpu)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
