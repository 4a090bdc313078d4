/* SPDX-License-Identifier: Apache-2.0
 * fuzz_record.c: any bytes as a file of records. The first byte selects the format, a letter of the
 * table below; in a capital letter's file, checksums of TFRecords are made to match. */
#include <string.h>

#include "base/base.h"
#include "base/crc32.h"
#include "fuzz/memory_file.h"
#include "ops/io/record_reader.h"
#include "situ/situ.h"

static const struct {
  char letter;
  enum record_format format;
  const char *packing;
} formats[] = {{'w', RECORD_WHOLE, NULL},  {'l', RECORD_LINE, NULL},  {'g', RECORD_LINE, "GZIP"},
               {'z', RECORD_LINE, "ZLIB"}, {'f', RECORD_FIXED, NULL}, {'x', RECORD_FIXED, "ZLIB"},
               {'t', RECORD_TF, NULL},     {'T', RECORD_TF, NULL},    {'p', RECORD_TF, "GZIP"}};

static uint32_t mask(uint32_t sum) { return (sum >> 15 | sum << 17) + 0xa282ead8u; }

/* Sets the checksums of the records that fit in the data. */
static void mend_checksums(uint8_t *data, size_t size) {
  for (size_t at = 0; size - at >= 16;) {
    uint64_t length = 0;
    memcpy(&length, data + at, sizeof length);
    const uint32_t head = mask(crc32_castagnoli(data + at, sizeof length));
    memcpy(data + at + 8, &head, sizeof head);
    if (length > size - at - 16) return;
    const uint32_t body = mask(crc32_castagnoli(data + at + 12, (size_t)length));
    memcpy(data + at + 12 + length, &body, sizeof body);
    at += 16 + (size_t)length;
  }
}

/* A failure must be one of the data, and say something. */
static bool check(situ_status status) {
  if (!status) return true;
  const situ_code code = situ_status_code(status);
  if (code == SITU_INTERNAL || code == SITU_UNKNOWN || !*situ_status_message(status)) {
    fprintf(stderr, "%s\n", situ_status_message(status));
    abort();
  }
  situ_status_release(status);
  return false;
}

static void read_all(struct record_file *file, const char *path) {
  bool end = !check(record_open(file, path));
  struct strbuf key = {0}, value = {0};
  while (!end) {
    key.length = value.length = 0;
    if (!check(record_next(file, &key, &value, &end))) end = true;
  }
  record_close(file);
  strbuf_free(&key);
  strbuf_free(&value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  size_t kind = 0;
  while (size && kind < COUNT_OF(formats) && (uint8_t)formats[kind].letter != data[0]) kind++;
  if (size < 6 || kind == COUNT_OF(formats)) return 0;
  uint8_t *copy = malloc(size);
  if (!copy) return 0;
  memcpy(copy, data, size);
  if (data[0] == 'T') mend_checksums(copy + 6, size - 6);
  struct record_file file = {.format = formats[kind].format,
                             .packing = formats[kind].packing,
                             .skip = data[1] % 4,
                             .record_bytes = data[2] + 1,
                             .header_bytes = data[3] % 16,
                             .footer_bytes = data[4] % 16,
                             .hop_bytes = data[5] + 1};
  read_all(&file, memory_file(copy + 6, size - 6));
  free(copy);
  return 0;
}
