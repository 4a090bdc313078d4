/* SPDX-License-Identifier: Apache-2.0
 * test_faults.c: sessions on devices that fail, and in forked children. */
#include <pthread.h>

#include "api/helpers.h"
#include "support/child.h"

enum { N = 1000 };

/* Two GPUs and the CPU: x on GPU:0 is copied to GPU:1 and back, times a constant. */
struct job {
  situ_graph *graph;
  situ_session *session;
  situ_value x, y, host;
  situ_tensor *fed;
};

static void job_create(struct job *job, const char *gpus) {
  fleet(gpus);
  *job = (struct job){.graph = situ_graph_create()};
  situ_graph *graph = job->graph;
  static float data[N];
  for (int i = 0; i < N; i++) data[i] = (float)i;
  job->x = situ_placeholder(graph, "x", SITU_FLOAT, SITU_SHAPE(N));
  situ_device_push(graph, "/gpu:0");
  const situ_value twice = emit2(graph, "Mul", job->x, scalar(graph, 2));
  situ_device_pop(graph);
  situ_device_push(graph, "/gpu:1");
  const situ_value more = emit2(graph, "Add", twice, scalar(graph, 1));
  situ_device_pop(graph);
  situ_device_push(graph, "/gpu:0");
  job->y = emit1(graph, "Neg", more);
  situ_device_pop(graph);
  situ_device_push(graph, "/cpu:0");
  job->host = emit1(graph, "Neg", job->x);
  situ_device_pop(graph);
  job->fed = floats(SITU_SHAPE(N), data);
  OK(situ_session_create(graph, &(situ_config){.devices.memory.growth = true}, &job->session));
}

static situ_status job_run(struct job *job, situ_value what, situ_tensor **result) {
  return situ_session_run(job->session, &(situ_feed){job->x, job->fed}, 1, &what, 1, result);
}

static void job_succeeds(struct job *job) {
  situ_tensor *result = NULL;
  OK(job_run(job, job->y, &result));
  const float *have = situ_tensor_data(result);
  for (int i = 0; i < N; i++) assert_float_equal(have[i], -(2 * (float)i + 1), 0);
  situ_tensor_release(result);
}

static void job_free(struct job *job) {
  situ_tensor_release(job->fed);
  situ_session_release(job->session);
  situ_graph_release(job->graph);
}

/* Each allocation fails once: that run fails, the next succeeds, and no memory leaks. */
static void every_allocation_may_fail(void **state) {
  (void)state;
  int failures = 0;
  for (int n = 1; n <= 6; n++) {
    struct job job;
    char gpus[64];
    snprintf(gpus, sizeof gpus, "A=64MiB;fail_alloc=%d,B=64MiB;fail_alloc=%d", n, 7 - n);
    job_create(&job, gpus);
    for (int run = 0; run < 16; run++) {
      situ_tensor *result = NULL;
      const situ_status status = job_run(&job, job.y, &result);
      failures += status != NULL;
      if (status)
        FAILS(status, SITU_RESOURCE_EXHAUSTED, "was injected");
      else
        situ_tensor_release(result);
      for (int gpu = 1; gpu <= 2; gpu++) OK(situ_device_trim(gpu, NULL)); /* allocate again */
    }
    job_succeeds(&job);
    job_free(&job);
    OK(situ_devices_reset()); /* nothing lives on */
  }
  assert_int_equal(failures, 12);
}

/* The device is lost after each number of kernels: nothing hangs, and host-only runs continue. */
static void every_kernel_may_be_the_last(void **state) {
  (void)state;
  for (int n = 1; n <= 6; n++) {
    struct job job;
    char gpus[64];
    int good = 0, lost = 0;
    snprintf(gpus, sizeof gpus, "A=64MiB;lost_after=%d,B=64MiB", n);
    job_create(&job, gpus);
    for (int run = 0; run < 5; run++) {
      situ_tensor *result = NULL;
      const situ_status status = job_run(&job, job.y, &result);
      good += !status;
      lost += status != NULL;
      if (status) FAILS(status, SITU_UNAVAILABLE, "Simulated GPU 0 (A, 0000:01:00.0) is lost");
      situ_tensor_release(result);
      OK(job_run(&job, job.host, &result));
      situ_tensor_release(result);
    }
    assert_int_equal(good + lost, 5);
    assert_true(lost > 0 && good <= n / 2);
    job_free(&job);
  }
}

/* ---- Children ---- */

static bool run_in_child(void *context) {
  struct job *job = context;
  situ_tensor *result = NULL;
  const char part[] = "was opened before this process was forked";
  for (int i = 0; i < 2; i++)
    if (!child_expects(job_run(job, job->y, &result), SITU_FAILED_PRECONDITION, part)) return false;
  /* nodes without a GPU run */
  if (!child_expects(job_run(job, job->host, &result), SITU_OK, "")) return false;
  const bool ok = ((const float *)situ_tensor_data(result))[7] == -7;
  situ_tensor_release(result);
  job_free(job);
  return ok;
}

static void a_warm_session_fails_in_a_child(void **state) {
  (void)state;
  struct job job;
  job_create(&job, "A=64MiB,B=64MiB");
  for (int i = 0; i < 3; i++) job_succeeds(&job);
  assert_true(child_succeeds(run_in_child, &job));
  job_succeeds(&job);
  job_free(&job);
}

static bool first_run_in_child(void *context) {
#ifdef __SANITIZE_THREAD__
  (void)context;
  return true; /* it ends children that start threads */
#else
  struct job *job = context;
  situ_tensor *result = NULL;
  if (!child_expects(job_run(job, job->y, &result), SITU_OK, "")) return false;
  const bool ok = ((const float *)situ_tensor_data(result))[7] == -15;
  situ_tensor_release(result);
  job_free(job);
  return ok;
#endif
}

static void a_session_that_never_ran_runs_in_a_child(void **state) {
  (void)state;
  struct job job;
  job_create(&job, "A=64MiB,B=64MiB");
  assert_true(child_succeeds(first_run_in_child, &job));
  job_succeeds(&job);
  job_free(&job);
}

/* ---- Nothing at all ---- */

static void tensors_without_elements_run_on_a_gpu(void **state) {
  (void)state;
  fleet("A=64MiB,B=64MiB");
  situ_graph *graph = situ_graph_create();
  situ_session *session = NULL;
  situ_tensor *fed = floats(SITU_SHAPE(0, 3), NULL), *results[2] = {NULL};
  situ_device_push(graph, "/gpu:0");
  const situ_value x = situ_placeholder(graph, "x", SITU_FLOAT, SITU_SHAPE(0, 3));
  const situ_value y = emit1(graph, "Neg", x);
  situ_device_pop(graph);
  situ_device_push(graph, "/gpu:1");
  const situ_value z = emit2(graph, "Add", y, y);
  situ_device_pop(graph);
  OK(situ_session_create(graph, NULL, &session));
  for (int i = 0; i < 2; i++) {
    OK(situ_session_run(session, &(situ_feed){x, fed}, 1, (situ_value[]){y, z}, 2, results));
    assert_int_equal(situ_tensor_bytes(results[1]), 0);
    for (int k = 0; k < 2; k++) situ_tensor_release(results[k]);
  }
  situ_tensor_release(fed);
  situ_session_release(session);
  situ_graph_release(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_allocation_may_fail),
      cmocka_unit_test(every_kernel_may_be_the_last),
      cmocka_unit_test(a_warm_session_fails_in_a_child),
      cmocka_unit_test(a_session_that_never_ran_runs_in_a_child),
      cmocka_unit_test(tensors_without_elements_run_on_a_gpu),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
