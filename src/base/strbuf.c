/* SPDX-License-Identifier: Apache-2.0
 * strbuf.c: a growing string buffer. */
#include "base/strbuf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool reserve(struct strbuf *buffer, size_t more) {
  const size_t required = buffer->length + more + 1;
  if (required <= buffer->capacity) return true;
  size_t capacity = buffer->capacity ? buffer->capacity : 128;
  while (capacity < required) capacity *= 2;
  char *data = buffer->failed ? NULL : realloc(buffer->data, capacity);
  if (!data) {
    buffer->failed = true;
    return false;
  }
  buffer->data = data;
  buffer->capacity = capacity;
  return true;
}

void strbuf_append_n(struct strbuf *buffer, const char *string, size_t length) {
  if (!reserve(buffer, length)) return;
  memcpy(buffer->data + buffer->length, string, length);
  buffer->length += length;
  buffer->data[buffer->length] = 0;
}

void strbuf_append(struct strbuf *buffer, const char *string) {
  strbuf_append_n(buffer, string, strlen(string));
}

void strbuf_appendf(struct strbuf *buffer, const char *format, ...) {
  va_list list;
  va_start(list, format);
  va_list list_copy;
  va_copy(list_copy, list);
  const int length = vsnprintf(NULL, 0, format, list_copy);
  va_end(list_copy);
  if (length >= 0 && reserve(buffer, (size_t)length)) {
    vsnprintf(buffer->data + buffer->length, (size_t)length + 1, format, list);
    buffer->length += (size_t)length;
  }
  va_end(list);
}

const char *strbuf_get(const struct strbuf *buffer) { return buffer->data ? buffer->data : ""; }

void strbuf_free(struct strbuf *buffer) {
  free(buffer->data);
  *buffer = (struct strbuf){0};
}

const char *strbuf_format_bytes(uint64_t bytes, char out[32]) {
  static const char units[] = "KMGTPE";
  if (bytes < 1024) {
    snprintf(out, 32, "%lluB", (unsigned long long)bytes);
    return out;
  }
  int unit = 0;
  uint64_t scaled = bytes;
  for (; scaled >= 1024 * 1024 && units[unit + 1]; unit++) scaled /= 1024;
  snprintf(out, 32, unit ? "%.2f%ciB" : "%.1f%ciB", (double)scaled / 1024.0, units[unit]);
  return out;
}
