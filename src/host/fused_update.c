/* SPDX-License-Identifier: Apache-2.0
 * fused_update.c: see fused_update.h. */
#include "host/fused_update.h"

#include <string.h>

enum { BLOCK = 1024, LARGEST = 8 }; /* items of a block, bytes of an element */

struct inside {
  _Alignas(64) char bytes[FUSED_UPDATE_MAX_TEMPS][BLOCK * LARGEST];
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

/* One kernel on the items begin <= i < end, which are its items 0, 1, ... */
static situ_status run_one(const union arg *head, struct inside *inside, int64_t begin,
                           int64_t end) {
  host_kernel *kernel = (host_kernel *)(intptr_t)head[FUSED_UPDATE_KERNEL].integer;
  const int64_t count = head[FUSED_UPDATE_COUNT].integer,
                each = head[FUSED_UPDATE_ELEMENTWISE].integer;
  const int64_t temps = head[FUSED_UPDATE_TEMPS].integer;
  const size_t size = (size_t)head[FUSED_UPDATE_SIZE].integer;
  union arg args[FUSED_UPDATE_MAX_ARGS];
  for (int64_t i = 0; i < count; i++) {
    args[i] = head[FUSED_UPDATE_HEADER + i];
    if (temps >> i & 1)
      args[i].pointer = inside->bytes[args[i].integer];
    else if (each >> i & 1)
      args[i].pointer = (char *)args[i].pointer + (size_t)begin * size;
  }
  return kernel(args, 0, end - begin);
}

static situ_status run_fused(const union arg *args, int64_t begin, int64_t end) {
  struct inside inside;
  for (int64_t at = begin; at < end; at += BLOCK) {
    const union arg *head = args + 1;
    for (int64_t k = 0; k < args[0].integer; k++) {
      TRY(run_one(head, &inside, at, min_i64(end, at + BLOCK)));
      head += FUSED_UPDATE_HEADER + head[FUSED_UPDATE_COUNT].integer;
    }
  }
  return NULL;
}

/* Sizes stand in the arguments: the type does not matter. */
#define ENTRY(TYPE) [SITU_##TYPE] = run_fused
const struct kernel fused_update_kernel = {
    .name = "sweep",
    .host = {ENTRY(FLOAT), ENTRY(DOUBLE), ENTRY(HALF), ENTRY(INT32), ENTRY(INT64)}};
