/* SPDX-License-Identifier: Apache-2.0
 * call.c: prepared calls of host kernels, shared by the back ends that run kernels on the CPU. */
#include "host/call.h"

static situ_status foreign_memory(const struct launch *launch, int arg) {
  return INTERNAL("Argument %d of kernel '%s' is not memory of the device that runs it.", arg,
                  launch->kernel->name);
}

static inline situ_status set_address(void *device, host_translate *translate,
                                      struct host_call *call, int arg, struct span span) {
  call->args[arg].pointer = NULL;
  if (!span.region) return NULL; /* an empty value has no memory */
  span.offset += (size_t)call->bound.launch->args[arg].offset;
  call->args[arg].pointer = translate(device, span);
  return call->args[arg].pointer ? NULL : foreign_memory(call->bound.launch, arg);
}

situ_status host_bind(void *device, host_translate *translate, const struct launch *launch,
                      const struct span *slots, struct arena *arena, struct bound_kernel **out) {
  const struct kernel *kernel_def = launch->kernel;
  host_kernel *kernel = kernel_def->host[launch->type];
  if (!kernel && launch->type == SITU_STRING)
    kernel = kernel_def->host[SITU_INT64]; /* strings are pointers */
  if (!kernel)
    return situ_status_create(SITU_UNIMPLEMENTED, "Kernel '%s' does not support type %s.",
                              launch->kernel->name, situ_type_name(launch->type));
  struct host_call *call =
      arena_alloc(arena, sizeof *call + (size_t)launch->n_args * sizeof(union arg));
  if (!call) return NO_MEMORY();
  *call = (struct host_call){.bound = {.launch = launch},
                             .kernel = kernel,
                             .items = launch->items,
                             .grain = launch->grain};
  const struct launch_arg *args = launch->args;
  for (int i = 0, n = launch->n_args; i < n; i++) {
    if (args[i].kind == ARG_SLOT)
      TRY(set_address(device, translate, call, i, slots[args[i].slot]));
    else if (args[i].kind == ARG_INTEGER)
      call->args[i].integer = args[i].integer;
    else
      call->args[i].real = args[i].real;
  }
  *out = &call->bound;
  return NULL;
}

situ_status host_rebind(void *device, host_translate *translate, struct bound_kernel *bound,
                        int arg, struct span span) {
  return set_address(device, translate, (struct host_call *)bound, arg, span);
}
