/* SPDX-License-Identifier: Apache-2.0
 * test_growth.c: threads add nodes to a graph while others run, plan, differentiate and save it. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "api/helpers.h"
#include "graph/graph.h"
#include "situ/gradient.h"
#include "support/child.h"
#include "support/skip.h"

enum { BUILDERS = 2, ROUNDS = 60, CHAIN = 10 };

/* State shared by the threads. */
struct crowd {
  situ_graph *graph;
  situ_session *session;
  situ_value x, y, parts; /* a placeholder; x * x; something whose shape depends on values */
  _Atomic int builders;   /* still at work */
};

static bool fails(situ_status status) {
  if (!status) return false;
  fprintf(stderr, "%s\n", situ_status_message(status));
  situ_status_release(status);
  return true;
}

/* Runs a value with x = 2 and checks element 0. */
static bool gives(struct crowd *crowd, situ_value value, float want) {
  const float two = 2;
  situ_tensor *fed = NULL, *result = NULL;
  if (fails(situ_tensor_create(SITU_FLOAT, SITU_SCALAR, &two, &fed))) return false;
  const bool failed =
      fails(situ_session_run(crowd->session, &(situ_feed){crowd->x, fed}, 1, &value, 1, &result));
  const bool good = !failed && *(const float *)situ_tensor_data(result) == want;
  situ_tensor_release(fed);
  situ_tensor_release(result);
  return good;
}

/* Adds chains of nodes below scopes and devices, and runs each. */
static void *build(void *context) {
  struct crowd *crowd = context;
  bool good = true;
  for (int round = 0; round < ROUNDS && good; round++) {
    situ_graph_lock(crowd->graph);
    situ_name_push(crowd->graph, "chain");
    situ_device_push(crowd->graph, round % 2 ? "/cpu:0" : "/job:localhost/cpu:0");
    situ_value at = crowd->x;
    for (int i = 0; i < CHAIN; i++) at = emit2(crowd->graph, "Add", at, crowd->x);
    situ_device_pop(crowd->graph);
    situ_name_pop(crowd->graph);
    situ_graph_unlock(crowd->graph);
    good = gives(crowd, at, 2 * (CHAIN + 1));
  }
  crowd->builders--;
  return good ? crowd : NULL;
}

static void *run_again_and_again(void *context) {
  struct crowd *crowd = context;
  bool good = true;
  do good = gives(crowd, crowd->y, 4) && gives(crowd, crowd->parts, 2);
  while (good && crowd->builders);
  return good ? crowd : NULL;
}

static void *plan_again_and_again(void *context) {
  struct crowd *crowd = context;
  bool good = true;
  do {
    situ_plan *plan = NULL;
    int count = 0;
    good = !fails(situ_plan_create(crowd->session, NULL, 0, &crowd->y, 1, &plan));
    const situ_placement *placed = situ_plan_placements(plan, &count);
    good = good && count > 2 && !strcmp(placed[0].node, "x");
    situ_plan_release(plan);
  } while (good && crowd->builders);
  return good ? crowd : NULL;
}

static void *save_again_and_again(void *context) {
  struct crowd *crowd = context;
  bool good = true;
  do {
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    good = stream && !fails(situ_graph_save(crowd->graph, false, stream));
    if (stream) fclose(stream);
    situ_graph *read = NULL;
    good = good && !fails(situ_graph_load(text, length, &read)) && situ_graph_count(read) > 2;
    situ_graph_release(read);
    free(text);
  } while (good && crowd->builders);
  return good ? crowd : NULL;
}

/* Gradients, better shapes and other devices change the graph, too. */
static void *change_again_and_again(void *context) {
  struct crowd *crowd = context;
  bool good = true;
  do {
    situ_value gradient;
    good = !fails(situ_gradients(crowd->graph, &crowd->y, 1, &crowd->x, 1, NULL, NULL, &gradient));
    good = good && gives(crowd, gradient, 4);
    const situ_value fed =
        situ_placeholder(crowd->graph, NULL, SITU_FLOAT, SITU_SHAPE(SITU_ANY, 2));
    good = good && gives(crowd, crowd->y, 4); /* a snapshot has the placeholder now */
    good = good && !fails(situ_value_set_shape(fed, SITU_SHAPE(3, 2)));
    good = good && situ_value_shape(fed).dim[0] == 3;
    good = good && !fails(situ_device_set(fed, "/cpu:0")) && *situ_value_device(fed);
    good = good && situ_graph_find(crowd->graph, situ_value_name(fed)).node == fed.node;
  } while (good && crowd->builders);
  return good ? crowd : NULL;
}

static void begin(struct crowd *crowd) {
  *crowd = (struct crowd){.graph = situ_graph_create(), .builders = BUILDERS};
  situ_graph *graph = crowd->graph;
  crowd->x = situ_placeholder(graph, "x", SITU_FLOAT, SITU_SCALAR);
  crowd->y = emit2(graph, "Mul", crowd->x, crowd->x);
  /* How many elements are not zero is known when a first part has run. */
  const situ_value one = situ_constant(graph, NULL, SITU_INT32, SITU_SHAPE(1), &(int32_t){1});
  const situ_value vector = emit2(graph, "Reshape", crowd->x, one);
  const situ_value zero = scalar(graph, 0);
  const situ_value where = emit1(graph, "Where", emit2(graph, "Greater", vector, zero));
  crowd->parts = emit2(graph, "GatherNd", vector, where);
  OK(situ_graph_status(graph));
  OK(situ_session_create(graph, NULL, &crowd->session));
}

static void end(struct crowd *crowd) {
  situ_session_release(crowd->session);
  situ_graph_release(crowd->graph);
}

static void threads_share_a_growing_graph(void **state) {
  (void)state;
  struct crowd crowd;
  begin(&crowd);
  void *(*const bodies[])(void *) = {build,
                                     build,
                                     run_again_and_again,
                                     plan_again_and_again,
                                     save_again_and_again,
                                     change_again_and_again};
  enum { THREADS = sizeof bodies / sizeof *bodies };
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, bodies[i], &crowd), 0);
  for (int i = 0; i < THREADS; i++) {
    void *good = NULL;
    pthread_join(threads[i], &good);
    assert_non_null(good);
  }
  end(&crowd);
}

static void a_snapshot_never_changes(void **state) {
  (void)state;
  situ_graph *graph = situ_graph_create();
  const situ_value x = situ_placeholder(graph, "x", SITU_FLOAT, SITU_SHAPE(SITU_ANY));
  const struct situ_graph *before = NULL, *again = NULL, *after = NULL;
  OK(graph_snapshot(graph, &before));
  OK(graph_snapshot(graph, &again));
  assert_ptr_equal(before, again);
  const struct node *node = before->nodes[0];
  for (int i = 0; i < 1000; i++) emit1(graph, "Neg", x);
  OK(situ_value_set_shape(x, SITU_SHAPE(3)));
  OK(situ_device_set(x, "/cpu:0"));
  OK(graph_snapshot(graph, &after));
  assert_int_equal(before->n_nodes, 1);
  assert_ptr_equal(before->nodes[0], node);
  assert_int_equal(node->outputs[0].shape.dim[0], SITU_ANY);
  assert_int_equal(node->spec, 0);
  assert_int_equal(graph_find(before, "Neg", 3), -1);
  assert_int_equal(after->n_nodes, 1001);
  assert_int_equal(after->nodes[0]->outputs[0].shape.dim[0], 3);
  assert_string_equal(situ_value_device(x), "/cpu:0");
  assert_int_equal(graph_find(after, "Neg", 3), 1);
  situ_graph_release(graph);
}

static void an_error_fails_runs_until_it_is_taken(void **state) {
  (void)state;
  struct crowd crowd;
  begin(&crowd);
  assert_true(gives(&crowd, crowd.y, 4));
  emit1(crowd.graph, "NoSuchOp", crowd.x);
  situ_tensor *result = NULL;
  const situ_status status = situ_session_eval(crowd.session, crowd.y, &result);
  assert_int_equal(situ_status_code(status), SITU_NOT_FOUND);
  situ_status_release(status);
  situ_status_release(situ_graph_take_error(crowd.graph));
  assert_true(gives(&crowd, crowd.y, 4));
  end(&crowd);
}

/* In a child, which has no other thread: builds and runs. */
static bool goes_on(void *context) {
  struct crowd *crowd = context;
  const situ_value sum = emit2(crowd->graph, "Add", crowd->y, crowd->x);
  const bool good = gives(crowd, sum, 6);
  return good && !fails(situ_session_close(crowd->session));
}

static void a_child_goes_on_with_a_graph_that_others_used(void **state) {
  (void)state;
  if (!CHILD_MAY_ALLOCATE) SKIP("the sanitizer does not support malloc after fork");
  struct crowd crowd;
  begin(&crowd);
  crowd.builders = 1;
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, run_again_and_again, &crowd), 0);
  for (int i = 0; i < 40; i++) assert_true(child_succeeds(goes_on, &crowd));
  crowd.builders = 0;
  void *good = NULL;
  pthread_join(thread, &good);
  assert_non_null(good);
  end(&crowd);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_snapshot_never_changes),
      cmocka_unit_test(an_error_fails_runs_until_it_is_taken),
      cmocka_unit_test(threads_share_a_growing_graph),
      cmocka_unit_test(a_child_goes_on_with_a_graph_that_others_used),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
