/* SPDX-License-Identifier: Apache-2.0
 * test_host_memory.c: the limit of host memory. */
#include "device/host_memory.h"

#include "device/buffer.h"
#include "support/expect.h"

enum { MIB = 1 << 20 };
static struct buffer *idle;
static int n_calls;

/* Frees the idle buffer, as sessions free idle frames. */
static uint64_t reclaim(void) {
  const uint64_t bytes = idle ? idle->bytes : 0;
  n_calls++;
  buffer_release(idle);
  idle = NULL;
  return bytes;
}

static void counts_what_is_in_use(void **state) {
  (void)state;
  struct buffer *buffer = NULL;
  const uint64_t before = host_memory_in_use();
  OK(buffer_host(3 * MIB, &buffer));
  assert_int_equal(host_memory_in_use(), before + 3 * MIB);
  buffer_release(buffer);
  assert_int_equal(host_memory_in_use(), before);
}

static void the_limit_holds(void **state) {
  (void)state;
  struct buffer *first = NULL, *second = NULL;
  host_memory_set_limit(host_memory_in_use() + 4 * MIB);
  OK(buffer_host(3 * MIB, &first));
  FAILS(buffer_host(2 * MIB, &second), SITU_RESOURCE_EXHAUSTED, "raise SITU_HOST_MEMORY");
  OK(buffer_host(MIB, &second));
  buffer_release(second);
  buffer_release(first);
  OK(buffer_host(4 * MIB, &first));
  buffer_release(first);
  host_memory_set_limit(0);
}

static void idle_memory_is_freed_first(void **state) {
  (void)state;
  struct buffer *buffer = NULL;
  host_memory_set_reclaimer(reclaim);
  host_memory_set_limit(host_memory_in_use() + 4 * MIB);
  OK(buffer_host(3 * MIB, &idle));
  OK(buffer_host(MIB, &buffer));
  assert_int_equal(n_calls, 0);
  buffer_release(buffer);
  OK(buffer_host(2 * MIB, &buffer));
  assert_int_equal(n_calls, 1);
  assert_null(idle);
  buffer_release(buffer);
  host_memory_set_limit(0);
  host_memory_set_reclaimer(NULL);
}

static void the_error_names_the_tensor(void **state) {
  (void)state;
  const struct memory_tag tag = {
      .op = "MatMul_1", .type = SITU_FLOAT, .shape = SITU_SHAPE(512, 512)};
  host_memory_set_limit(MIB / 2);
  const situ_status status = host_memory_oom(MIB, &tag);
  host_memory_set_limit(0);
  assert_string_equal(
      situ_status_message(status),
      "OOM when allocating tensor with shape[512,512] and type float in host memory\n"
      "  requested: 1.00MiB by MatMul_1\n"
      "  limit: 512.0KiB (SITU_HOST_MEMORY), in use: 0B\n"
      "  to change: raise SITU_HOST_MEMORY, or use a smaller batch");
  situ_status_release(status);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(counts_what_is_in_use),
      cmocka_unit_test(the_limit_holds),
      cmocka_unit_test(idle_memory_is_freed_first),
      cmocka_unit_test(the_error_names_the_tensor),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
