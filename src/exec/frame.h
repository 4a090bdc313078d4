/* SPDX-License-Identifier: Apache-2.0
 * frame.h: a program with its memory: blocks on the devices, bound kernel calls and results.
 * Everything is allocated when the frame is created, so that a run allocates nothing.
 *
 * A frame executes one run at a time; concurrent runs use several frames of the same program. An
 * idle frame keeps its memory until a device runs out of memory.
 */
#ifndef SITU_EXEC_FRAME_H
#define SITU_EXEC_FRAME_H

#include <stdatomic.h>

#include "device/buffer.h"
#include "exec/state.h"
#include "plan/program.h"

struct cancellation;
struct interrupt_scope;
struct wait_limit;

/* A variable that the program reads or assigns. */
struct bound_variable {
  const struct slot *slot;
  struct state_entry *entry;
};

/* An all-reduce: its communicator and, per device, the memory of the current run. */
struct frame_all_reduce {
  void *comm;
  struct span *from, *to;
};

struct frame {
  struct frame *next; /* in the list of idle frames */
  const struct program *program;
  struct arena arena;
  struct span *slots;
  struct buffer **blocks;      /* per lane */
  struct bound_kernel **calls; /* per command: its bound kernel call; NULL: not a call */
  uint64_t *marks;             /* per command with `signal`: its position in the queue */
  situ_tensor **results; /* per fetch: result of the last run, reused if the caller released it */
  struct state *state;
  situ_tensor *const *feeds;  /* of the current run */
  situ_tensor **host_outputs; /* per slot: returned by a host op in the current run, or NULL */
  situ_tensor **input_views;  /* per host op input: tensor over the program's memory, or NULL */
  struct frame_all_reduce *all_reduces;
  struct bound_variable *states; /* variables that a run reads or assigns */
  int32_t n_states;
  _Atomic(situ_status) error;        /* first error of a kernel in the current run */
  bool constants_ready;              /* commands with `once` have run */
  uint64_t bytes;                    /* memory of blocks and results */
  struct cancellation *cancellation; /* of the current run, or NULL */
  struct interrupt_scope *scope;     /* of the current run */
  int32_t *counters;                 /* staging buffer for the counters of numeric checks */
  struct wait_limit *wait_limit; /* with dynamic_order: how long the host op may block; else NULL */
  int64_t *times;                /* start and end of each command while profiling, or NULL */
};

/* Allocates the memory of a program and binds its calls, initially to these feeds. */
situ_status frame_create(const struct program *program, struct state *state,
                         situ_tensor *const *feeds, struct frame **out) SITU_MUST_USE;

/* Allocates the tensor of fetch `index` in frame->results. */
situ_status frame_allocate_result(struct frame *frame, int32_t index) SITU_MUST_USE;

/* Numeric checks (numerics.c): allocates the staging buffer; fails if the checks of a command
 * counted NaN or infinities; fails if the outputs of a host op contain any. */
situ_status numerics_prepare_counts(struct frame *frame) SITU_MUST_USE;
situ_status numerics_check_counts(struct frame *frame,
                                  const struct plan_command *command) SITU_MUST_USE;
situ_status numerics_check_outputs(const struct frame *frame, const struct node *node,
                                   const struct operand *operands,
                                   situ_tensor *const *outputs) SITU_MUST_USE;

/* Opens the communicators of the program's all-reduces. */
situ_status all_reduce_prepare(struct frame *frame) SITU_MUST_USE;

/* Executes an all-reduce command: the last one of an all-reduce enqueues it on all devices. */
situ_status all_reduce_run(struct frame *frame, int32_t index, bool *is_last) SITU_MUST_USE;

/* Runs a command unless the run is cancelled. Returns false if the run must end. */
bool frame_try_command(struct frame *frame, int32_t index, situ_status *status);

/* Polls for cancellation: then frame->error is set. */
bool frame_is_cancelled(struct frame *frame);

/* Before a command: waits for others on which it depends, and records the start time. After it:
 * records the end time and marks it for commands that wait for it. */
situ_status frame_begin_command(struct frame *frame, int32_t index) SITU_MUST_USE;
situ_status frame_finish_command(struct frame *frame, int32_t index) SITU_MUST_USE;

/* Runs a range of commands as they become ready (dynamic_order.c). Returns false if the run must
 * end. */
bool dynamic_order_run(struct frame *frame, int32_t begin, int32_t end, situ_status *status);

/* Runs host op `index` of the program. */
situ_status host_ops_run(struct frame *frame, int32_t index) SITU_MUST_USE;

/* An error if the run of this thread is cancelled or past its deadline: for struct services. */
situ_status host_ops_check_cancellation(void) SITU_MUST_USE;

/* Creates the tensors through which host ops read the program's memory. */
situ_status host_ops_prepare(struct frame *frame) SITU_MUST_USE;

/* Releases the outputs of host ops at the end of a run. */
void host_ops_release_outputs(struct frame *frame);

/* Binds the calls that access a slot to its new memory. */
situ_status frame_rebind(struct frame *frame, int32_t slot, struct span span) SITU_MUST_USE;

/* Frees the frame and its memory. Accepts NULL. */
void frame_destroy(struct frame *frame);

/* Runs the program. `feeds` has one tensor per feed, on the device that the program expects;
 * `results` receives one tensor per fetch (NULL for a node without outputs). */
situ_status frame_run(struct frame *frame, situ_tensor *const *feeds,
                      situ_tensor **results) SITU_MUST_USE;

#endif
