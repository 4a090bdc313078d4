/* SPDX-License-Identifier: Apache-2.0
 * catalog.h: queries the table of op definitions, for listings, documentation and bindings. */
#ifndef SITU_CATALOG_H
#define SITU_CATALOG_H

#include <stdbool.h>
#include <stddef.h>

#include "situ/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An op definition. Strings are static; src/schema/schema.h describes their grammar. */
typedef struct situ_op {
  int number; /* the index of the op, for situ_call.op */
  const char *name, *family;
  const char *inputs, *outputs, *attrs;
  const char *python;  /* names under tf */
  const char *devices; /* device kinds with kernels: "CPU GPU(float double)" */
  const char *host;    /* inputs that are read on the host */
  const char *doc;
  const char *samples; /* test inputs, for situ_selftest */
  bool on_host;        /* a host op: runs in the caller's thread and may block */
} situ_op;

/* Returns the number of ops; situ_ops_get describes op 0 <= number < count. */
SITU_API int situ_ops_count(void);
SITU_API situ_status situ_ops_get(int number, situ_op *out) SITU_MUST_USE;

/* Finds an op by name. NotFound suggests the most similar name. */
SITU_API situ_status situ_ops_find(const char *name, situ_op *out) SITU_MUST_USE;

/* Copies the sentence that documents an input or attribute of an op; empty if there is none. */
SITU_API situ_status situ_ops_argument_doc(int number, const char *argument, char *out,
                                           size_t size) SITU_MUST_USE;

/* Returns the version of the library: "0.1.0". */
SITU_API const char *situ_version(void);

#ifdef __cplusplus
}
#endif
#endif
