/* SPDX-License-Identifier: Apache-2.0
 * utf8.h: decoding and encoding of UTF-8. */
#ifndef SITU_OPS_STRING_UTF8_H
#define SITU_OPS_STRING_UTF8_H

#include <situ/tensor.h>

#include "base/base.h"
#include "base/strbuf.h"

/* The result of decoding a byte that is not UTF-8. */
enum { UTF8_INVALID = 0x7FFFFFFF };

/* Decodes the character at *at and advances, by one byte if it is invalid. */
uint32_t utf8_decode(situ_string text, size_t *at);

/* Appends a character. */
void utf8_encode(uint32_t c, struct strbuf *out);

#endif
