/* SPDX-License-Identifier: Apache-2.0
 * test_buffer.c: counted memory in the host and on devices. */
#include <pthread.h>

#include "device/buffer.h"
#include "support/two_gpus.h"

#define MIB ((size_t)1 << 20)

static void host_memory_is_aligned(void **state) {
  (void)state;
  for (size_t bytes = 0; bytes < 300; bytes += 7) {
    struct buffer *buffer = NULL;
    OK(buffer_host(bytes, &buffer));
    assert_int_equal((uintptr_t)buffer->host % 64, 0);
    assert_int_equal(buffer->bytes, bytes);
    assert_null(buffer->device);
    assert_ptr_equal(buffer->span.region, buffer->host);
    memset(buffer->host, 1, bytes);
    buffer_release(buffer);
  }
}

static void excessive_host_memory_is_refused(void **state) {
  (void)state;
  struct buffer *buffer = NULL;
  FAILS(buffer_host(SIZE_MAX, &buffer), SITU_RESOURCE_EXHAUSTED, "memory");
  FAILS(buffer_host((size_t)1 << 60, &buffer), SITU_RESOURCE_EXHAUSTED, "1.00EiB");
  assert_null(buffer);
}

static void count_release(void *context) { ++*(int *)context; }

static void wrapped_memory_is_released_once(void **state) {
  (void)state;
  int released = 0;
  char memory[16] = "of somebody", back[16] = "";
  struct buffer *buffer = NULL;
  OK(buffer_wrap(memory, sizeof memory, count_release, &released, &buffer));
  assert_ptr_equal(buffer->host, memory);
  OK(buffer_write(buffer, 3, "anybody", 7));
  OK(buffer_read(buffer, 0, back, 16));
  assert_string_equal(back, "of anybodyy");
  assert_ptr_equal(buffer_retain(buffer), buffer);
  buffer_release(buffer);
  assert_int_equal(released, 0);
  buffer_release(buffer);
  assert_int_equal(released, 1);
  buffer_release(NULL);
  assert_null(buffer_retain(NULL));
  OK(buffer_wrap(memory, sizeof memory, NULL, NULL, &buffer)); /* without a release callback */
  buffer_release(buffer);
}

static void device_memory_keeps_written_data(void **state) {
  (void)state;
  struct buffer *a = NULL, *b = NULL;
  unsigned char data[5000], back[5000];
  for (size_t i = 0; i < sizeof data; i++) data[i] = (unsigned char)(i * 7);
  OK(buffer_device(list->devices[1], sizeof data, NULL, &a));
  OK(buffer_device(list->devices[2], sizeof data, NULL, &b));
  assert_ptr_equal(a->device, list->devices[1]);
  assert_null(a->host); /* not accessible from the host */
  OK(buffer_write(a, 0, data, sizeof data));
  OK(buffer_write(b, 0, (unsigned char[5000]){0}, sizeof data));
  OK(buffer_write(b, 100, data, 200));
  OK(buffer_read(a, 0, back, sizeof back));
  assert_memory_equal(back, data, sizeof data);
  OK(buffer_read(a, 4000, back, 1000));
  assert_memory_equal(back, data + 4000, 1000);
  OK(buffer_read(b, 99, back, 202));
  assert_memory_equal(back + 1, data, 200);
  assert_int_equal(back[0] + back[201], 0);
  buffer_release(a);
  buffer_release(b);
}

static void ranges_are_checked(void **state) {
  (void)state;
  char data[100] = "";
  struct buffer *buffers[2];
  OK(buffer_host(100, &buffers[0]));
  OK(buffer_device(list->devices[1], 100, NULL, &buffers[1]));
  for (int i = 0; i < 2; i++) {
    OK(buffer_write(buffers[i], 0, data, 100));
    OK(buffer_write(buffers[i], 100, NULL, 0));
    OK(buffer_read(buffers[i], 50, NULL, 0));
    FAILS(buffer_write(buffers[i], 1, data, 100), SITU_INTERNAL, "100 bytes from byte 1 on");
    FAILS(buffer_read(buffers[i], 101, data, 0), SITU_INTERNAL, "a buffer of 100 bytes");
    FAILS(buffer_read(buffers[i], SIZE_MAX, data, 2), SITU_INTERNAL, "not inside");
    FAILS(buffer_read(buffers[i], 2, data, SIZE_MAX), SITU_INTERNAL, "not inside");
    buffer_release(buffers[i]);
  }
}

static void empty_buffer_allocates_nothing(void **state) {
  (void)state;
  struct buffer *buffer = NULL;
  situ_memory_info info;
  OK(buffer_device(list->devices[1], 0, NULL, &buffer));
  OK(buffer_write(buffer, 0, NULL, 0));
  OK(situ_device_memory_info(1, &info));
  assert_int_equal(info.reserved, 0);
  buffer_release(buffer);
}

static void host_devices_use_host_memory(void **state) {
  (void)state;
  struct buffer *buffer = NULL;
  OK(buffer_device(list->devices[0], 100, NULL, &buffer));
  assert_non_null(buffer->host);
  assert_null(buffer->device);
  buffer_release(buffer);
}

/* ResourceExhausted names the request and the owners; freed memory can be allocated again. */
static void freed_memory_is_reused(void **state) {
  (void)state;
  struct buffer *buffer = NULL, *other = NULL;
  situ_memory_info info;
  const struct memory_tag holder = {.op = "dense/kernel"}, asker = {.op = "softmax"};
  for (int i = 0; i < 50; i++) {
    OK(buffer_device(list->devices[1], 30 * MIB, &holder, &buffer));
    FAILS(buffer_device(list->devices[1], 40 * MIB, &asker, &other), SITU_RESOURCE_EXHAUSTED,
          "by softmax");
    OK(situ_device_memory_info(1, &info));
    assert_int_equal(info.current, 30 * MIB);
    buffer_release(buffer);
  }
  OK(buffer_device(list->devices[1], 30 * MIB, &holder, &buffer));
  FAILS(buffer_device(list->devices[1], 40 * MIB, &asker, &other), SITU_RESOURCE_EXHAUSTED,
        "dense/kernel");
  buffer_release(buffer);
  OK(situ_device_memory_info(1, &info));
  assert_int_equal(info.current, 0);
  assert_int_equal(info.peak, 30 * MIB);
  OK(situ_device_reset_peak(1));
  OK(situ_device_memory_info(1, &info));
  assert_int_equal(info.peak, 0);
}

static situ_status count_to(const union arg *args, int64_t begin, int64_t finish) {
  (void)begin, (void)finish;
  volatile int64_t *x = args[0].pointer;
  for (int64_t i = 0; i < 1000000; i++) *x = i + 1;
  return NULL;
}

/* A read waits for enqueued kernels. */
static void reads_wait_for_kernels(void **state) {
  (void)state;
  static const struct kernel kernel = {.name = "count", .host = {[SITU_INT64] = count_to}};
  struct device *device = list->devices[1];
  struct launch_arg arg = {.kind = ARG_SLOT, .slot = 0};
  const struct launch launch = {
      .kernel = &kernel, .type = SITU_INT64, .n_args = 1, .items = 1, .args = &arg};
  struct arena arena = {0};
  struct buffer *buffer = NULL;
  struct bound_kernel *bound = NULL;
  int64_t number = 0;
  OK(buffer_device(device, 8, NULL, &buffer));
  OK(buffer_write(buffer, 0, &number, 8));
  OK(device->backend->bind(device->handle, &launch, &buffer->span, &arena, &bound));
  OK(device->backend->launch(device->handle, QUEUE_COMPUTE, bound));
  OK(buffer_read(buffer, 0, &number, 8));
  assert_int_equal(number, 1000000);
  OK(device->backend->launch(device->handle, QUEUE_COMPUTE, bound));
  OK(buffer_write(buffer, 0, &(int64_t){-5}, 8));
  OK(buffer_read(buffer, 0, &number, 8));
  assert_int_equal(number, -5);
  buffer_release(buffer);
  arena_free(&arena);
}

/* Writes, reads and releases buffers on both devices; returns the context on success. */
static void *use_buffers(void *context) {
  const int seed = *(int *)context;
  bool ok = true;
  for (int i = 0; i < 300 && ok; i++) {
    struct buffer *buffer = NULL;
    int64_t data[64], back[64];
    for (int k = 0; k < 64; k++) data[k] = seed * 1000 + i + k;
    situ_status s = buffer_device(list->devices[1 + (seed + i) % 2], sizeof data, NULL, &buffer);
    if (!s) s = buffer_write(buffer_retain(buffer), 0, data, sizeof data);
    if (!s) s = buffer_read(buffer, 0, back, sizeof back);
    ok = !s && !memcmp(data, back, sizeof data);
    situ_status_release(s);
    buffer_release(buffer);
    buffer_release(buffer);
  }
  return ok ? context : NULL;
}

static void threads_share_devices(void **state) {
  (void)state;
  pthread_t threads[4];
  int seeds[4];
  for (int i = 0; i < 4; i++) {
    seeds[i] = i;
    pthread_create(&threads[i], NULL, use_buffers, &seeds[i]);
  }
  for (int i = 0; i < 4; i++) {
    void *result = NULL;
    pthread_join(threads[i], &result);
    assert_non_null(result);
  }
  situ_memory_info info;
  for (int i = 1; i <= 2; i++) {
    OK(situ_device_memory_info(i, &info));
    assert_int_equal(info.current, 0);
  }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(host_memory_is_aligned),
      TEST(excessive_host_memory_is_refused),
      TEST(wrapped_memory_is_released_once),
      TEST(device_memory_keeps_written_data),
      TEST(ranges_are_checked),
      TEST(empty_buffer_allocates_nothing),
      TEST(host_devices_use_host_memory),
      TEST(freed_memory_is_reused),
      TEST(reads_wait_for_kernels),
      TEST(threads_share_devices),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
