/* SPDX-License-Identifier: Apache-2.0
 * compiled_call.h: a compiled eager call and its cache key. */
#ifndef SITU_API_COMPILED_CALL_H
#define SITU_API_COMPILED_CALL_H

#include "exec/frame.h"
#include "exec/state.h"
#include "plan/plan.h"
#include "situ/eager.h"

/* The cache key of a call: op, device, types, shapes, devices of the inputs, attributes, and the
 * values of inputs that determine shapes. */
struct compiled_call_key {
  size_t length, capacity;
  unsigned char *bytes; /* inline_buffer or malloc'ed */
  unsigned char inline_buffer[512];
};

struct compiled_call {
  struct compiled_call *next; /* in the hash bucket */
  size_t length;
  unsigned char *key;
  situ_graph *graph;
  struct program *program;
  struct frame *idle;
  struct state state;
  int active; /* number of running calls */
  bool logged;
  bool tiny; /* runs while holding the owner's lock, since releasing it would cost more */
  const struct device *device;
  situ_type type; /* of input 0, for the log */
};

/* The set of logged (op, type, device). */
struct compiled_call_log;

/* Builds the key of a call; `checked`: with numeric checks. */
situ_status compiled_call_key(const situ_call *call, bool checked,
                              struct compiled_call_key *out) SITU_MUST_USE;
void compiled_call_key_free(struct compiled_call_key *key);

/* Returns the hash of a key. */
uint64_t compiled_call_hash(const struct compiled_call_key *key);

/* Returns whether a compiled call has this key. */
bool compiled_call_matches(const struct compiled_call *compiled,
                           const struct compiled_call_key *key);

/* Compiles a call. */
situ_status compiled_call_create(const situ_call *call, const struct compiled_call_key *key,
                                 const struct device_list *devices, bool soft, bool checked,
                                 const struct services *services,
                                 struct compiled_call **out) SITU_MUST_USE;

/* Frees a compiled call, which must not be running. */
void compiled_call_destroy(struct compiled_call *compiled);

/* Prints "Executing op X in device Y" for the first call with these types on this device. */
situ_status compiled_call_log(struct compiled_call *compiled,
                              struct compiled_call_log **log_entries) SITU_MUST_USE;
void compiled_call_log_free(struct compiled_call_log *log_entries);

/* Logs an op that has no compiled call. */
situ_status compiled_call_log_op(const struct schema *schema, const struct device *device,
                                 situ_type type,
                                 struct compiled_call_log **log_entries) SITU_MUST_USE;

/* Starts a run: returns an idle frame or NULL. compiled_call_end_run ends it. Must hold the owner's
 * lock. */
struct frame *compiled_call_begin_run(struct compiled_call *compiled);
void compiled_call_end_run(struct compiled_call *compiled, struct frame *frame);

/* Runs a call; creates the frame if it is NULL. */
situ_status compiled_call_run(struct compiled_call *compiled, struct frame **frame,
                              situ_tensor *const *inputs, situ_tensor **outputs) SITU_MUST_USE;

#endif
