/* SPDX-License-Identifier: Apache-2.0
 * test_device_options.c: device options: copying, merging, comparing, and derived options. */
#include "device/device_options.h"
#include "support/clean.h"

#define GIB ((uint64_t)1 << 30)
#define MIB ((uint64_t)1 << 20)

static struct device_name gpu(int index) {
  struct device_name name = {0};
  char text[64];
  snprintf(text, sizeof text, "/job:localhost/replica:0/task:0/device:GPU:%d", index);
  OK(name_parse(text, &name));
  return name;
}

/* Checks the memory options of a GPU, such as "limit_bytes=1.00GiB growth". */
static void expect_options(const struct device_options *request, int index, const char *expected) {
  struct memory_options options;
  char text[160];
  const struct device_name name = gpu(index);
  OK(device_options_memory(request, &name, &options));
  assert_string_equal(device_options_print_memory(&options, text), expected);
}

static const char the_default[] = "the default (nearly all, at once)";

/* ---- SITU_GPU_MEMORY ---- */

static void expect_parsed(const char *text, int index, situ_memory_config expected) {
  situ_memory_config have;
  memset(&have, 0xff, sizeof have);
  OK(device_options_parse_memory(text, index, &have));
  assert_int_equal(have.limit_bytes, expected.limit_bytes);
  assert_int_equal(have.reserve_bytes, expected.reserve_bytes);
  assert_float_equal(have.fraction, expected.fraction, 1e-15);
  assert_int_equal(have.growth, expected.growth);
  assert_int_equal(have.reference, expected.reference);
}

static void variable_is_parsed(void **state) {
  (void)state;
  expect_parsed(NULL, 0, (situ_memory_config){0});
  expect_parsed("", 0, (situ_memory_config){0});
  expect_parsed("  ", 0, (situ_memory_config){0});
  expect_parsed("growth", 3, (situ_memory_config){.growth = true});
  expect_parsed("fraction=0.4", 0, (situ_memory_config){.fraction = 0.4});
  expect_parsed("limit=2GiB", 0, (situ_memory_config){.limit_bytes = 2 * GIB});
  expect_parsed("reserve=500MB", 0, (situ_memory_config){.reserve_bytes = 500000000});
  expect_parsed(" growth ; limit = 4GiB ", 0,
                (situ_memory_config){.growth = true, .limit_bytes = 4 * GIB});
  expect_parsed("reference;growth", 0, (situ_memory_config){.reference = true, .growth = true});
  const char each[] = "0:limit=2GiB,1:fraction=0.5;growth";
  expect_parsed(each, 0, (situ_memory_config){.limit_bytes = 2 * GIB});
  expect_parsed(each, 1, (situ_memory_config){.fraction = 0.5, .growth = true});
  expect_parsed(each, 2, (situ_memory_config){0});
  /* options of one GPU take precedence over those for all, in any order */
  expect_parsed("1:limit=1GiB,growth;limit=2GiB", 1,
                (situ_memory_config){.limit_bytes = GIB, .growth = true});
  expect_parsed("fraction=0.5,1:reserve=1GiB", 1, (situ_memory_config){.reserve_bytes = GIB});
}

static void malformed_variable_is_explained(void **state) {
  (void)state;
  static const struct {
    const char *text, *part;
  } cases[] = {
      {"grow", "'grow' is not an option"},
      {"growth=1", "'growth=1' is not an option"},
      {"growth,", "'' is not an option"},
      {"0:", "'' is not an option"},
      {"x:growth", "'x:growth' is not an option"},
      {"limit", "'limit' is not an option"},
      {"limit=", "'' of limit is not a size"},
      {"limit=2Gib2", "'2Gib2' of limit is not a size"},
      {"limit=0", "'0' of limit is not a size"},
      {"reserve=-1", "'-1' of reserve is not a size"},
      {"fraction=half", "'half' of fraction is not a number above 0"},
      {"fraction=0", "'0' of fraction is not a number above 0"},
      {"fraction=nan", "'nan' of fraction"},
      {"fraction=7", "'7' of fraction is not a number above 0 and at most 1"},
      {"fraction=1.0001", "'1.0001' of fraction is not a number above 0 and at most 1"},
      {"1:fraction=40", "'40' of fraction"},
      {"7:limit=x", "'x' of limit"}, /* also for a GPU that does not exist */
      {"12345678:growth", "is not an option"},
  };
  situ_memory_config config;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    FAILS(device_options_parse_memory(cases[i].text, 0, &config), SITU_INVALID_ARGUMENT,
          cases[i].part);
    FAILS(device_options_parse_memory(cases[i].text, 0, &config), SITU_INVALID_ARGUMENT,
          "SITU_GPU_MEMORY");
  }
}

/* ---- Precedence ---- */

static void specific_options_take_precedence(void **state) {
  (void)state;
  struct device_options request = {0};
  expect_options(&request, 0, the_default);
  setenv("SITU_GPU_MEMORY", "growth;limit=1GiB,2:reserve=1GiB", 1);
  expect_options(&request, 0, "limit_bytes=1.00GiB growth");
  expect_options(&request, 2, "reserve_bytes=1.00GiB growth");
  const situ_device_memory one = {"/gpu:1", {.limit_bytes = 3 * GIB}};
  const situ_device_config config = {
      .memory.fraction = 0.25, .device_memory = &one, .n_device_memory = 1};
  OK(device_options_add(&request, &config));
  expect_options(&request, 0, "fraction=0.25 growth");
  expect_options(&request, 1, "limit_bytes=3.00GiB growth");
  expect_options(&request, 2, "fraction=0.25 growth");
  setenv("TF_FORCE_GPU_ALLOW_GROWTH", "false", 1);
  expect_options(&request, 1, "limit_bytes=3.00GiB");
  unsetenv("SITU_GPU_MEMORY");
  setenv("TF_FORCE_GPU_ALLOW_GROWTH", "true", 1);
  expect_options(&request, 0, "fraction=0.25 growth");
  device_options_free(&request);
}

static void first_of_two_entries_applies(void **state) {
  (void)state;
  struct device_options request = {0};
  const situ_device_memory entries[] = {{"GPU:1", {.limit_bytes = GIB}},
                                        {"/device:GPU:*", {.fraction = 0.5, .growth = true}}};
  OK(device_options_add(&request,
                        &(situ_device_config){.device_memory = entries, .n_device_memory = 2}));
  expect_options(&request, 0, "fraction=0.5 growth");
  expect_options(&request, 1, "limit_bytes=1.00GiB growth");
  device_options_free(&request);
}

static void options_accumulate_over_calls(void **state) {
  (void)state;
  struct device_options request = {0};
  char name[] = "/gpu:0", fleet[] = "4";
  const situ_device_memory first = {name, {.limit_bytes = GIB}}, second = {"/gpu:1", {0}},
                           third = {"/gpu:0", {.limit_bytes = 2 * GIB}};
  OK(device_options_add(&request, &(situ_device_config){.sim_gpus = fleet,
                                                        .gpu_devices = 2,
                                                        .memory.growth = true,
                                                        .device_memory = &first,
                                                        .n_device_memory = 1}));
  memset(name, 'x', sizeof name - 1); /* the request owns copies */
  memset(fleet, 'x', sizeof fleet - 1);
  OK(device_options_add(&request, &(situ_device_config){.memory.fraction = 0.5,
                                                        .visible_device_list = "1,0",
                                                        .device_memory = &second,
                                                        .n_device_memory = 1}));
  assert_string_equal(request.config.sim_gpus, "4");
  assert_string_equal(request.config.visible_device_list, "1,0");
  assert_int_equal(request.config.gpu_devices, 2);
  expect_options(&request, 0, "limit_bytes=1.00GiB growth");
  expect_options(&request, 1, "fraction=0.5 growth");
  OK(device_options_add(&request,
                        &(situ_device_config){.device_memory = &third, .n_device_memory = 1}));
  assert_int_equal(request.config.n_device_memory, 2);
  expect_options(&request, 0, "limit_bytes=2.00GiB growth");
  OK(device_options_add(&request, NULL));
  OK(device_options_add(&request, &(situ_device_config){.memory.reserve_bytes = GIB}));
  expect_options(&request, 1, "reserve_bytes=1.00GiB growth"); /* a bound replaces another */
  device_options_free(&request);
  assert_null(request.config.sim_gpus);
}

/* ---- Validation ---- */

static void invalid_configs_change_nothing(void **state) {
  (void)state;
  const situ_device_memory malformed = {"/gpu:x", {0}}, missing = {NULL, {0}},
                           negative = {"/gpu:0", {.fraction = -1}}, cpu = {"/cpu:0", {0}};
  const struct {
    situ_device_config config;
    const char *part;
  } cases[] = {
      {{.require = "tpu"}, "require is 'tpu'; expected gpu, or gpu:2"},
      {{.require = "gpu:0"}, "'gpu:0'"},
      {{.require = "gpu: 2"}, "'gpu: 2'"},
      {{.require = "gpu:99999"}, "'gpu:99999'"},
      {{.require = "gpus"}, "'gpus'"},
      {{.cpu_devices = -1}, "cpu_devices is -1; expected 0 to 64"},
      {{.cpu_devices = 1000000}, "cpu_devices is 1000000"},
      {{.gpu_devices = -2}, "gpu_devices is -2"},
      {{.memory.fraction = -0.5}, "is -0.5; expected a number above 0"},
      {{.memory.fraction = 0.0 / 0.0}, "expected a number above 0"},
      {{.n_device_memory = 1}, "n_device_memory is 1, but device_memory is NULL"},
      {{.n_device_memory = -1}, "n_device_memory is -1"},
      {{.n_virtual_devices = 2}, "n_virtual_devices is 2, but virtual_devices is NULL"},
      {{.device_memory = &malformed, .n_device_memory = 1}, "/gpu:x"},
      {{.device_memory = &missing, .n_device_memory = 1}, "NULL"},
      {{.device_memory = &negative, .n_device_memory = 1}, "fraction of /gpu:0"},
      {{.device_memory = &cpu, .n_device_memory = 1}, "names '/cpu:0', but memory options are"},
  };
  struct device_options request = {0};
  OK(device_options_add(&request, &(situ_device_config){.sim_gpus = "2"}));
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    situ_device_config config = cases[i].config;
    config.sim_gpus = "3";
    FAILS(device_options_add(&request, &config), SITU_INVALID_ARGUMENT, cases[i].part);
    assert_string_equal(request.config.sim_gpus, "2");
  }
  device_options_free(&request);
}

static void expect_required(const char *config, const char *variable, int expected) {
  const char *shown;
  int count = -1;
  if (variable) setenv("SITU_REQUIRE", variable, 1);
  OK(device_options_required(config, &shown, &count));
  assert_int_equal(count, expected);
  unsetenv("SITU_REQUIRE");
}

static void requirements_are_parsed(void **state) {
  (void)state;
  expect_required(NULL, NULL, 0);
  expect_required(NULL, "", 0);
  expect_required("gpu", NULL, 1);
  expect_required("GPU:3", NULL, 3);
  expect_required(NULL, "gpu:2", 2);
  expect_required("gpu:1", "gpu:2", 1);
  const char *shown;
  int count;
  setenv("SITU_REQUIRE", "gpu:", 1);
  FAILS(device_options_required(NULL, &shown, &count), SITU_INVALID_ARGUMENT,
        "SITU_REQUIRE is 'gpu:'");
}

/* ---- Differences ---- */

static void expect_differences(const struct device_options *request, int n_gpus,
                               situ_device_config config, const char *expected) {
  struct strbuf items = {0};
  device_options_diff(request, n_gpus, &config, &items);
  assert_string_equal(strbuf_get(&items), expected);
  strbuf_free(&items);
}

static void differences_name_both(void **state) {
  (void)state;
  struct device_options request = {0};
  expect_differences(&request, 2, (situ_device_config){0}, "");
  /* equivalent settings do not differ */
  expect_differences(
      &request, 2,
      (situ_device_config){
          .sim_gpus = "", .visible_device_list = "", .cpu_devices = 1, .gpu_devices = 2},
      "");
  expect_differences(&request, 0, (situ_device_config){.gpu_devices = SITU_NO_GPUS}, "");
  expect_differences(&request, 2, (situ_device_config){.gpu_devices = SITU_NO_GPUS},
                     "gpu_devices: all is in effect, none was requested");
  expect_differences(&request, 2, (situ_device_config){.visible_devices = ""},
                     "visible_devices: 'all' is in effect, '' was requested");
  setenv("SITU_SIM_GPUS", "4", 1);
  setenv("CUDA_VISIBLE_DEVICES", "0,2", 1);
  OK(device_options_resolve(&request));
  assert_string_equal(request.mask_variable, "CUDA_VISIBLE_DEVICES");
  expect_differences(&request, 2, (situ_device_config){.sim_gpus = "4", .visible_devices = "0,2"},
                     "");
  expect_differences(
      &request, 2, (situ_device_config){.sim_gpus = "2", .visible_devices = "1", .cpu_devices = 2},
      "sim_gpus: '4' is in effect, '2' was requested; visible_devices: '0,2' is in "
      "effect, '1' was requested; cpu_devices: 1 is in effect, 2 was requested");
  const situ_virtual_device pieces[] = {{0, GIB}, {0, 512 * MIB}};
  const situ_device_config cut = {.virtual_devices = pieces, .n_virtual_devices = 2};
  expect_differences(&request, 2, cut,
                     "virtual_devices: none are in effect, 0=1.00GiB 0=512.00MiB were requested");
  OK(device_options_add(&request, &cut));
  expect_differences(&request, 2, cut, "");
  device_options_free(&request);
}

#define TEST(name) cmocka_unit_test_setup(name, clean_devices)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(variable_is_parsed),
      TEST(malformed_variable_is_explained),
      TEST(specific_options_take_precedence),
      TEST(first_of_two_entries_applies),
      TEST(options_accumulate_over_calls),
      TEST(invalid_configs_change_nothing),
      TEST(requirements_are_parsed),
      TEST(differences_name_both),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
