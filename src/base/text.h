/* SPDX-License-Identifier: Apache-2.0
 * text.h: a growing text: reports, logs, listings. */
#ifndef SITU_BASE_TEXT_H
#define SITU_BASE_TEXT_H

#include "base/base.h"

/* Zero is an empty text. Keeps going without memory: `failed` is asked once at the end. */
struct text {
  char *data; /* ends in 0; NULL while empty */
  size_t length, capacity;
  bool failed;
};

/* Appends text, or a printf text. */
void text_add(struct text *text, const char *more);
void text_add_n(struct text *text, const char *more, size_t length);
void text_addf(struct text *text, const char *format, ...) SITU_FORMAT(2, 3);

/* The characters so far; "" while empty. Borrowed. */
const char *text_get(const struct text *text);

void text_free(struct text *text);

/* Bytes as people read them: 512B, 1.5KiB, 2.00MiB (TensorFlow's form). Writes at most 32
 * characters. */
const char *text_bytes(uint64_t bytes, char out[32]);

#endif
