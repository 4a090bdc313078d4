/* SPDX-License-Identifier: Apache-2.0
 * test_queue.c: queues: order, batches, waiting, closing, cancelling, threads. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "api/helpers.h"

struct program {
  situ_graph *graph;
  situ_session *session;
  situ_value queue, x, enqueue, enqueue_many, dequeue, close, cancel, size;
};

static situ_value use(struct program *p, const char *op, const situ_value *more, int n,
                      const situ_attr *attrs, int n_attrs) {
  const situ_values inputs[] = {{&p->queue, 1}, {more, n}};
  return situ_emit_lists(p->graph, op, NULL, inputs, more ? 2 : 1, attrs, n_attrs);
}

static situ_value dequeue_many(struct program *p, const char *op, int n) {
  const int64_t types[] = {SITU_FLOAT};
  const situ_attr attr = situ_attr_types("component_types", types, 1);
  const situ_value count = situ_constant(p->graph, NULL, SITU_INT32, SITU_SCALAR, &n);
  return use(p, op, &count, 1, &attr, 1);
}

static void begin(struct program *p, const char *op, int capacity, int min_after) {
  fleet("");
  p->graph = situ_graph_create();
  const int64_t types[] = {SITU_FLOAT};
  const situ_shape shapes[] = {SITU_SCALAR};
  situ_attr attrs[] = {situ_attr_types("component_types", types, 1),
                       situ_attr_int("capacity", capacity), situ_attr_shapes("shapes", shapes, 1),
                       situ_attr_int("min_after_dequeue", min_after), situ_attr_int("seed", 7)};
  const bool shuffles = op[0] == 'R';
  p->queue = situ_emit(p->graph, op, "q", NULL, 0, attrs, shuffles ? 5 : 3);
  p->x = situ_placeholder(p->graph, "x", SITU_FLOAT, SITU_ANY_SHAPE);
  const situ_attr in = situ_attr_types("Tcomponents", types, 1);
  const situ_attr out[] = {situ_attr_types("component_types", types, 1),
                           situ_attr_shapes("_output_shapes", shapes, 1)};
  const situ_attr yes = situ_attr_bool("cancel_pending_enqueues", true);
  p->enqueue = use(p, "QueueEnqueueV2", &p->x, 1, &in, 1);
  p->enqueue_many = use(p, "QueueEnqueueManyV2", &p->x, 1, &in, 1);
  p->dequeue = use(p, "QueueDequeueV2", NULL, 0, out, 2);
  p->close = use(p, "QueueCloseV2", NULL, 0, NULL, 0);
  p->cancel = use(p, "QueueCloseV2", NULL, 0, &yes, 1);
  p->size = use(p, "QueueSizeV2", NULL, 0, NULL, 0);
}

static void start(struct program *p) {
  OK(situ_graph_status(p->graph));
  OK(situ_session_create(p->graph, NULL, &p->session));
}

static void end(struct program *p) {
  situ_session_release(p->session);
  situ_graph_release(p->graph);
}

static situ_status put(struct program *p, float value) {
  situ_tensor *fed = floats(SITU_SCALAR, &value), *none = NULL;
  const situ_status status =
      situ_session_run(p->session, &(situ_feed){p->x, fed}, 1, &p->enqueue, 1, &none);
  situ_tensor_release(fed);
  return status;
}

static situ_status run(struct program *p, situ_value value) {
  situ_tensor *none = NULL;
  const situ_status status = situ_session_run(p->session, NULL, 0, &value, 1, &none);
  situ_tensor_release(none);
  return status;
}

static void expect_next(struct program *p, float want) {
  situ_tensor *result = NULL;
  OK(situ_session_eval(p->session, p->dequeue, &result));
  expect_floats(result, &want, 1);
  situ_tensor_release(result);
}

static void fails_with(situ_status status, situ_code code, const char *text) {
  assert_int_equal(situ_status_code(status), code);
  if (!strstr(situ_status_message(status), text)) print_error("%s\n", situ_status_message(status));
  assert_non_null(strstr(situ_status_message(status), text));
  situ_status_release(status);
}

static void elements_come_in_order(void **state) {
  (void)state;
  struct program p;
  begin(&p, "FIFOQueueV2", 10, 0);
  const situ_value three = dequeue_many(&p, "QueueDequeueManyV2", 3);
  const situ_value sum = emit2(p.graph, "Add", p.dequeue, scalar(p.graph, 1));
  start(&p);
  for (int i = 0; i < 5; i++) OK(put(&p, (float)i));
  expect_next(&p, 0);
  situ_tensor *result = NULL;
  OK(situ_session_eval(p.session, three, &result));
  expect_floats(result, (float[]){1, 2, 3}, 3);
  situ_tensor_release(result);
  OK(situ_session_eval(p.session, sum, &result)); /* kernels behind it: 4 + 1 */
  expect_floats(result, &(float){5}, 1);
  situ_tensor_release(result);
  end(&p);
}

static void a_closed_queue_says_so(void **state) {
  (void)state;
  struct program p;
  begin(&p, "FIFOQueueV2", 10, 0);
  const situ_value up_to = dequeue_many(&p, "QueueDequeueUpToV2", 4);
  const situ_value many = dequeue_many(&p, "QueueDequeueManyV2", 4);
  start(&p);
  OK(put(&p, 1));
  OK(put(&p, 2));
  OK(run(&p, p.close));
  fails_with(put(&p, 3), SITU_CANCELLED, "FIFOQueue '_0_q' is closed.");
  fails_with(run(&p, many), SITU_OUT_OF_RANGE,
             "FIFOQueue '_0_q' is closed and has insufficient elements (requested 4, current "
             "size 2)");
  situ_tensor *result = NULL;
  OK(situ_session_eval(p.session, up_to, &result));
  expect_floats(result, (float[]){1, 2}, 2);
  situ_tensor_release(result);
  fails_with(run(&p, p.dequeue), SITU_OUT_OF_RANGE, "(requested 1, current size 0)");
  end(&p);
}

struct worker {
  struct program *program;
  situ_value value;
  situ_status status;
  bool puts;
  atomic_bool waits; /* what takes has to wait */
};

/* Whoever waits is asked now and then whether it shall stop. */
static bool note_waiting(void *context) {
  atomic_store(&((struct worker *)context)->waits, true);
  return false;
}

static void *work(void *context) {
  struct worker *worker = context;
  const situ_run_options options = {.stop = note_waiting, .context = worker};
  situ_tensor *none = NULL;
  worker->status = worker->puts ? put(worker->program, 1)
                                : situ_session_run_with(worker->program->session, &options, NULL, 0,
                                                        &worker->value, 1, &none);
  situ_tensor_release(none);
  return NULL;
}

static void await(const struct worker *worker) {
  while (!atomic_load(&worker->waits)) usleep(1000);
}

/* Whoever waits in one thread does not hold up others, and goes on when its time has come. */
static void waiting_holds_up_nobody(void **state) {
  (void)state;
  struct program p;
  begin(&p, "FIFOQueueV2", 1, 0);
  const situ_value other = emit2(p.graph, "Mul", scalar(p.graph, 2), scalar(p.graph, 3));
  start(&p);
  pthread_t thread;
  struct worker taker = {.program = &p, .value = p.dequeue};
  assert_int_equal(pthread_create(&thread, NULL, work, &taker), 0);
  await(&taker);
  OK(run(&p, other));
  OK(put(&p, 1));
  pthread_join(thread, NULL);
  OK(taker.status);
  OK(put(&p, 2)); /* full now */
  struct worker putter = {.program = &p, .puts = true};
  assert_int_equal(pthread_create(&thread, NULL, work, &putter), 0);
  usleep(30000); /* one that comes too late for it is cancelled as well */
  OK(run(&p, p.cancel));
  pthread_join(thread, NULL);
  fails_with(putter.status, SITU_CANCELLED, "Enqueue operation was cancelled");
  expect_next(&p, 2);
  end(&p);
}

static void closing_the_session_cancels(void **state) {
  (void)state;
  struct program p;
  begin(&p, "FIFOQueueV2", 1, 0);
  start(&p);
  pthread_t thread;
  struct worker taker = {.program = &p, .value = p.dequeue};
  assert_int_equal(pthread_create(&thread, NULL, work, &taker), 0);
  await(&taker);
  OK(situ_session_close(p.session));
  pthread_join(thread, NULL);
  fails_with(taker.status, SITU_CANCELLED, "Dequeue operation was cancelled");
  end(&p);
}

static void *produce(void *context) {
  struct program *p = context;
  for (int i = 0; i < 200; i++) {
    const situ_status status = put(p, 1);
    if (status) {
      situ_status_release(status);
      break;
    }
  }
  return NULL;
}

/* Four threads put, four take; nothing is lost and nothing comes twice. */
static void threads_share_a_queue(void **state) {
  (void)state;
  struct program p;
  begin(&p, "RandomShuffleQueueV2", 16, 4);
  const situ_value batch = dequeue_many(&p, "QueueDequeueManyV2", 8);
  start(&p);
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&threads[i], NULL, produce, &p), 0);
  for (int taken = 0; taken < 792; taken += 8) {
    situ_tensor *result = NULL;
    OK(situ_session_eval(p.session, batch, &result));
    assert_int_equal(situ_shape_count(situ_tensor_shape(result)), 8);
    situ_tensor_release(result);
  }
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  situ_tensor *size = NULL;
  OK(situ_session_eval(p.session, p.size, &size));
  assert_int_equal(*(const int32_t *)situ_tensor_data(size), 8);
  situ_tensor_release(size);
  end(&p);
}

/* One run puts an element and takes one, and nothing says which comes first. */
static void a_step_takes_what_it_gives(void **state) {
  (void)state;
  struct program p;
  begin(&p, "FIFOQueueV2", 1, 0);
  start(&p);
  for (int round = 0; round < 2; round++) { /* the queue is empty, then full */
    const float value = (float)(7 + round), want = 7;
    situ_tensor *fed = floats(SITU_SCALAR, &value), *out[2] = {NULL};
    const situ_value both[] = {p.dequeue, p.enqueue};
    OK(situ_session_run(p.session, &(situ_feed){p.x, fed}, 1, both, 2, out));
    expect_floats(out[0], &want, 1);
    situ_tensor_release(out[0]);
    situ_tensor_release(fed);
    if (!round) OK(put(&p, 7));
  }
  expect_next(&p, 8);
  end(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_step_takes_what_it_gives),  cmocka_unit_test(elements_come_in_order),
      cmocka_unit_test(a_closed_queue_says_so),      cmocka_unit_test(waiting_holds_up_nobody),
      cmocka_unit_test(closing_the_session_cancels), cmocka_unit_test(threads_share_a_queue),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
