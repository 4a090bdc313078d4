/* SPDX-License-Identifier: Apache-2.0
 * bus_id.c: parses and prints PCI bus ids such as `0000:05:00.0`. */
#include "device/bus_id.h"

#include <stdio.h>
#include <string.h>

/* Reads up to eight hexadecimal digits and the delimiter behind them; delimiter 0 is the end. */
static bool read_hex(const char **at, const char *end, char delimiter, uint64_t *out) {
  static const char digits[] = "0123456789abcdef";
  const char *start = *at;
  *out = 0;
  for (; *at < end && *at - start < 9; (*at)++) {
    const char c = **at >= 'A' && **at <= 'F' ? (char)(**at - 'A' + 'a') : **at;
    const char *digit = c ? strchr(digits, c) : NULL;
    if (!digit) break;
    *out = *out * 16 + (uint64_t)(digit - digits);
  }
  if (*at == start || *at - start > 8) return false;
  if (!delimiter) return *at == end;
  return *at < end && *(*at)++ == delimiter;
}

bool bus_id_parse(const char *text, size_t length, uint64_t *out) {
  const char *at = text, *end = text + length;
  uint64_t domain = 0, bus, slot, function;
  if (!read_hex(&at, end, ':', &bus)) return false;
  if (memchr(at, ':', (size_t)(end - at))) {
    domain = bus;
    if (!read_hex(&at, end, ':', &bus)) return false;
  }
  if (!read_hex(&at, end, '.', &slot) || !read_hex(&at, end, 0, &function)) return false;
  if (bus > 0xFF || slot > 0x1F || function > 7) return false;
  *out = domain << 32 | bus << 16 | slot << 8 | function;
  return true;
}

const char *bus_id_print(uint64_t id, char out[BUS_ID_SIZE]) {
  snprintf(out, BUS_ID_SIZE, "%04x:%02x:%02x.%x", (unsigned)(id >> 32), (unsigned)(id >> 16 & 0xFF),
           (unsigned)(id >> 8 & 0xFF), (unsigned)(id & 0xFF));
  return out;
}
