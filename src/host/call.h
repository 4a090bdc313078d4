/* SPDX-License-Identifier: Apache-2.0
 * call.h: a prepared call of a host kernel: what the back ends that run kernels as C share. */
#ifndef SITU_HOST_CALL_H
#define SITU_HOST_CALL_H

#include "device/backend.h"
#include "host/thread_pool.h"

struct host_call {
  struct bound_kernel bound;
  host_kernel *kernel;
  int64_t items, grain;
  union arg args[];
};

/* Turns a place in a device's memory into an address; NULL (and the caller fails) for another
 * device's. */
typedef void *host_translate(void *device, struct span span);

/* Prepares a call in the arena. Fails if the kernel has no form for the type, or a slot is not the
 * device's. */
situ_status host_bind(void *device, host_translate *translate, const struct launch *launch,
                      const struct span *slots, struct arena *arena,
                      struct bound_kernel **out) SITU_MUST_USE;

/* Gives an argument other memory. */
situ_status host_rebind(void *device, host_translate *translate, struct bound_kernel *bound,
                        int arg, struct span span) SITU_MUST_USE;

/* Runs a prepared call in this thread; large ones get help from the pool. */
static inline situ_status host_run(const struct host_call *call) {
  if (call->grain == 0 || call->items / 2 < call->grain)
    return call->kernel(call->args, 0, call->items);
  return thread_pool_run(call->kernel, call->args, call->items, call->grain);
}

#endif
