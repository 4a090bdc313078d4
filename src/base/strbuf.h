/* SPDX-License-Identifier: Apache-2.0
 * strbuf.h: a growing string buffer. */
#ifndef SITU_BASE_STRBUF_H
#define SITU_BASE_STRBUF_H

#include "base/base.h"

/* Zero is an empty text. Keeps going without memory: `failed` is asked once at the end. */
struct strbuf {
  char *data; /* ends in 0; NULL while empty */
  size_t length, capacity;
  bool failed;
};

/* Appends text, or a printf text. */
void strbuf_append(struct strbuf *text, const char *more);
void strbuf_append_n(struct strbuf *text, const char *more, size_t length);
void strbuf_appendf(struct strbuf *text, const char *format, ...) SITU_FORMAT(2, 3);

/* The characters so far; "" while empty. Borrowed. */
const char *strbuf_get(const struct strbuf *text);

void strbuf_free(struct strbuf *text);

/* Bytes as people read them: 512B, 1.5KiB, 2.00MiB (TensorFlow's form). Writes at most 32
 * characters. */
const char *strbuf_format_bytes(uint64_t bytes, char out[32]);

#endif
