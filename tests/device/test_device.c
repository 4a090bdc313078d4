/* SPDX-License-Identifier: Apache-2.0
 * test_device.c: one device: opening, description, and the state in a forked child. */
#include <pthread.h>
#include <stdatomic.h>

#include "base/log.h"
#include "device/buffer.h"
#include "support/child.h"
#include "support/two_gpus.h"

#define MIB ((size_t)1 << 20)

static void a_device_is_opened_on_first_use(void **state) {
  (void)state;
  struct device *device = list->devices[1];
  struct memory *memory = NULL;
  assert_null(device->handle);
  OK(device_memory(device, &memory));
  assert_null(memory);
  assert_false(device_holds_memory(device));
  OK(device_open(device));
  void *handle = device->handle;
  assert_non_null(handle);
  OK(device_open(device));
  assert_ptr_equal(device->handle, handle);
  OK(device_memory(device, &memory));
  assert_non_null(memory);
  assert_false(device_holds_memory(device)); /* open, and nothing allocated */
  assert_null(list->devices[2]->handle);
}

/* Invalid options fail on the first allocation and can be corrected. */
static void invalid_options_can_be_corrected(void **state) {
  (void)state;
  struct device *device = list->devices[1];
  struct buffer *buffer = NULL;
  situ_memory_info info;
  OK(situ_devices_configure(&(situ_device_config){.memory.reserve_bytes = 128 * MIB}));
  FAILS(situ_device_memory_info(1, &info), SITU_RESOURCE_EXHAUSTED, "128.00MiB");
  for (int i = 0; i < 2; i++)
    FAILS(buffer_device(device, 8, NULL, &buffer), SITU_RESOURCE_EXHAUSTED, "128.00MiB");
  OK(situ_devices_configure(&(situ_device_config){.memory.reserve_bytes = 32 * MIB}));
  OK(buffer_device(device, 8, NULL, &buffer));
  OK(situ_device_memory_info(1, &info));
  assert_int_equal(info.limit, 32 * MIB);
  FAILS(device_configure(device, &(struct memory_options){0}), SITU_FAILED_PRECONDITION,
        "33554432 bytes are reserved");
  buffer_release(buffer);
}

static void *open_device(void *context) {
  const situ_status status = device_open(context);
  void *handle = status ? NULL : ((struct device *)context)->handle;
  situ_status_release(status);
  return handle;
}

static void concurrent_opens_open_once(void **state) {
  (void)state;
  pthread_t threads[8];
  void *first = NULL;
  for (int i = 0; i < 8; i++) pthread_create(&threads[i], NULL, open_device, list->devices[1]);
  for (int i = 0; i < 8; i++) {
    void *handle = NULL;
    pthread_join(threads[i], &handle);
    assert_non_null(handle);
    if (!first) first = handle;
    assert_ptr_equal(handle, first);
  }
}

static void log_names_follow_the_variable(void **state) {
  (void)state;
  const char full[] = "/job:localhost/replica:0/task:0/device:GPU:1";
  const char legacy[] = "/job:localhost/replica:0/task:0/gpu:1";
  assert_string_equal(device_log_name(list->devices[2]), full);
  setenv("SITU_DEVICE_NAMES", "legacy", 1);
  assert_string_equal(device_log_name(list->devices[2]), legacy);
  setenv("SITU_DEVICE_NAMES", "other", 1);
  assert_string_equal(device_log_name(list->devices[2]), full);
  assert_string_equal(list->devices[2]->description,
                      "device: 1, name: G1, pci bus id: 0000:02:00.0");
}

static situ_status nothing(const union arg *args, int64_t first, int64_t last) {
  (void)args, (void)first, (void)last;
  return NULL;
}

static void virtual_clock_is_reported(void **state) {
  (void)state;
  static const struct kernel kernel = {.name = "nothing", .host = {[SITU_FLOAT] = nothing}};
  const struct launch launch = {.kernel = &kernel, .type = SITU_FLOAT, .flops = 500};
  struct device *device = list->devices[2];
  struct arena arena = {0};
  struct bound_kernel *bound = NULL;
  situ_memory_info info;
  OK(situ_device_memory_info(2, &info));
  assert_float_equal(info.clock, 0, 0);
  OK(device_open(device));
  OK(device->backend->bind(device->handle, &launch, NULL, &arena, &bound));
  OK(device->backend->launch(device->handle, QUEUE_COMPUTE, bound));
  OK(device->backend->sync(device->handle, QUEUE_COMPUTE, 1));
  OK(situ_device_memory_info(2, &info));
  assert_float_equal(info.clock, 0.5, 1e-12);
  OK(situ_device_memory_info(0, &info));
  assert_float_equal(info.clock, 0, 0);
  arena_free(&arena);
}

static void report_is_json(void **state) {
  (void)state;
  struct buffer *buffer = NULL;
  char text[4096] = "";
  FILE *file = tmpfile();
  OK(situ_device_memory_report(0, file));
  OK(situ_device_memory_report(1, file));
  OK(buffer_device(list->devices[1], 1000, &(struct memory_tag){.op = "me"}, &buffer));
  OK(situ_device_memory_report(1, file));
  rewind(file);
  assert_true(fread(text, 1, sizeof text - 1, file) > 0);
  fclose(file);
  assert_int_equal(strncmp(text, "{}\n{}\n{\"device\": ", 17), 0);
  assert_non_null(strstr(text, "\"op\": \"me\""));
  buffer_release(buffer);
}

/* ---- Forks ---- */

static const char forked[] =
    "/job:localhost/replica:0/task:0/device:GPU:0 was opened before this process was forked";

/* A forked child uses a GPU that its parent has opened: calls fail with an explanation and do not
 * hang. */
static bool use_what_was_opened(void *context) {
  struct buffer *inherited = context, *buffer = NULL;
  const situ_code code = SITU_FAILED_PRECONDITION;
  situ_memory_info info;
  situ_device device;
  int count = 0;
  char byte = 0;
  bool ok = child_expects(buffer_device(list->devices[1], 8, NULL, &buffer), code, forked);
  ok = child_expects(buffer_device(list->devices[1], 0, NULL, &buffer), code, forked) && ok;
  ok = child_expects(buffer_read(inherited, 0, &byte, 1), code, forked) && ok;
  ok = child_expects(buffer_write(inherited, 0, &byte, 1), code, forked) && ok;
  ok = child_expects(device_open(list->devices[1]), code, forked) && ok;
  ok = child_expects(situ_device_memory_info(1, &info), code, forked) && ok;
  ok = child_expects(situ_device_trim(1, NULL), code, forked) && ok;
  ok = child_expects(situ_device_reset_peak(1), code, forked) && ok;
  ok = child_expects(situ_device_memory_report(1, stdout), code, forked) && ok;
  buffer_release(inherited);
  /* listing devices does not use them */
  ok = child_expects(situ_devices_count(&count), SITU_OK, "") && count == 3 && ok;
  ok = child_expects(situ_devices_get(1, &device), SITU_OK, "") && ok;
  ok = child_expects(situ_device_memory_info(2, &info), SITU_OK, "") && ok;
  log_warn_once("somebody is at work");
  return ok;
}

/* A GPU that was not open can be opened by the child. */
static bool use_what_was_not(void *context) {
  (void)context;
#ifdef __SANITIZE_THREAD__
  return true; /* it ends children that start threads */
#else
  struct buffer *buffer = NULL;
  char byte = 5;
  bool ok = child_expects(buffer_device(list->devices[2], 8, NULL, &buffer), SITU_OK, "") &&
            child_expects(buffer_write(buffer, 0, &byte, 1), SITU_OK, "");
  byte = 0;
  ok = ok && child_expects(buffer_read(buffer, 0, &byte, 1), SITU_OK, "") && byte == 5;
  buffer_release(buffer);
  return ok;
#endif
}

/* After a reset a child can open devices. */
static bool begin_anew(void *context) {
  buffer_release(context);
  registry_release();
  bool ok = child_expects(situ_devices_reset(), SITU_OK, "") &&
            child_expects(registry_acquire(NULL, false, &list), SITU_OK, "");
#ifndef __SANITIZE_THREAD__
  struct buffer *buffer = NULL;
  ok = ok &&
       child_expects(buffer_device(list->devices[1], 70 * MIB, NULL, &buffer),
                     SITU_RESOURCE_EXHAUSTED, "OOM") &&
       child_expects(buffer_device(list->devices[1], 8, NULL, &buffer), SITU_OK, "");
  buffer_release(buffer);
#endif
  return ok;
}

static void children_get_an_error(void **state) {
  (void)state;
  struct buffer *buffer = NULL;
  char byte = 7;
  OK(situ_devices_configure(&(situ_device_config){.memory.limit_bytes = 32 * MIB}));
  OK(buffer_device(list->devices[1], 8, NULL, &buffer));
  OK(buffer_write(buffer, 0, &byte, 1));
  assert_true(child_succeeds(use_what_was_opened, buffer));
  assert_true(child_succeeds(use_what_was_not, NULL));
  byte = 0;
  OK(buffer_read(buffer, 0, &byte, 1)); /* the parent still works */
  assert_int_equal(byte, 7);
  buffer_release(buffer);
}

static void children_may_reset_devices(void **state) {
  (void)state;
  struct buffer *buffer = NULL;
  OK(buffer_device(list->devices[1], 8, NULL, &buffer));
  assert_true(child_succeeds(begin_anew, buffer));
  buffer_release(buffer);
}

static bool list_after_fork(void *context) {
  (void)context;
  int count = 0;
  return child_expects(situ_devices_count(&count), SITU_OK, "") && count == 3 &&
         use_what_was_not(NULL);
}

static void children_of_a_parent_that_only_listed(void **state) {
  (void)state;
  assert_true(child_succeeds(list_after_fork, NULL));
}

static atomic_bool enough;

static void list_devices(void) {
  int count;
  situ_status_release(situ_devices_count(&count));
}

static void query_memory(void) {
  situ_memory_info info;
  situ_status_release(situ_device_memory_info(1, &info));
}

static void log_something(void) { log_warn_once("somebody is at work"); }

static void use_memory(void) {
  struct buffer *buffer = NULL;
  situ_status_release(buffer_device(list->devices[1], 1000, NULL, &buffer));
  if (buffer) situ_status_release(buffer_write(buffer, 0, "x", 1));
  buffer_release(buffer);
}

/* How often to try. Not with sanitizers, whose own locks may be held in a child, nor in valgrind,
 * where threads take turns. */
static int forks(void) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return 0;
#else
  const char *preload = getenv("LD_PRELOAD");
  return preload && strstr(preload, "valgrind") ? 0 : 60;
#endif
}

struct work {
  void (*body)(void);
};

/* Each holds a lock of the device layer most of the time. */
static const struct work works[] = {{list_devices}, {query_memory}, {log_something}, {use_memory}};

static void *keep_busy(void *context) {
  const struct work *work = context;
  while (!atomic_load(&enough)) work->body();
  return NULL;
}

static void children_of_a_busy_parent_do_not_hang(void **state) {
  (void)state;
  struct buffer *buffer = NULL;
  OK(buffer_device(list->devices[1], 8, NULL, &buffer));
  log_something(); /* once for all children */
  bool ok = true;
  for (size_t w = 0; w < COUNT_OF(works) && forks() && ok; w++) {
    pthread_t threads[2];
    atomic_store(&enough, false);
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, keep_busy, (void *)&works[w]);
    for (int i = 0; i < forks() && ok; i++) ok = child_succeeds(use_what_was_opened, buffer);
    atomic_store(&enough, true);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  }
  buffer_release(buffer);
  assert_true(ok);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_device_is_opened_on_first_use),
      TEST(invalid_options_can_be_corrected),
      TEST(concurrent_opens_open_once),
      TEST(log_names_follow_the_variable),
      TEST(virtual_clock_is_reported),
      TEST(report_is_json),
      TEST(children_get_an_error),
      TEST(children_may_reset_devices),
      TEST(children_of_a_parent_that_only_listed),
      TEST(children_of_a_busy_parent_do_not_hang),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
