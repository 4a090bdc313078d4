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

/* Returns the shortest digits that parse to the same value of that type (half, float or double). */
void number_shortest(situ_type type, double value, struct decimal *out);

/* Rounds the exact value to a number of digits, at most DECIMAL_DIGITS. */
void number_round(double value, int digits, struct decimal *out);

/* Appends a number that parses to the same value of that type: 1, 0.5, 1e-07, inf, nan. */
void number_write(struct strbuf *out, situ_type type, double value);

/* Converts the bits of a half to double, and a double to the nearest half. */
double number_from_half(uint16_t bits);
uint16_t number_to_half(double value);

/* Returns element `index` of an array of half, float or double. */
double number_at(situ_type type, const void *data, int64_t index);

/* Returns element `index` of an array of an integer type or bool. */
int64_t number_integer_at(situ_type type, const void *data, int64_t index);

#endif
