/* SPDX-License-Identifier: Apache-2.0
 * test_cuda.c: programs on CUDA devices that fail: what is said, and that everything else goes on.
 * The driver is the stand-in. */
#include "api/helpers.h"
#include "backend/cuda/compiler.h"
#include "backend/cuda/driver.h"
#include "situ/device.h"
#include "support/child.h"

enum { N = 1000 };

/* Two GPUs and the CPU: x on GPU:0 goes to GPU:1 and back. */
struct job {
  situ_graph *graph;
  situ_session *session;
  situ_value x, y, other, host;
  situ_tensor *fed;
};

static void job_create(struct job *job) {
  unsetenv("STANDIN_FAIL");
  OK(situ_devices_reset());
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
  job->other = emit1(graph, "Neg", job->x);
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

/* y is a x + b. */
static void job_gives(struct job *job, situ_value what, float a, float b) {
  situ_tensor *result = NULL;
  OK(job_run(job, what, &result));
  const float *have = situ_tensor_data(result);
  for (int i = 0; i < N; i++) assert_float_equal(have[i], a * (float)i + b, 0);
  situ_tensor_release(result);
}

static void job_free(struct job *job) {
  unsetenv("STANDIN_FAIL");
  situ_tensor_release(job->fed);
  situ_session_release(job->session);
  situ_graph_release(job->graph);
  OK(situ_devices_reset()); /* also a device that failed begins anew */
}

static void devices_are_described(void **state) {
  (void)state;
  int shown = 0, count = 0;
  OK(situ_devices_count(&count));
  for (int i = 0; i < count; i++) {
    situ_device device;
    OK(situ_devices_get(i, &device));
    if (strcmp(device.backend, "cuda") != 0) continue;
    assert_string_equal(device.model, shown ? "CUDA stand-in sm_120" : "CUDA stand-in sm_75");
    assert_string_equal(device.bus_id, shown ? "0000:82:00.0" : "0000:81:00.0");
    assert_true(device.has_half && device.has_double);
    shown++;
  }
  assert_int_equal(shown, 2);
}

static void two_devices_run_a_graph(void **state) {
  (void)state;
  struct job job;
  job_create(&job);
  for (int i = 0; i < 20; i++) job_gives(&job, job.y, -2, -1);
  job_free(&job);
}

/* The run fails with this text, and in the same process the other devices go on. */
static void fails(const char *wish, situ_code code, const char *part) {
  struct job job;
  situ_tensor *result = NULL;
  job_create(&job);
  job_gives(&job, job.y, -2, -1); /* kernels are compiled */
  setenv("STANDIN_FAIL", wish, 1);
  FAILS(job_run(&job, job.y, &result), code, part);
  job_gives(&job, job.host, -1, 0);
  job_gives(&job, job.other, -1, 0);
  job_free(&job);
  job_create(&job);
  job_gives(&job, job.y, -2, -1);
  job_free(&job);
}

static void launches_may_fail(void **state) {
  (void)state;
  fails("cuLaunchKernel:1=701", SITU_UNAVAILABLE,
        "CUDA GPU 0 (CUDA stand-in sm_75, 0000:81:00.0) failed launching a kernel: "
        "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES (701): too many resources");
}

static void devices_may_be_lost(void **state) {
  (void)state;
  fails("cuLaunchKernel:1=719!", SITU_UNAVAILABLE, "CUDA_ERROR_LAUNCH_FAILED (719)");
  fails("cuEventSynchronize:1=700!", SITU_UNAVAILABLE, "The last kernel that it was given is '");
  fails("cuMemcpyHtoDAsync_v2:1=999!", SITU_UNAVAILABLE, "CUDA GPU 0 (");
}

static void memory_may_be_missing(void **state) {
  (void)state;
  struct job job;
  situ_tensor *result = NULL;
  job_create(&job);
  setenv("STANDIN_FAIL", "cuMemAlloc_v2:*=2", 1);
  FAILS(job_run(&job, job.y, &result), SITU_RESOURCE_EXHAUSTED, "");
  unsetenv("STANDIN_FAIL");
  job_gives(&job, job.y, -2, -1);
  job_free(&job);
}

static void images_may_be_refused(void **state) {
  (void)state;
  struct job job;
  situ_tensor *result = NULL;
  job_create(&job);
  setenv("STANDIN_FAIL", "cuModuleLoadData:1=218,cuModuleLoadData:2=218", 1);
  FAILS(job_run(&job, job.other, &result), SITU_UNAVAILABLE, "CUDA_ERROR_INVALID_PTX (218)");
  unsetenv("STANDIN_FAIL");
  job_gives(&job, job.other, -1, 0);
  job_free(&job);
}

static bool run_in_child(void *context) {
  struct job *job = context;
  situ_tensor *result = NULL;
  return child_expects(job_run(job, job->y, &result), SITU_FAILED_PRECONDITION,
                       "was opened before this process was forked");
}

static void children_are_told(void **state) {
  (void)state;
  struct job job;
  job_create(&job);
  job_gives(&job, job.y, -2, -1);
  assert_true(child_succeeds(run_in_child, &job));
  job_gives(&job, job.y, -2, -1);
  job_free(&job);
}

/* ---- The compiler ---- */

static void compilers_fit_the_device(void **state) {
  (void)state;
  const struct compiler *compiler = NULL;
  char options[128];
  OK(compiler_find(75, 13000, &compiler));
  assert_true(compiler_knows(compiler, compiler->archs[compiler->n_archs - 1]));
  assert_false(compiler_knows(compiler, 9990));
  compiler_options(compiler, 9990, false, options); /* a GPU of the future: the newest PTX */
  char newest[32];
  snprintf(newest, sizeof newest, "compute_%d", compiler->archs[compiler->n_archs - 1]);
  assert_non_null(strstr(options, newest));
  FAILS(compiler_find(20, 13000, &compiler), SITU_FAILED_PRECONDITION, "not for 2.0");
}

static void texts_that_do_not_compile_say_why(void **state) {
  (void)state;
  const struct compiler *compiler = NULL;
  unsigned char *image = NULL;
  size_t size = 0;
  char *log = NULL;
  OK(compiler_find(75, 13000, &compiler));
  assert_int_not_equal(compiler_run(compiler, "nonsense", 75, false, &image, &size, &log), 0);
  assert_non_null(strstr(log, "nonsense"));
  free(log);
  free(image);
}

int main(void) {
  const char *why = NULL;
  if (!cuda_load(&why)) return 1;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(devices_are_described),
      cmocka_unit_test(two_devices_run_a_graph),
      cmocka_unit_test(launches_may_fail),
      cmocka_unit_test(devices_may_be_lost),
      cmocka_unit_test(memory_may_be_missing),
      cmocka_unit_test(images_may_be_refused),
      cmocka_unit_test(children_are_told),
      cmocka_unit_test(compilers_fit_the_device),
      cmocka_unit_test(texts_that_do_not_compile_say_why),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
