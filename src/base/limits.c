/* SPDX-License-Identifier: Apache-2.0
 * limits.c: see limits.h. */
#include "base/limits.h"

#include <stdlib.h>

#include "base/parse_size.h"

enum { EXPANSION = 256 << 20, EXPANSION_FACTOR = 64, PIXELS = (1 << 29) - 1, SCANS = 500 };

/* Parses the value of a variable; an invalid one is an error of environment_check. */
static uint64_t read_variable(const char *text, uint64_t standard) {
  uint64_t value = 0;
  if (!text || !*text) return standard;
  const situ_status status = parse_size(text, &value);
  situ_status_release(status);
  return status ? standard : value;
}

uint64_t limits_expansion(uint64_t size) {
  const uint64_t limit = read_variable(getenv("SITU_EXPANSION_LIMIT"), EXPANSION);
  return size > limit / EXPANSION_FACTOR
             ? (size > UINT64_MAX / EXPANSION_FACTOR ? UINT64_MAX : size * EXPANSION_FACTOR)
             : limit;
}

static int64_t read_count(const char *text, int64_t standard) {
  const uint64_t value = read_variable(text, (uint64_t)standard);
  return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

int64_t limits_image_pixels(void) { return read_count(getenv("SITU_IMAGE_PIXELS"), PIXELS); }

int64_t limits_jpeg_scans(void) { return read_count(getenv("SITU_JPEG_SCANS"), SCANS); }
