/* SPDX-License-Identifier: Apache-2.0
 * test_nccl.c: all-reduce over CUDA devices by NCCL: when it is used, its results, its failures.
 * Driver and NCCL are the stand-ins. */
#include <dlfcn.h>

#include "api/helpers.h"
#include "backend/cuda/nccl.h"
#include "situ/device.h"
#include "situ/distribute.h"
#include "support/child.h"

enum { N = 1000, MOST_GPUS = 3 };

static unsigned (*count_sums)(void);
static void (*reseed)(uint64_t);
static const char *(*said)(void);

/* Device i has the term x * (i + 1) in some type; the negated sum on each is fetched. */
struct job {
  situ_graph *graph;
  situ_session *session;
  situ_value x, sums[MOST_GPUS], results[MOST_GPUS], other, host;
  situ_tensor *fed;
  int n;
};

static const char *const names[MOST_GPUS] = {"/gpu:0", "/gpu:1", "/gpu:2"};

static situ_value on(situ_graph *graph, const char *device, const char *op, situ_value x) {
  situ_device_push(graph, device);
  const situ_value y = emit1(graph, op, x);
  situ_device_pop(graph);
  return y;
}

static situ_value cast(situ_graph *graph, const char *device, situ_value x, situ_type type) {
  const situ_attr attr = situ_attr_type("DstT", type);
  situ_device_push(graph, device);
  const situ_value y = situ_emit(graph, "Cast", NULL, &x, 1, &attr, 1);
  situ_device_pop(graph);
  return y;
}

static void job_create(struct job *job, int n, situ_type type, situ_all_reduce_algorithm how) {
  static float data[N];
  situ_value terms[MOST_GPUS];
  OK(situ_devices_reset());
  *job = (struct job){.graph = situ_graph_create(), .n = n};
  for (int i = 0; i < N; i++) data[i] = (float)(i % 50);
  job->x = situ_placeholder(job->graph, "x", SITU_FLOAT, SITU_SHAPE(N));
  for (int i = 0; i < n; i++) {
    situ_device_push(job->graph, names[i]);
    const situ_value term = emit2(job->graph, "Mul", job->x, scalar(job->graph, (float)(i + 1)));
    situ_device_pop(job->graph);
    terms[i] = type == SITU_FLOAT ? term : cast(job->graph, names[i], term, type);
  }
  OK(situ_all_reduce(job->graph, terms, n, names, n, how, job->sums));
  for (int i = 0; i < n; i++) {
    const situ_value sum =
        type == SITU_FLOAT ? job->sums[i] : cast(job->graph, names[i], job->sums[i], SITU_FLOAT);
    job->results[i] = on(job->graph, names[i], "Neg", sum);
  }
  job->other = on(job->graph, "/gpu:1", "Neg", job->x);
  job->host = on(job->graph, "/cpu:0", "Neg", job->x);
  job->fed = floats(SITU_SHAPE(N), data);
  OK(situ_session_create(job->graph, &(situ_config){.devices.memory.growth = true}, &job->session));
}

static situ_status job_run(struct job *job, const situ_value *what, int n, situ_tensor **results) {
  return situ_session_run(job->session, &(situ_feed){job->x, job->fed}, 1, what, n, results);
}

static void gives(struct job *job, const situ_value *what, int n, float factor) {
  situ_tensor *results[MOST_GPUS];
  OK(job_run(job, what, n, results));
  for (int k = 0; k < n; k++) {
    const float *have = situ_tensor_data(results[k]);
    for (int i = 0; i < N; i++) assert_float_equal(have[i], factor * (float)(i % 50), 0);
    situ_tensor_release(results[k]);
  }
}

static float factor_of(const struct job *job) { return (float)(-job->n * (job->n + 1)) / 2; }

static void job_free(struct job *job) {
  unsetenv("STANDIN_FAIL");
  situ_tensor_release(job->fed);
  situ_session_release(job->session);
  situ_graph_release(job->graph);
  OK(situ_devices_reset());
}

/* ---- When it is used ---- */

static void sums_are_made(situ_type type, int n) {
  struct job job;
  job_create(&job, n, type, SITU_ALL_REDUCE_BY_LIBRARY);
  for (int i = 0; i < 20; i++) {
    const unsigned before = count_sums();
    reseed((uint64_t)i + 1);
    gives(&job, job.results, n, factor_of(&job));
    assert_int_equal(count_sums(), before + 1);
  }
  job_free(&job);
}

static void sums_of_every_type_are_made(void **state) {
  (void)state;
  static const situ_type types[] = {SITU_FLOAT, SITU_DOUBLE, SITU_HALF, SITU_INT32, SITU_INT64};
  for (size_t i = 0; i < COUNT_OF(types); i++) sums_are_made(types[i], 2);
  sums_are_made(SITU_FLOAT, 3);
}

/* Its order is not ours: 1e8 + (-1e8 + 1) against (1e8 - 1e8) + 1, which is why it must be asked
 * for. */
static void the_order_is_the_librarys(void **state) {
  (void)state;
  struct job job;
  static const float factors[3] = {1e8F, -1e8F, 1};
  const float one = 1;
  situ_value terms[3];
  situ_tensor *result[3];
  for (int by_library = 0; by_library < 2; by_library++) {
    job_create(&job, 3, SITU_FLOAT, SITU_ALL_REDUCE_ON_FIRST);
    const situ_value x = situ_placeholder(job.graph, NULL, SITU_FLOAT, SITU_SHAPE(1));
    for (int i = 0; i < 3; i++) {
      situ_device_push(job.graph, names[i]);
      terms[i] = emit2(job.graph, "Mul", x, scalar(job.graph, factors[i]));
      situ_device_pop(job.graph);
    }
    OK(situ_all_reduce(job.graph, terms, 3, names, 3,
                       by_library ? SITU_ALL_REDUCE_BY_LIBRARY : SITU_ALL_REDUCE_AUTO, job.sums));
    situ_tensor *fed = floats(SITU_SHAPE(1), &one);
    OK(situ_session_run(job.session, &(situ_feed){x, fed}, 1, job.sums, 3, result));
    for (int i = 0; i < 3; i++) {
      assert_float_equal(*(const float *)situ_tensor_data(result[i]), by_library ? 0 : 1, 0);
      situ_tensor_release(result[i]);
    }
    situ_tensor_release(fed);
    job_free(&job);
  }
}

static void nobody_uses_it_unasked(void **state) {
  (void)state;
  const unsigned before = count_sums();
  struct job job;
  job_create(&job, 2, SITU_FLOAT, SITU_ALL_REDUCE_AUTO);
  gives(&job, job.results, 2, -3);
  job_free(&job);
  assert_int_equal(count_sums(), before);
}

/* If a device does not need the sum, the others add without it. */
static void sums_of_some_devices_are_made_without_it(void **state) {
  (void)state;
  const unsigned before = count_sums();
  struct job job;
  job_create(&job, 3, SITU_FLOAT, SITU_ALL_REDUCE_BY_LIBRARY);
  gives(&job, job.results, 2, factor_of(&job));
  gives(&job, &job.results[2], 1, factor_of(&job));
  assert_int_equal(count_sums(), before);
  gives(&job, job.results, 3, factor_of(&job));
  assert_int_equal(count_sums(), before + 1);
  job_free(&job);
}

static bool run_without(void *context) {
  (void)context;
  struct job job;
  setenv("SITU_NCCL", "0", 1);
  job_create(&job, 2, SITU_FLOAT, SITU_ALL_REDUCE_BY_LIBRARY);
  const unsigned before = count_sums();
  gives(&job, job.results, 2, -3);
  return count_sums() == before && !situ_all_reduce_has_library();
}

/* ---- How it fails ---- */

static void fails_once(const char *wish, const char *part) {
  struct job job;
  situ_tensor *results[MOST_GPUS];
  job_create(&job, 2, SITU_FLOAT, SITU_ALL_REDUCE_BY_LIBRARY);
  setenv("STANDIN_FAIL", wish, 1);
  FAILS(job_run(&job, job.results, 2, results), SITU_UNAVAILABLE, part);
  unsetenv("STANDIN_FAIL");
  gives(&job, &job.host, 1, -1);
  gives(&job, &job.other, 1, -1);
  gives(&job, job.results, 2, -3); /* in the same session */
  job_free(&job);
}

static void nccl_may_fail(void **state) {
  (void)state;
  fails_once("ncclCommInitAll:1=3",
             "NCCL failed initializing a communicator of 2 GPUs, the first of which is CUDA GPU 0 "
             "(CUDA stand-in sm_75, "
             "0000:81:00.0): internal error (3)");
  fails_once("ncclAllReduce:1=1", "NCCL failed all-reducing over 2 GPUs");
  fails_once("ncclAllReduce:2=1", "SITU_NCCL=0");
  fails_once("ncclGroupEnd:1=1", "unhandled cuda error (1)");
}

/* A GPU is lost when the sum is queued already: the other one waits for it, and must not for ever.
 */
static void lost(const char *wish, int gpu) {
  struct job job;
  situ_tensor *results[MOST_GPUS];
  char part[64];
  snprintf(part, sizeof part, "CUDA GPU %d (", gpu);
  job_create(&job, 2, SITU_FLOAT, SITU_ALL_REDUCE_BY_LIBRARY);
  gives(&job, job.results, 2, -3);
  setenv("STANDIN_FAIL", wish, 1);
  FAILS(job_run(&job, job.results, 2, results), SITU_UNAVAILABLE, part);
  gives(&job, &job.host, 1, -1);
  if (!gpu) gives(&job, &job.other, 1, -1);
  FAILS(job_run(&job, job.results, 2, results), SITU_UNAVAILABLE, part);
  job_free(&job);
  job_create(&job, 2, SITU_FLOAT, SITU_ALL_REDUCE_BY_LIBRARY);
  gives(&job, job.results, 2, -3);
  job_free(&job);
}

static void gpus_may_be_lost(void **state) {
  (void)state;
  lost("cuMemcpyDtoHAsync_v2:1=700!", 0);
  lost("cuMemcpyDtoHAsync_v2:2=719!", 1);
  lost("cuLaunchKernel:1=719!", 0);
}

/* ---- Faults that the stand-in must find ---- */

struct place {
  cuda_context context;
  cuda_stream stream;
  cuda_pointer x, y;
};

static struct nccl_functions nccl;
static struct place places[2];
static nccl_comm comms[2];

static int begin(void **state) {
  (void)state;
  static const char *const library[] = {"libnccl.so.2", NULL};
#define NEED(result, name, args) DL_SYMBOL(struct nccl_functions, name)
  static const struct dl_symbol symbols[] = {NCCL_FUNCTIONS(NEED)};
  char why[DL_REASON_SIZE];
  assert_true(dl_load(library, symbols, COUNT_OF(symbols), &nccl, why));
  for (int i = 0; i < 2; i++) {
    assert_int_equal(cuda.cuDevicePrimaryCtxRetain(&places[i].context, i), 0);
    assert_int_equal(cuda.cuCtxPushCurrent_v2(places[i].context), 0);
    assert_int_equal(cuda.cuStreamCreate(&places[i].stream, CUDA_STREAM_NON_BLOCKING), 0);
    assert_int_equal(cuda.cuMemAlloc_v2(&places[i].x, 4 * N), 0);
    assert_int_equal(cuda.cuMemAlloc_v2(&places[i].y, 4 * N), 0);
  }
  assert_int_equal(nccl.ncclCommInitAll(comms, 2, (const int[]){0, 1}), 0);
  return 0;
}

static int end(void **state) {
  (void)state;
  cuda_context ignored;
  for (int i = 0; i < 2; i++) nccl.ncclCommAbort(comms[i]);
  for (int i = 1; i >= 0; i--) {
    cuda.cuStreamDestroy_v2(places[i].stream);
    cuda.cuCtxPopCurrent_v2(&ignored);
    cuda.cuDevicePrimaryCtxRelease_v2(i);
  }
  return 0;
}

static const void *at(cuda_pointer address) { return (const void *)(uintptr_t)address; }

static nccl_result reduce(int rank, cuda_pointer from, cuda_pointer to, size_t count,
                          cuda_stream stream) {
  return nccl.ncclAllReduce(at(from), (void *)(uintptr_t)at(to), count, NCCL_FLOAT, NCCL_SUM,
                            comms[rank], stream);
}

static void says(nccl_result result, const char *words) {
  assert_int_not_equal(result, 0);
  if (!strstr(said(), words)) fail_msg("'%s' does not say '%s'", said(), words);
}

static void good_calls_are_taken(void **state) {
  (void)state;
  assert_int_equal(nccl.ncclGroupStart(), 0);
  for (int i = 0; i < 2; i++)
    assert_int_equal(reduce(i, places[i].x, places[i].y, N, places[i].stream), 0);
  assert_int_equal(nccl.ncclGroupEnd(), 0);
  for (int i = 0; i < 2; i++) {
    cuda.cuCtxPushCurrent_v2(places[i].context);
    assert_int_equal(cuda.cuStreamSynchronize(places[i].stream), 0);
    cuda.cuCtxPopCurrent_v2(&(cuda_context){NULL});
  }
}

static void calls_outside_of_a_group_are_found(void **state) {
  (void)state;
  says(reduce(0, places[0].x, places[0].y, N, places[0].stream), "outside of a group");
  says(nccl.ncclGroupEnd(), "did not begin");
}

static void ranks_that_are_missing_are_found(void **state) {
  (void)state;
  nccl.ncclGroupStart();
  assert_int_equal(reduce(0, places[0].x, places[0].y, N, places[0].stream), 0);
  says(nccl.ncclGroupEnd(), "without one of the ranks");
}

static void ranks_that_disagree_are_found(void **state) {
  (void)state;
  nccl.ncclGroupStart();
  for (int i = 0; i < 2; i++)
    assert_int_equal(reduce(i, places[i].x, places[i].y, (size_t)(N - i), places[i].stream), 0);
  says(nccl.ncclGroupEnd(), "do not agree");
}

static void streams_and_memory_of_others_are_found(void **state) {
  (void)state;
  nccl.ncclGroupStart();
  says(reduce(0, places[0].x, places[0].y, N, places[1].stream), "a stream of another device");
  says(reduce(0, places[1].x, places[0].y, N, places[0].stream), "memory of another device");
  says(reduce(0, places[0].x, places[0].y, N + 1, places[0].stream), "memory of another device");
  says(reduce(0, places[0].x, places[0].x + 4, N - 1, places[0].stream), "overlap");
  nccl.ncclGroupEnd();
  says(nccl.ncclCommInitAll((nccl_comm[2]){NULL}, 2, (const int[]){1, 1}), "two ranks");
}

int main(void) {
  const char *why = NULL;
  setenv("STANDIN_DEVICES", "3", 1);
  void *driver = dlopen("libcuda.so.1", RTLD_NOW), *library = dlopen("libnccl.so.2", RTLD_NOW);
  *(void **)&said = driver ? dlsym(driver, "standin_said") : NULL;
  *(void **)&reseed = driver ? dlsym(driver, "standin_seed") : NULL;
  *(void **)&count_sums = library ? dlsym(library, "standin_sums") : NULL;
  if (!said || !reseed || !count_sums) {
    print_error("The driver or NCCL is not the stand-in.\n");
    return 1;
  }
  if (!child_succeeds(run_without, NULL)) return 1; /* before this process opens anything */
  if (!cuda_load(&why)) return 1;
#define FAULT(name) cmocka_unit_test_setup_teardown(name, begin, end)
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sums_of_every_type_are_made),
      cmocka_unit_test(the_order_is_the_librarys),
      cmocka_unit_test(nobody_uses_it_unasked),
      cmocka_unit_test(sums_of_some_devices_are_made_without_it),
      cmocka_unit_test(nccl_may_fail),
      cmocka_unit_test(gpus_may_be_lost),
      FAULT(good_calls_are_taken),
      FAULT(calls_outside_of_a_group_are_found),
      FAULT(ranks_that_are_missing_are_found),
      FAULT(ranks_that_disagree_are_found),
      FAULT(streams_and_memory_of_others_are_found),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
