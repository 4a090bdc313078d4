/* SPDX-License-Identifier: Apache-2.0
 * session.h: running a graph.
 *
 * The first run places the whole graph and makes a program for what is fetched and fed; later runs
 * with the same fetches, feeds and shapes only execute it. Several threads may run one session. A
 * run that fails leaves the session usable.
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

/* Variables and resources (queues, iterators) that sessions of any graphs share, as in a task of a
 * cluster: by task and name. */
typedef struct situ_store situ_store;

/* Options of a session; zero is the default of everything. */
typedef struct situ_config {
  bool log_device_placement; /* prints the devices, and where each node goes, on standard output */
  bool allow_soft_placement; /* a node may run elsewhere where its device is missing or has no
                                kernel */
  bool strict;               /* conflicts with earlier options are errors; also SITU_STRICT=1 */
  bool check_numerics;       /* a step fails where an op makes NaN or an infinity, and names it */
  bool is_function; /* the graph is the body of a function: log_device_placement prints the nodes
                       that run, as "name: (Op): device", when they are first compiled */
  int threads;      /* of the process, for large ops; 0: SITU_THREADS, then all cores */
  situ_device_config devices;
  situ_store *store; /* keeps variables and resources; NULL: the session does. Nodes may then name
                        any job and task: all of them are in this process */
  const char *task;  /* with a store: "/job:worker/task:0", the task of nodes that name none */
  const char *scope; /* with a store: sessions of one scope share the counters of random ops, by the
                        names of their nodes; NULL: each has its own */
} situ_config;

/* A value given to a run. */
typedef struct situ_feed {
  situ_value value;
  situ_tensor *tensor; /* borrowed; on any device */
} situ_feed;

/* An empty store. Sessions that use it keep a reference. */
SITU_API situ_status situ_store_create(situ_store **out) SITU_MUST_USE;
SITU_API situ_store *situ_store_retain(situ_store *store);
SITU_API void situ_store_release(situ_store *store);

/* Drops variables and resources: those of a container, or all (NULL). */
SITU_API void situ_store_reset(situ_store *store, const char *container);

/* Makes a session for a graph, which may go on growing between runs. `config` may be NULL. */
SITU_API situ_status situ_session_create(situ_graph *graph, const situ_config *config,
                                         situ_session **out) SITU_MUST_USE;

/* Adds a reference; returns the session. */
SITU_API situ_session *situ_session_retain(situ_session *session);

/* Drops a reference; NULL is ignored. */
SITU_API void situ_session_release(situ_session *session);

/* Cancels runs that wait for something (a queue), waits for all that are under way, and frees what
 * the session holds on its devices; running it afterwards is an error. */
SITU_API situ_status situ_session_close(situ_session *session) SITU_MUST_USE;

/* Computes values. `results` has n_fetches elements; each gets a tensor in host memory that the
 * caller releases. On failure all of them are NULL. A fetch of a node without outputs, or
 * of output SITU_ANY of any node, runs the node and gives NULL. */
SITU_API situ_status situ_session_run(situ_session *session, const situ_feed *feeds, int n_feeds,
                                      const situ_value *fetches, int n_fetches,
                                      situ_tensor **results) SITU_MUST_USE;

/* The same, but results stay on the devices that compute them. */
SITU_API situ_status situ_session_run_on_device(situ_session *session, const situ_feed *feeds,
                                                int n_feeds, const situ_value *fetches,
                                                int n_fetches, situ_tensor **results) SITU_MUST_USE;

/* Options of one run; zero is the default of everything. */
typedef struct situ_run_options {
  int64_t timeout_ms;          /* a run that takes longer fails with DEADLINE_EXCEEDED; 0: never */
  bool (*stop)(void *context); /* polled by the running thread between kernels and while it waits
                                  for devices; true cancels the run with CANCELLED */
  void *context;
  situ_trace *trace;   /* gets a record of each kernel and copy, also of a run that fails */
  bool keep_on_device; /* results stay on the devices that compute them */
  const int *donate;   /* per feed: 1 + the index of the fetch whose result may reuse the memory of
                          the fed tensor (the new value of a variable); 0 or NULL: none. Takes
                          effect where the program allows it and the caller has the only reference
                          to the tensor, which then is the result and is undefined if the run
                          fails */
} situ_run_options;

/* The same with options, which may be NULL. */
SITU_API situ_status situ_session_run_with(situ_session *session, const situ_run_options *options,
                                           const situ_feed *feeds, int n_feeds,
                                           const situ_value *fetches, int n_fetches,
                                           situ_tensor **results) SITU_MUST_USE;

/* The common case: one value, nothing fed. */
SITU_API situ_status situ_session_eval(situ_session *session, situ_value value,
                                       situ_tensor **result) SITU_MUST_USE;

/* Checks whatever the process computes from now on, in sessions and eagerly, for NaN and
 * infinities, or no longer: the first op whose output has some fails with InvalidArgument, which
 * names it, its inputs, and where the program asked for it as far as that is known
 * (situ_graph_set_origin). Also SITU_CHECK_NUMERICS=1. Off, it costs nothing; programs that are
 * compiled for the one are not used for the other. */
SITU_API void situ_numerics_set_check(bool on);

/* Whether the process is checked. */
SITU_API bool situ_numerics_get_check(void);

/* Polled by runs that block (on a queue, say); where it returns true they fail with Cancelled. */
typedef bool (*situ_interrupt)(void);

/* Sets the hook of the process; NULL removes it. */
SITU_API void situ_interrupt_set(situ_interrupt hook);

/* A function of the program, which PyFunc nodes call by a token: makes one tensor per output.
 * Inputs are borrowed, and must not be kept. */
typedef situ_status (*situ_callback)(const char *token, situ_tensor *const *inputs, int n_inputs,
                                     situ_tensor **outputs, int n_outputs);

/* Sets what PyFunc nodes call, for the whole process. */
SITU_API void situ_callback_set(situ_callback function);

/* Where a node goes, and why. Texts are borrowed until the session or the placement goes. */
typedef struct situ_placement {
  const char *node, *op;
  const char *requested; /* as it was asked for; "" for nothing */
  const char *assigned;  /* the full name of the device */
  const char *cause;     /* the reason, as a sentence */
} situ_placement;

/* A copy between devices that a run makes. */
typedef struct situ_copy {
  const char *value; /* name of the node that made it */
  const char *from, *to;
  uint64_t bytes;
  bool once; /* of a constant: only in the first run */
} situ_copy;

/* What a new session will need of a device: it initializes the variables of the graph, where the
 * step needs values of them, and then runs the step. */
typedef struct situ_memory_need {
  const char *device;
  uint64_t peak_bytes; /* the smallest limit with which both run; of the host the sum of all */
  uint64_t limit_bytes;
  int kernels;                /* calls in a step */
  uint64_t variable_bytes;    /* memory that stays from run to run: variables, optimizer slots */
  uint64_t step_bytes;        /* of a step: values, copies, scratch and constants together */
  uint64_t initializer_bytes; /* the same of the run that initializes the variables */
} situ_memory_need;

/* A call of a kernel in a run, and what it costs: operations on numbers, and bytes of memory that
 * it reads and writes. */
typedef struct situ_kernel {
  const char *node, *device;
  double flops, bytes;
} situ_kernel;

/* The plan of a run, made without running anything. */
typedef struct situ_plan situ_plan;

/* Places the graph and plans a run of these fetches. The shapes of fed values come from `feeds`,
 * whose tensors may be NULL where the graph knows the shape; no fetches: all nodes that nobody
 * reads, but for those that only assign variables (initializers) where there are others. */
SITU_API situ_status situ_plan_create(situ_session *session, const situ_feed *feeds, int n_feeds,
                                      const situ_value *fetches, int n_fetches,
                                      situ_plan **out) SITU_MUST_USE;

/* Only places the graph: a plan without copies and needs, for which nothing need be fed. */
SITU_API situ_status situ_plan_place(situ_session *session, situ_plan **out) SITU_MUST_USE;

/* The parts of a plan: pointers to *count elements, borrowed from it. */
SITU_API const situ_placement *situ_plan_placements(const situ_plan *plan, int *count);
SITU_API const situ_copy *situ_plan_copies(const situ_plan *plan, int *count);
SITU_API const situ_memory_need *situ_plan_memory(const situ_plan *plan, int *count);
SITU_API const situ_kernel *situ_plan_kernels(const situ_plan *plan, int *count);

/* Bytes of the variables that a run reads or changes. */
SITU_API uint64_t situ_plan_variable_bytes(const situ_plan *plan);

/* Bytes of the gradients of variables that a run computes: one for each variable that it trains,
 * slices by their rows; 0: it trains none. */
SITU_API uint64_t situ_plan_gradient_bytes(const situ_plan *plan);

/* What the needs of the plan leave out, because only a run can tell it (the functions of a While
 * node, say); NULL where nothing is left out. Borrowed. */
SITU_API const char *situ_plan_uncounted(const situ_plan *plan);

/* Frees a plan; NULL is ignored. */
SITU_API void situ_plan_release(situ_plan *plan);

#ifdef __cplusplus
}
#endif
#endif
