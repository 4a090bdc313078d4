/* SPDX-License-Identifier: Apache-2.0
 * test_opencl_limits.c: OpenCL devices that can do less than others: PoCL's, of which the driver
 * tells less. Skipped where there is no device. */
#include <stdlib.h>

#include "backend/backends.h"
#include "backend/opencl/gpus.h"
#include "backend/rig.h"
#include "situ/selftest.h"
#include "support/skip.h"

static struct cl_functions real;

/* Overridden answers of the driver; NULL: its own. */
static struct {
  const char *extensions, *version;
  size_t work_group;
} told;

static int32_t tell(const void *value, size_t bytes, size_t size, void *out, size_t *needed) {
  if (needed) *needed = bytes;
  if (!out) return CL_SUCCESS;
  if (size < bytes) return CL_INVALID_VALUE;
  memcpy(out, value, bytes);
  return CL_SUCCESS;
}

static int32_t tell_of(cl_device id, uint32_t what, size_t size, void *out, size_t *needed) {
  if (what == CL_DEVICE_EXTENSIONS && told.extensions)
    return tell(told.extensions, strlen(told.extensions) + 1, size, out, needed);
  if (what == CL_DEVICE_VERSION && told.version)
    return tell(told.version, strlen(told.version) + 1, size, out, needed);
  if (what == CL_DEVICE_MAX_WORK_GROUP_SIZE && told.work_group)
    return tell(&told.work_group, sizeof told.work_group, size, out, needed);
  return real.clGetDeviceInfo(id, what, size, out, needed);
}

static int count_devices(const char **why) {
  int count = 0;
  OK(gpus_find("all", &count, why));
  return count;
}

static int begin(void **state) {
  const char *why = NULL;
  setenv("POCL_DEVICES", "basic", 1);
  setenv("SITU_OPENCL_DEVICES", "all", 1);
  setenv("SITU_KERNEL_CACHE", "", 1);
  setenv("SITU_CUDA", "0", 1);
  *state = MAY_RUN && count_devices(&why) ? &told : NULL;
  real = cl;
  if (*state) cl.clGetDeviceInfo = tell_of;
  return 0;
}

static void need(void **state) {
  if (!*state) SKIP("no OpenCL device");
  memset(&told, 0, sizeof told);
}

static void devices_that_cannot_be_used(void **state) {
  const char *why = NULL;
  need(state);
  told.version = "OpenCL 1.1 Mesa";
  assert_int_equal(count_devices(&why), 0);
  assert_non_null(strstr(why, "before 1.2"));
  told.version = NULL;
  told.work_group = 128;
  assert_int_equal(count_devices(&why), 0);
  assert_non_null(strstr(why, "fewer than 256 items"));
  told.work_group = 256;
  assert_int_equal(count_devices(&why), 1);
}

/* Some drivers list more than any fixed buffer holds. */
static void many_extensions(void **state) {
  char text[10000];
  const char *why = NULL;
  need(state);
  memset(text, 'x', sizeof text);
  snprintf(text + sizeof text - 20, 20, " cl_khr_fp64");
  told.extensions = text;
  assert_int_equal(count_devices(&why), 1);
  assert_true(gpus_get(0)->info.has_double);
  assert_false(gpus_get(0)->info.has_half);
}

/* Kernels that compute in double elsewhere. Must be last: it lists the devices of the process. */
static void without_double(void **state) {
  static const char *const ops[] = {"RandomUniform", "RandomStandardNormal", "TruncatedNormal",
                                    "Multinomial",   "RandomGamma",          "Cast",
                                    "Softmax",       "ResizeBilinear"};
  need(state);
  told.extensions = "cl_khr_byte_addressable_store";
  for (size_t i = 0; i < COUNT_OF(ops); i++) {
    situ_selftest_result result;
    const situ_selftest_options options = {.device = "/gpu:0", .op = ops[i], .seconds = 600};
    OK(situ_selftest(&options, &result));
    assert_int_equal(result.ops_run, 1);
    assert_int_equal(result.failed, 0);
  }
  assert_false(gpus_get(0)->info.has_double);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(devices_that_cannot_be_used),
      cmocka_unit_test(many_extensions),
      cmocka_unit_test(without_double),
  };
  return cmocka_run_group_tests(tests, begin, NULL);
}
