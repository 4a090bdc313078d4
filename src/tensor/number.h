/* SPDX-License-Identifier: Apache-2.0
 * number.h: decimal digits of floating-point elements, whatever the locale says. */
#ifndef SITU_TENSOR_NUMBER_H
#define SITU_TENSOR_NUMBER_H

#include "base/base.h"
#include "base/strbuf.h"
#include "situ/tensor.h"

enum { DECIMAL_DIGITS = 40 };

/* A finite number as digits: d.ddd * 10^exponent, without zeros at the end; zero is one digit 0. */
struct decimal {
  char digits[DECIMAL_DIGITS];
  int count, exponent;
  bool negative;
};

/* The shortest digits that read back to the same value of that type (half, float or double). */
void number_shortest(situ_type type, double value, struct decimal *out);

/* The exact value rounded to so many digits, at most DECIMAL_DIGITS. */
void number_round(double value, int digits, struct decimal *out);

/* Appends a number so that it reads back to the same value of that type: 1, 0.5, 1e-07, inf, nan.
 */
void number_write(struct strbuf *out, situ_type type, double value);

/* Bits of a half as a double, and the half nearest to a double. */
double number_from_half(uint16_t bits);
uint16_t number_to_half(double value);

/* Element `index` of an array of half, float or double. */
double number_at(situ_type type, const void *data, int64_t index);

/* Element `index` of an array of an integer type or bool. */
int64_t number_integer_at(situ_type type, const void *data, int64_t index);

#endif
