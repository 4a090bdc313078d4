/* SPDX-License-Identifier: Apache-2.0
 * catalog.h: the catalogue of ops, for listings, documentation and bindings. */
#ifndef SITU_CATALOG_H
#define SITU_CATALOG_H

#include <stdbool.h>
#include <stddef.h>

#include "situ/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An op as its row says it; the grammar of the texts is that of src/schema/schema.h. Static data.
 */
typedef struct situ_op {
  int number; /* in the catalogue, for situ_eager_run */
  const char *name, *family;
  const char *inputs, *outputs, *attrs;
  const char *python;  /* names under tf */
  const char *devices; /* where it has kernels */
  const char *host;    /* inputs that are read on the host */
  const char *doc;
  const char *samples;
  bool on_host; /* runs in the caller's thread and may wait: for files, queues, other processes */
} situ_op;

/* The number of ops, and op 0 <= number < count. */
SITU_API int situ_ops_count(void);
SITU_API situ_status situ_ops_get(int number, situ_op *out) SITU_MUST_USE;

/* The op of that name, or NotFound with the nearest one. */
SITU_API situ_status situ_ops_find(const char *name, situ_op *out) SITU_MUST_USE;

/* Copies the sentence that documents an input or attribute of an op; empty if there is none. */
SITU_API situ_status situ_ops_argument_doc(int number, const char *argument, char *out,
                                           size_t size) SITU_MUST_USE;

/* The version of the library: "0.1.0". */
SITU_API const char *situ_version(void);

#ifdef __cplusplus
}
#endif
#endif
