/* SPDX-License-Identifier: Apache-2.0
 * test_cancellation.c: traced, cancelled and timed-out runs. */
#include "api/helpers.h"
#include "base/json.h"
#include "situ/trace.h"

enum { SIDE = 192, CHAIN = 1000 };

/* x * x * x * ...: many dependent kernels. */
static situ_value chain(situ_graph *graph, situ_value *x) {
  *x = situ_placeholder(graph, "x", SITU_FLOAT, SITU_SHAPE(SIDE, SIDE));
  situ_value y = *x;
  for (int i = 0; i < CHAIN; i++) y = emit2(graph, "MatMul", y, *x);
  return y;
}

struct job {
  situ_graph *graph;
  situ_session *session;
  situ_value x, y;
  situ_tensor *fed;
};

static struct job begin(const char *gpus) {
  fleet(gpus);
  struct job job = {.graph = situ_graph_create()};
  job.y = chain(job.graph, &job.x);
  OK(situ_session_create(job.graph, NULL, &job.session));
  OK(situ_tensor_create(SITU_FLOAT, SITU_SHAPE(SIDE, SIDE), NULL, &job.fed));
  return job;
}

static situ_status run(const struct job *job, const situ_run_options *options) {
  situ_tensor *result = NULL;
  const situ_status status = situ_session_run_with(
      job->session, options, &(situ_feed){job->x, job->fed}, 1, &job->y, 1, &result);
  situ_tensor_release(result);
  return status;
}

static void end(struct job *job) {
  situ_tensor_release(job->fed);
  situ_session_release(job->session);
  situ_graph_release(job->graph);
}

static bool count_down(void *context) { return --*(int *)context <= 0; }

static void a_run_that_is_told_to_stops(void **state) {
  (void)state;
  const char *fleets[] = {"", "1"};
  for (size_t i = 0; i < COUNT_OF(fleets); i++) {
    struct job job = begin(fleets[i]);
    int left = 1;
    const situ_status status = run(&job, &(situ_run_options){.stop = count_down, .context = &left});
    assert_int_equal(situ_status_code(status), SITU_CANCELLED);
    situ_status_release(status);
    assert_int_equal(left, 0); /* it was not polled again */
    OK(run(&job, NULL));
    end(&job);
  }
}

static void a_run_that_takes_too_long_fails(void **state) {
  (void)state;
  const char *fleets[] = {"", "1"};
  for (size_t i = 0; i < COUNT_OF(fleets); i++) {
    struct job job = begin(fleets[i]);
    const situ_status status = run(&job, &(situ_run_options){.timeout_ms = 1});
    assert_int_equal(situ_status_code(status), SITU_DEADLINE_EXCEEDED);
    assert_non_null(strstr(situ_status_message(status), "Timed out"));
    situ_status_release(status);
    OK(run(&job, &(situ_run_options){.timeout_ms = 600000}));
    end(&job);
  }
}

static void a_trace_has_every_kernel(void **state) {
  (void)state;
  struct job job = begin("2");
  situ_trace *trace = NULL;
  OK(situ_trace_create(&trace));
  OK(run(&job, &(situ_run_options){.trace = trace}));
  int count = 0, kernels = 0, copies = 0;
  const situ_trace_record *records = situ_trace_records(trace, &count);
  for (int i = 0; i < count; i++) {
    assert_true(records[i].end_ns >= records[i].start_ns && records[i].start_ns > 0);
    kernels += !strcmp(records[i].op, "MatMul");
    copies += records[i].from != NULL;
  }
  assert_int_equal(kernels, CHAIN);
  assert_int_equal(copies, 2); /* x in, the last product out */
  assert_string_equal(records[count - 2].device, "/job:localhost/replica:0/task:0/device:GPU:0");
  OK(run(&job, NULL));
  int after = 0;
  situ_trace_records(trace, &after);
  assert_int_equal(after, count);
  situ_trace_release(trace);
  end(&job);
}

static void everything_can_be_traced_and_written(void **state) {
  (void)state;
  struct job job = begin("1");
  situ_trace *trace = NULL;
  OK(situ_trace_create(&trace));
  situ_trace_set_global(trace);
  OK(run(&job, NULL));
  situ_trace_set_global(NULL);
  OK(run(&job, NULL));
  char *text = NULL;
  size_t length = 0;
  FILE *stream = open_memstream(&text, &length);
  OK(situ_trace_write(trace, stream));
  fclose(stream);
  struct arena arena = {0};
  struct json *json = NULL;
  OK(json_parse(text, length, &arena, &json));
  const struct json *events = json_get(json, "traceEvents");
  int kernels = 0;
  for (const struct json *e = json_first(events); e; e = e->next)
    kernels += !strcmp(json_string(json_get(e, "name"), ""), "MatMul");
  assert_int_equal(kernels, CHAIN);
  arena_free(&arena);
  free(text);
  situ_trace_release(trace);
  end(&job);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_run_that_is_told_to_stops),
      cmocka_unit_test(a_run_that_takes_too_long_fails),
      cmocka_unit_test(a_trace_has_every_kernel),
      cmocka_unit_test(everything_can_be_traced_and_written),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
