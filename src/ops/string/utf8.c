/* SPDX-License-Identifier: Apache-2.0
 * utf8.c: see utf8.h. */
#include "ops/string/utf8.h"

/* The length of the sequence that a byte begins; 0: invalid. */
static size_t sequence_length(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first < 0xE0) return 2;
  if (first >= 0xE0 && first < 0xF0) return 3;
  return first >= 0xF0 && first < 0xF5 ? 4 : 0;
}

uint32_t utf8_decode(situ_string text, size_t *at) {
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  const unsigned char *bytes = (const unsigned char *)text.data + *at;
  const size_t length = sequence_length(*bytes);
  uint32_t c = length > 1 ? *bytes & (0x7Fu >> length) : *bytes;
  bool good = length && length <= text.length - *at;
  for (size_t i = 1; good && i < length; i++) {
    good = (bytes[i] & 0xC0) == 0x80;
    c = c << 6 | (bytes[i] & 0x3F);
  }
  good = good && c >= least[length] && c <= 0x10FFFF && !(c >= 0xD800 && c < 0xE000);
  *at += good ? length : 1;
  return good ? c : UTF8_INVALID;
}

void utf8_encode(uint32_t c, struct strbuf *out) {
  char bytes[4];
  const size_t length = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  for (size_t i = length; i-- > 1; c >>= 6) bytes[i] = (char)(0x80 | (c & 0x3F));
  bytes[0] = (char)(length == 1 ? c : (0xF0u << (4 - length) & 0xFF) | c);
  strbuf_append_n(out, bytes, length);
}
