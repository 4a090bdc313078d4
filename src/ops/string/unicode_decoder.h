/* SPDX-License-Identifier: Apache-2.0
 * unicode_decoder.h: characters of strings in any encoding that ICU or iconv(3) names. */
#ifndef SITU_OPS_STRING_UNICODE_DECODER_H
#define SITU_OPS_STRING_UNICODE_DECODER_H

#include <iconv.h>
#include <situ/tensor.h>

#include "base/base.h"
#include "base/strbuf.h"

enum unicode_encoding {
  ENCODING_ASCII,
  ENCODING_LATIN1,
  ENCODING_UTF8,
  ENCODING_UTF16,
  ENCODING_UTF32,
  ENCODING_OTHER
};

/* How strings are decoded. */
struct unicode_decoder {
  enum unicode_encoding encoding;
  bool is_little,
      detects;   /* UTF-16 and UTF-32: the byte order; a mark at the start may change it */
  iconv_t other; /* of ENCODING_OTHER */
};

enum { UNICODE_REPLACEMENT = 0xFFFD, UNICODE_LAST = 0x10FFFF };

/* Opens a decoder for a named encoding; case and punctuation of the name do not matter. */
situ_status unicode_decoder_open(const char *name, struct unicode_decoder *out) SITU_MUST_USE;
void unicode_decoder_close(struct unicode_decoder *decoder);

/* Decodes the character at *at and advances. A malformed sequence is one U+FFFD and sets
 * *is_malformed. The first call for a string has *at 0. */
uint32_t unicode_decoder_next(struct unicode_decoder *decoder, situ_string text, size_t *at,
                              bool *is_malformed);

/* Appends a character in UTF-8, UTF-16-BE or UTF-32-BE. */
void unicode_append(const char *encoding, uint32_t c, struct strbuf *out);

#endif
