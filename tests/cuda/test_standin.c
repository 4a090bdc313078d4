/* SPDX-License-Identifier: Apache-2.0
 * test_standin.c: the stand-in for CUDA's driver finds the faults that are planted here. */
#include <dlfcn.h>

#include "backend/cuda/compiler.h"
#include "backend/cuda/driver.h"
#include "support/expect.h"

enum { N = 256, BYTES = N * 4 };

struct place {
  cuda_context context;
  cuda_stream stream;
};

static struct place places[2];
static const char *(*said)(void);
static void (*reseed)(uint64_t);

#define GOOD(call) assert_int_equal((call), CUDA_OK)

static int begin(void **state) {
  (void)state;
  for (int i = 0; i < 2; i++) {
    GOOD(cuda.cuDevicePrimaryCtxRetain(&places[i].context, i));
    GOOD(cuda.cuCtxPushCurrent_v2(places[i].context));
    GOOD(cuda.cuStreamCreate(&places[i].stream, CUDA_STREAM_NON_BLOCKING));
  }
  return 0;
}

/* Gives everything back, errors included. */
static int end(void **state) {
  (void)state;
  for (int i = 0; i < 2; i++) {
    cuda.cuStreamDestroy_v2(places[i].stream);
    GOOD(cuda.cuCtxPopCurrent_v2(NULL));
    GOOD(cuda.cuDevicePrimaryCtxRelease_v2(i));
  }
  return 0;
}

/* From now on calls are about this device. */
static void go_to(int device) {
  cuda.cuCtxPopCurrent_v2(NULL);
  GOOD(cuda.cuCtxPushCurrent_v2(places[device].context));
}

static cuda_function kernel(const char *text, int arch) {
  const struct compiler *compiler = NULL;
  unsigned char *image = NULL;
  size_t size = 0;
  char *log = NULL;
  cuda_module module = NULL;
  cuda_function function = NULL;
  OK(compiler_find(arch, 13000, &compiler));
  const nvrtc_result result = compiler_run(compiler, text, arch, false, &image, &size, &log);
  if (result) print_error("%s\n", log);
  assert_int_equal(result, 0);
  GOOD(cuda.cuModuleLoadDataEx(&module, image, 0, NULL, NULL));
  GOOD(cuda.cuModuleGetFunction(&function, module, "f"));
  free(image);
  return function;
}

/* Runs f(x, y) in blocks of 256 threads; returns the status of the stream. */
static cuda_result run(int device, cuda_function function, unsigned blocks, cuda_pointer x,
                       cuda_pointer y) {
  void *args[] = {&x, &y};
  GOOD(cuda.cuLaunchKernel(function, blocks, 1, 1, N, 1, 1, 0, places[device].stream, args, NULL));
  return cuda.cuStreamSynchronize(places[device].stream);
}

/* Compiles and runs a body for both architectures: the results are `expected`. */
static void expect(const char *body, unsigned blocks, cuda_result expected, const char *words) {
  char text[1024];
  snprintf(text, sizeof text, "extern \"C\" __global__ void f(int *x, int *y) {\n%s\n}\n", body);
  for (int i = 0; i < 2; i++) {
    cuda_pointer x = 0, y = 0;
    go_to(i);
    GOOD(cuda.cuMemAlloc_v2(&x, BYTES));
    GOOD(cuda.cuMemAlloc_v2(&y, BYTES));
    assert_int_equal(run(i, kernel(text, i ? 120 : 75), blocks, x, y), expected);
    if (words && !strstr(said(), words)) fail_msg("'%s' does not say '%s'", said(), words);
  }
}

/* ---- Faults in kernels ---- */

static void good_kernels_run(void **state) {
  (void)state;
  expect(
      "__shared__ int s[256]; s[threadIdx.x] = threadIdx.x; __syncthreads();"
      "y[threadIdx.x] = s[255 - threadIdx.x];",
      1, CUDA_OK, NULL);
  expect("if (threadIdx.x == 0 && blockIdx.x == 0) return; atomicAdd(&y[0], 1);", 2, CUDA_OK, NULL);
  expect(
      "int a[8]; for (int i = 0; i < 8; i++) a[i] = i * threadIdx.x;"
      "y[threadIdx.x] = a[threadIdx.x % 8];",
      1, CUDA_OK, NULL);
}

static void results_are_right(void **state) {
  (void)state;
  static const char text[] =
      "extern \"C\" __global__ void f(const int *x, int *y) {\n"
      "  __shared__ int s[256];\n"
      "  s[threadIdx.x] = x[threadIdx.x];\n"
      "  for (int n = 128; n; n /= 2) {\n"
      "    __syncthreads();\n"
      "    if (threadIdx.x < n) s[threadIdx.x] += s[threadIdx.x + n];\n"
      "  }\n"
      "  if (threadIdx.x == 0) y[0] = s[0], y[1] = (int)(1000 * sin((double)x[3])),\n"
      "    y[2] = (int)(1000 * pow((double)x[3], 2.5));\n"
      "}\n";
  int numbers[N], out[3] = {0};
  for (int i = 0; i < N; i++) numbers[i] = i;
  for (int i = 0; i < 2; i++) {
    cuda_pointer x = 0, y = 0;
    go_to(i);
    GOOD(cuda.cuMemAlloc_v2(&x, BYTES));
    GOOD(cuda.cuMemAlloc_v2(&y, BYTES));
    GOOD(cuda.cuMemcpyHtoDAsync_v2(x, numbers, BYTES, places[i].stream));
    GOOD(run(i, kernel(text, i ? 120 : 75), 1, x, y));
    GOOD(cuda.cuMemcpyDtoHAsync_v2(out, y, sizeof out, places[i].stream));
    assert_int_equal(out[0], N * (N - 1) / 2);
    assert_int_equal(out[1], 141);
    assert_int_equal(out[2], 15588);
  }
}

static void races_are_found(void **state) {
  (void)state;
  expect(
      "__shared__ int s[256]; s[threadIdx.x] = threadIdx.x;" /* no barrier */
      "y[threadIdx.x] = s[255 - threadIdx.x];",
      1, CUDA_LAUNCH_FAILED, "race");
}

static void races_of_blocks_are_found(void **state) {
  (void)state;
  expect("y[threadIdx.x] = blockIdx.x;", 2, CUDA_LAUNCH_FAILED, "race");
}

static void plain_and_atomic_accesses_race(void **state) {
  (void)state;
  expect("if (threadIdx.x) atomicAdd(&y[0], 1); else y[0] = 0;", 1, CUDA_LAUNCH_FAILED, "race");
}

static void accesses_outside_are_found(void **state) {
  (void)state;
  expect("y[threadIdx.x + 1] = 0;", 1, CUDA_ILLEGAL_ADDRESS, "thread 255: 4 bytes");
}

static void barriers_that_some_miss_are_found(void **state) {
  (void)state;
  expect("if (threadIdx.x >= 128) return; __syncthreads(); y[threadIdx.x] = 0;", 1,
         CUDA_LAUNCH_FAILED, "128 threads wait at a barrier and 128 have ended");
}

static void accesses_between_elements_are_found(void **state) {
  (void)state;
  expect("*(int *)((char *)y + 2) = 0;", 1, CUDA_MISALIGNED, "no multiple of 4");
}

static void memory_of_another_device_is_found(void **state) {
  (void)state;
  static const char text[] =
      "extern \"C\" __global__ void f(int *x, int *y) { y[threadIdx.x] = 0; }";
  cuda_pointer x = 0, y = 0;
  go_to(1);
  GOOD(cuda.cuMemAlloc_v2(&y, BYTES));
  go_to(0);
  GOOD(cuda.cuMemAlloc_v2(&x, BYTES));
  assert_int_equal(run(0, kernel(text, 75), 1, x, y), CUDA_ILLEGAL_ADDRESS);
  assert_non_null(strstr(said(), "another device"));
  assert_int_equal(cuda.cuStreamSynchronize(places[0].stream), CUDA_ILLEGAL_ADDRESS); /* it stays */
}

static void peers_may_be_used(void **state) {
  (void)state;
  static const char text[] =
      "extern \"C\" __global__ void f(int *x, int *y) { y[threadIdx.x] = 0; }";
  cuda_pointer x = 0, y = 0;
  go_to(1);
  GOOD(cuda.cuMemAlloc_v2(&y, BYTES));
  go_to(0);
  GOOD(cuda.cuMemAlloc_v2(&x, BYTES));
  GOOD(cuda.cuCtxEnablePeerAccess(places[1].context, 0));
  GOOD(run(0, kernel(text, 75), 1, x, y));
}

/* ---- Faults: order of operations ---- */

static void freed_memory_is_gone(void **state) {
  (void)state;
  static const char text[] =
      "extern \"C\" __global__ void f(int *x, int *y) { y[threadIdx.x] = 0; }";
  cuda_pointer x = 0, y = 0;
  void *args[] = {&x, &y};
  go_to(0);
  GOOD(cuda.cuMemAlloc_v2(&x, BYTES));
  GOOD(cuda.cuMemAlloc_v2(&y, BYTES));
  GOOD(cuda.cuLaunchKernel(kernel(text, 75), 1, 1, 1, N, 1, 1, 0, places[0].stream, args, NULL));
  GOOD(cuda.cuMemFree_v2(y));
  assert_int_equal(cuda.cuStreamSynchronize(places[0].stream), CUDA_ILLEGAL_ADDRESS);
  assert_int_equal(cuda.cuMemFree_v2(x), CUDA_ILLEGAL_ADDRESS); /* of a context that failed */
}

/* A copy on one stream of data that another one writes; returns whether it is correct. */
static bool copy_behind(bool waits, uint64_t seed) {
  static const char text[] =
      "extern \"C\" __global__ void f(int *x, int *y) { y[threadIdx.x] = threadIdx.x; }";
  cuda_stream other = NULL;
  cuda_event event = NULL;
  cuda_pointer x = 0, y = 0;
  void *pinned = NULL, *args[] = {&x, &y};
  reseed(seed);
  GOOD(cuda.cuStreamCreate(&other, CUDA_STREAM_NON_BLOCKING));
  GOOD(cuda.cuEventCreate(&event, CUDA_EVENT_DISABLE_TIMING));
  GOOD(cuda.cuMemAlloc_v2(&x, BYTES));
  GOOD(cuda.cuMemAlloc_v2(&y, BYTES));
  GOOD(cuda.cuMemAllocHost_v2(&pinned, BYTES));
  GOOD(cuda.cuLaunchKernel(kernel(text, 75), 1, 1, 1, N, 1, 1, 0, places[0].stream, args, NULL));
  GOOD(cuda.cuEventRecord(event, places[0].stream));
  if (waits) GOOD(cuda.cuStreamWaitEvent(other, event, 0));
  GOOD(cuda.cuMemcpyDtoHAsync_v2(pinned, y, BYTES, other));
  GOOD(cuda.cuStreamSynchronize(other));
  GOOD(cuda.cuStreamSynchronize(places[0].stream));
  const int *numbers = pinned;
  const bool right = numbers[7] == 7;
  if (!right) assert_int_equal(numbers[7], -1); /* the poison */
  GOOD(cuda.cuMemFreeHost(pinned));
  GOOD(cuda.cuMemFree_v2(x));
  GOOD(cuda.cuMemFree_v2(y));
  GOOD(cuda.cuEventDestroy_v2(event));
  GOOD(cuda.cuStreamDestroy_v2(other));
  return right;
}

static void waits_that_are_missing_are_found(void **state) {
  (void)state;
  int wrong = 0;
  go_to(0);
  for (uint64_t seed = 1; seed <= 16; seed++) {
    assert_true(copy_behind(true, seed));
    wrong += !copy_behind(false, seed);
  }
  assert_in_range(wrong, 2, 16);
}

static void nobody_calls_from_a_stream(void *result) {
  int count = 0;
  *(cuda_result *)result = cuda.cuDeviceGetCount(&count);
}

static void host_functions_may_not_call(void **state) {
  (void)state;
  cuda_result result = CUDA_OK;
  go_to(0);
  GOOD(cuda.cuLaunchHostFunc(places[0].stream, nobody_calls_from_a_stream, &result));
  GOOD(cuda.cuStreamSynchronize(places[0].stream));
  assert_int_equal(result, CUDA_NOT_PERMITTED);
}

static void memory_ends(void **state) {
  (void)state;
  cuda_pointer x = 0;
  size_t left = 0, total = 0;
  go_to(0);
  GOOD(cuda.cuMemGetInfo_v2(&left, &total));
  assert_int_equal(cuda.cuMemAlloc_v2(&x, left + 1), CUDA_OUT_OF_MEMORY);
  GOOD(cuda.cuMemAlloc_v2(&x, left));
  assert_int_equal(cuda.cuMemAlloc_v2(&x, 1), CUDA_OUT_OF_MEMORY);
}

static void faults_come_when_asked_for(void **state) {
  (void)state;
  cuda_pointer x = 0;
  go_to(0);
  setenv("STANDIN_FAIL", "cuMemAlloc_v2:2=999!", 1);
  GOOD(cuda.cuMemAlloc_v2(&x, 8));
  assert_int_equal(cuda.cuMemAlloc_v2(&x, 8), CUDA_UNKNOWN);
  unsetenv("STANDIN_FAIL");
  assert_int_equal(cuda.cuMemAlloc_v2(&x, 8), CUDA_UNKNOWN); /* the context is lost */
  go_to(1);
  GOOD(cuda.cuMemAlloc_v2(&x, 8));
}

int main(void) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW);
  const char *why = NULL;
  *(void **)&said = library ? dlsym(library, "standin_said") : NULL;
  *(void **)&reseed = library ? dlsym(library, "standin_seed") : NULL;
  if (!said || !reseed || !cuda_load(&why)) {
    print_error("The driver is not the stand-in.\n");
    return 1;
  }
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
  const struct CMUnitTest tests[] = {
      TEST(good_kernels_run),
      TEST(results_are_right),
      TEST(races_are_found),
      TEST(races_of_blocks_are_found),
      TEST(plain_and_atomic_accesses_race),
      TEST(accesses_outside_are_found),
      TEST(barriers_that_some_miss_are_found),
      TEST(accesses_between_elements_are_found),
      TEST(memory_of_another_device_is_found),
      TEST(peers_may_be_used),
      TEST(freed_memory_is_gone),
      TEST(waits_that_are_missing_are_found),
      TEST(host_functions_may_not_call),
      TEST(memory_ends),
      TEST(faults_come_when_asked_for),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
