/* SPDX-License-Identifier: Apache-2.0
 * crc32.c: CRC-32 and CRC-32C, 8 bytes at a time (slicing-by-8): table[k][b] is the checksum of
 * byte b followed by k zero bytes. */
#include "base/crc32.h"

#include <pthread.h>

enum { SLICES = 8, BYTES = 256 };

struct table {
  uint32_t slice[SLICES][BYTES];
};

static struct table zlib_table, castagnoli_table;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fill(struct table *table, uint32_t reflected_polynomial) {
  for (uint32_t byte = 0; byte < BYTES; byte++) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; bit++) crc = crc & 1 ? crc >> 1 ^ reflected_polynomial : crc >> 1;
    table->slice[0][byte] = crc;
  }
  for (int k = 1; k < SLICES; k++)
    for (int byte = 0; byte < BYTES; byte++) {
      const uint32_t before = table->slice[k - 1][byte];
      table->slice[k][byte] = before >> 8 ^ table->slice[0][before & 255];
    }
}

static void fill_tables(void) {
  fill(&zlib_table, 0xedb88320u);
  fill(&castagnoli_table, 0x82f63b78u);
}

static uint32_t read_u32(const unsigned char *at) {
  return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static uint32_t checksum(const struct table *table, const unsigned char *at, size_t bytes) {
  const uint32_t(*slice)[BYTES] = table->slice;
  uint32_t crc = UINT32_MAX;
  for (; bytes >= SLICES; at += SLICES, bytes -= SLICES) {
    const uint32_t low = crc ^ read_u32(at), high = read_u32(at + 4);
    crc = slice[7][low & 255] ^ slice[6][low >> 8 & 255] ^ slice[5][low >> 16 & 255] ^
          slice[4][low >> 24] ^ slice[3][high & 255] ^ slice[2][high >> 8 & 255] ^
          slice[1][high >> 16 & 255] ^ slice[0][high >> 24];
  }
  for (; bytes > 0; at++, bytes--) crc = slice[0][(crc ^ *at) & 255] ^ crc >> 8;
  return ~crc;
}

uint32_t crc32_zlib(const void *data, size_t bytes) {
  pthread_once(&once, fill_tables);
  return checksum(&zlib_table, data, bytes);
}

uint32_t crc32_castagnoli(const void *data, size_t bytes) {
  pthread_once(&once, fill_tables);
  return checksum(&castagnoli_table, data, bytes);
}
