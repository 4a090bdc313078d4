/* SPDX-License-Identifier: Apache-2.0
 * selftest.h: does a device do what it should: the way to find out on a machine that nobody has
 * tried before. `situ selftest` prints it.
 */
#ifndef SITU_SELFTEST_H
#define SITU_SELFTEST_H

#include "situ/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One thing that was looked at; texts are borrowed for the call. */
typedef struct situ_selftest_check {
  const char *part;    /* "queues", "memory", "copies", "ops", "half", "speed" */
  const char *name;    /* "MatMul", "from the host" */
  const char *problem; /* NULL: it is as it should be */
  const char *figure;  /* "12.3 GB/s", or NULL */
} situ_selftest_check;

/* What to look at. */
typedef struct situ_selftest_options {
  const char *device; /* "/gpu:0" */
  double seconds;     /* after that long no further op is begun; 0: 60 seconds */
  const char *op;     /* only this op, or ops that match: "*Conv*"; NULL: all parts */
  void (*seen)(void *context, const situ_selftest_check *check); /* may be NULL */
  void *context;
} situ_selftest_options;

/* What came out. */
typedef struct situ_selftest_result {
  int checks, failed;
  int ops, ops_run;       /* with kernels for the device; tried in the time */
  int halves, halves_run; /* those of them that were tried in half, too, where the device has it */
  double seconds;
} situ_selftest_result;

/* Looks at a device: queues, memory, copies, every op's samples against the CPU (in float where it
 * takes that, and in half where the device has it), speed. A check
 * that fails is no error; an error says that the device cannot be looked at. */
SITU_API situ_status situ_selftest(const situ_selftest_options *options,
                                   situ_selftest_result *out) SITU_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
