/* SPDX-License-Identifier: Apache-2.0
 * program.h: a run of a graph, compiled: which kernels and copies in which order, and where each
 * value lies.
 *
 * A program belongs to a set of fetches and the shapes of what is fed. It names memory by slot; a
 * frame (exec/frame.h) gives the slots addresses. So one program serves many runs, and several at
 * once.
 */
#ifndef SITU_PLAN_PROGRAM_H
#define SITU_PLAN_PROGRAM_H

#include "base/arena.h"
#include "device/device.h"
#include "graph/graph.h"

enum slot_kind {
  SLOT_BLOCK,    /* in the block of its device, at `offset` */
  SLOT_CONSTANT, /* a tensor of the graph, in host memory */
  SLOT_FEED,     /* what is fed as number `index` */
  SLOT_RESULT,   /* the result number `index` */
  SLOT_STATE,    /* state of the session: see struct scratch */
  SLOT_MADE,     /* the tensor that a host op made */
};

struct slot {
  enum slot_kind kind;
  int32_t device; /* number in the list; every host device counts as the first one */
  int32_t index;
  int32_t node;   /* who made it, for reports and as the key of state */
  int32_t output; /* of the node; negative for scratch and state: their number within the node, as
                     -1 - number */
  int32_t first, last; /* commands that write and read it, while it lives */
  int32_t
      moving; /* of a fed or fetched one: the last of its arguments in program->moving; -1: none */
  size_t bytes, offset;
  const situ_tensor *constant;
  const void *initial; /* of state: what it begins as; NULL: it must be set before it is read */
  bool needs,
      sets;       /* of state without a beginning: whether a run reads it as it was, and sets it */
  int32_t reader; /* of state that is needed: the node that reads it first */
};

enum command_kind {
  COMMAND_CALL,    /* of kernel `launch` */
  COMMAND_COPY,    /* of `bytes` bytes from slot to slot */
  COMMAND_NOTHING, /* a point in the order */
  COMMAND_HOST,    /* of the host op `launch` */
  COMMAND_LOOK,    /* at the counts of checks `from` to before `to` */
  COMMAND_REDUCE,  /* a device's part in the joint sum `launch`: of slot `from`, into slot `to` */
};

struct plan_command {
  enum command_kind kind;
  int32_t node;
  int32_t device; /* that queues it; the host's first device for what the caller does itself */
  int32_t queue;
  int32_t launch;
  int32_t from, to; /* slots of a copy; checks */
  size_t bytes;
  bool once;   /* depends on constants alone: done in a frame's first run only */
  bool signal; /* a command of another queue waits for it */
  int32_t n_waits;
  const int32_t *waits; /* commands of other queues that must be done before */
  int32_t n_needs;
  const int32_t *needs; /* in a free order: all commands that must be done before */
};

/* An argument of a call that is fed or fetched, and so moves from run to run. */
struct moving {
  int32_t command, arg;
  int32_t next; /* of the same slot; -1: none */
};

/* A host op: its row's `compute` is called with tensors. */
struct host_op {
  int32_t node;
  int32_t n_in, n_out;
  int32_t first_view;       /* of its inputs in a frame's views */
  const int32_t *in, *out;  /* slots */
  const situ_shape *shapes; /* of the inputs, then of the outputs, as far as they are known */
  const situ_type *types;   /* of the inputs */
  bool is_set;              /* of one with OP_PROBES: a command before it sets the variable */
  const bool *unused;       /* by output: nobody reads it; NULL: not asked */
};

/* A sum over devices that their back end makes as a whole. Its parts stand one behind another; the
 * last one does the work. */
struct all_reduce {
  situ_type type;
  int64_t count; /* of numbers */
  int32_t n;
  int32_t *commands; /* the parts, in the order of the terms */
};

/* What a run gives back for a fetch. */
struct fetch {
  struct edge edge;
  bool given, deferred; /* an earlier part of the step gave it; a later one gives it */
  int32_t slot;         /* the slot with the result; -1: a node without outputs */
  int32_t donated_feed; /* the feed whose memory it may take; -1: none */
  bool constant;        /* the same in every run */
  situ_type type;
  situ_shape shape;
};

/* What a run takes. `value` is a copy of the fed elements where the plan depends on them, else
 * NULL. */
struct feed {
  struct edge edge;
  int32_t slot;   /* -1: nobody reads it */
  int32_t device; /* that holds it; 0: the host */
  int32_t donate; /* as in struct plan_feed */
  situ_type type;
  situ_shape shape;
  void *value;
};

/* The gradient of a variable that the program computes. */
struct program_gradient {
  const char *variable;
  size_t bytes;
};

/* What a device has to give to a frame. */
struct lane {
  int32_t device;
  size_t block_bytes;
  int32_t n_calls;
  int32_t peak_slot;     /* the largest value that lives when the block is fullest; -1: none */
  situ_shape peak_shape; /* of that value in this run */
  int32_t peak_command;
};

/* A program is a step, or a part of one: where a shape depends on what a run computes, the nodes
 * behind that wait for the next part, which is planned when the shape is known. Fetches behind the
 * first `n_asked` are values that the next part needs. */
struct program {
  struct arena arena;
  uint64_t id, before; /* its number in the process, and that of the part before (0: none) */
  const struct situ_graph *graph;
  const struct device_list *devices;
  struct slot *slots;
  struct launch *launches;
  struct plan_command *commands;
  struct fetch *fetches;
  struct feed *feeds;
  struct lane *lanes;
  struct moving *moving;
  struct host_op *host_ops;
  struct check *checks; /* for NaN and infinities: plan/numerics.h */
  struct all_reduce *all_reduces;
  struct program_gradient *gradients; /* where the request asks for them */
  struct edge need; /* the first value that the next part waits for; node -1: none */
  char *done;       /* per node: ran in this part or an earlier one; NULL where no part follows */
  int32_t n_host_ops, n_views, n_asked, n_checks, n_all_reduces, n_gradients;
  int32_t n_moving, n_states; /* of slots: SLOT_STATE */
  int32_t n_slots, n_launches, n_commands, n_once, n_fetches, n_feeds, n_lanes;
  bool keep;       /* results stay on the devices that compute them */
  bool checked;    /* for NaN and infinities */
  bool host_only;  /* nothing but calls in the caller's thread */
  bool free_order; /* host ops may wait for each other: a run goes on with what it can */
};

#endif
