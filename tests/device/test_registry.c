/* SPDX-License-Identifier: Apache-2.0
 * test_registry.c: the devices of the process: which options can change, and when. */
#include <pthread.h>

#include "device/buffer.h"
#include "device/registry.h"
#include "support/capture.h"
#include "support/clean.h"
#include "support/listing.h"

/* ---- Reconfiguration ---- */

static void conflicts_are_logged_once_with_both_values(void **state) {
  (void)state;
  const struct device_list *list = NULL;
  const situ_device_config first = {.sim_gpus = "G0,G1", .visible_device_list = "1"};
  const situ_device_config second = {.sim_gpus = "G0,G1", .visible_device_list = "0"};
  OK(registry_acquire(&first, false, &list));
  struct capture capture;
  capture_begin(&capture);
  for (int i = 0; i < 3; i++) {
    OK(registry_acquire(&second, false, &list));
    OK(registry_acquire(&first, false, &list));
    OK(registry_acquire(NULL, true, &list));
  }
  char *text = capture_end(&capture);
  assert_int_equal(capture_lines(text), 1);
  assert_non_null(strstr(text, "visible_device_list: '1' is in effect, '0' was requested"));
  FAILS(registry_acquire(&second, true, &list), SITU_FAILED_PRECONDITION,
        "visible_device_list: '1' is in effect, '0' was requested");
  FAILS(situ_devices_configure(&second), SITU_FAILED_PRECONDITION, "visible_device_list: '1'");
  OK(registry_acquire(&first, true, &list));
  expect_gpus("G1");
  for (int i = 0; i < 11; i++) registry_release();
  free(text);
}

static void environment_stays_in_effect(void **state) {
  (void)state;
  const struct device_list *list = NULL;
  setenv("SITU_SIM_GPUS", "G0,G1", 1);
  setenv("CUDA_VISIBLE_DEVICES", "1", 1);
  count_devices();
  OK(situ_devices_configure(&(situ_device_config){
      .sim_gpus = "G0,G1", .visible_devices = "1", .gpu_devices = 1, .cpu_devices = 1}));
  FAILS(registry_acquire(&(situ_device_config){.sim_gpus = "8"}, true, &list),
        SITU_FAILED_PRECONDITION, "sim_gpus: 'G0,G1' is in effect, '8' was requested");
}

/* Allocates one byte on a GPU. */
static struct buffer *use(const char *name) {
  const struct device_list *list = NULL;
  struct buffer *buffer = NULL;
  int number = 0;
  OK(situ_devices_find(name, &number));
  OK(registry_acquire(NULL, false, &list));
  OK(buffer_device(list->devices[number], 1, NULL, &buffer));
  registry_release();
  return buffer;
}

static void memory_options_are_fixed_once_memory_is_held(void **state) {
  (void)state;
  const struct device_list *list = NULL;
  const situ_device_memory first = {"/gpu:1", {.limit_bytes = 100 * MIB}};
  setenv("SITU_SIM_GPUS", "G0=1GiB,G1=1GiB", 1);
  setenv("SITU_GPU_MEMORY", "0:limit=600MiB", 1);
  assert_int_equal(memory_of("/gpu:0").limit, 600 * MIB);
  OK(situ_devices_configure(&(situ_device_config){.memory.limit_bytes = 700 * MIB}));
  OK(situ_devices_configure(&(situ_device_config){.device_memory = &first, .n_device_memory = 1}));
  assert_int_equal(memory_of("/gpu:0").limit, 700 * MIB);
  assert_int_equal(memory_of("/gpu:1").limit, 100 * MIB);
  struct buffer *buffer =
      use("/gpu:0"); /* the options of GPU:0 are fixed from here on, those of GPU:1 are not */
  assert_int_equal(memory_of("/gpu:0").reserved, 700 * MIB);
  const situ_device_config later = {.memory.reserve_bytes = 24 * MIB};
  FAILS(situ_devices_configure(&later), SITU_FAILED_PRECONDITION,
        "GPU:0: limit_bytes=700.00MiB is in effect, reserve_bytes=24.00MiB was requested");
  assert_int_equal(memory_of("/gpu:1").limit, 100 * MIB); /* no partial effect */
  OK(registry_acquire(&later, false, &list));             /* a session only warns */
  registry_release();
  assert_int_equal(memory_of("/gpu:0").limit, 700 * MIB);
  assert_int_equal(memory_of("/gpu:1").limit, 1000 * MIB);
  OK(situ_devices_configure(&(situ_device_config){.memory.limit_bytes = 700 * MIB}));
  buffer_release(buffer);
}

static void options_may_change_after_trim(void **state) {
  (void)state;
  uint64_t bytes = 0, left = 0;
  const struct device_list *list = NULL;
  setenv("SITU_SIM_GPUS", "G0=1GiB", 1);
  OK(situ_devices_configure(&(situ_device_config){.memory.fraction = 0.5}));
  OK(registry_acquire(NULL, false, &list));
  buffer_release(use("/gpu:0"));
  const struct device *device = list->devices[1];
  OK(device->backend->available(device->handle, &left));
  assert_int_equal(left, 512 * MIB);
  const situ_device_config other = {.memory.limit_bytes = 64 * MIB, .memory.growth = true};
  FAILS(situ_devices_configure(&other), SITU_FAILED_PRECONDITION, "fraction=0.5 is in effect");
  OK(situ_device_trim(1, &bytes));
  assert_int_equal(bytes, 512 * MIB);
  OK(device->backend->available(device->handle, &left));
  assert_int_equal(left, GIB); /* as much as at the start */
  OK(situ_devices_configure(&other));
  struct buffer *buffer = use("/gpu:0");
  assert_int_equal(memory_of("/gpu:0").limit, 64 * MIB);
  assert_true(memory_of("/gpu:0").reserved < 64 * MIB);
  OK(situ_device_trim(1, &bytes));
  assert_int_equal(bytes, 0); /* regions in use are kept */
  buffer_release(buffer);
  registry_release();
}

static void limits_are_reported(void **state) {
  (void)state;
  const struct {
    situ_memory_config config;
    uint64_t limit;
  } cases[] = {
      {{0}, 4 * GIB - 300 * MIB},
      {{.limit_bytes = 3 * GIB}, 3 * GIB},
      {{.limit_bytes = 99 * GIB}, 4 * GIB},
      {{.reserve_bytes = GIB}, 3 * GIB},
      {{.fraction = 0.25}, GIB},
      {{.fraction = 0.25, .reserve_bytes = GIB, .limit_bytes = MIB}, MIB},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    clean_devices(state);
    setenv("SITU_SIM_GPUS", "G0=4GiB", 1);
    OK(situ_devices_configure(&(situ_device_config){.memory = cases[i].config}));
    assert_int_equal(memory_of("/gpu:0").limit, cases[i].limit);
    buffer_release(use("/gpu:0"));
    assert_int_equal(memory_of("/gpu:0").limit, cases[i].limit);
  }
}

static void options_for_missing_devices_fail(void **state) {
  (void)state;
  const struct device_list *list = NULL;
  const situ_device_memory third = {"/gpu:2", {.growth = true}};
  const situ_device_config config = {.device_memory = &third, .n_device_memory = 1};
  setenv("SITU_SIM_GPUS", "2", 1);
  FAILS(registry_acquire(&config, false, &list), SITU_INVALID_ARGUMENT,
        "device_memory names '/gpu:2', but the device does not exist: 2 GPUs are visible.");
  count_devices();
  FAILS(registry_acquire(&config, false, &list), SITU_INVALID_ARGUMENT, "'/gpu:2'");
}

/* ---- Reset and threads ---- */

static void reset_forgets_everything(void **state) {
  (void)state;
  const struct device_list *list = NULL;
  OK(situ_devices_configure(&(situ_device_config){.sim_gpus = "G0=1GiB", .memory.growth = true}));
  struct buffer *buffer = use("/gpu:0");
  OK(registry_acquire(NULL, false, &list));
  FAILS(situ_devices_reset(), SITU_FAILED_PRECONDITION, "1 session(s) and 1 tensor(s)");
  registry_release();
  FAILS(situ_devices_reset(), SITU_FAILED_PRECONDITION, "0 session(s) and 1 tensor(s)");
  buffer_release(buffer);
  OK(situ_devices_reset());
  OK(situ_devices_reset());
  expect_gpus("");
}

/* Calls all functions from every thread. */
static void *call_everything(void *context) {
  const int seed = *(int *)context;
  for (int i = 0; i < 300; i++) {
    const struct device_list *list = NULL;
    struct buffer *buffer = NULL;
    situ_memory_info info;
    const situ_device_config config = {
        .memory = {.limit_bytes = (uint64_t)(8 + i % 3) * MIB, .growth = true}};
    const situ_status status = registry_acquire(i % 4 ? NULL : &config, true, &list);
    if (!status) {
      struct device *device = list->devices[1 + (seed + i) % 2];
      situ_status_release(buffer_device(device, 1000, NULL, &buffer));
      situ_status_release(situ_device_memory_info(device->number, &info));
      situ_status_release(situ_device_reset_peak(device->number));
      buffer_release(buffer);
      if (i % 5 == 0) situ_status_release(situ_device_trim(device->number, NULL));
      registry_release();
    }
    situ_status_release(status);
    if (i % 10 == 0) situ_status_release(situ_devices_reset());
    if (i % 7 == 0) situ_status_release(situ_devices_configure(&config));
  }
  return NULL;
}

static void threads_call_everything(void **state) {
  (void)state;
  pthread_t threads[4];
  int seeds[] = {0, 1, 2, 3};
  setenv("SITU_SIM_GPUS", "G0=64MiB,G1=64MiB", 1);
  for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, call_everything, &seeds[i]);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  OK(situ_devices_reset()); /* no sessions or tensors remain */
  expect_gpus("G0 G1");
}

static void invalid_arguments_fail(void **state) {
  (void)state;
  int number;
  situ_device device;
  situ_memory_info info;
  setenv("SITU_SIM_GPUS", "1", 1);
  FAILS(situ_devices_configure(NULL), SITU_INVALID_ARGUMENT, "NULL");
  FAILS(situ_devices_count(NULL), SITU_INVALID_ARGUMENT, "NULL");
  FAILS(situ_devices_get(0, NULL), SITU_INVALID_ARGUMENT, "NULL");
  FAILS(situ_devices_get(-1, &device), SITU_INVALID_ARGUMENT,
        "Device -1 does not exist; there are 2 devices");
  FAILS(situ_devices_get(2, &device), SITU_INVALID_ARGUMENT, "Device 2 does not exist");
  FAILS(situ_devices_find(NULL, &number), SITU_INVALID_ARGUMENT, "NULL");
  FAILS(situ_devices_find("/gpu:0", NULL), SITU_INVALID_ARGUMENT, "NULL");
  FAILS(situ_devices_find("/gpu:1", &number), SITU_NOT_FOUND, "device:GPU:0");
  FAILS(situ_devices_find("/gpu:", &number), SITU_INVALID_ARGUMENT, "/gpu:");
  FAILS(situ_device_memory_info(1, NULL), SITU_INVALID_ARGUMENT, "NULL");
  FAILS(situ_device_memory_info(7, &info), SITU_INVALID_ARGUMENT, "7");
  FAILS(situ_device_reset_peak(7), SITU_INVALID_ARGUMENT, "7");
  FAILS(situ_device_trim(7, NULL), SITU_INVALID_ARGUMENT, "7");
  FAILS(situ_device_memory_report(0, NULL), SITU_INVALID_ARGUMENT, "NULL");
  OK(situ_devices_find("GPU:0", &number));
  assert_int_equal(number, 1);
}

static void sessions_have_their_own_number_of_cpus(void **state) {
  (void)state;
  const struct device_list *first, *more, *same, *fewer;
  OK(registry_acquire(&(situ_device_config){.sim_gpus = "2", .cpu_devices = 2}, true, &first));
  OK(registry_acquire(&(situ_device_config){.cpu_devices = 4}, true, &more));
  OK(registry_acquire(&(situ_device_config){.cpu_devices = 4}, true, &same));
  OK(registry_acquire(&(situ_device_config){.cpu_devices = 1}, true, &fewer));
  assert_int_equal(first->count, 4);
  assert_int_equal(more->count, 6);
  assert_ptr_equal(more, same);
  for (int i = 0; i < more->count; i++) assert_int_equal(more->devices[i]->number, i);
  for (int i = 0; i < first->count; i++) assert_ptr_equal(more->devices[i], first->devices[i]);
  assert_string_equal(more->devices[4]->full, "/job:localhost/replica:0/task:0/device:CPU:2");
  assert_string_equal(more->devices[5]->full, "/job:localhost/replica:0/task:0/device:CPU:3");
  assert_true(device_is_usable(more, more->devices[5]));
  assert_true(device_is_usable(fewer, fewer->devices[0]));
  assert_false(device_is_usable(fewer, fewer->devices[1]));
  assert_true(device_is_usable(fewer, fewer->devices[2]));
  FAILS(registry_acquire(&(situ_device_config){.cpu_devices = 99}, true, &more),
        SITU_INVALID_ARGUMENT, "cpu_devices is 99");
  for (int i = 0; i < 4; i++) registry_release();
  OK(situ_devices_reset());
}

#define TEST(name) cmocka_unit_test_setup(name, clean_devices)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(conflicts_are_logged_once_with_both_values),
      TEST(environment_stays_in_effect),
      TEST(sessions_have_their_own_number_of_cpus),
      TEST(memory_options_are_fixed_once_memory_is_held),
      TEST(options_may_change_after_trim),
      TEST(limits_are_reported),
      TEST(options_for_missing_devices_fail),
      TEST(reset_forgets_everything),
      TEST(threads_call_everything),
      TEST(invalid_arguments_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
