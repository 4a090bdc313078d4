/* SPDX-License-Identifier: Apache-2.0
 * builder.h: what the passes of the planner share. In order: prune.c (prune), values.c (shapes and
 * known values), record.c and commands.c (calls and copies), saved_results.c (what calls keep for
 * each other), fused_update.c (joins some of them), buffer_donation.c (results in the memory of
 * feeds), order.c, memory_plan.c (memory). */
#ifndef SITU_PLAN_BUILDER_H
#define SITU_PLAN_BUILDER_H

#include "plan/numerics.h"
#include "plan/plan.h"
#include "schema/call.h"

/* A place where a value was copied to. */
struct replica {
  struct replica *next;
  int32_t device, slot, command;
};

/* An output of a live node, or a fed value. */
struct value {
  const situ_shape *shape;
  const situ_tensor *known; /* its elements, in host memory */
  struct replica *replicas;
  int32_t slot;    /* at home; -1: none */
  int32_t device;  /* at home */
  int32_t command; /* that makes it; -1: none */
  int32_t feed;    /* number of the feed; -1: none */
  situ_type type;
  bool constant; /* depends on constants alone */
  bool ordered;  /* comes after a control input, its own or of what it is computed from */
  bool crosses;  /* a later part needs it */
  bool to_host;  /* and in host memory */
  bool snapshot; /* was read of a variable, whose memory it shares: copy_on_write.c */
};

/* A growing list of numbers, for waits. */
struct numbers {
  int32_t *items;
  int32_t count, capacity;
};

/* What a row recorded for a node. Slots are numbered within the node: inputs, outputs, scratch. */
struct recording {
  const struct node *node; /* NULL: of no use for another one */
  int32_t device;
  struct recorder recorder;
  size_t *output_bytes;
};

/* Checks for NaN and infinities while they are planned. */
struct numerics {
  int32_t *counts; /* per device: its slot of counts + 1; 0: none yet */
  int32_t seen;    /* checks that a command looks at */
  int32_t look;    /* the last such command + 1; 0: none yet */
};

/* Per node: what it keeps for a later one, and whose it reads. */
struct saved_result_state {
  bool awaited;
  int32_t maker;             /* the node + 1 that may keep something for this one; 0: none */
  struct saved_result saved; /* what it keeps; the slot is the program's; without bytes: nothing */
};

struct builder {
  const struct plan_request *request;
  struct program *program;
  struct arena scratch;         /* dies with the planning */
  struct recording *recordings; /* per schema: the last one */
  char *live;                   /* per node */
  char *deferred;               /* per node: waits for the next part */
  int32_t *first_value;         /* per live node: number of its output 0 */
  int32_t *node_command;        /* per node: its last command; -1: none */
  struct value *values;
  int32_t n_values;
  situ_tensor **owned; /* known values to release */
  int32_t n_owned, owned_capacity;
  int32_t slot_capacity, command_capacity, launch_capacity, moving_capacity;
  struct numbers waits;
  struct edge need; /* the first value that is missing; node -1: none is */
  bool lacks;       /* the node at hand lacks it */
  int32_t host_op_capacity, check_capacity, all_reduce_capacity;
  struct numerics numerics;
  int32_t *last_use; /* per value: the last node that uses it; NULL: not asked yet */
  struct saved_result_state *saved_results; /* per node; NULL: nobody asks for anything */
  bool one_queue; /* all is done in the caller's thread, in order: nobody waits for anybody */
};

/* What a run does with a node: nothing; runs it; only knows that it is fed; takes it as the
 * variable that it updated in an earlier part. */
enum { LIVE_NOT, LIVE_RUN, LIVE_FED, LIVE_REFERENCE };

/* Lets a node of kind LIVE_REFERENCE be its variable. */
void prune_bind_reference(struct builder *builder, const struct node *node);

/* Marks what the fetches need, stopping at what is fed, and numbers the values. */
situ_status prune_mark_live(struct builder *builder) SITU_MUST_USE;

/* The device that counts as home for memory: the first host device for all of them. */
static inline int32_t builder_home(const struct builder *builder, int32_t device) {
  return builder->request->devices->devices[device]->backend->is_host ? 0 : device;
}

/* The value of an edge; fed ones included. */
static inline struct value *builder_value(const struct builder *builder, struct edge edge) {
  return &builder->values[builder->first_value[edge.node] + edge.output];
}

/* Adds a slot, or -1 without memory. */
int32_t builder_slot(struct builder *builder, const struct slot *slot);

/* Adds a command, or -1 without memory. Waits on the commands collected in builder->waits, and
 * forgets those. */
int32_t builder_command(struct builder *builder, const struct plan_command *command);

/* Adds a launch to be filled in, or NULL without memory. */
struct launch *builder_launch(struct builder *builder);

/* Remembers that an argument of a command is fed or fetched; false without memory. */
bool builder_move(struct builder *builder, int32_t command, int32_t arg, int32_t slot);

/* Remembers that the next command comes after this one; -1 is nothing. */
void builder_wait(struct builder *builder, int32_t command);

/* Sets shapes and constancy of a node's outputs, and known values of its host inputs. Sets
 * builder->lacks where a value is missing: the node must wait for the next part. */
situ_status values_infer(struct builder *builder, const struct node *node) SITU_MUST_USE;

/* A node as its row sees it, with what is known of its operands; `in` and `out` have room. */
struct call values_call(const struct builder *builder, const struct node *node, struct operand *in,
                        struct operand *out);

/* What a node's row records for it, on that device; valid until the next node of the same op. */
situ_status record_node(struct builder *builder, const struct node *node, int32_t device,
                        const struct recording **out) SITU_MUST_USE;

/* Adds a recorded launch to the program: `slots` are the node's inputs, outputs and scratch. */
situ_status record_launch(struct builder *builder, const struct launch *from,
                          const struct node *node, const int32_t *slots,
                          int32_t *number) SITU_MUST_USE;

/* Finds out whether another node may keep something for this one, which is live. */
situ_status saved_results_ask(struct builder *builder, const struct node *node) SITU_MUST_USE;

/* What was kept for a node; NULL: nothing. */
const struct saved_result *saved_results_find(const struct builder *builder,
                                              const struct node *node);

/* Remembers what a node keeps, of all that it recorded; `slots` as in record_launch. */
void saved_results_set(struct builder *builder, const struct node *node,
                       const struct recording *recording, const int32_t *slots);

/* Adds a joint sum, or -1 without memory. */
int32_t builder_all_reduce(struct builder *builder, const struct all_reduce *all_reduce);

/* Makes one joint sum of a node and others with the same inputs, where their devices have a library
 * for that; `added` says whether the node has its command. */
situ_status all_reduce_add(struct builder *builder, const struct node *node,
                           bool *added) SITU_MUST_USE;

/* Adds a host op, or -1 without memory. */
int32_t builder_host_op(struct builder *builder, const struct host_op *host_op);

/* Adds a check; false without memory. */
bool builder_check(struct builder *builder, const struct check *check);

/* Adds the calls that count NaN and infinities in a node's outputs, and in what is fed. */
situ_status numerics_add(struct builder *builder, const struct node *node) SITU_MUST_USE;
situ_status numerics_add_feeds(struct builder *builder) SITU_MUST_USE;

/* Adds a look at what was counted so far. */
situ_status numerics_look(struct builder *builder) SITU_MUST_USE;

/* The same before a node that changes something; what it adds comes behind. */
situ_status numerics_before(struct builder *builder, const struct node *node) SITU_MUST_USE;

/* Whether a node computes on host tensors: its row says so, or it moves strings, which are not
 * just memory. */
static inline bool builder_is_hosted(const struct node *node) {
  if (node->schema->op->compute) return true;
  const struct op_def *op = node->schema->op;
  return node->n_outputs && node->outputs[0].type == SITU_STRING && op->record &&
         !(op->flags & OP_ALIAS);
}

/* Whether a node runs nothing: it stands for memory that is there anyway. */
static inline bool builder_is_source(const struct node *node) {
  return node->schema->op->flags & (OP_CONSTANT | OP_VARIABLE);
}

/* Whether a node shows a variable's memory, whatever it holds when somebody looks: it was read by
 * reference. */
static inline bool builder_is_window(const struct builder *builder, const struct node *node) {
  if (!(node->schema->op->flags & OP_ALIAS)) return false;
  const struct value *value = builder_value(builder, (struct edge){node->id, 0});
  return value->slot >= 0 && !value->snapshot &&
         builder->program->slots[value->slot].kind == SLOT_STATE;
}

/* Finds the gradients of variables that the program computes; called when all nodes are added. */
situ_status variable_gradients_find(struct builder *builder) SITU_MUST_USE;

/* Marks what waits for the next part and collects the values that it needs. */
situ_status continuation_collect(struct builder *builder) SITU_MUST_USE;

/* Whether a node must wait for the next part because another one does. */
bool continuation_must_wait(const struct builder *builder, const struct node *node);

/* Adds the call of a host op and the copies it needs. */
situ_status host_ops_add(struct builder *builder, const struct node *node,
                         int32_t device) SITU_MUST_USE;

/* The slot of a value on a device, copied there if need be, and the command that makes it. */
situ_status commands_bring(struct builder *builder, struct edge edge, int32_t device, int32_t *slot,
                           int32_t *command) SITU_MUST_USE;

/* Gives fed values and constants a slot, when somebody reads them. */
situ_status commands_settle(struct builder *builder, struct edge edge) SITU_MUST_USE;

/* Adds the calls of a node and the copies it needs. */
situ_status commands_add(struct builder *builder, const struct node *node) SITU_MUST_USE;

/* Adds what brings the fetched values to the caller. */
situ_status commands_fetch(struct builder *builder) SITU_MUST_USE;

/* Joins sums over devices with the element-wise calls and copies around them. */
situ_status fused_update_commands(struct builder *builder) SITU_MUST_USE;

/* Finds the results that may be put in the memory of what is fed, and lets their makers wait for
 * whoever reads it. */
situ_status buffer_donation_find(struct builder *builder) SITU_MUST_USE;

/* Finds out whether host ops may wait for each other: see blocking_ops.c; where they may, keeps all
 * that a command needs, as the places of commands in their order. */
situ_status blocking_ops_find(struct builder *builder) SITU_MUST_USE;
situ_status blocking_ops_save_dependencies(struct builder *builder,
                                           const int32_t *place) SITU_MUST_USE;

/* Before a node changes the variable in a slot: copies what was read of it and is used later. */
situ_status copy_on_write_save(struct builder *builder, const struct node *update,
                               int32_t slot) SITU_MUST_USE;

/* Before a node changes the variable in a slot, which others see by reference: copies what only
 * nodes in front of it see, in the next part. */
situ_status copy_on_write_save_references(struct builder *builder, const struct node *update,
                                          int32_t slot) SITU_MUST_USE;

/* Lets the commands that touch a variable's memory wait for each other, as they stand. */
situ_status copy_on_write_order(struct builder *builder) SITU_MUST_USE;

/* Adds a copy of a value to new memory of its device, for the node. */
situ_status commands_duplicate(struct builder *builder, const struct value *value, int32_t node,
                               int32_t *slot, int32_t *command) SITU_MUST_USE;

/* Puts constants' commands first, and what runs on devices before what the caller does itself. */
situ_status order_commands(struct builder *builder) SITU_MUST_USE;

/* Gives every slot its place in its device's block, from lifetimes. */
situ_status memory_plan_assign(struct builder *builder) SITU_MUST_USE;

#endif
