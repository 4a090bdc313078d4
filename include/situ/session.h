/* SPDX-License-Identifier: Apache-2.0
 * session.h: runs graphs, and plans runs without executing them.
 *
 * The first run places the graph and compiles a program for its fetches and feeds; runs with the
 * same fetches, feeds and shapes reuse it. Sessions are thread-safe. A failed run leaves the
 * session usable.
 */
#ifndef SITU_SESSION_H
#define SITU_SESSION_H

#include "situ/device.h"
#include "situ/graph.h"
#include "situ/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct situ_session situ_session;

/* Variables and resources (queues, iterators) shared by sessions, identified by task and name, as
 * in a task of a cluster. */
typedef struct situ_store situ_store;

/* Options of a session; zero members are defaults. */
typedef struct situ_config {
  bool log_device_placement; /* print the devices and the placement of each node to stdout */
  bool allow_soft_placement; /* place a node on another device if the requested one does not exist
                                or has no kernel for it */
  bool strict;               /* conflicts with earlier options are errors; also SITU_STRICT=1 */
  bool check_numerics;       /* fail if an op produces NaN or infinity; the error names it */
  bool is_function; /* the graph is a function body: log_device_placement prints the nodes that run,
                       as "name: (Op): device", when they are compiled */
  int threads;      /* threads of the process for large ops; 0: SITU_THREADS, else all cores */
  situ_device_config devices;
  situ_store *store; /* holds variables and resources; NULL: the session does. With a store, nodes
                        may request any job and task: all are in this process */
  const char *task;  /* with a store: the default task of nodes, "/job:worker/task:0" */
  const char *scope; /* with a store: sessions with equal scopes share the state of random ops by
                        node name; NULL: each has its own */
} situ_config;

/* A value fed to a run. */
typedef struct situ_feed {
  situ_value value;
  situ_tensor *tensor; /* borrowed; on any device */
} situ_feed;

/* Creates an empty store. Sessions that use it hold a reference. */
SITU_API situ_status situ_store_create(situ_store **out) SITU_MUST_USE;
SITU_API situ_store *situ_store_retain(situ_store *store);
SITU_API void situ_store_release(situ_store *store);

/* Drops the variables and resources of a container, or all (NULL). */
SITU_API void situ_store_reset(situ_store *store, const char *container);

/* Creates a session. Nodes may be added to the graph between runs. `config` may be NULL. */
SITU_API situ_status situ_session_create(situ_graph *graph, const situ_config *config,
                                         situ_session **out) SITU_MUST_USE;

/* Adds a reference; returns the session. */
SITU_API situ_session *situ_session_retain(situ_session *session);

/* Drops a reference; NULL is ignored. */
SITU_API void situ_session_release(situ_session *session);

/* Cancels blocked runs, waits for all others, and frees the device memory of the session. Later
 * runs fail. */
SITU_API situ_status situ_session_close(situ_session *session) SITU_MUST_USE;

/* Computes values. `results` has n_fetches elements; each is set to a tensor in host memory that
 * the caller releases, or to NULL on failure. A fetch of a node without outputs, or of output
 * SITU_ANY of a node, runs the node; its result is NULL. */
SITU_API situ_status situ_session_run(situ_session *session, const situ_feed *feeds, int n_feeds,
                                      const situ_value *fetches, int n_fetches,
                                      situ_tensor **results) SITU_MUST_USE;

/* Like situ_session_run, but results stay on the devices that compute them. */
SITU_API situ_status situ_session_run_on_device(situ_session *session, const situ_feed *feeds,
                                                int n_feeds, const situ_value *fetches,
                                                int n_fetches, situ_tensor **results) SITU_MUST_USE;

/* Options of one run; zero members are defaults. */
typedef struct situ_run_options {
  int64_t timeout_ms;          /* longer runs fail with DEADLINE_EXCEEDED; 0: no timeout */
  bool (*stop)(void *context); /* polled by the running thread between kernels and while it waits
                                  for devices; true cancels the run with CANCELLED */
  void *context;
  situ_trace *trace;   /* records each kernel and copy, also of a run that fails */
  bool keep_on_device; /* results stay on the devices that compute them */
  const int *donate;   /* per feed: 1 + the index of the fetch whose result may reuse the memory of
                          the fed tensor (the new value of a variable); 0 or NULL: none. Takes
                          effect where the program allows it and the caller has the only reference
                          to the tensor, which then is the result and is undefined if the run
                          fails */
} situ_run_options;

/* Like situ_session_run, with options, which may be NULL. */
SITU_API situ_status situ_session_run_with(situ_session *session, const situ_run_options *options,
                                           const situ_feed *feeds, int n_feeds,
                                           const situ_value *fetches, int n_fetches,
                                           situ_tensor **results) SITU_MUST_USE;

/* Runs one fetch without feeds. */
SITU_API situ_status situ_session_eval(situ_session *session, situ_value value,
                                       situ_tensor **result) SITU_MUST_USE;

/* Enables or disables numeric checks for the process, in sessions and eagerly; also
 * SITU_CHECK_NUMERICS=1. The first op whose output contains NaN or infinity fails with
 * InvalidArgument, which names the node, its inputs and, if known, its source location
 * (situ_graph_set_origin). Programs are compiled separately for each mode, so that disabled checks
 * cost nothing. */
SITU_API void situ_numerics_set_check(bool on);

/* Returns whether numeric checks are enabled for the process. */
SITU_API bool situ_numerics_get_check(void);

/* Polled by blocked runs (waiting for a queue, for example); true makes them fail with Cancelled.
 */
typedef bool (*situ_interrupt)(void);

/* Sets the interrupt hook of the process; NULL removes it. */
SITU_API void situ_interrupt_set(situ_interrupt hook);

/* A callback of PyFunc nodes, which identify the function by a token. Creates one tensor per
 * output. Inputs are borrowed for the call and must not be retained. */
typedef situ_status (*situ_callback)(const char *token, situ_tensor *const *inputs, int n_inputs,
                                     situ_tensor **outputs, int n_outputs);

/* Sets the PyFunc callback of the process. */
SITU_API void situ_callback_set(situ_callback function);

/* The device of a node, and why it was chosen. Strings are borrowed from the plan. */
typedef struct situ_placement {
  const char *node, *op;
  const char *requested; /* the requested device; "" if none */
  const char *assigned;  /* the full name of the device */
  const char *cause;     /* the reason, as a sentence */
} situ_placement;

/* A copy between devices that a run makes. */
typedef struct situ_copy {
  const char *value; /* the name of the node that produces it */
  const char *from, *to;
  uint64_t bytes;
  bool once; /* a constant: copied in the first run only */
} situ_copy;

/* The memory of a device that a new session needs to initialize the variables that the step reads,
 * and to run the step. */
typedef struct situ_memory_need {
  const char *device;
  uint64_t peak_bytes; /* the smallest limit with which both succeed; for the host: the sum */
  uint64_t limit_bytes;
  int kernels;                /* kernel calls per step */
  uint64_t variable_bytes;    /* persistent memory: variables, optimizer slots */
  uint64_t step_bytes;        /* memory of a step: values, copies, scratch memory and constants */
  uint64_t initializer_bytes; /* the same for the run that initializes the variables */
} situ_memory_need;

/* A kernel call of a run and its cost: floating-point operations, and bytes read and written. */
typedef struct situ_kernel {
  const char *node, *device;
  double flops, bytes;
} situ_kernel;

/* The plan of a run: placement, copies and memory, computed without executing it. */
typedef struct situ_plan situ_plan;

/* Places the graph and plans a run of these fetches. `feeds` supply the shapes of fed values; their
 * tensors may be NULL if the static shape is known. Without fetches, plans all nodes without
 * consumers, except those that only assign variables (initializers) if there are others. */
SITU_API situ_status situ_plan_create(situ_session *session, const situ_feed *feeds, int n_feeds,
                                      const situ_value *fetches, int n_fetches,
                                      situ_plan **out) SITU_MUST_USE;

/* Only places the graph: a plan without copies and memory, which needs no feeds. */
SITU_API situ_status situ_plan_place(situ_session *session, situ_plan **out) SITU_MUST_USE;

/* Return arrays of *count elements, borrowed from the plan. */
SITU_API const situ_placement *situ_plan_placements(const situ_plan *plan, int *count);
SITU_API const situ_copy *situ_plan_copies(const situ_plan *plan, int *count);
SITU_API const situ_memory_need *situ_plan_memory(const situ_plan *plan, int *count);
SITU_API const situ_kernel *situ_plan_kernels(const situ_plan *plan, int *count);

/* Returns the bytes of the variables that a run reads or writes. */
SITU_API uint64_t situ_plan_variable_bytes(const situ_plan *plan);

/* Returns the bytes of the variable gradients that a run computes, with sparse gradients counted by
 * their slices; 0 if it trains no variable. */
SITU_API uint64_t situ_plan_gradient_bytes(const situ_plan *plan);

/* Describes memory that the plan does not include because it is known only at run time (the
 * functions of a While node, for example); NULL if there is none. Borrowed. */
SITU_API const char *situ_plan_uncounted(const situ_plan *plan);

/* Frees a plan; NULL is ignored. */
SITU_API void situ_plan_release(situ_plan *plan);

#ifdef __cplusplus
}
#endif
#endif
