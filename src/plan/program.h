/* SPDX-License-Identifier: Apache-2.0
 * program.h: a compiled run of a graph: kernel calls, copies and host ops in execution order, and
 * the memory of every value.
 *
 * A program is specific to its fetches, its feeds and their shapes. It refers to memory by slot; a
 * frame (exec/frame.h) maps slots to addresses. A program is immutable once compiled, so several
 * frames can run it concurrently.
 */
#ifndef SITU_PLAN_PROGRAM_H
#define SITU_PLAN_PROGRAM_H

#include "base/arena.h"
#include "device/device.h"
#include "graph/graph.h"

enum slot_kind {
  SLOT_BLOCK,       /* in the memory block of its device, at `offset` */
  SLOT_CONSTANT,    /* a tensor of the graph, in host memory */
  SLOT_FEED,        /* feed `index` */
  SLOT_RESULT,      /* fetch `index` */
  SLOT_STATE,       /* state of the session: a variable or an RNG counter (exec/state.h) */
  SLOT_HOST_OUTPUT, /* the tensor that a host op returned */
};

struct slot {
  enum slot_kind kind;
  int32_t device;      /* index in the device list; 0 for every host device */
  int32_t index;       /* of SLOT_FEED and SLOT_RESULT */
  int32_t node;        /* that produces it: for reports, and the key of state */
  int32_t output;      /* of the node; scratch and state number i of a node have output -1 - i */
  int32_t first, last; /* lifetime: the first and the last command that access it */
  int32_t first_rebinding; /* head of its list in program->rebindings; -1: none */
  size_t bytes, offset;
  const situ_tensor *constant;
  const void *initial; /* initial value of state; NULL: a run must write it before one reads it */
  /* Of a variable, state or the feed of a function body: whether the run reads its old value, and
   * whether it assigns a new one. */
  bool read_before_write, written;
  int32_t first_reader; /* the node that reads the old value first */
};

enum command_kind {
  COMMAND_CALL,           /* launch kernel `launch` */
  COMMAND_COPY,           /* copy `bytes` bytes from slot `from` to slot `to` */
  COMMAND_NOOP,           /* only orders other commands */
  COMMAND_HOST,           /* run host op `launch` */
  COMMAND_CHECK_NUMERICS, /* fail if a check in [from, to) counted NaN or infinity */
  COMMAND_ALL_REDUCE,     /* one device's part of all-reduce `launch`, from slot `from` to `to` */
};

struct plan_command {
  enum command_kind kind;
  int32_t node;
  int32_t device; /* whose queue it enters; 0 for commands that the calling thread executes */
  int32_t queue;
  int32_t launch;
  int32_t from, to; /* slots, or a range of checks */
  size_t bytes;
  bool once;   /* depends on constants only: executed in the first run of a frame */
  bool signal; /* a command of another queue waits for it */
  int32_t n_waits;
  const int32_t *waits; /* commands of other queues that must complete first */
  int32_t n_dependencies;
  const int32_t *dependencies; /* with dynamic_order: all commands that must complete first */
};

/* A kernel argument in memory that changes from run to run (a feed, a fetch or a host output) and
 * is therefore bound again before each run. */
struct rebinding {
  int32_t command, arg;
  int32_t next; /* rebinding of the same slot; -1: none */
};

/* How a host op passes an input to a function: as a value, or as a variable, which an earlier
 * command assigns or not. */
enum passed_variable { PASSED_VALUE, PASSED_VARIABLE, PASSED_ASSIGNED };

/* A call of op_def.compute on host tensors. */
struct host_op {
  int32_t node;
  int32_t n_in, n_out;
  int32_t first_view;           /* index of its first input in frame->input_views */
  const int32_t *in, *out;      /* slots */
  const situ_shape *shapes;     /* of the inputs, then of the outputs; may be partially known */
  const situ_type *types;       /* of the inputs */
  bool is_set;                  /* OP_PROBES: an earlier command assigns the variable */
  enum passed_variable *passed; /* per input; NULL: all are values */
  const bool *unused;           /* per output: nothing reads it; NULL without OP_LAZY */
};

/* An all-reduce that the collective library of a back end runs. Its commands are adjacent; the last
 * one starts the operation for all devices. */
struct all_reduce {
  situ_type type;
  int64_t count; /* of elements */
  int32_t n;     /* number of devices */
  int32_t *commands;
};

struct fetch {
  struct edge edge;
  bool fetched_earlier; /* by a previous program of the step */
  bool deferred;        /* to the next program of the step */
  int32_t slot;         /* -1: a node without outputs */
  int32_t donated_feed; /* the feed whose buffer the result may reuse; -1: none */
  bool constant;        /* the same in every run */
  situ_type type;
  situ_shape shape;
};

struct feed {
  struct edge edge;
  int32_t slot;   /* -1: unused */
  int32_t device; /* of its memory; 0: host */
  int32_t donate; /* see struct plan_feed */
  situ_type type;
  situ_shape shape;
  void *value; /* copy of the elements if the program depends on them, else NULL */
};

/* The gradient of a variable that the program computes. */
struct program_gradient {
  const char *variable;
  size_t bytes;
};

/* The part of a program on one device. */
struct lane {
  int32_t device;
  size_t block_bytes;
  int32_t n_calls;
  int32_t peak_command;  /* the command at which the block is fullest */
  int32_t peak_slot;     /* the largest value alive at peak_command; -1: none */
  situ_shape peak_shape; /* its shape */
};

/* A step is one program, or a sequence of them: where a shape depends on computed data, the nodes
 * that need the shape are deferred to the next program, which is compiled once the shape is known.
 * Fetches from `n_requested` on are the values that the next program needs. */
struct program {
  struct arena arena;
  uint64_t id;          /* unique in the process */
  uint64_t previous_id; /* the previous program of the step; 0: none */
  const struct situ_graph *graph;
  const struct device_list *devices;
  struct slot *slots;
  struct launch *launches;
  struct plan_command *commands;
  struct fetch *fetches;
  struct feed *feeds;
  struct lane *lanes;
  struct rebinding *rebindings;
  struct host_op *host_ops;
  struct check *checks; /* plan/numerics.h */
  struct all_reduce *all_reduces;
  struct program_gradient *gradients; /* if plan_request.gradients */
  struct edge missing; /* the first value that the next program waits for; node -1: none */
  char *done; /* per node: executed by this or a previous program; NULL: this is the last one */
  int32_t n_host_ops, n_views, n_requested, n_checks, n_all_reduces, n_gradients;
  int32_t n_rebindings, n_states; /* n_states: slots of kind SLOT_STATE */
  int32_t n_slots, n_launches, n_commands, n_once, n_fetches, n_feeds, n_lanes;
  bool keep_on_device; /* results stay on the devices that compute them */
  bool check_numerics; /* fail on NaN and infinity */
  bool host_only;      /* every command executes in the calling thread, in order */
  bool dynamic_order;  /* host ops may block on each other: the run chooses the order */
  int32_t dynamic_begin, dynamic_end; /* of these commands, with dynamic_order */
};

#endif
