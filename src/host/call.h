/* SPDX-License-Identifier: Apache-2.0
 * call.h: prepared calls of host kernels, shared by the back ends that run kernels on the CPU. */
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

/* Resolves device memory to a host address; NULL if it belongs to another device. */
typedef void *host_translate(void *device, struct span span);

/* Prepares a call in the arena. Fails if the kernel does not support the type or a slot is not
 * memory of the device. */
situ_status host_bind(void *device, host_translate *translate, const struct launch *launch,
                      const struct span *slots, struct arena *arena,
                      struct bound_kernel **out) SITU_MUST_USE;

/* Changes the memory of an argument. */
situ_status host_rebind(void *device, host_translate *translate, struct bound_kernel *bound,
                        int arg, struct span span) SITU_MUST_USE;

/* Runs a prepared call in this thread; the thread pool helps with large ones. */
static inline situ_status host_run(const struct host_call *call) {
  if (call->grain == 0 || call->items / 2 < call->grain)
    return call->kernel(call->args, 0, call->items);
  return thread_pool_run(call->kernel, call->args, call->items, call->grain);
}

#endif
