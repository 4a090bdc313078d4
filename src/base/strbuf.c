/* SPDX-License-Identifier: Apache-2.0
 * strbuf.c: see strbuf.h. */
#include "base/strbuf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool reserve(struct strbuf *text, size_t more) {
  const size_t need = text->length + more + 1;
  if (need <= text->capacity) return true;
  size_t capacity = text->capacity ? text->capacity : 128;
  while (capacity < need) capacity *= 2;
  char *data = text->failed ? NULL : realloc(text->data, capacity);
  if (!data) {
    text->failed = true;
    return false;
  }
  text->data = data;
  text->capacity = capacity;
  return true;
}

void strbuf_append_n(struct strbuf *text, const char *more, size_t length) {
  if (!reserve(text, length)) return;
  memcpy(text->data + text->length, more, length);
  text->length += length;
  text->data[text->length] = 0;
}

void strbuf_append(struct strbuf *text, const char *more) {
  strbuf_append_n(text, more, strlen(more));
}

void strbuf_appendf(struct strbuf *text, const char *format, ...) {
  va_list list;
  va_start(list, format);
  va_list again;
  va_copy(again, list);
  const int length = vsnprintf(NULL, 0, format, again);
  va_end(again);
  if (length >= 0 && reserve(text, (size_t)length)) {
    vsnprintf(text->data + text->length, (size_t)length + 1, format, list);
    text->length += (size_t)length;
  }
  va_end(list);
}

const char *strbuf_get(const struct strbuf *text) { return text->data ? text->data : ""; }

void strbuf_free(struct strbuf *text) {
  free(text->data);
  *text = (struct strbuf){0};
}

const char *strbuf_format_bytes(uint64_t bytes, char out[32]) {
  static const char units[] = "KMGTPE";
  if (bytes < 1024) {
    snprintf(out, 32, "%lluB", (unsigned long long)bytes);
    return out;
  }
  int unit = 0;
  uint64_t rest = bytes;
  for (; rest >= 1024 * 1024 && units[unit + 1]; unit++) rest /= 1024;
  snprintf(out, 32, unit ? "%.2f%ciB" : "%.1f%ciB", (double)rest / 1024.0, units[unit]);
  return out;
}
