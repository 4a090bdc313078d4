/* SPDX-License-Identifier: Apache-2.0
 * selftest.h: shared by the parts of the self-test. */
#ifndef SITU_API_SELFTEST_H
#define SITU_API_SELFTEST_H

#include "device/registry.h"
#include "situ/selftest.h"

/* A running self-test. */
struct selftest {
  const situ_selftest_options *options;
  situ_selftest_result *result;
  const struct device_list *list;
  struct device *device;
  struct device *other; /* another device of the same back end, or NULL */
  double start;         /* time when the self-test started */
};

/* Returns monotonic time in seconds. */
double selftest_now(void);

/* Reports a check and frees the status (NULL: passed). `figure` may be NULL. */
void selftest_report(const struct selftest *test, const char *part, const char *name,
                     situ_status status, const char *figure);

/* The parts. */
void selftest_queues(struct selftest *test);
void selftest_memory(struct selftest *test);
void selftest_copies(struct selftest *test);
void selftest_ops(struct selftest *test);
void selftest_speed(struct selftest *test);

/* Returns whether two values agree within the tolerance for different math libraries. */
bool selftest_agree(situ_type type, double actual, double expected);

#endif
