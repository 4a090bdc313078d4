/* SPDX-License-Identifier: Apache-2.0
 * recipe.h: a compiled eager call. */
#ifndef SITU_API_RECIPE_H
#define SITU_API_RECIPE_H

#include "exec/frame.h"
#include "exec/state.h"
#include "plan/plan.h"
#include "situ/eager.h"

/* What makes a call what it is: op, device, types, shapes, places, attributes, and the values of
 * inputs that shapes depend on. */
struct recipe_key {
  size_t length, capacity;
  unsigned char *bytes; /* `few` or malloc'ed */
  unsigned char few[512];
};

struct recipe {
  struct recipe *next; /* in its bucket */
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
struct recipe_log;

/* Collects what makes up a call; `checked`: for NaN and infinities. */
situ_status recipe_key(const situ_call *call, bool checked, struct recipe_key *out) SITU_MUST_USE;
void recipe_key_free(struct recipe_key *key);

/* A number that equal keys share. */
uint64_t recipe_hash(const struct recipe_key *key);

/* Whether the recipe is for such calls. */
bool recipe_matches(const struct recipe *recipe, const struct recipe_key *key);

/* Compiles a call. */
situ_status recipe_create(const situ_call *call, const struct recipe_key *key,
                          const struct device_list *devices, bool soft, bool checked,
                          const struct services *services, struct recipe **out) SITU_MUST_USE;

/* Frees it; nobody runs it. */
void recipe_destroy(struct recipe *recipe);

/* Prints "Executing op X in device Y" for the first call with these types on this device. */
situ_status recipe_log(struct recipe *recipe, struct recipe_log **said) SITU_MUST_USE;
void recipe_log_free(struct recipe_log *said);

/* The same of a call that is no recipe. */
situ_status recipe_say(const struct schema *schema, const struct device *device, situ_type type,
                       struct recipe_log **said) SITU_MUST_USE;

/* Begins a run: an idle frame or NULL; recipe_give ends it. Called with the owner's lock. */
struct frame *recipe_take(struct recipe *recipe);
void recipe_give(struct recipe *recipe, struct frame *frame);

/* Runs a call; makes the frame where it is NULL. */
situ_status recipe_run(struct recipe *recipe, struct frame **frame, situ_tensor *const *inputs,
                       situ_tensor **outputs) SITU_MUST_USE;

#endif
