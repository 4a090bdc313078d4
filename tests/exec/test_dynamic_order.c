/* SPDX-License-Identifier: Apache-2.0
 * test_dynamic_order.c: calls of functions that block on each other run concurrently; errors;
 * chains of calls stay in order. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "api/helpers.h"

enum { N = 5 };

static pthread_barrier_t barrier;
static atomic_int n_calls;

/* "meet": blocks until N calls have arrived; "fail": fails; others return the input plus 1. */
static situ_status call(const char *token, situ_tensor *const *inputs, int n_inputs,
                        situ_tensor **outputs, int n_outputs) {
  (void)n_inputs;
  (void)n_outputs;
  atomic_fetch_add(&n_calls, 1);
  if (!strcmp(token, "meet")) pthread_barrier_wait(&barrier);
  if (!strcmp(token, "fail")) return situ_status_create(SITU_ABORTED, "failed");
  const float value = *(const float *)situ_tensor_data(inputs[0]) + 1;
  return situ_tensor_create(SITU_FLOAT, SITU_SCALAR, &value, &outputs[0]);
}

static situ_value emit_call(situ_graph *graph, const char *token, situ_value input) {
  const int64_t type = SITU_FLOAT;
  const situ_attr attrs[] = {situ_attr_string("token", token), situ_attr_types("Tin", &type, 1),
                             situ_attr_types("Tout", &type, 1)};
  return situ_emit(graph, "PyFunc", NULL, &input, 1, attrs, 3);
}

static void run_all(situ_graph *graph, const situ_value *fetches, situ_status *status,
                    situ_tensor **results) {
  situ_session *session = NULL;
  OK(situ_session_create(graph, NULL, &session));
  for (int i = 0; i < 3; i++) {
    *status = situ_session_run(session, NULL, 0, fetches, N, results);
    if (*status) break;
    for (int k = 0; k < N && i < 2; k++) situ_tensor_release(results[k]);
  }
  situ_session_release(session);
}

static void independent_calls_are_concurrent(void **state) {
  (void)state;
  const char *fleets[] = {"", "2"};
  for (size_t f = 0; f < 2; f++) {
    fleet(fleets[f]);
    situ_graph *graph = situ_graph_create();
    situ_value fetches[N];
    for (int i = 0; i < N; i++) {
      const situ_value sum = emit2(graph, "Add", scalar(graph, (float)i), scalar(graph, 1));
      fetches[i] = emit_call(graph, "meet", sum);
    }
    situ_status status = NULL;
    situ_tensor *results[N] = {0};
    run_all(graph, fetches, &status, results);
    OK(status);
    for (int i = 0; i < N; i++) {
      expect_floats(results[i], &(float){(float)i + 2}, 1);
      situ_tensor_release(results[i]);
    }
    situ_graph_release(graph);
  }
}

static void a_failed_call_ends_the_run(void **state) {
  (void)state;
  fleet("");
  situ_graph *graph = situ_graph_create();
  situ_value fetches[N];
  for (int i = 0; i < N; i++)
    fetches[i] = emit_call(graph, i == 2 ? "fail" : "add", scalar(graph, (float)i));
  situ_status status = NULL;
  situ_tensor *results[N] = {0};
  run_all(graph, fetches, &status, results);
  assert_int_equal(situ_status_code(status), SITU_ABORTED);
  situ_status_release(status);
  situ_graph_release(graph);
}

static void chains_run_in_order(void **state) {
  (void)state;
  fleet("");
  situ_graph *graph = situ_graph_create();
  situ_value fetches[N], value = scalar(graph, 0);
  for (int i = 0; i < N; i++) value = fetches[i] = emit_call(graph, "add", value);
  situ_status status = NULL;
  situ_tensor *results[N] = {0};
  atomic_store(&n_calls, 0);
  run_all(graph, fetches, &status, results);
  OK(status);
  assert_int_equal(atomic_load(&n_calls), 3 * N);
  for (int i = 0; i < N; i++) {
    expect_floats(results[i], &(float){(float)i + 1}, 1);
    situ_tensor_release(results[i]);
  }
  situ_graph_release(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(independent_calls_are_concurrent),
      cmocka_unit_test(a_failed_call_ends_the_run),
      cmocka_unit_test(chains_run_in_order),
  };
  situ_callback_set(call);
  pthread_barrier_init(&barrier, NULL, N);
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  pthread_barrier_destroy(&barrier);
  return failed;
}
