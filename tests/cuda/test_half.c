/* SPDX-License-Identifier: Apache-2.0
 * test_half.c: half on CUDA devices: every number of it, and roundings, as on the CPU. The driver
 * is the stand-in; it is the only device here that computes with half as GPUs do. */
#include <math.h>

#include "api/helpers.h"
#include "situ/device.h"

enum { ALL = 1 << 16 };

static const char *const gpus[] = {"/gpu:0", "/gpu:1"};

/* y = cast(x) on a device. */
static situ_tensor *cast(const char *device, situ_tensor *x, situ_type type) {
  const situ_attr attr = situ_attr_type("DstT", type);
  situ_graph *graph = situ_graph_create();
  situ_session *session = NULL;
  situ_tensor *result = NULL;
  const situ_value in = situ_placeholder(graph, NULL, situ_tensor_type(x), situ_tensor_shape(x));
  situ_device_push(graph, device);
  const situ_value out = situ_emit(graph, "Cast", NULL, &in, 1, &attr, 1);
  situ_device_pop(graph);
  OK(situ_session_create(graph, &(situ_config){.devices.memory.growth = true}, &session));
  OK(situ_session_run(session, &(situ_feed){in, x}, 1, &out, 1, &result));
  situ_session_release(session);
  situ_graph_release(graph);
  return result;
}

static situ_tensor *all_halves(void) {
  static uint16_t bits[ALL];
  situ_tensor *tensor = NULL;
  for (int i = 0; i < ALL; i++) bits[i] = (uint16_t)i;
  OK(situ_tensor_create(SITU_HALF, SITU_SHAPE(ALL), bits, &tensor));
  return tensor;
}

static void every_half_goes_there_and_back(void **state) {
  (void)state;
  situ_tensor *halves = all_halves(), *want = cast("/cpu:0", halves, SITU_FLOAT);
  const float *numbers = situ_tensor_data(want);
  for (int g = 0; g < 2; g++) {
    situ_tensor *wide = cast(gpus[g], halves, SITU_FLOAT), *back = cast(gpus[g], wide, SITU_HALF);
    const float *have = situ_tensor_data(wide);
    const uint16_t *bits = situ_tensor_data(back);
    for (int i = 0; i < ALL; i++) {
      const bool is_nan = isnan(numbers[i]);
      assert_true(is_nan ? isnan(have[i]) : have[i] == numbers[i]);
      assert_true(is_nan ? (bits[i] & 0x7fff) > 0x7c00 : bits[i] == i);
    }
    situ_tensor_release(wide);
    situ_tensor_release(back);
  }
  situ_tensor_release(want);
  situ_tensor_release(halves);
}

/* Tests the midpoint of each two adjacent numbers and its neighbours; also after the largest. */
static void floats_are_rounded_to_the_nearest(void **state) {
  (void)state;
  situ_tensor *halves = all_halves(), *wide = cast("/cpu:0", halves, SITU_FLOAT);
  const float *numbers = situ_tensor_data(wide);
  static float data[3 * 0x7c00];
  for (int i = 0; i < 0x7c00; i++) {
    const float next = i == 0x7bff ? 65536 : numbers[i + 1];
    const float middle = (numbers[i] + next) / 2;
    data[3 * i] = nextafterf(middle, 0);
    data[3 * i + 1] = middle;
    data[3 * i + 2] = -nextafterf(middle, INFINITY);
  }
  situ_tensor *x = floats(SITU_SHAPE(3 * 0x7c00), data);
  for (int g = 0; g < 2; g++) {
    situ_tensor *y = cast(gpus[g], x, SITU_HALF);
    const uint16_t *bits = situ_tensor_data(y);
    for (int i = 0; i < 0x7c00; i++) {
      assert_int_equal(bits[3 * i], i);
      assert_int_equal(bits[3 * i + 1], i + (i & 1)); /* to the even one */
      assert_int_equal(bits[3 * i + 2], 0x8000 | (i + 1));
    }
    situ_tensor_release(y);
  }
  situ_tensor_release(x);
  situ_tensor_release(wide);
  situ_tensor_release(halves);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_half_goes_there_and_back),
      cmocka_unit_test(floats_are_rounded_to_the_nearest),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
