/* SPDX-License-Identifier: Apache-2.0
 * test_discovery.c: device discovery: visible GPUs, virtual devices, and required devices. */
#include "device/buffer.h"
#include "device/registry.h"
#include "support/capture.h"
#include "support/clean.h"
#include "support/listing.h"
#include "support/threads.h"

static const char four[] = "G0@0000:02:00.0,G1@0000:03:00.0,G2@0000:83:00.0,G3@0001:84:00.0";

/* ---- Visibility ---- */

static const struct {
  const char *value, *models;
} forms[] = {
    {"1", "G1"},
    {"0,1", "G0 G1"},
    {"\"0,1\"", "G0 G1"},
    {"0,2,3", "G0 G2 G3"},
    {"", ""},
    {"\"\"", ""},
    {"3,0", "G3 G0"},
    {" 2 , 1 ", "G2 G1"},
    {"-1", ""},
    {"0,2,-1,1", "G0 G2"},
    {"0,9,1", "G0"},
    {"none", ""},
    {"1,1", ""},
    {"0000:83:00.0,03:00.0", "G2 G1"},
    {"0001:84:00.0", "G3"},
    {"GPU-51710000-0000-4000-8000-000000000002", "G2"},
    {NULL, "G0 G1 G2 G3"},
};

static void variables_mask_and_reorder(void **state) {
  static const char *const variables[] = {"CUDA_VISIBLE_DEVICES", "SITU_VISIBLE_DEVICES"};
  struct capture capture;
  capture_begin(&capture); /* warnings are tested below */
  for (size_t v = 0; v < COUNT_OF(variables); v++)
    for (size_t i = 0; i < COUNT_OF(forms); i++) {
      clean_devices(state);
      setenv("SITU_SIM_GPUS", four, 1);
      if (forms[i].value) setenv(variables[v], forms[i].value, 1);
      expect_gpus(forms[i].models);
    }
  free(capture_end(&capture));
}

static void situ_variable_and_config_take_precedence(void **state) {
  (void)state;
  setenv("SITU_SIM_GPUS", four, 1);
  setenv("CUDA_VISIBLE_DEVICES", "0", 1);
  setenv("SITU_VISIBLE_DEVICES", "1,2", 1);
  expect_gpus("G1 G2");
  OK(situ_devices_reset());
  OK(situ_devices_configure(&(situ_device_config){.visible_devices = "3"}));
  expect_gpus("G3");
  OK(situ_devices_reset());
  OK(situ_devices_configure(&(situ_device_config){.sim_gpus = "G0", .visible_devices = "0"}));
  expect_gpus("G0"); /* also for GPUs of the config */
}

static void variables_are_read_when_devices_are_first_listed(void **state) {
  (void)state;
  setenv("SITU_SIM_GPUS", "G0,G1", 1);
  OK(situ_devices_configure(&(situ_device_config){.memory.growth = true}));
  setenv("CUDA_VISIBLE_DEVICES", "1", 1);
  expect_gpus("G1");
  setenv("CUDA_VISIBLE_DEVICES", "0", 1);
  setenv("SITU_SIM_GPUS", "G0,G1,G2", 1);
  expect_gpus("G1");
  OK(situ_devices_reset());
  expect_gpus("G0");
}

static void descriptions_count_after_the_mask(void **state) {
  (void)state;
  setenv("SITU_SIM_GPUS", four, 1);
  setenv("CUDA_VISIBLE_DEVICES", "3,2,0", 1);
  OK(situ_devices_configure(&(situ_device_config){.visible_device_list = "2,0"}));
  expect_gpus("G0 G3");
  assert_string_equal(get(1).description, "device: 2, name: G0, pci bus id: 0000:02:00.0");
  assert_string_equal(get(2).description, "device: 0, name: G3, pci bus id: 0001:84:00.0");
  assert_string_equal(get(0).description, "");
}

/* A config that fails has no effect. */
static void invalid_lists_have_no_effect(void **state) {
  (void)state;
  static const struct {
    const char *list, *text;
  } cases[] = {
      {"0,abc",
       "Could not parse entry in 'visible_device_list': 'abc'. visible_device_list = 0,abc"},
      {"100", "'visible_device_list' listed an invalid GPU id '100' but visible device count is 2"},
      {"0,0", "visible_device_list contained a duplicate entry: 0,0"},
  };
  const struct device_list *list = NULL;
  setenv("SITU_SIM_GPUS", "G0,G1", 1);
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    const situ_device_config config = {.visible_device_list = cases[i].list};
    FAILS(registry_acquire(&config, false, &list), SITU_INVALID_ARGUMENT, cases[i].text);
  }
  const situ_device_config bad = {.sim_gpus = "G0@nowhere"};
  FAILS(registry_acquire(&bad, false, &list), SITU_INVALID_ARGUMENT, "expected a PCI bus id");
  expect_gpus("G0 G1");
}

static void lists_are_not_read_without_gpus(void **state) {
  (void)state;
  const situ_device_config pinned = {.visible_device_list = "0,abc"};
  OK(situ_devices_configure(&pinned));
  expect_gpus("");
  setenv("SITU_SIM_GPUS", "G0,G1", 1);
  OK(situ_devices_reset());
  OK(situ_devices_configure(
      &(situ_device_config){.visible_device_list = "7", .gpu_devices = SITU_NO_GPUS}));
  expect_gpus("");
}

/* A failed configuration stays until it is replaced. */
static void invalid_configurations_can_be_replaced(void **state) {
  (void)state;
  int count = 0;
  OK(situ_devices_configure(&(situ_device_config){.sim_gpus = "G0=12XB"}));
  for (int i = 0; i < 2; i++)
    FAILS(situ_devices_count(&count), SITU_INVALID_ARGUMENT, "expected a size");
  OK(situ_devices_configure(&(situ_device_config){.sim_gpus = "G0=12GB"}));
  expect_gpus("G0");
  assert_int_equal(get(1).memory, 12000000000);
}

static void counts_keep_the_first(void **state) {
  (void)state;
  setenv("SITU_SIM_GPUS", four, 1);
  OK(situ_devices_configure(&(situ_device_config){.gpu_devices = 2}));
  expect_gpus("G0 G1");
  OK(situ_devices_reset());
  OK(situ_devices_configure(&(situ_device_config){.gpu_devices = 9}));
  expect_gpus("G0 G1 G2 G3");
  OK(situ_devices_reset());
  OK(situ_devices_configure(&(situ_device_config){.gpu_devices = SITU_NO_GPUS, .cpu_devices = 3}));
  assert_int_equal(count_devices(), 3);
  assert_string_equal(get(2).name, "/job:localhost/replica:0/task:0/device:CPU:2");
  FAILS(situ_devices_configure(&(situ_device_config){.cpu_devices = -4}), SITU_INVALID_ARGUMENT,
        "cpu_devices is -4");
}

/* ---- Virtual devices ---- */

static void gpus_are_split_into_virtual_devices(void **state) {
  (void)state;
  const situ_virtual_device pieces[] = {{0, 256 * MIB}, {0, 512 * MIB}, {2, GIB}};
  setenv("SITU_SIM_GPUS", "G0=2GiB,G1=2GiB,G2=2GiB", 1);
  OK(situ_devices_configure(
      &(situ_device_config){.virtual_devices = pieces, .n_virtual_devices = 3}));
  expect_gpus("G0 G0 G1 G2");
  assert_int_equal(memory_of("/gpu:0").limit, 256 * MIB);
  assert_int_equal(memory_of("/gpu:1").limit, 512 * MIB);
  assert_int_equal(memory_of("/gpu:2").limit, 2 * GIB - 300 * MIB);
  assert_int_equal(memory_of("/gpu:3").limit, GIB);
  assert_string_equal(get(2).description, get(1).description);
  const struct device_list *list = NULL;
  OK(registry_acquire(NULL, false, &list));
  struct buffer *a = NULL, *b = NULL;
  OK(buffer_device(list->devices[1], 200 * MIB, NULL, &a));
  OK(buffer_device(list->devices[2], 500 * MIB, NULL, &b));
  FAILS(buffer_device(list->devices[1], 100 * MIB, NULL, &a), SITU_RESOURCE_EXHAUSTED, "GPU:0");
  uint64_t left = 0; /* both allocate from one memory */
  OK(list->devices[1]->backend->available(list->devices[1]->handle, &left));
  assert_int_equal(left, 2 * GIB - 256 * MIB - 512 * MIB);
  buffer_release(a);
  buffer_release(b);
  registry_release();
}

static void invalid_virtual_devices_are_rejected(void **state) {
  (void)state;
  const situ_virtual_device beyond = {2, GIB}, empty = {1, 0}, good = {0, GIB};
  const situ_device_memory own = {"/gpu:0", {.limit_bytes = MIB}};
  const struct device_list *list = NULL;
  setenv("SITU_SIM_GPUS", "2", 1);
  situ_device_config config = {.virtual_devices = &beyond, .n_virtual_devices = 1};
  FAILS(registry_acquire(&config, false, &list), SITU_UNKNOWN,
        "Not enough GPUs to create virtual devices.");
  config.virtual_devices = &empty;
  FAILS(registry_acquire(&config, false, &list), SITU_INVALID_ARGUMENT, "needs a memory limit");
  config.virtual_devices = &good;
  config.memory.fraction = 0.5;
  FAILS(registry_acquire(&config, false, &list), SITU_INVALID_ARGUMENT,
        "It's invalid to set per_process_gpu_memory_fraction when virtual_devices is set.");
  config.memory.fraction = 0;
  config.device_memory = &own;
  config.n_device_memory = 1;
  FAILS(registry_acquire(&config, false, &list), SITU_INVALID_ARGUMENT,
        "whose limit is set by virtual_devices");
  config.n_device_memory = 0;
  OK(registry_acquire(&config, false, &list));
  registry_release();
  FAILS(registry_acquire(&(situ_device_config){.memory.limit_bytes = 2 * GIB}, true, &list),
        SITU_FAILED_PRECONDITION, "GPU:0: limit_bytes=1.00GiB is in effect");
  OK(registry_acquire(&(situ_device_config){.memory.growth = true}, true, &list));
  registry_release();
}

/* ---- Requirements ---- */

static void expect_missing(const char *require, const char *part) {
  int count;
  setenv("SITU_REQUIRE", require, 1);
  FAILS(situ_devices_count(&count), SITU_FAILED_PRECONDITION, part);
}

static void requirements_fail_with_the_reason(void **state) {
  (void)state;
  const struct device_list *list = NULL;
  int count;
  expect_missing("gpu", "gpu is required, but 0 GPUs are visible.");
  expect_missing("gpu", "\n  sim: none are configured (SITU_SIM_GPUS, --gpus, or the config)");
  setenv("SITU_SIM_GPUS", "2", 1);
  expect_missing("gpu:3", "gpu:3 is required, but 2 GPUs are visible.");
  setenv("CUDA_VISIBLE_DEVICES", "1", 1);
  expect_missing("gpu:2", "gpu:2 is required, but 1 GPU is visible.");
  expect_missing("gpu:2", "\n  CUDA_VISIBLE_DEVICES=1 shows 1 of 2 GPUs");
  unsetenv("CUDA_VISIBLE_DEVICES");
  /* CPUs do not count */
  const situ_device_config config = {.cpu_devices = 4, .gpu_devices = 1};
  FAILS(registry_acquire(&config, false, &list), SITU_FAILED_PRECONDITION,
        "\n  gpu_devices=1 shows 1 of 2 GPUs");
  setenv("SITU_REQUIRE", "two", 1);
  FAILS(situ_devices_count(&count), SITU_INVALID_ARGUMENT, "SITU_REQUIRE is 'two'");
  setenv("SITU_REQUIRE", "gpu:2", 1);
  assert_int_equal(count_devices(), 3);
}

static void configs_may_require(void **state) {
  (void)state;
  const struct device_list *list = NULL;
  const situ_device_config two = {.require = "gpu:2"}, one = {.require = "gpu"};
  setenv("SITU_SIM_GPUS", "1", 1);
  FAILS(registry_acquire(&two, false, &list), SITU_FAILED_PRECONDITION, "gpu:2 is required");
  OK(registry_acquire(&one, false, &list));
  FAILS(registry_acquire(&two, false, &list), SITU_FAILED_PRECONDITION, "gpu:2 is required");
  FAILS(situ_devices_configure(&two), SITU_FAILED_PRECONDITION, "gpu:2 is required");
  OK(situ_devices_configure(&one));
  registry_release();
  assert_int_equal(count_devices(), 2); /* failures leave nothing behind */
}

/* ---- Warnings and side effects ---- */

static void listing_opens_and_logs_nothing(void **state) {
  (void)state;
  const int threads = threads_count();
  struct capture capture;
  setenv("SITU_SIM_GPUS", "64", 1);
  capture_begin(&capture);
  const int count = count_devices();
  for (int i = 0; i < count; i++) {
    situ_memory_info info;
    get(i);
    OK(situ_device_memory_info(i, &info));
    OK(situ_device_trim(i, NULL));
    OK(situ_device_reset_peak(i));
    assert_int_equal(info.reserved + info.current + info.peak + info.largest_free, 0);
    assert_true(info.limit > 0);
  }
  char *text = capture_end(&capture);
  assert_int_equal(count, 65);
  assert_string_equal(text, "");
  assert_int_equal(threads_count(), threads);
  const struct device_list *list = NULL;
  OK(registry_acquire(NULL, false, &list));
  for (int i = 1; i < list->count; i++) assert_null(list->devices[i]->handle);
  registry_release();
  free(text);
}

static void truncated_list_is_logged_once(void **state) {
  struct capture capture;
  capture_begin(&capture);
  for (int i = 0; i < 3; i++) {
    clean_devices(state);
    setenv("SITU_SIM_GPUS", "4", 1);
    setenv("CUDA_VISIBLE_DEVICES", "3,17,0", 1);
    count_devices();
    count_devices();
  }
  char *text = capture_end(&capture);
  assert_string_equal(
      text, "situ: CUDA_VISIBLE_DEVICES=3,17,0: '17' names no GPU, so the list ends before it.\n");
  free(text);
}

static void growth_is_forced_by_true_or_false_only(void **state) {
  (void)state;
  struct capture capture;
  setenv("SITU_SIM_GPUS", "3", 1);
  setenv("TF_FORCE_GPU_ALLOW_GROWTH", "yes", 1);
  capture_begin(&capture);
  count_devices();
  char *text = capture_end(&capture);
  assert_int_equal(capture_lines(text), 1);
  assert_non_null(strstr(text, "TF_FORCE_GPU_ALLOW_GROWTH is 'yes', neither true nor false"));
  free(text);
}

#define TEST(name) cmocka_unit_test_setup(name, clean_devices)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(variables_mask_and_reorder),
      TEST(situ_variable_and_config_take_precedence),
      TEST(variables_are_read_when_devices_are_first_listed),
      TEST(descriptions_count_after_the_mask),
      TEST(invalid_lists_have_no_effect),
      TEST(lists_are_not_read_without_gpus),
      TEST(invalid_configurations_can_be_replaced),
      TEST(counts_keep_the_first),
      TEST(gpus_are_split_into_virtual_devices),
      TEST(invalid_virtual_devices_are_rejected),
      TEST(requirements_fail_with_the_reason),
      TEST(configs_may_require),
      TEST(listing_opens_and_logs_nothing),
      TEST(truncated_list_is_logged_once),
      TEST(growth_is_forced_by_true_or_false_only),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
