/* SPDX-License-Identifier: Apache-2.0
 * test_cuda.c: programs on CUDA devices that fail: the error is reported, and other work continues.
 * The driver is the stand-in. */
#include "api/helpers.h"
#include "backend/backends.h"
#include "backend/cuda/compiler.h"
#include "backend/cuda/driver.h"
#include "backend/rig.h"
#include "situ/device.h"
#include "support/child.h"

enum { N = 1000 };

/* Two GPUs and the CPU: x on GPU:0 is copied to GPU:1 and back. */
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
  fails("cuEventQuery:1=700!", SITU_UNAVAILABLE, "The last kernel launched was '");
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
  setenv("STANDIN_FAIL", "cuModuleLoadDataEx:1=218,cuModuleLoadDataEx:2=218", 1);
  FAILS(job_run(&job, job.other, &result), SITU_UNAVAILABLE, "CUDA_ERROR_INVALID_PTX (218)");
  unsetenv("STANDIN_FAIL");
  job_gives(&job, job.other, -1, 0);
  job_free(&job);
}

/* A context that somebody else destroyed: nothing is done in another one instead. */
static void contexts_may_be_gone(void **state) {
  (void)state;
  fails("cuCtxPushCurrent_v2:1=709", SITU_UNAVAILABLE, "CUDA_ERROR_CONTEXT_IS_DESTROYED (709)");
}

/* What another GPU's failure brings in is not held against this one. */
static void failures_are_those_of_their_gpu(void **state) {
  (void)state;
  fails("cuStreamWaitEvent:1=700", SITU_UNAVAILABLE, "CUDA_ERROR_ILLEGAL_ADDRESS (700)");
  fails("cuMemcpyPeerAsync:1=700", SITU_UNAVAILABLE, "CUDA GPU 0 (");
}

/* A product that cuBLAS refuses fails, the GPU does not. */
static void products_may_fail(void **state) {
  (void)state;
  situ_tensor *result = NULL;
  OK(situ_devices_reset());
  situ_graph *graph = situ_graph_create();
  const float ones[4] = {1, 1, 1, 1}, twos[4] = {2, 2, 2, 2};
  const situ_value x = situ_placeholder(graph, "x", SITU_FLOAT, SITU_SHAPE(2, 2));
  situ_device_push(graph, "/gpu:1");
  const situ_value y = emit2(graph, "MatMul", x, x);
  situ_device_pop(graph);
  situ_session *session = NULL;
  OK(situ_session_create(graph, &(situ_config){.devices.memory.growth = true}, &session));
  const situ_feed feed = {x, floats(SITU_SHAPE(2, 2), ones)};
  setenv("STANDIN_FAIL", "cublasGemmStridedBatchedEx:1=7", 1);
  FAILS(situ_session_run(session, &feed, 1, &y, 1, &result), SITU_UNAVAILABLE,
        "CUDA GPU 1 (CUDA stand-in sm_120, 0000:82:00.0) failed multiplying matrices by cuBLAS: "
        "CUBLAS_STATUS_INVALID_VALUE (7)");
  unsetenv("STANDIN_FAIL");
  OK(situ_session_run(session, &feed, 1, &y, 1, &result));
  expect_floats(result, twos, 4);
  situ_tensor_release(result);
  situ_tensor_release(feed.tensor);
  situ_session_release(session);
  situ_graph_release(graph);
  OK(situ_devices_reset());
}

/* The driver of CUDA 12 rejects the output of NVRTC 13, with a reason. */
static bool run_on_an_old_driver(void *context) {
  struct job job;
  situ_tensor *result = NULL;
  (void)context;
  setenv("STANDIN_DRIVER", "12040", 1);
  job_create(&job);
  const situ_status status = job_run(&job, job.other, &result);
  const bool says = status && strstr(situ_status_message(status), "Unsupported .version");
  return says && child_expects(status, SITU_UNAVAILABLE,
                               "is newer than the driver, which supports "
                               "CUDA 12.4");
}

static bool see_by_id(void *context) {
  situ_device device;
  int count = 0;
  setenv("CUDA_VISIBLE_DEVICES", context, 1);
  return !situ_devices_count(&count) && count == 2 && !situ_devices_get(1, &device) &&
         !strcmp(device.bus_id, "0000:82:00.0");
}

static bool see_none(void *context) {
  int count = 0;
  setenv("CUDA_VISIBLE_DEVICES", context, 1);
  return !situ_devices_count(&count) && count == 1;
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
  assert_true(compiler_supports(compiler, compiler->archs[compiler->n_archs - 1]));
  assert_false(compiler_supports(compiler, 9990));
  compiler_options(compiler, 9990, false, options); /* a GPU of the future: the newest PTX */
  char newest[32];
  snprintf(newest, sizeof newest, "compute_%d", compiler->archs[compiler->n_archs - 1]);
  assert_non_null(strstr(options, newest));
  FAILS(compiler_find(20, 13000, &compiler), SITU_FAILED_PRECONDITION, "not 2.0");
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

/* Blocks have a number of 31 bits: more are refused, not some of them left out. */
static void kernels_may_be_too_large(void **state) {
  (void)state;
  struct rig rig;
  struct bound_kernel *bound = NULL;
  rig_open(&rig, &cuda_backend, NULL);
  const struct span x = rig_alloc(&rig, 0, 4096), slots[] = {x, x};
  struct launch *launch = rig_launch_of(&rig, &add_kernel, INT64_C(1) << 40, 1);
  FAILS(rig.api->bind(rig.device[0], launch, slots, &rig.arena, &bound), SITU_INVALID_ARGUMENT,
        "Kernel 'add' has 1099511627776 items");
  rig_free(&rig, 0, x);
  rig_close(&rig);
}

int main(void) {
  const char *why = NULL;
  const struct compiler *compiler = NULL;
  /* Before this process starts the driver: others do it anew. */
  if (!child_succeeds(see_by_id, "GPU-015a") || !child_succeeds(see_by_id, "1,7") ||
      !child_succeeds(see_none, "-1") || !child_succeeds(see_none, "1,1")) {
    print_error("CUDA_VISIBLE_DEVICES does not show what it should.\n");
    return 1;
  }
  const situ_status status = compiler_find(75, 13000, &compiler);
  if (status || (compiler->major == 13 && !child_succeeds(run_on_an_old_driver, NULL))) {
    print_error("An old driver does not say what is wrong.\n");
    return 1;
  }
  if (!cuda_load(&why)) return 1;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(devices_are_described),
      cmocka_unit_test(two_devices_run_a_graph),
      cmocka_unit_test(launches_may_fail),
      cmocka_unit_test(devices_may_be_lost),
      cmocka_unit_test(memory_may_be_missing),
      cmocka_unit_test(images_may_be_refused),
      cmocka_unit_test(contexts_may_be_gone),
      cmocka_unit_test(failures_are_those_of_their_gpu),
      cmocka_unit_test(products_may_fail),
      cmocka_unit_test(children_are_told),
      cmocka_unit_test(kernels_may_be_too_large),
      cmocka_unit_test(compilers_fit_the_device),
      cmocka_unit_test(texts_that_do_not_compile_say_why),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
