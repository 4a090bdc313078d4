/* SPDX-License-Identifier: Apache-2.0
 * number.c: converts floating-point elements to shortest decimal digits. snprintf and strtod do the
 * exact arithmetic; only digits and exponents are used, because the decimal point depends on the
 * locale. */
#include "tensor/number.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/type.h"

double number_from_half(uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  double value = 0;
  if (exponent == 31)
    value = fraction ? (double)NAN : (double)INFINITY;
  else if (exponent)
    value = ldexp(1024 + fraction, exponent - 25);
  else
    value = ldexp(fraction, -24);
  return bits >> 15 ? -value : value;
}

uint16_t number_to_half(double value) {
  const uint16_t sign = signbit(value) ? 0x8000 : 0;
  const double magnitude = fabs(value);
  if (isnan(value)) return sign | 0x7e00;
  if (magnitude >= 65520) return sign | 0x7c00;
  int exponent = 0;
  frexp(magnitude, &exponent);
  if (exponent < -13 || magnitude == 0) exponent = -13; /* subnormal: multiples of 2^-24 */
  /* nearbyint rounds to even; a carry propagates into the exponent */
  const int steps = (int)nearbyint(ldexp(magnitude, 11 - exponent));
  return (uint16_t)(sign | (((exponent + 13) << 10) + steps));
}

double number_from_bfloat16(uint16_t bits) {
  const uint32_t wide = (uint32_t)bits << 16;
  float value;
  memcpy(&value, &wide, sizeof value);
  return (double)value;
}

uint16_t number_to_bfloat16(double value) {
  const float single = (float)value;
  uint32_t bits;
  memcpy(&bits, &single, sizeof bits);
  if (isnan(single)) return (uint16_t)(bits >> 16 & 0x8000) | 0x7fc0;
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

double number_from_float8(situ_type type, uint8_t bits) {
  if (type == SITU_FLOAT8_E5M2) return number_from_half((uint16_t)(bits << 8));
  const int exponent = bits >> 3 & 15, fraction = bits & 7;
  double value = 0;
  if ((bits & 127) == 127)
    value = (double)NAN;
  else if (exponent)
    value = ldexp(8 + fraction, exponent - 10);
  else
    value = ldexp(fraction, -9);
  return bits >> 7 ? -value : value;
}

uint8_t number_to_float8(situ_type type, double value) {
  const bool wide = type == SITU_FLOAT8_E5M2;
  const int digits = wide ? 2 : 3, lowest = wide ? -13 : -5; /* as frexp returns exponents */
  const int overflow = wide ? 0x7c : 0x7f, sign = signbit(value) ? 0x80 : 0;
  const double magnitude = fabs(value);
  if (isnan(value)) return (uint8_t)(sign | (wide ? 0x7e : 0x7f));
  if (magnitude >= 131072) return (uint8_t)(sign | overflow);
  int exponent = 0;
  frexp(magnitude, &exponent);
  if (exponent < lowest || magnitude == 0) exponent = lowest;
  /* nearbyint rounds to even; a carry propagates into the exponent */
  const int steps = (int)nearbyint(ldexp(magnitude, digits + 1 - exponent));
  const int bits = ((exponent - lowest) << digits) + steps;
  return (uint8_t)(sign | (bits > overflow ? overflow : bits));
}

double number_at(situ_type type, const void *data, int64_t index) {
  if (type == SITU_FLOAT) return (double)((const float *)data)[index];
  if (type == SITU_DOUBLE) return ((const double *)data)[index];
  if (type == SITU_HALF) return number_from_half(((const uint16_t *)data)[index]);
  if (type == SITU_BFLOAT16) return number_from_bfloat16(((const uint16_t *)data)[index]);
  if (type_is_float8(type)) return number_from_float8(type, ((const uint8_t *)data)[index]);
  return 0;
}

int64_t number_integer_at(situ_type type, const void *data, int64_t index) {
  if (type == SITU_INT32) return ((const int32_t *)data)[index];
  if (type == SITU_INT64) return ((const int64_t *)data)[index];
  if (type == SITU_INT8 || type == SITU_INT4) return ((const int8_t *)data)[index];
  if (type == SITU_UINT8 || type == SITU_UINT4) return ((const uint8_t *)data)[index];
  if (type == SITU_INT16) return ((const int16_t *)data)[index];
  if (type == SITU_UINT16) return ((const uint16_t *)data)[index];
  if (type == SITU_UINT32) return ((const uint32_t *)data)[index];
  if (type == SITU_UINT64) return (int64_t)((const uint64_t *)data)[index];
  if (type == SITU_BOOL) return ((const uint8_t *)data)[index] != 0;
  return 0;
}

void number_round(double value, int digits, struct decimal *out) {
  char text[DECIMAL_DIGITS + 32];
  snprintf(text, sizeof text, "%.*e", digits - 1, fabs(value));
  out->negative = signbit(value);
  out->count = 0;
  const char *at = text;
  for (; *at && *at != 'e'; at++)
    if (*at >= '0' && *at <= '9') out->digits[out->count++] = *at;
  out->exponent = *at ? atoi(at + 1) : 0;
  while (out->count > 1 && out->digits[out->count - 1] == '0') out->count--;
}

double number_as(situ_type type, double value) {
  if (type == SITU_FLOAT) return (double)(float)value;
  if (type == SITU_HALF) return number_from_half(number_to_half(value));
  if (type_is_float8(type)) return number_from_float8(type, number_to_float8(type, value));
  return type == SITU_BFLOAT16 ? number_from_bfloat16(number_to_bfloat16(value)) : value;
}

void number_store(situ_type type, void *data, int64_t index, double value) {
  const int64_t whole = type_is_real(type) || type_is_complex(type) ? 0
                        : type == SITU_UINT64                       ? (int64_t)(uint64_t)value
                                                                    : (int64_t)value;
  const size_t size = situ_type_size(type);
  char *to = (char *)data + (size_t)index * size;
  const float single[2] = {(float)value, 0};
  const double parts[2] = {value, 0};
  const uint16_t bits = type == SITU_HALF ? number_to_half(value) : number_to_bfloat16(value);
  if (type == SITU_FLOAT || type == SITU_COMPLEX64)
    memcpy(to, single, size);
  else if (type == SITU_DOUBLE || type == SITU_COMPLEX128)
    memcpy(to, parts, size);
  else if (type == SITU_HALF || type == SITU_BFLOAT16)
    memcpy(to, &bits, size);
  else if (type_is_float8(type))
    *(uint8_t *)to = number_to_float8(type, value);
  else if (type == SITU_INT4)
    *(int8_t *)to = (int8_t)(((whole & 15) ^ 8) - 8);
  else if (type == SITU_UINT4)
    *(uint8_t *)to = (uint8_t)(whole & 15);
  else
    memcpy(to, &whole, size); /* the low bytes: little-endian machines only */
}

void number_write_integer(struct strbuf *out, situ_type type, int64_t value) {
  if (type == SITU_UINT64)
    strbuf_appendf(out, "%" PRIu64, (uint64_t)value);
  else
    strbuf_appendf(out, "%" PRId64, value);
}

/* Parses the digits as that type. */
static double parse_as(situ_type type, const struct decimal *decimal) {
  char text[DECIMAL_DIGITS + 32];
  snprintf(text, sizeof text, "%.*se%d", decimal->count, decimal->digits,
           decimal->exponent - decimal->count + 1);
  if (type == SITU_FLOAT) return (double)strtof(text, NULL);
  const double value = strtod(text, NULL);
  return number_as(type, value);
}

/* Increments the last of `digits` digits, away from zero. */
static void increment(struct decimal *decimal, int digits) {
  while (decimal->count < digits) decimal->digits[decimal->count++] = '0';
  int at = digits - 1;
  while (at >= 0 && decimal->digits[at] == '9') decimal->digits[at--] = '0';
  if (at >= 0) {
    decimal->digits[at]++;
  } else {
    decimal->digits[0] = '1';
    decimal->exponent++;
  }
  while (decimal->count > 1 && decimal->digits[decimal->count - 1] == '0') decimal->count--;
}

void number_shortest(situ_type type, double value, struct decimal *out) {
  const bool is_short = type == SITU_HALF || type_is_storage(type);
  const int max_digits = is_short ? 5 : type == SITU_FLOAT ? 9 : 17;
  const double magnitude = fabs(value);
  for (int digits = 1; digits < max_digits; digits++) {
    number_round(value, digits, out);
    if (parse_as(type, out) == magnitude) return;
    /* Above a power of two the spacing doubles: the nearest decimal may fail where the next one
     * succeeds. */
    increment(out, digits);
    if (parse_as(type, out) == magnitude) return;
  }
  number_round(value, max_digits, out);
}

void number_write(struct strbuf *out, situ_type type, double value) {
  if (!isfinite(value)) {
    strbuf_append(out, isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
    return;
  }
  struct decimal d;
  number_shortest(type, value, &d);
  if (d.negative) strbuf_append(out, "-");
  if (d.exponent < -5 || d.exponent > 16) {
    strbuf_append_n(out, d.digits, 1);
    if (d.count > 1) strbuf_append(out, ".");
    strbuf_append_n(out, d.digits + 1, (size_t)d.count - 1);
    strbuf_appendf(out, "e%c%02d", d.exponent < 0 ? '-' : '+', abs(d.exponent));
    return;
  }
  if (d.exponent < 0) strbuf_append(out, "0.");
  for (int i = d.exponent + 1; i < 0; i++) strbuf_append(out, "0");
  for (int i = 0; i < d.count; i++) {
    if (i == d.exponent + 1 && i) strbuf_append(out, ".");
    strbuf_append_n(out, d.digits + i, 1);
  }
  for (int i = d.count; i <= d.exponent; i++) strbuf_append(out, "0");
}
