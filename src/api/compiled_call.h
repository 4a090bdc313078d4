/* SPDX-License-Identifier: Apache-2.0
 * compiled_call.h: a compiled eager call. */
#ifndef SITU_API_COMPILED_CALL_H
#define SITU_API_COMPILED_CALL_H

#include "api/program_cache.h"
#include "exec/state.h"
#include "plan/plan.h"
#include "situ/eager.h"

struct compiled_call {
  struct cached_program cached; /* must be first */
  situ_graph *graph;
  struct state state;
  bool logged;
  bool tiny; /* runs while holding the owner's lock, since releasing it would cost more */
  const struct device *device;
  situ_type type; /* of input 0, for the log */
};

/* The set of logged (op, type, device). */
struct compiled_call_log;

/* Initializes and builds the key of a call: op, device, types, shapes, devices of the inputs,
 * attributes, and the elements of inputs that determine shapes. `checked`: with numeric checks. */
void compiled_call_key(const situ_call *call, bool checked, struct program_key *key);

/* Compiles a call. */
situ_status compiled_call_create(const situ_call *call, const struct device_list *devices,
                                 bool soft, bool checked, const struct services *services,
                                 struct compiled_call **out) SITU_MUST_USE;

/* Frees a compiled call without idle frames, which must not be running. */
void compiled_call_destroy(struct cached_program *cached);

/* Prints "Executing op X in device Y" for the first call with these types on this device. */
situ_status compiled_call_log(struct compiled_call *compiled,
                              struct compiled_call_log **log_entries) SITU_MUST_USE;
void compiled_call_log_free(struct compiled_call_log *log_entries);

/* Logs an op that has no compiled call. */
situ_status compiled_call_log_op(const struct schema *schema, const struct device *device,
                                 situ_type type,
                                 struct compiled_call_log **log_entries) SITU_MUST_USE;

/* Runs a call; creates the frame if it is NULL. */
situ_status compiled_call_run(struct compiled_call *compiled, struct frame **frame,
                              situ_tensor *const *inputs, situ_tensor **outputs) SITU_MUST_USE;

#endif
