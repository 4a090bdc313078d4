/* SPDX-License-Identifier: Apache-2.0
 * strbuf.h: a growing string buffer. */
#ifndef SITU_BASE_STRBUF_H
#define SITU_BASE_STRBUF_H

#include "base/base.h"

/* Zero-initialized is empty. Appending continues after a failed allocation: check `failed` once at
 * the end. */
struct strbuf {
  char *data; /* null-terminated; NULL while empty */
  size_t length, capacity;
  bool failed;
};

/* Appends a string, or formats as printf. */
void strbuf_append(struct strbuf *buffer, const char *string);
void strbuf_append_n(struct strbuf *buffer, const char *string, size_t length);
void strbuf_appendf(struct strbuf *buffer, const char *format, ...) SITU_FORMAT(2, 3);

/* Returns the contents, "" while empty. Borrowed. */
const char *strbuf_get(const struct strbuf *buffer);

void strbuf_free(struct strbuf *buffer);

/* Formats a size as TensorFlow does: 512B, 1.5KiB, 2.00MiB. Returns `out`. */
const char *strbuf_format_bytes(uint64_t bytes, char out[32]);

#endif
