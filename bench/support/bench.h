/* SPDX-License-Identifier: Apache-2.0
 * bench.h: what the benchmarks share: rows, and times taken side by side.
 *
 * A benchmark prints one JSON object per row on standard output; bench/run.py collects them.
 * Machines are shared and change their speed, so a figure alone says little: the sides of a
 * comparison take turns in short bursts in one process, and the best burst of each counts. A burst
 * in which a thread waited for a core is repeated.
 */
#ifndef SITU_BENCH_H
#define SITU_BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include "situ/session.h"

/* Reads --quick and --only PATTERN; call it first. */
void bench_start(int argc, char **argv);

/* Whether fewer bursts are wanted. */
bool bench_quick(void);

/* Whether the row is wanted. */
bool bench_wants(const char *name);

/* One side of a comparison. */
struct bench_side {
  void (*run)(void *context);    /* what is measured */
  void *context;                 /* for all three */
  void (*before)(void *context); /* not measured; a side with one of these has bursts of one call */
  void (*after)(void *context);
  bool alone; /* runs in the caller's thread only: time in which that waited for a core is not
                 counted */
  double best, median; /* seconds per call: the result */
};

/* Measures the sides in turns. False if the machine was so busy that threads always waited for a
 * core: the result then says little. */
bool bench_alternate(struct bench_side *sides, int count);

/* Seconds on a clock that only goes forward. */
double bench_now(void);

/* A result. The ratio is value / yardstick; with a target, it holds if the ratio is not more (or,
 * with `at_least`, not less) than the target, 10 % aside. */
struct bench_row {
  const char *name; /* "run.chain": the part before the dot is the section of the table */
  const char *what; /* in words */
  double value;
  const char *unit;
  const char *against; /* the yardstick, in words; NULL: none */
  double yardstick;    /* in the same unit */
  double target;       /* of the ratio; 0: none */
  bool at_least;
  bool busy;        /* the machine was: see bench_alternate */
  const char *note; /* NULL: none */
};

/* Prints a row. */
void bench_report(const struct bench_row *row);

/* Prints that a row could not be measured, and why. */
void bench_skip(const char *name, const char *what, const char *why);

/* Ends the benchmark with the message of a failure; NULL is success. */
void bench_check(situ_status status);

/* Ends the benchmark if a result is wrong: what is measured must be what is meant. */
void bench_expect(bool right, const char *what);

#endif
