/* SPDX-License-Identifier: Apache-2.0
 * fused_update.c: several element-wise kernels fused into one call; see fused_update.h. */
#include "host/fused_update.h"

#include <string.h>

enum { BLOCK = 1024, MAX_ELEMENT_SIZE = 8 }; /* items per block, maximum element size in bytes */

struct temporaries {
  _Alignas(64) char bytes[FUSED_UPDATE_MAX_TEMPS][BLOCK * MAX_ELEMENT_SIZE];
};

int64_t fused_update_kernel_id(const struct launch *launch) {
  return (int64_t)(intptr_t)launch->kernel->host[launch->type];
}

situ_status fused_update_copy(const union arg *args, int64_t begin, int64_t end) {
  const size_t size = (size_t)args[2].integer;
  const char *from = args[0].pointer;
  char *to = args[1].pointer;
  memcpy(to + (size_t)begin * size, from + (size_t)begin * size, (size_t)(end - begin) * size);
  return NULL;
}

/* Runs one kernel on the items begin <= i < end, renumbered from 0. */
static situ_status run_one(const union arg *header, struct temporaries *temporaries, int64_t begin,
                           int64_t end) {
  host_kernel *kernel = (host_kernel *)(intptr_t)header[FUSED_UPDATE_KERNEL].integer;
  const int64_t count = header[FUSED_UPDATE_COUNT].integer,
                elementwise_mask = header[FUSED_UPDATE_ELEMENTWISE].integer;
  const int64_t temp_mask = header[FUSED_UPDATE_TEMPS].integer;
  const size_t size = (size_t)header[FUSED_UPDATE_SIZE].integer;
  union arg args[FUSED_UPDATE_MAX_ARGS];
  for (int64_t i = 0; i < count; i++) {
    args[i] = header[FUSED_UPDATE_HEADER + i];
    if (temp_mask >> i & 1)
      args[i].pointer = temporaries->bytes[args[i].integer];
    else if (elementwise_mask >> i & 1)
      args[i].pointer = (char *)args[i].pointer + (size_t)begin * size;
  }
  return kernel(args, 0, end - begin);
}

static situ_status run_fused(const union arg *args, int64_t begin, int64_t end) {
  struct temporaries temporaries;
  for (int64_t at = begin; at < end; at += BLOCK) {
    const union arg *header = args + 1;
    for (int64_t k = 0; k < args[0].integer; k++) {
      TRY(run_one(header, &temporaries, at, min_i64(end, at + BLOCK)));
      header += FUSED_UPDATE_HEADER + header[FUSED_UPDATE_COUNT].integer;
    }
  }
  return NULL;
}

/* Element sizes are in the arguments, so that the type does not matter. */
#define ENTRY(TYPE) [SITU_##TYPE] = run_fused
const struct kernel fused_update_kernel = {
    .name = "sweep",
    .host = {ENTRY(FLOAT), ENTRY(DOUBLE), ENTRY(HALF), ENTRY(INT32), ENTRY(INT64)}};
