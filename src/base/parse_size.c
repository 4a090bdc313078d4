/* SPDX-License-Identifier: Apache-2.0
 * parse_size.c: parses sizes and rates, independent of the locale (unlike strtod). */
#include "base/parse_size.h"

#include <math.h>
#include <string.h>
#include <strings.h>

static const struct unit {
  const char *name;
  uint64_t bytes;
} units[] = {{"B", 1},
             {"KiB", UINT64_C(1) << 10},
             {"MiB", UINT64_C(1) << 20},
             {"GiB", UINT64_C(1) << 30},
             {"TiB", UINT64_C(1) << 40},
             {"KB", UINT64_C(1000)},
             {"MB", UINT64_C(1000000)},
             {"GB", UINT64_C(1000000000)},
             {"TB", UINT64_C(1000000000000)}};

/* A decimal number in the input; `end` is behind it. */
struct number {
  const char *whole, *whole_end, *fraction, *end;
};

static situ_status malformed(const char *text, size_t length, const char *what, const char *at,
                             size_t *position) {
  *position = (size_t)(at - text);
  return INVALID("Malformed size '%.*s': %s at character %zu", (int)length, text, what, *position);
}

static const char *skip_digits(const char *at, const char *end) {
  while (at < end && *at >= '0' && *at <= '9') at++;
  return at;
}

/* Scans a number; on a missing digit `end` is NULL and `whole_end` its position. */
static struct number scan(const char *text, size_t length) {
  const char *end = text + length;
  struct number number = {.whole = text, .whole_end = skip_digits(text, end)};
  number.fraction = number.end = number.whole_end;
  if (number.whole_end == text) number.end = NULL;
  if (!number.end || number.end == end || *number.end != '.') return number;
  number.fraction = number.whole_end + 1;
  number.end = skip_digits(number.fraction, end);
  if (number.end == number.fraction) number.end = NULL, number.whole_end = number.fraction;
  return number;
}

static const struct unit *find_unit(const char *name, size_t length) {
  for (size_t i = 0; i < COUNT_OF(units); i++)
    if (strlen(units[i].name) == length && !strncasecmp(units[i].name, name, length))
      return &units[i];
  return NULL;
}

/* Computes number * unit; returns false on overflow of 64 bits. Working up from the last digit of
 * the fraction, each step drops only less than a byte, so that the result is exact. */
static bool multiply(const struct number *number, uint64_t unit, uint64_t *out) {
  uint64_t whole = 0, fraction_bytes = 0;
  for (const char *c = number->whole; c < number->whole_end; c++) {
    const uint64_t digit = (uint64_t)(*c - '0');
    if (whole > (UINT64_MAX - digit) / 10) return false;
    whole = whole * 10 + digit;
  }
  for (const char *c = number->end; c > number->fraction; c--)
    fraction_bytes = ((uint64_t)(c[-1] - '0') * unit + fraction_bytes) / 10;
  if (whole > (UINT64_MAX - fraction_bytes) / unit) return false;
  *out = whole * unit + fraction_bytes;
  return true;
}

situ_status parse_size_n(const char *text, size_t length, uint64_t *out, size_t *position) {
  const struct number number = scan(text, length);
  if (!number.end) return malformed(text, length, "expected a digit", number.whole_end, position);
  const char *name = number.end, *end = text + length;
  while (name < end && *name == ' ') name++;
  const struct unit *unit = name == end ? units : find_unit(name, (size_t)(end - name));
  if (!unit || (name == end && name > number.end))
    return malformed(text, length, "expected B, KiB, MiB, GiB, TiB, KB, MB, GB or TB", name,
                     position);
  if (!multiply(&number, unit->bytes, out))
    return malformed(text, length, "exceeds 64 bits", text, position);
  return NULL;
}

situ_status parse_size(const char *text, uint64_t *out) {
  size_t position;
  if (!text) return INVALID("Malformed size: the string is NULL");
  return parse_size_n(text, strlen(text), out, &position);
}

/* Converts to double; exact up to 15 digits. */
static double to_double(const struct number *number) {
  double value = 0, scale = 1;
  for (const char *c = number->whole; c < number->whole_end; c++) value = value * 10 + (*c - '0');
  for (const char *c = number->fraction; c < number->end; c++) {
    value = value * 10 + (*c - '0');
    scale *= 10;
  }
  return value / scale;
}

/* Parses an exponent such as `e12`; 0 if there is none. */
static int parse_exponent(const char **at, const char *end) {
  const char *c = *at + 1;
  if (*at == end || (**at != 'e' && **at != 'E')) return 0;
  const int sign = c < end && *c == '-' ? -1 : 1;
  if (c < end && (*c == '-' || *c == '+')) c++;
  const char *digits_end = skip_digits(c, end);
  if (digits_end == c || digits_end - c > 3) return 0;
  int value = 0;
  for (; c < digits_end; c++) value = value * 10 + (*c - '0');
  *at = digits_end;
  return sign * value;
}

situ_status parse_rate_n(const char *text, size_t length, double *out, size_t *position) {
  static const char suffixes[] = "KMGT";
  const struct number number = scan(text, length);
  if (!number.end) return malformed(text, length, "expected a digit", number.whole_end, position);
  const char *at = number.end, *end = text + length;
  double value = to_double(&number) * pow(10, parse_exponent(&at, end));
  const char *suffix = at < end && *at ? strchr(suffixes, *at) : NULL;
  if (suffix) value *= pow(1000, (double)(suffix - suffixes + 1)), at++;
  if (at < end) return malformed(text, length, "expected K, M, G, T or the end", at, position);
  if (!(value > 0) || !isfinite(value))
    return malformed(text, length, "expected a number above 0", text, position);
  *out = value;
  return NULL;
}
