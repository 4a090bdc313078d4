/* SPDX-License-Identifier: Apache-2.0
 * selftest.h: tests a device against the CPU, for hardware that situ was not tested on before. Used
 * by `situ selftest`.
 */
#ifndef SITU_SELFTEST_H
#define SITU_SELFTEST_H

#include "situ/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The result of one check. Strings are valid during the callback. */
typedef struct situ_selftest_check {
  const char *part;    /* "queues", "memory", "copies", "ops", "half", "speed" */
  const char *name;    /* "MatMul", "from the host" */
  const char *problem; /* why the check failed; NULL: it passed */
  const char *figure;  /* a measurement: "12.3 GB/s"; or NULL */
} situ_selftest_check;

/* Options of situ_selftest. */
typedef struct situ_selftest_options {
  const char *device; /* "/gpu:0" */
  double seconds;     /* starts no further op after this time; 0: 60 seconds */
  const char *op;     /* tests only ops that match this pattern ("*Conv*"); NULL: everything */
  void (*on_check)(void *context, const situ_selftest_check *check); /* may be NULL */
  void *context;
} situ_selftest_options;

/* The summary of a self-test. */
typedef struct situ_selftest_result {
  int checks, failed;
  int ops, ops_run;       /* ops with kernels for the device; ops tested within `seconds` */
  int halves, halves_run; /* the same for float16, if the device supports it */
  double seconds;
} situ_selftest_result;

/* Tests a device: queues, memory, copies, the samples of every op against the CPU (in float32 if
 * the op supports it, and in float16 if the device does) and speed. A failed check is not an error;
 * an error means that the device cannot be tested. */
SITU_API situ_status situ_selftest(const situ_selftest_options *options,
                                   situ_selftest_result *out) SITU_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
