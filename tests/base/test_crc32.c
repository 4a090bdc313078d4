/* SPDX-License-Identifier: Apache-2.0
 * test_crc32.c: check values of the two checksums; every length and alignment. */
#include "base/crc32.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static void check_values(void **state) {
  (void)state;
  assert_int_equal(crc32_zlib("123456789", 9), 0xcbf43926u);
  assert_int_equal(crc32_castagnoli("123456789", 9), 0xe3069283u);
  assert_int_equal(crc32_zlib("", 0), 0);
  assert_int_equal(crc32_castagnoli("", 0), 0);
}

/* One bit at a time. */
static uint32_t slow(const unsigned char *data, size_t bytes, uint32_t polynomial) {
  uint32_t crc = UINT32_MAX;
  for (size_t i = 0; i < bytes; i++) {
    crc ^= data[i];
    for (int bit = 0; bit < 8; bit++) crc = crc & 1 ? crc >> 1 ^ polynomial : crc >> 1;
  }
  return ~crc;
}

static void lengths_and_alignments(void **state) {
  (void)state;
  unsigned char data[80];
  for (size_t i = 0; i < sizeof data; i++) data[i] = (unsigned char)(i * 151 + 7);
  for (size_t from = 0; from < 9; from++)
    for (size_t bytes = 0; from + bytes <= sizeof data; bytes++) {
      assert_int_equal(crc32_zlib(data + from, bytes), slow(data + from, bytes, 0xedb88320u));
      assert_int_equal(crc32_castagnoli(data + from, bytes), slow(data + from, bytes, 0x82f63b78u));
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(check_values),
      cmocka_unit_test(lengths_and_alignments),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
