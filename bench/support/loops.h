/* SPDX-License-Identifier: Apache-2.0
 * loops.h: what the machine gives to plain C: loops over large arrays on all threads, and the peak
 * of multiply-and-add. */
#ifndef SITU_BENCH_LOOPS_H
#define SITU_BENCH_LOOPS_H

#include <stdint.h>

/* Arrays of n floats; `out` is not used by loops that only read. */
struct loops {
  const float *a, *b;
  float *out;
  int64_t n;
  double sum; /* of loops_sum */
};

/* out = a + b, max(a, 0), a; the sum of a. The context is a struct loops. */
void loops_add(void *context);
void loops_relu(void *context);
void loops_copy(void *context);
void loops_sum(void *context);

/* Float operations of all threads in registers: a * b + c counts as two. */
struct loops_peak {
  int64_t items;
  int width;
};

/* Computes for a while; the context is a struct loops_peak that begins as zero. */
void loops_peak(void *context);

/* The operations of one call. */
double loops_peak_operations(const struct loops_peak *peak);

#endif
