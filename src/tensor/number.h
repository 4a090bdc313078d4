/* SPDX-License-Identifier: Apache-2.0
 * number.h: converts floating-point elements to shortest decimal digits, independent of the
 * locale. */
#ifndef SITU_TENSOR_NUMBER_H
#define SITU_TENSOR_NUMBER_H

#include "base/base.h"
#include "base/strbuf.h"
#include "situ/tensor.h"

enum { DECIMAL_DIGITS = 40 };

/* A finite number as decimal digits: d.ddd * 10^exponent, without trailing zeros; zero is one digit
 * 0. */
struct decimal {
  char digits[DECIMAL_DIGITS];
  int count, exponent;
  bool negative;
};

/* Returns the shortest digits that parse to the same value of that floating-point type. */
void number_shortest(situ_type type, double value, struct decimal *out);

/* Rounds the exact value to a number of digits, at most DECIMAL_DIGITS. */
void number_round(double value, int digits, struct decimal *out);

/* Appends a number that parses to the same value of that type: 1, 0.5, 1e-07, inf, nan. */
void number_write(struct strbuf *out, situ_type type, double value);

/* Converts the bits of a half to double, and a double to the nearest half. */
double number_from_half(uint16_t bits);
uint16_t number_to_half(double value);

/* Converts the bits of a bfloat16 to double, and a double to the nearest bfloat16. */
double number_from_bfloat16(uint16_t bits);
uint16_t number_to_bfloat16(double value);

/* Converts the bits of an 8-bit type to double, and a double to the nearest value. */
double number_from_float8(situ_type type, uint8_t bits);
uint8_t number_to_float8(situ_type type, double value);

/* Rounds to the nearest value of a floating-point type. */
double number_as(situ_type type, double value);

/* Returns element `index` of an array of a floating-point type. */
double number_at(situ_type type, const void *data, int64_t index);

/* Returns element `index` of an array of an integer type or bool; of uint64 its bits. */
int64_t number_integer_at(situ_type type, const void *data, int64_t index);

/* Sets element `index` of an array of any numeric type or bool; complex numbers get no imaginary
 * part. */
void number_store(situ_type type, void *data, int64_t index, double value);

/* Appends what number_integer_at returned. */
void number_write_integer(struct strbuf *out, situ_type type, int64_t value);

#endif
