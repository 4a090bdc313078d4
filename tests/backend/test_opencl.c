/* SPDX-License-Identifier: Apache-2.0
 * test_opencl.c: OpenCL devices that fail: the error says what and where, others go on. PoCL is the
 * driver; functions of OpenCL are put in the way that fail. Skipped where there is no device. */
#include <dirent.h>
#include <unistd.h>

#include "backend/backends.h"
#include "backend/opencl/gpus.h"
#include "backend/rig.h"
#include "device/memory.h"
#include "situ/situ.h"
#include "support/skip.h"

static struct cl_functions real;

static int open_rig(void **state) {
  static struct rig rig;
  setenv("POCL_DEVICES", "basic basic", 1);
  setenv("SITU_OPENCL_DEVICES", "all", 1);
  setenv("SITU_KERNEL_CACHE", "", 1);
  const struct backend_request request = rig_request(NULL);
  int count = 0;
  const char *why = NULL;
  if (opencl_backend.probe(&request, &count, &why)) return 1;
  *state = NULL;
  if (!count || !MAY_RUN) return 0;
  rig_open(&rig, &opencl_backend, NULL);
  real = cl;
  *state = &rig;
  return 0;
}

static int close_rig(void **state) {
  if (!*state) return 0;
  cl = real;
  rig_close(*state);
  return 0;
}

static struct rig *need(void **state) {
  if (!*state) SKIP("no OpenCL device");
  return *state;
}

static int32_t refuse_launch(cl_queue queue, cl_kernel kernel, uint32_t dims, const size_t *offset,
                             const size_t *global, const size_t *local, uint32_t n,
                             const cl_event *events, cl_event *event) {
  (void)queue, (void)kernel, (void)dims, (void)offset, (void)global, (void)local;
  (void)n, (void)events, (void)event;
  return CL_MEM_OBJECT_ALLOCATION_FAILURE;
}

static int32_t fail_finish(cl_queue queue) {
  (void)queue;
  return CL_OUT_OF_RESOURCES;
}

static int32_t refuse_event(cl_queue queue, uint32_t n, const cl_event *events, cl_event *event) {
  (void)queue, (void)n, (void)events, (void)event;
  return CL_OUT_OF_RESOURCES;
}

/* Deferred event callbacks; `held` is set last, by the worker's thread. */
typedef void(CL_CALLBACK *event_callback)(cl_event, int32_t, void *);
static struct {
  event_callback callback;
  void *context;
} callbacks[8];
static _Atomic(int) held;

static int32_t hold_event(cl_event event, int32_t state, event_callback callback, void *context) {
  (void)event, (void)state;
  const int at = atomic_load(&held);
  callbacks[at].callback = callback;
  callbacks[at].context = context;
  atomic_store(&held, at + 1);
  return CL_SUCCESS;
}

static int32_t fail_event(cl_event event, int32_t state, event_callback callback, void *context) {
  (void)state;
  callback(event, CL_OUT_OF_RESOURCES, context);
  return CL_SUCCESS;
}

static bool wait_until_held(int count) {
  for (int i = 0; i < 300000 && atomic_load(&held) < count; i++) usleep(1000);
  return atomic_load(&held) == count;
}

static cl_memory refuse_buffer(cl_context context, uint64_t flags, size_t size, void *host,
                               int32_t *error) {
  (void)context, (void)flags, (void)size, (void)host;
  *error = CL_MEM_OBJECT_ALLOCATION_FAILURE;
  return NULL;
}

/* Runs the kernel `add` on a device; returns the status of its run. */
static situ_status add_on(struct rig *rig, int device, struct span x) {
  struct bound_kernel *bound = NULL;
  _Atomic(situ_status) error = NULL;
  struct launch *launch = rig_launch_of(rig, &add_kernel, 1, 5);
  launch->node = "sum";
  const struct span slots[] = {x, x};
  OK(rig->api->bind(rig->device[device], launch, slots, &rig->arena, &bound));
  bound->error = &error;
  uint64_t mark = 0;
  situ_status status = rig->api->launch(rig->device[device], QUEUE_COMPUTE, bound);
  if (!status) status = rig->api->mark(rig->device[device], QUEUE_COMPUTE, &mark);
  if (!status) status = rig->api->sync(rig->device[device], QUEUE_COMPUTE, mark);
  rig->api->unbind(rig->device[device], bound);
  return status_first(atomic_exchange(&error, NULL), status);
}

static void kernel_launch_failure(void **state) {
  struct rig *rig = need(state);
  const struct span x = rig_alloc(rig, 0, 4096);
  rig_put(rig, 0, x, &(int64_t){1}, 8);
  cl.clEnqueueNDRangeKernel = refuse_launch;
  const situ_status status = add_on(rig, 0, x);
  cl = real;
  assert_int_equal(situ_status_code(status), SITU_RESOURCE_EXHAUSTED);
  assert_non_null(strstr(situ_status_message(status), "OpenCL device 0 ("));
  assert_non_null(strstr(situ_status_message(status), "starting kernel 'add'"));
  assert_non_null(strstr(situ_status_message(status), "CL_MEM_OBJECT_ALLOCATION_FAILURE (-4)"));
  assert_string_equal(situ_status_node(status), "sum");
  situ_status_release(status);
  OK(add_on(rig, 0, x)); /* only one call has failed */
  assert_int_equal(rig_get_number(rig, 0, x), 6);
  rig_free(rig, 0, x);
}

static void kernel_compile_failure(void **state) {
  struct rig *rig = need(state);
  static const struct kernel broken = {.name = "broken",
                                       .text = "KERNEL(broken, IN(T, x)) { nonsense; }\n",
                                       .host = {[SITU_INT64] = rig_add}};
  const struct span x = rig_alloc(rig, 0, 4096);
  struct launch *launch = rig_launch_of(rig, &broken, 1, 5);
  struct bound_kernel *bound = NULL;
  const struct span slots[] = {x, x};
  const situ_status status = rig->api->bind(rig->device[0], launch, slots, &rig->arena, &bound);
  assert_non_null(status);
  assert_non_null(
      strstr(situ_status_message(status), "Kernel 'broken' does not compile on OpenCL"));
  assert_non_null(strstr(situ_status_message(status), "nonsense"));
  situ_status_release(status);
  rig_put(rig, 0, x, &(int64_t){1}, 8);
  OK(add_on(rig, 0, x));
  rig_free(rig, 0, x);
}

static void allocation_failure(void **state) {
  struct rig *rig = need(state);
  void *region = NULL;
  cl.clCreateBuffer = refuse_buffer;
  FAILS(rig->api->alloc(rig->device[0], 4096, &region), SITU_RESOURCE_EXHAUSTED, "(error -4)");
  cl = real;
  OK(rig->api->alloc(rig->device[0], 4096, &region));
  rig->api->free(rig->device[0], region);
}

/* A driver that overcommits: creates any buffer, but has memory for small ones only. */
static _Atomic(size_t) promised;

static cl_memory overcommit(cl_context context, uint64_t flags, size_t size, void *host,
                            int32_t *error) {
  atomic_store(&promised, size);
  return real.clCreateBuffer(context, flags, size, host, error);
}

static int32_t keep_promise(cl_queue queue, cl_memory memory, uint32_t blocking, size_t offset,
                            size_t size, const void *from, uint32_t n, const cl_event *events,
                            cl_event *event) {
  if (atomic_load(&promised) > 3 << 20) return CL_MEM_OBJECT_ALLOCATION_FAILURE;
  return real.clEnqueueWriteBuffer(queue, memory, blocking, offset, size, from, n, events, event);
}

static void overcommitted_memory(void **state) {
  struct rig *rig = need(state);
  void *region = NULL;
  struct memory *memory = NULL;
  struct memory_block block;
  const struct memory_setup setup = {.backend = &opencl_backend,
                                     .device = rig->device[0],
                                     .device_name = "GPU:0",
                                     .name = "GPU_0_bfc",
                                     .info = gpus_get(0)->info};
  uint64_t before = 0, after = 0;
  OK(rig->api->available(rig->device[0], &before));
  cl.clCreateBuffer = overcommit;
  cl.clEnqueueWriteBuffer = keep_promise;
  FAILS(rig->api->alloc(rig->device[0], 4 << 20, &region), SITU_RESOURCE_EXHAUSTED, "(error -4)");
  OK(rig->api->available(rig->device[0], &after));
  assert_int_equal(before, after);
  OK(memory_create(&setup, &(struct memory_options){.limit_bytes = 8 << 20}, &memory));
  OK(memory_alloc(memory, 1 << 20, NULL, &block)); /* backs off to smaller regions */
  assert_in_range(atomic_load(&promised), 1 << 20, 3 << 20);
  cl = real;
  memory_free(memory, &block);
  memory_destroy(memory);
}

static int compiled; /* number of sources compiled */

static cl_program count_text(cl_context context, uint32_t n, const char **texts,
                             const size_t *lengths, int32_t *error) {
  compiled++;
  return real.clCreateProgramWithSource(context, n, texts, lengths, error);
}

static cl_program refuse_binary(cl_context context, uint32_t n, const cl_device *devices,
                                const size_t *sizes, const unsigned char **parts, int32_t *state,
                                int32_t *error) {
  (void)context, (void)n, (void)devices, (void)sizes, (void)parts;
  *state = *error = CL_INVALID_BINARY;
  return NULL;
}

/* Runs a kernel on a newly opened device; returns the number of compilations. */
static int compile_anew(struct rig *rig) {
  struct rig other = {.api = rig->api};
  compiled = 0;
  OK(rig->api->open(0, &other.device[0]));
  const struct span x = rig_alloc(&other, 0, 4096);
  rig_put(&other, 0, x, &(int64_t){1}, 8);
  OK(add_on(&other, 0, x));
  assert_int_equal(rig_get_number(&other, 0, x), 6);
  rig_close(&other);
  return compiled;
}

/* Calls `act` for every file of a folder; returns their number. */
static int each_file(const char *folder, void (*act)(const char *path)) {
  DIR *files = opendir(folder);
  assert_non_null(files);
  int count = 0;
  for (const struct dirent *entry = readdir(files); entry; entry = readdir(files)) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    if (entry->d_name[0] == '.') continue;
    act(path);
    count++;
  }
  closedir(files);
  return count;
}

static void change_a_byte(const char *path) {
  FILE *file = fopen(path, "r+b");
  assert_non_null(file);
  fseek(file, -100, SEEK_END);
  const int byte = getc(file);
  fseek(file, -100, SEEK_END);
  putc(byte ^ 1, file);
  fclose(file);
}

static void remove_file(const char *path) { unlink(path); }

/* Compiled kernels are cached; a file that is damaged or rejected by the driver is ignored. */
static void kernels_are_cached_on_disk(void **state) {
  struct rig *rig = need(state);
  char folder[] = "/tmp/situ_kernels_XXXXXX";
  assert_non_null(mkdtemp(folder));
  setenv("SITU_KERNEL_CACHE", folder, 1);
  cl.clCreateProgramWithSource = count_text;
  assert_int_equal(compile_anew(rig), 1);
  assert_int_equal(compile_anew(rig), 0);
  assert_int_equal(each_file(folder, change_a_byte), 1);
  assert_int_equal(compile_anew(rig), 1);
  assert_int_equal(compile_anew(rig), 0);
  cl.clCreateProgramWithBinary = refuse_binary;
  assert_int_equal(compile_anew(rig), 1);
  cl = real;
  setenv("SITU_KERNEL_CACHE", "", 1);
  assert_int_equal(each_file(folder, remove_file), 1);
  assert_int_equal(rmdir(folder), 0);
}

/* Memory larger than the maximum buffer is split into several buffers. */
static void regions_are_split(void **state) {
  struct rig *rig = need(state);
  struct gpu *gpu = gpus_get(0);
  const size_t largest = gpu->largest;
  gpu->largest = 1 << 20;
  const struct memory_setup setup = {.backend = &opencl_backend,
                                     .device = rig->device[0],
                                     .device_name = "GPU:0",
                                     .name = "GPU_0_bfc",
                                     .info = gpu->info};
  struct memory *memory = NULL;
  struct memory_block blocks[6];
  OK(memory_create(&setup, &(struct memory_options){.limit_bytes = 8 << 20}, &memory));
  for (int i = 0; i < 6; i++) OK(memory_alloc(memory, 600000, NULL, &blocks[i]));
  assert_ptr_not_equal(blocks[0].span.region, blocks[5].span.region);
  for (int i = 0; i < 6; i++) memory_free(memory, &blocks[i]);
  memory_destroy(memory);
  gpu->largest = largest;
}

/* A GPU cannot report the error: the loss is NaN, and other rows are correct. */
static void invalid_label(void **state) {
  need(state);
  situ_graph *graph = situ_graph_create();
  situ_device_push(graph, "/gpu:0");
  const float zeros[8] = {0};
  const int32_t classes[] = {1, 4};
  const situ_value logits = situ_constant(graph, NULL, SITU_FLOAT, SITU_SHAPE(2, 4), zeros);
  const situ_value labels = situ_constant(graph, NULL, SITU_INT32, SITU_SHAPE(2), classes);
  const situ_value loss = situ_sparse_softmax_cross_entropy_with_logits(graph, logits, labels);
  situ_session *session = NULL;
  situ_tensor *result = NULL;
  OK(situ_graph_status(graph));
  OK(situ_session_create(graph, NULL, &session));
  OK(situ_session_run(session, NULL, 0, &loss, 1, &result));
  const float *losses = situ_tensor_data(result);
  assert_float_equal(losses[0], 1.386294f, 1e-5f); /* log(4) */
  assert_true(losses[1] != losses[1]);
  situ_tensor_release(result);
  situ_session_release(session);
  situ_graph_release(graph);
}

/* Without events, the worker waits for the queue. */
static void event_creation_failure(void **state) {
  struct rig *rig = need(state);
  const struct span x = rig_alloc(rig, 0, 4096);
  rig_put(rig, 0, x, &(int64_t){1}, 8);
  cl.clEnqueueMarkerWithWaitList = refuse_event;
  OK(add_on(rig, 0, x));
  cl = real;
  assert_int_equal(rig_get_number(rig, 0, x), 6);
  rig_free(rig, 0, x);
}

/* A queue reaches a mark independently of later work and of other queues. */
static void marks_are_reached_one_by_one(void **state) {
  struct rig *rig = need(state);
  void *device = rig->device[0];
  const struct span x = rig_alloc(rig, 0, 4096);
  int64_t numbers[] = {1, 2, 3}, back = 0;
  uint64_t first = 0, second = 0, other = 0;
  cl.clSetEventCallback = hold_event;
  atomic_store(&held, 0);
  OK(rig->api->write(device, QUEUE_IN, x, &numbers[0], 8));
  OK(rig->api->mark(device, QUEUE_IN, &first));
  assert_true(wait_until_held(1));
  OK(rig->api->write(device, QUEUE_IN, x, &numbers[1], 8));
  OK(rig->api->mark(device, QUEUE_IN, &second));
  assert_true(wait_until_held(2));
  OK(rig->api->read(device, QUEUE_OUT, &back, x, 8));
  OK(rig->api->mark(device, QUEUE_OUT, &other));
  assert_true(wait_until_held(3));
  assert_false(rig->api->reach(device, QUEUE_IN, first, 0.01));
  callbacks[2].callback(NULL, CL_COMPLETE, callbacks[2].context);
  assert_true(rig->api->reach(device, QUEUE_OUT, other, 10));
  assert_false(rig->api->reach(device, QUEUE_IN, first, 0.01));
  callbacks[0].callback(NULL, CL_COMPLETE, callbacks[0].context);
  assert_true(rig->api->reach(device, QUEUE_IN, first, 10));
  assert_false(rig->api->reach(device, QUEUE_IN, second, 0.01));
  callbacks[1].callback(NULL, CL_COMPLETE, callbacks[1].context);
  OK(rig->api->sync(device, QUEUE_IN, second));
  cl = real;
  rig_free(rig, 0, x);
}

/* A command that fails asynchronously, reported by its event or, without events, by clFinish. */
static void asynchronous_failure(void **state) {
  struct rig *rig = need(state);
  if (!rig->device[1]) SKIP("fewer than two OpenCL devices");
  const struct span y = rig_alloc(rig, 1, 4096);
  rig_put(rig, 1, y, &(int64_t){1}, 8);
  cl.clSetEventCallback = fail_event;
  const situ_status status = add_on(rig, 1, y);
  cl = real;
  assert_int_equal(situ_status_code(status), SITU_UNAVAILABLE);
  assert_non_null(strstr(situ_status_message(status), "OpenCL device 1 ("));
  situ_status_release(status);
  rig_free(rig, 1, y);
}

static void lost_device(void **state) {
  struct rig *rig = need(state);
  if (!rig->device[1]) SKIP("fewer than two OpenCL devices");
  const struct span x = rig_alloc(rig, 0, 4096), y = rig_alloc(rig, 1, 4096);
  rig_put(rig, 0, x, &(int64_t){1}, 8);
  rig_put(rig, 1, y, &(int64_t){1}, 8);
  cl.clFinish = fail_finish;
  cl.clEnqueueMarkerWithWaitList = refuse_event;
  const situ_status status = add_on(rig, 0, x);
  cl = real;
  assert_int_equal(situ_status_code(status), SITU_UNAVAILABLE);
  assert_non_null(strstr(situ_status_message(status), "OpenCL device 0 ("));
  assert_non_null(strstr(situ_status_message(status), "the last kernel being 'add' of 'sum'"));
  assert_non_null(strstr(situ_status_message(status), "CL_OUT_OF_RESOURCES (-5)"));
  situ_status_release(status);
  FAILS(rig->api->write(rig->device[0], QUEUE_IN, x, "", 1), SITU_UNAVAILABLE, "failed");
  OK(add_on(rig, 1, y));
  assert_int_equal(rig_get_number(rig, 1, y), 6);
  rig_free(rig, 0, x);
  rig_free(rig, 1, y);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(kernel_launch_failure),
      cmocka_unit_test(kernel_compile_failure),
      cmocka_unit_test(allocation_failure),
      cmocka_unit_test(overcommitted_memory),
      cmocka_unit_test(kernels_are_cached_on_disk),
      cmocka_unit_test(regions_are_split),
      cmocka_unit_test(invalid_label),
      cmocka_unit_test(event_creation_failure),
      cmocka_unit_test(marks_are_reached_one_by_one),
      cmocka_unit_test(lost_device),
      cmocka_unit_test(asynchronous_failure),
  };
  return cmocka_run_group_tests(tests, open_rig, close_rig);
}
