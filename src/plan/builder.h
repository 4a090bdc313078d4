/* SPDX-License-Identifier: Apache-2.0
 * builder.h: the data that the passes of the planner share, and the passes in the order in which
 * plan.c runs them: prune.c (live nodes), values.c (shapes and static values), record.c and
 * commands.c (kernel calls and copies), saved_results.c (results that calls save for later calls),
 * buffer_donation.c, order.c (schedule), memory_plan.c (offsets). */
#ifndef SITU_PLAN_BUILDER_H
#define SITU_PLAN_BUILDER_H

#include "plan/numerics.h"
#include "plan/plan.h"
#include "schema/call.h"

/* A copy of a value on another device. */
struct replica {
  struct replica *next;
  int32_t device, slot, command;
};

/* An output of a live node, or a feed. */
struct value {
  const situ_shape *shape;
  const situ_tensor *static_value; /* its elements, if known at planning time; in host memory */
  struct replica *replicas;
  int32_t slot;    /* -1: not assigned yet */
  int32_t device;  /* where `slot` is */
  int32_t command; /* that produces it; -1: none */
  int32_t feed;    /* index of the feed; -1: not fed */
  situ_type type;
  bool constant;     /* depends on constants only */
  bool ordered;      /* it, or a value it is computed from, has a control input */
  bool used_by_next; /* the next program of the step needs it */
  bool used_on_host; /* ... in host memory */
  bool snapshot;     /* read from a variable whose memory it shares: copy_on_write.c */
};

/* A growing list of command indices. */
struct index_list {
  int32_t *items;
  int32_t count, capacity;
};

/* The launches that an op definition recorded for a node. Slots are numbered within the node:
 * inputs, outputs, scratch. */
struct recording {
  const struct node *node; /* NULL: not reusable for another node */
  int32_t device;
  struct recorder recorder;
  size_t *output_bytes;
};

/* Numeric checks added so far. */
struct numerics {
  int32_t *counts;    /* per device: slot of its counters + 1; 0: none yet */
  int32_t n_checked;  /* checks covered by a COMMAND_CHECK_NUMERICS */
  int32_t last_check; /* the last such command + 1; 0: none yet */
};

/* Per node: the result it saves for a later node, and the node whose saved result it reads. */
struct saved_result_state {
  bool requested;            /* a later node reads what this one saves */
  int32_t producer;          /* the node + 1 that may save a result for this one; 0: none */
  struct saved_result saved; /* `slot` is a slot of the program; bytes == 0: nothing saved */
};

struct builder {
  const struct plan_request *request;
  struct program *program;
  struct arena scratch;         /* freed when planning ends */
  struct recording *recordings; /* per schema: the latest */
  char *live;                   /* per node: LIVE_... */
  char *deferred;               /* per node: left to the next program of the step */
  int32_t *first_value;         /* per live node: index of its output 0 in `values` */
  int32_t *node_command;        /* per node: its last command; -1: none */
  struct value *values;
  int32_t n_values;
  situ_tensor **owned; /* static values to release */
  int32_t n_owned, owned_capacity;
  int32_t slot_capacity, command_capacity, launch_capacity, rebinding_capacity;
  int32_t host_op_capacity, check_capacity, all_reduce_capacity;
  struct index_list waits; /* what the next command waits for */
  struct edge missing;     /* the first value that only a run can provide; node -1: none */
  bool is_blocked;         /* the current node needs such a value */
  struct numerics numerics;
  int32_t *last_use; /* per value: the last node that uses it; NULL: not computed yet */
  struct saved_result_state *saved_results; /* per node; NULL: no op saves anything */
  bool one_queue; /* everything runs in order in the calling thread: waits are not needed */
};

/* What a run does with a node: nothing; executes it; only reads its feeds; binds it to the variable
 * that it updated in a previous program of the step. */
enum { LIVE_NONE, LIVE_RUN, LIVE_FED, LIVE_REFERENCE };

/* Binds a LIVE_REFERENCE node to its variable. */
void prune_bind_reference(struct builder *builder, const struct node *node);

/* Marks the nodes between feeds and fetches as live and numbers their outputs. */
situ_status prune_mark_live(struct builder *builder) SITU_MUST_USE;

/* The device that owns the memory of `device`: device 0 for every host device. */
static inline int32_t builder_memory_device(const struct builder *builder, int32_t device) {
  return builder->request->devices->devices[device]->backend->is_host ? 0 : device;
}

/* The value of an edge, fed or computed. */
static inline struct value *builder_value(const struct builder *builder, struct edge edge) {
  return &builder->values[builder->first_value[edge.node] + edge.output];
}

/* The builder_add_... functions append to the program's arrays. Those that return an index return
 * -1 when memory runs out. */
int32_t builder_add_slot(struct builder *builder, const struct slot *slot);
int32_t builder_add_host_op(struct builder *builder, const struct host_op *host_op);
int32_t builder_add_all_reduce(struct builder *builder, const struct all_reduce *all_reduce);

/* Adds a command that waits for builder->waits, and empties that list. */
int32_t builder_add_command(struct builder *builder, const struct plan_command *command);

/* Adds an uninitialized launch; NULL when memory runs out. */
struct launch *builder_add_launch(struct builder *builder);

/* Adds a numeric check; false when memory runs out. */
bool builder_add_check(struct builder *builder, const struct check *check);

/* Marks argument `arg` of a command as bound again in each run; false when memory runs out. */
bool builder_add_rebinding(struct builder *builder, int32_t command, int32_t arg, int32_t slot);

/* Makes the next command wait for this one; ignores -1. */
void builder_add_wait(struct builder *builder, int32_t command);

/* Infers the shapes and constancy of a node's outputs and evaluates its host inputs. Sets
 * builder->is_blocked if an input is not known yet: the node is left to the next program. */
situ_status values_infer(struct builder *builder, const struct node *node) SITU_MUST_USE;

/* The call that op definitions receive for a node; `in` and `out` provide its storage. */
struct call values_make_call(const struct builder *builder, const struct node *node,
                             struct operand *in, struct operand *out);

/* Records the launches of a node on a device; valid until the next node of the same op. */
situ_status record_node(struct builder *builder, const struct node *node, int32_t device,
                        const struct recording **out) SITU_MUST_USE;

/* Adds a recorded launch to the program: `slots` are the node's inputs, outputs and scratch. */
situ_status record_launch(struct builder *builder, const struct launch *from,
                          const struct node *node, const int32_t *slots,
                          int32_t *number) SITU_MUST_USE;

/* Finds the node that can save a result for this live node. */
situ_status saved_results_find_producer(struct builder *builder,
                                        const struct node *node) SITU_MUST_USE;

/* The result saved for a node; NULL: none. */
const struct saved_result *saved_results_get(const struct builder *builder,
                                             const struct node *node);

/* Registers the results that a node's recording saves; `slots` as in record_launch. */
void saved_results_set(struct builder *builder, const struct node *node,
                       const struct recording *recording, const int32_t *slots);

/* Compiles a node and the nodes with the same inputs on other devices to one all-reduce if their
 * back end has a collective library. `added` is set if the node now has its command. */
situ_status all_reduce_add(struct builder *builder, const struct node *node,
                           bool *added) SITU_MUST_USE;

/* Add the calls that count NaN and infinities in a node's outputs, and in the feeds. */
situ_status numerics_add(struct builder *builder, const struct node *node) SITU_MUST_USE;
situ_status numerics_add_feeds(struct builder *builder) SITU_MUST_USE;

/* Adds a command that fails the run if a check added so far counted anything. */
situ_status numerics_add_check(struct builder *builder) SITU_MUST_USE;

/* Does so before a node with side effects, and makes the node's commands wait for it. */
situ_status numerics_add_check_before(struct builder *builder,
                                      const struct node *node) SITU_MUST_USE;

/* Whether a node runs on host tensors: it has `compute` for its type, or its kernels move strings,
 * which own memory outside of the tensor. */
static inline bool builder_is_host_op(const struct node *node) {
  const struct op_def *op = node->schema->op;
  if (op->compute || schema_computes_strings(node->schema, node->attrs)) return true;
  return node->n_outputs && node->outputs[0].type == SITU_STRING && op->record &&
         !(op->flags & OP_ALIAS);
}

/* Whether a node only names existing memory and executes nothing. */
static inline bool builder_is_storage(const struct node *node) {
  return node->schema->op->flags & (OP_CONSTANT | OP_VARIABLE);
}

/* Whether a node is a reference to a variable's memory: readers see its current contents. */
static inline bool builder_is_reference(const struct builder *builder, const struct node *node) {
  if (!(node->schema->op->flags & OP_ALIAS)) return false;
  const struct value *value = builder_value(builder, (struct edge){node->id, 0});
  return value->slot >= 0 && !value->snapshot &&
         builder->program->slots[value->slot].kind == SLOT_STATE;
}

/* Finds the gradients of variables that the program computes. Must run after all nodes are added.
 */
situ_status variable_gradients_find(struct builder *builder) SITU_MUST_USE;

/* Marks the deferred fetches and collects the values that the next program needs. */
situ_status continuation_collect(struct builder *builder) SITU_MUST_USE;

/* Whether a node depends on a deferred node. */
bool continuation_is_deferred(const struct builder *builder, const struct node *node);

/* Whether a node runs after one that runs in this program for its effect only, such as an
 * assertion. */
bool continuation_follows_effect(struct builder *builder, const struct node *node);

/* Adds the command of a host op and the copies it needs. */
situ_status host_ops_add(struct builder *builder, const struct node *node,
                         int32_t device) SITU_MUST_USE;

/* The slot of a value on a device and the command that produces it; adds a copy if needed. */
situ_status commands_copy_to(struct builder *builder, struct edge edge, int32_t device,
                             int32_t *slot, int32_t *command) SITU_MUST_USE;

/* Assigns a slot to a feed or constant when it is first read. */
situ_status commands_assign_slot(struct builder *builder, struct edge edge) SITU_MUST_USE;

/* Adds the calls of a node and the copies it needs. */
situ_status commands_add(struct builder *builder, const struct node *node) SITU_MUST_USE;

/* Assigns a slot to each fetch; adds the copies to the host. */
situ_status commands_add_fetches(struct builder *builder) SITU_MUST_USE;

/* Finds the results that can reuse the buffer of a feed, and makes the commands that write them
 * wait for every reader of the feed. */
situ_status buffer_donation_find(struct builder *builder) SITU_MUST_USE;

/* Sets program->dynamic_order if host ops may block on each other (blocking_ops.c). Then the second
 * function finds the commands without a fixed order and saves all dependencies of each command;
 * `place` maps old command indices to new ones. */
situ_status blocking_ops_find(struct builder *builder) SITU_MUST_USE;
situ_status blocking_ops_save_dependencies(struct builder *builder,
                                           const int32_t *place) SITU_MUST_USE;

/* Before a node updates the variable in a slot: copies the values read from it that are used after
 * the update. */
situ_status copy_on_write_save(struct builder *builder, const struct node *update,
                               int32_t slot) SITU_MUST_USE;

/* The same for references: copies what deferred nodes before the update read by reference. */
situ_status copy_on_write_save_references(struct builder *builder, const struct node *update,
                                          int32_t slot) SITU_MUST_USE;

/* Adds waits between commands that access the same variable, in command order. */
situ_status copy_on_write_add_waits(struct builder *builder) SITU_MUST_USE;

/* Adds a copy of a value in new memory of the same device, on behalf of `node`. */
situ_status commands_copy_value(struct builder *builder, const struct value *value, int32_t node,
                                int32_t *slot, int32_t *command) SITU_MUST_USE;

/* Schedules the commands. */
situ_status order_commands(struct builder *builder) SITU_MUST_USE;

/* Whether a slot is a variable: of the session, or lent to a function by its caller. */
bool variable_access_is_variable(const struct program *program, const struct slot *slot);

/* Finds out which variables the program, in its final order, reads and assigns. */
situ_status variable_access_find(const struct builder *builder) SITU_MUST_USE;

/* Assigns each slot an offset in its device's block, from lifetimes. */
situ_status memory_plan_assign(struct builder *builder) SITU_MUST_USE;

#endif
