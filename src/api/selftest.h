/* SPDX-License-Identifier: Apache-2.0
 * selftest.h: what the parts of the self-test share. */
#ifndef SITU_API_SELFTEST_H
#define SITU_API_SELFTEST_H

#include "device/registry.h"
#include "situ/selftest.h"

/* A self-test while it runs. */
struct selftest {
  const situ_selftest_options *options;
  situ_selftest_result *result;
  const struct device_list *list;
  struct device *device;
  struct device *other; /* another one of the same back end, or NULL */
  double start;         /* of the whole */
};

/* Seconds since some time in the past. */
double selftest_now(void);

/* Tells of a check; takes the status, of which NULL says that all is well. `figure` may be NULL. */
void selftest_note(const struct selftest *test, const char *part, const char *name,
                   situ_status status, const char *figure);

/* The parts. */
void selftest_queues(struct selftest *test);
void selftest_memory(struct selftest *test);
void selftest_copies(struct selftest *test);
void selftest_ops(struct selftest *test);
void selftest_speed(struct selftest *test);

/* Whether two numbers of a type, of which another compiler's functions gave one, are the same. */
bool selftest_agree(situ_type type, double have, double want);

#endif
