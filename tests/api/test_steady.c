/* SPDX-License-Identifier: Apache-2.0
 * test_steady.c: a run of a cached program allocates nothing and is deterministic. */
#include "api/helpers.h"
#include "support/skip.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define COUNTED 0
#else
#define COUNTED 1
#endif

#if COUNTED
/* Counts all allocations of the process. */
static _Atomic long allocations;
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void *malloc(size_t bytes) {
  allocations++;
  return __libc_malloc(bytes);
}
void *calloc(size_t count, size_t bytes) {
  allocations++;
  return __libc_calloc(count, bytes);
}
void *realloc(void *old, size_t bytes) {
  allocations++;
  return __libc_realloc(old, bytes);
}
void *aligned_alloc(size_t alignment, size_t bytes) {
  allocations++;
  return __libc_memalign(alignment, bytes);
}
#endif

#if COUNTED
static situ_value network(situ_graph *graph, situ_value x) {
  situ_value y = x;
  for (int i = 0; i < 20; i++) {
    situ_device_push(graph, i % 5 == 4 ? "/cpu:0" : "");
    y = emit2(graph, i % 2 ? "Mul" : "Add", y, scalar(graph, 1.5f));
    y = emit2(graph, "MatMul", y, y);
    y = emit1(graph, "Tanh", y);
    situ_device_pop(graph);
  }
  return y;
}
#endif

static void steady_runs_allocate_nothing(void **state) {
  (void)state;
#if COUNTED
  const char *fleets[] = {"", "2"};
  for (size_t f = 0; f < 2; f++) {
    fleet(fleets[f]);
    situ_graph *graph = situ_graph_create();
    const situ_value x = situ_placeholder(graph, "x", SITU_FLOAT, SITU_SHAPE(4, 4));
    const situ_value y = network(graph, x);
    situ_session *session = NULL;
    OK(situ_session_create(graph, NULL, &session));
    situ_tensor *fed = floats(SITU_SHAPE(4, 4), NULL), *result = NULL;
    const situ_feed feed = {x, fed};
    for (int run = 0; run < 5; run++) {
      OK(situ_session_run(session, &feed, 1, &y, 1, &result));
      situ_tensor_release(result);
    }
    const long before = allocations;
    for (int run = 0; run < 100; run++) {
      OK(situ_session_run(session, &feed, 1, &y, 1, &result));
      situ_tensor_release(result);
    }
    assert_int_equal(allocations - before, 0);
    situ_tensor_release(fed);
    situ_session_release(session);
    situ_graph_release(graph);
  }
#else
  SKIP("the sanitizer replaces the allocator");
#endif
}

/* A reduction, a product and a softmax over enough elements that threads share them. */
static void run_large(int threads, float *out) {
  fleet("");
  enum { N = 512 };
  situ_graph *graph = situ_graph_create();
  const situ_value x = situ_placeholder(graph, "x", SITU_FLOAT, SITU_SHAPE(N, N));
  const situ_value axes = situ_constant(graph, NULL, SITU_INT32, SITU_SHAPE(2), (int32_t[]){0, 1});
  const situ_value product = emit2(graph, "MatMul", x, x);
  const situ_value y =
      emit2(graph, "Sum", emit2(graph, "Mul", product, emit1(graph, "Softmax", x)), axes);
  situ_session *session = NULL;
  OK(situ_session_create(graph, &(situ_config){.threads = threads}, &session));
  static float data[N * N];
  for (int i = 0; i < N * N; i++) data[i] = (float)((i * 7919) % 1000) / 333.0f - 1.0f;
  situ_tensor *fed = floats(SITU_SHAPE(N, N), data), *result = NULL;
  OK(situ_session_run(session, &(situ_feed){x, fed}, 1, &y, 1, &result));
  memcpy(out, situ_tensor_data(result), sizeof *out);
  situ_tensor_release(result);
  situ_tensor_release(fed);
  situ_session_release(session);
  situ_graph_release(graph);
}

static void bits_do_not_depend_on_threads(void **state) {
  (void)state;
  float first = 0;
  run_large(1, &first);
  for (int threads = 1; threads <= 4; threads++)
    for (int run = 0; run < 2; run++) {
      float again = 0;
      run_large(threads, &again);
      assert_memory_equal(&first, &again, sizeof first);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(steady_runs_allocate_nothing),
      cmocka_unit_test(bits_do_not_depend_on_threads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
