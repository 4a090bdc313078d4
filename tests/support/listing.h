/* SPDX-License-Identifier: Apache-2.0
 * listing.h: short words for the public list of devices. */
#ifndef SITU_TESTS_LISTING_H
#define SITU_TESTS_LISTING_H

#include "situ/device.h"
#include "support/expect.h"

#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)

static inline int count_devices(void) {
  int count = -1;
  OK(situ_devices_count(&count));
  return count;
}

static inline situ_device get(int number) {
  situ_device device;
  OK(situ_devices_get(number, &device));
  return device;
}

static inline situ_memory_info memory_of(const char *name) {
  situ_memory_info info;
  int number = -1;
  OK(situ_devices_find(name, &number));
  OK(situ_device_memory_info(number, &info));
  return info;
}

/* The models of the GPUs in order must be these; "" for none. */
static inline void expect_gpus(const char *models) {
  char have[256] = "";
  const int count = count_devices();
  assert_string_equal(get(0).kind, "CPU");
  for (int i = 1; i < count; i++) {
    const situ_device device = get(i);
    char name[128], description[128];
    snprintf(have + strlen(have), sizeof have - strlen(have), "%s%s", i > 1 ? " " : "",
             device.model);
    snprintf(name, sizeof name, "/job:localhost/replica:0/task:0/device:GPU:%d", i - 1);
    snprintf(description, sizeof description, ", name: %s, pci bus id: %s", device.model,
             device.bus_id);
    assert_string_equal(device.name, name);
    assert_string_equal(device.kind, "GPU");
    assert_int_equal(device.index, i - 1);
    assert_int_equal(device.physical, device.model[1] - '0');
    assert_non_null(strstr(device.description, description));
  }
  assert_string_equal(have, models);
}

#endif
