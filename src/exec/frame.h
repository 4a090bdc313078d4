/* SPDX-License-Identifier: Apache-2.0
 * frame.h: a program with addresses: everything a run needs, made once, so that a run allocates
 * nothing.
 *
 * A frame serves one run at a time; runs at the same time use several. Between runs it keeps its
 * memory, but gives it back when a device runs out.
 */
#ifndef SITU_EXEC_FRAME_H
#define SITU_EXEC_FRAME_H

#include <stdatomic.h>

#include "device/buffer.h"
#include "exec/state.h"
#include "plan/program.h"

struct cancellation;
struct patience;

/* A variable of the session that the program touches. */
struct held_state {
  const struct slot *slot;
  struct state_entry *entry;
};

/* A joint sum: its communicator, and room for the memory of a run. */
struct frame_all_reduce {
  void *comm;
  struct span *from, *to;
};

struct frame {
  struct frame *next; /* in the list of idle ones */
  const struct program *program;
  struct arena arena;
  struct span *slots;
  struct buffer **blocks;      /* per lane */
  struct bound_kernel **calls; /* per command; NULL where it is no call */
  uint64_t *marks;             /* per command, where it signals */
  situ_tensor *
      *results; /* per fetch: what the last run gave, to be used again when nobody else has it */
  struct state *state;
  situ_tensor *const *fed; /* of the run under way */
  situ_tensor **made;      /* per slot: what a host op made in the run under way; else NULL */
  situ_tensor **views;     /* per input of a host op: memory that is the program's; else NULL */
  struct frame_all_reduce *all_reduces;
  struct held_state *states; /* variables that a run needs or sets */
  int32_t n_states;
  _Atomic(situ_status) error;        /* of a kernel in this run */
  bool warm;                         /* constants are computed */
  uint64_t idle_bytes;               /* of device memory, while it is idle */
  struct cancellation *cancellation; /* of the run under way; NULL: nobody looks */
  int32_t *counts;           /* of a device, while a program that is checked looks at them */
  struct patience *patience; /* of a host op while others could go on; NULL: it may wait */
  int64_t *times;            /* begin and end of each command, while a trace is made */
};

/* Takes memory for a program and prepares its calls, at first for these feeds: see frame_run. */
situ_status frame_create(const struct program *program, struct state *state,
                         situ_tensor *const *fed, struct frame **out) SITU_MUST_USE;

/* A new tensor for result number `index`, in frame->results. */
situ_status frame_new_result(struct frame *frame, int32_t index) SITU_MUST_USE;

/* Makes room for counts of devices; fails where those that a command looks at counted NaN or
 * infinities, or where a host op made some: see numerics.c. */
situ_status numerics_prepare_counts(struct frame *frame) SITU_MUST_USE;
situ_status numerics_check_counts(struct frame *frame,
                                  const struct plan_command *command) SITU_MUST_USE;
situ_status numerics_counts_failure(const struct frame *frame, const struct node *node,
                                    const struct operand *operands,
                                    situ_tensor *const *outputs) SITU_MUST_USE;

/* Joins the devices of joint sums. */
situ_status all_reduce_prepare(struct frame *frame) SITU_MUST_USE;

/* A part of a joint sum, command number `index`: the last one queues the sum for all. */
situ_status all_reduce_run(struct frame *frame, int32_t index, bool *is_last) SITU_MUST_USE;

/* Runs host op number `index` of the program: see host_ops.c. */
situ_status host_ops_run(struct frame *frame, int32_t index) SITU_MUST_USE;

/* Why the run of this thread has to end, or NULL: for struct services. */
situ_status host_ops_ask(void) SITU_MUST_USE;

/* Makes the tensors through which host ops see the program's memory. */
situ_status host_ops_prepare(struct frame *frame) SITU_MUST_USE;

/* Lets go of what host ops made in this run. */
void host_ops_end(struct frame *frame);

/* Gives the calls that read or write a slot its new memory. */
situ_status frame_move(struct frame *frame, int32_t slot, struct span span) SITU_MUST_USE;

/* Gives everything back; NULL may be destroyed. */
void frame_destroy(struct frame *frame);

/* Bytes of device memory that the frame holds. */
uint64_t frame_device_bytes(const struct frame *frame);

/* Runs the program: `fed` has one tensor per feed, on the device that the program expects;
 * `results` gets one tensor per fetch (NULL for a node without outputs). */
situ_status frame_run(struct frame *frame, situ_tensor *const *fed,
                      situ_tensor **results) SITU_MUST_USE;

#endif
