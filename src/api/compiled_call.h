/* SPDX-License-Identifier: Apache-2.0
 * compiled_call.h: a compiled eager call and its cache key. */
#ifndef SITU_API_COMPILED_CALL_H
#define SITU_API_COMPILED_CALL_H

#include "exec/frame.h"
#include "exec/state.h"
#include "plan/plan.h"
#include "situ/eager.h"

/* What makes a call what it is: op, device, types, shapes, places, attributes, and the values of
 * inputs that shapes depend on. */
struct compiled_call_key {
  size_t length, capacity;
  unsigned char *bytes; /* `few` or malloc'ed */
  unsigned char few[512];
};

struct compiled_call {
  struct compiled_call *next; /* in its bucket */
  size_t length;
  unsigned char *key;
  situ_graph *graph;
  struct program *program;
  struct frame *idle;
  struct state state;
  int active; /* runs under way */
  bool logged;
  bool tiny; /* runs with the owner's lock: to let go of it would cost more */
  const struct device *device;
  situ_type type; /* of input 0, for the log */
};

/* What was logged: op, types, device. */
struct compiled_call_log;

/* Collects what makes up a call; `checked`: for NaN and infinities. */
situ_status compiled_call_key(const situ_call *call, bool checked,
                              struct compiled_call_key *out) SITU_MUST_USE;
void compiled_call_key_free(struct compiled_call_key *key);

/* A number that equal keys share. */
uint64_t compiled_call_hash(const struct compiled_call_key *key);

/* Whether the recipe is for such calls. */
bool compiled_call_matches(const struct compiled_call *compiled,
                           const struct compiled_call_key *key);

/* Compiles a call. */
situ_status compiled_call_create(const situ_call *call, const struct compiled_call_key *key,
                                 const struct device_list *devices, bool soft, bool checked,
                                 const struct services *services,
                                 struct compiled_call **out) SITU_MUST_USE;

/* Frees it; nobody runs it. */
void compiled_call_destroy(struct compiled_call *compiled);

/* Prints "Executing op X in device Y" for the first call with these types on this device. */
situ_status compiled_call_log(struct compiled_call *compiled,
                              struct compiled_call_log **said) SITU_MUST_USE;
void compiled_call_log_free(struct compiled_call_log *said);

/* The same of a call that is no recipe. */
situ_status compiled_call_log_op(const struct schema *schema, const struct device *device,
                                 situ_type type, struct compiled_call_log **said) SITU_MUST_USE;

/* Begins a run: an idle frame or NULL; compiled_call_end_run ends it. Called with the owner's lock.
 */
struct frame *compiled_call_begin_run(struct compiled_call *compiled);
void compiled_call_end_run(struct compiled_call *compiled, struct frame *frame);

/* Runs a call; makes the frame where it is NULL. */
situ_status compiled_call_run(struct compiled_call *compiled, struct frame **frame,
                              situ_tensor *const *inputs, situ_tensor **outputs) SITU_MUST_USE;

#endif
