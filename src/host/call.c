/* SPDX-License-Identifier: Apache-2.0
 * call.c: see call.h. */
#include "host/call.h"

static situ_status foreign_memory(const struct launch *launch, int arg) {
  return INTERNAL("Argument %d of kernel '%s' is not memory of the device that runs it.", arg,
                  launch->kernel->name);
}

static situ_status place(void *device, host_translate *translate, struct host_call *call, int arg,
                         struct span span) {
  const struct launch_arg *from = &call->bound.launch->args[arg];
  call->args[arg].pointer = NULL;
  if (!span.region) return NULL; /* a value without elements has no memory */
  span.offset += (size_t)from->offset;
  void *address = translate(device, span);
  if (!address) return foreign_memory(call->bound.launch, arg);
  call->args[arg].pointer = address;
  return NULL;
}

situ_status host_bind(void *device, host_translate *translate, const struct launch *launch,
                      const struct span *slots, struct arena *arena, struct bound **out) {
  host_kernel *kernel = launch->kernel->host[launch->type];
  if (!kernel)
    return situ_status_create(SITU_UNIMPLEMENTED, "Kernel '%s' has no form for type %s.",
                              launch->kernel->name, situ_type_name(launch->type));
  struct host_call *call =
      arena_alloc(arena, sizeof *call + (size_t)launch->n_args * sizeof(union arg));
  if (!call) return NO_MEMORY();
  *call = (struct host_call){.bound = {.launch = launch},
                             .kernel = kernel,
                             .items = launch->items,
                             .grain = launch->grain};
  for (int i = 0; i < launch->n_args; i++) {
    const struct launch_arg *arg = &launch->args[i];
    if (arg->kind == ARG_SLOT) TRY(place(device, translate, call, i, slots[arg->slot]));
    if (arg->kind == ARG_INTEGER) call->args[i].integer = arg->integer;
    if (arg->kind == ARG_REAL) call->args[i].real = arg->real;
  }
  *out = &call->bound;
  return NULL;
}

situ_status host_rebind(void *device, host_translate *translate, struct bound *bound, int arg,
                        struct span span) {
  return place(device, translate, (struct host_call *)bound, arg, span);
}
