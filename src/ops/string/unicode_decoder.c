/* SPDX-License-Identifier: Apache-2.0
 * unicode_decoder.c: see unicode_decoder.h. The encodings of Unicode, ASCII and Latin-1 are decoded
 * here, others by iconv(3), one character at a time. */
#include "ops/string/unicode_decoder.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "ops/string/utf8.h"

/* Encodings by name, in lower case without punctuation. */
static const struct name {
  const char *name;
  enum unicode_encoding encoding;
  bool is_little, detects;
} names[] = {
    {"utf8", ENCODING_UTF8, false, false},       {"utf16", ENCODING_UTF16, false, true},
    {"utf16be", ENCODING_UTF16, false, false},   {"utf16le", ENCODING_UTF16, true, false},
    {"utf32", ENCODING_UTF32, false, true},      {"utf32be", ENCODING_UTF32, false, false},
    {"utf32le", ENCODING_UTF32, true, false},    {"ascii", ENCODING_ASCII, false, false},
    {"usascii", ENCODING_ASCII, false, false},   {"latin1", ENCODING_LATIN1, false, false},
    {"iso88591", ENCODING_LATIN1, false, false}, {"l1", ENCODING_LATIN1, false, false},
};

static bool is_same_name(const char *given, const char *name) {
  for (; *given; given++) {
    if (!isalnum((unsigned char)*given)) continue;
    if (tolower((unsigned char)*given) != *name) return false;
    name++;
  }
  return !*name;
}

situ_status unicode_decoder_open(const char *name, struct unicode_decoder *out) {
  *out = (struct unicode_decoder){.encoding = ENCODING_OTHER};
  for (size_t i = 0; i < COUNT_OF(names); i++)
    if (is_same_name(name, names[i].name)) {
      out->encoding = names[i].encoding;
      out->is_little = names[i].is_little;
      out->detects = names[i].detects;
      return NULL;
    }
  char plain[64]; /* iconv has options behind // */
  snprintf(plain, sizeof plain, "%s", name);
  for (char *c = plain; *c; c++)
    if (*c == '/' || *c == ' ') *c = '-';
  out->other = iconv_open("UTF-32BE", plain);
  if (*plain && out->other != (iconv_t)-1) return NULL;
  if (out->other != (iconv_t)-1) iconv_close(out->other);
  return INVALID("Could not create converter for input encoding: %s", name);
}

void unicode_decoder_close(struct unicode_decoder *decoder) {
  if (decoder->encoding == ENCODING_OTHER) iconv_close(decoder->other);
}

/* The length of the well-formed prefix of a sequence, at least 1: one U+FFFD replaces it. */
static size_t well_formed(situ_string text, size_t at) {
  const unsigned char *bytes = (const unsigned char *)text.data + at;
  const unsigned char first = bytes[0];
  const size_t length = first < 0xC2 || first > 0xF4 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  for (size_t i = 1; i < length; i++) {
    unsigned char low = 0x80, high = 0xBF;
    if (i == 1 && first == 0xE0) low = 0xA0;
    if (i == 1 && first == 0xED) high = 0x9F;
    if (i == 1 && first == 0xF0) low = 0x90;
    if (i == 1 && first == 0xF4) high = 0x8F;
    if (at + i >= text.length || bytes[i] < low || bytes[i] > high) return i;
  }
  return length;
}

static uint32_t next_utf8(situ_string text, size_t *at, bool *is_malformed) {
  const size_t length = well_formed(text, *at);
  size_t end = *at;
  const uint32_t c = utf8_decode(text, &end);
  *is_malformed = c == UTF8_INVALID;
  *at = *is_malformed ? *at + length : end;
  return *is_malformed ? UNICODE_REPLACEMENT : c;
}

/* A number of `size` bytes. */
static uint32_t read_unit(const struct unicode_decoder *decoder, situ_string text, size_t at,
                          size_t size) {
  uint32_t unit = 0;
  for (size_t i = 0; i < size; i++) {
    const size_t from = decoder->is_little ? size - 1 - i : i;
    unit = unit << 8 | (unsigned char)text.data[at + from];
  }
  return unit;
}

/* Reads a byte order mark at the start of a string. */
static void detect_order(struct unicode_decoder *decoder, situ_string text, size_t *at,
                         size_t size) {
  const uint32_t swapped = size == 2 ? 0xFFFE : 0xFFFE0000;
  if (!decoder->detects || *at) return;
  decoder->is_little = false;
  if (text.length < size) return;
  const uint32_t mark = read_unit(decoder, text, 0, size);
  decoder->is_little = mark == swapped;
  if (mark == 0xFEFF || mark == swapped) *at = size;
}

static uint32_t malformed(situ_string text, size_t *at, size_t bytes, bool *is_malformed) {
  *is_malformed = true;
  *at = *at + bytes > text.length ? text.length : *at + bytes;
  return UNICODE_REPLACEMENT;
}

static uint32_t next_utf16(struct unicode_decoder *decoder, situ_string text, size_t *at,
                           bool *is_malformed) {
  detect_order(decoder, text, at, 2);
  if (text.length - *at < 2) return malformed(text, at, 2, is_malformed);
  const uint32_t unit = read_unit(decoder, text, *at, 2);
  if (unit < 0xD800 || unit > 0xDFFF) {
    *at += 2;
    return unit;
  }
  const bool is_pair = unit < 0xDC00 && text.length - *at >= 4;
  const uint32_t second = is_pair ? read_unit(decoder, text, *at + 2, 2) : 0;
  if (second < 0xDC00 || second > 0xDFFF) return malformed(text, at, 2, is_malformed);
  *at += 4;
  return 0x10000 + ((unit - 0xD800) << 10) + (second - 0xDC00);
}

static uint32_t next_utf32(struct unicode_decoder *decoder, situ_string text, size_t *at,
                           bool *is_malformed) {
  detect_order(decoder, text, at, 4);
  if (text.length - *at < 4) return malformed(text, at, 4, is_malformed);
  const uint32_t c = read_unit(decoder, text, *at, 4);
  if (c > UNICODE_LAST || (c >= 0xD800 && c < 0xE000)) return malformed(text, at, 4, is_malformed);
  *at += 4;
  return c;
}

static uint32_t next_other(struct unicode_decoder *decoder, situ_string text, size_t *at,
                           bool *is_malformed) {
  unsigned char bytes[4];
  char *from = (char *)(uintptr_t)text.data + *at, *to = (char *)bytes;
  size_t left = text.length - *at, capacity = sizeof bytes;
  if (!*at) iconv(decoder->other, NULL, NULL, NULL, NULL);
  const size_t result = iconv(decoder->other, &from, &left, &to, &capacity);
  if (capacity)
    return malformed(text, at, result == (size_t)-1 && errno == EINVAL ? left : 1, is_malformed);
  *at = text.length - left;
  return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

uint32_t unicode_decoder_next(struct unicode_decoder *decoder, situ_string text, size_t *at,
                              bool *is_malformed) {
  *is_malformed = false;
  switch (decoder->encoding) {
    case ENCODING_UTF8:
      return next_utf8(text, at, is_malformed);
    case ENCODING_UTF16:
      return next_utf16(decoder, text, at, is_malformed);
    case ENCODING_UTF32:
      return next_utf32(decoder, text, at, is_malformed);
    case ENCODING_OTHER:
      return next_other(decoder, text, at, is_malformed);
    case ENCODING_ASCII:
    case ENCODING_LATIN1:
      break;
  }
  const unsigned char byte = (unsigned char)text.data[*at];
  if (decoder->encoding == ENCODING_ASCII && byte > 0x7F)
    return malformed(text, at, 1, is_malformed);
  ++*at;
  return byte;
}

static void append_unit(uint32_t unit, size_t size, struct strbuf *out) {
  char bytes[4];
  for (size_t i = 0; i < size; i++) bytes[i] = (char)(unit >> (8 * (size - 1 - i)) & 0xFF);
  strbuf_append_n(out, bytes, size);
}

void unicode_append(const char *encoding, uint32_t c, struct strbuf *out) {
  if (!strcmp(encoding, "UTF-8")) {
    utf8_encode(c >= 0xD800 && c < 0xE000 ? UNICODE_REPLACEMENT : c, out);
  } else if (!strcmp(encoding, "UTF-32-BE")) {
    append_unit(c, 4, out);
  } else if (c < 0x10000) {
    append_unit(c, 2, out);
  } else {
    append_unit(0xD800 + ((c - 0x10000) >> 10), 2, out);
    append_unit(0xDC00 + ((c - 0x10000) & 0x3FF), 2, out);
  }
}
