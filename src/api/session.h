/* SPDX-License-Identifier: Apache-2.0
 * session.h: a session from the inside. */
#ifndef SITU_API_SESSION_H
#define SITU_API_SESSION_H

#include <pthread.h>

#include "base/fork.h"
#include "exec/frame.h"
#include "exec/state.h"
#include "place/place.h"
#include "plan/plan.h"
#include "situ/session.h"

/* A program with its frames. */
struct cached {
  struct program *program;
  struct frame *idle; /* frames that nobody runs */
  int32_t active;     /* runs of it, and whoever looks at it */
  uint64_t used;      /* when it was last asked for, as a count */
};

enum { MAX_PROGRAMS = 256 };

/* What a session prints of the placement of its graph. */
enum placement_log { LOG_NOTHING, LOG_GRAPH, LOG_FUNCTION };

struct situ_session {
  int references; /* atomic */
  enum placement_log log;
  bool soft;
  bool checked;           /* for NaN and infinities, whatever the process says */
  bool is_inner;          /* serves another one, or a tape: what it is fed was checked already */
  _Atomic bool cancelled; /* runs that wait give up */
  bool closed;            /* guarded by the lock */
  struct situ_session *next, **link; /* among all sessions */
  struct fork_handler fork;
  situ_graph *graph;                 /* others may add nodes */
  const struct device_list *devices; /* NULL once it is closed */
  pthread_mutex_t lock;              /* of what follows */
  const struct situ_graph *snapshot; /* of the graph: all of it is placed */
  struct arena placement_arena;
  struct placement placement;
  char *logged;     /* per node of a function: it was printed; NULL: none was */
  int32_t n_logged; /* elements of `logged` */
  int32_t placed;   /* nodes that were there when the graph was placed; -1: never */
  int32_t n_programs;
  struct cached *programs[MAX_PROGRAMS];
  uint64_t clock;
  bool *pressed; /* per device: asks us for idle memory when it runs out */
  struct state state;
  char *task, *scope; /* as in situ_config; owned, for the state */
  struct resources resources;
  struct services services;
  pthread_mutex_t callee_lock;
  struct callee *callees; /* sessions of bodies of functions: functions.c */
  pthread_cond_t idle;    /* no run is under way */
};

/* FailedPrecondition of a session that is closed; called with the lock. */
situ_status session_check_open(const struct situ_session *session) SITU_MUST_USE;

/* Closes every session of the process; FailedPrecondition where one has a run under way. */
situ_status session_close_all(void) SITU_MUST_USE;

/* What a run is asked for, in the planner's words. */
struct asked {
  struct plan_feed few_feeds[8], *feeds;
  situ_tensor *few_tensors[8],
      **tensors; /* borrowed from the caller, but for those computed here */
  struct edge few_fetches[8], *fetches;
  int32_t n_feeds, n_fetches;
  bool keep;         /* as in struct plan_request */
  const int *donate; /* as in situ_run_options */
  struct arena arena;
};

/* Runs a step, in as many parts as it takes: see steps.c. */
situ_status steps_run(struct situ_session *session, struct asked *asked,
                      situ_tensor **results) SITU_MUST_USE;

/* Runs a function of the graph of `context`, a session: for struct services. */
situ_status functions_run(void *context, const struct function *function, situ_tensor *const *in,
                          situ_tensor **out, situ_tensor **tape) SITU_MUST_USE;

/* Closes the sessions of functions; lets them go. */
void functions_close(struct situ_session *session);
void functions_release(struct situ_session *session);

/* Takes a snapshot of the graph and places it if it has grown since; called with the lock. */
situ_status session_place(struct situ_session *session) SITU_MUST_USE;

/* Prints where nodes of a function run that this program is the first to run; called with the
 * lock. */
situ_status session_log_program(struct situ_session *session,
                                const struct plan_request *request) SITU_MUST_USE;

/* Makes the session of a function, which has not run yet, print where its nodes go. */
void session_log_function(struct situ_session *session);

/* Whether a value belongs to the session's graph and to a snapshot of it; `what` and `index` name
 * it in the failure. */
situ_status session_check_value(const struct situ_session *session,
                                const struct situ_graph *snapshot, situ_value value,
                                const char *what, int index) SITU_MUST_USE;

/* Whether a tensor fits the value that it is fed for; with `may_lack` it may be NULL where the
 * graph knows the shape. */
situ_status session_check_feed(const struct situ_session *session,
                               const struct situ_graph *snapshot, const situ_feed *feed, int index,
                               bool may_lack) SITU_MUST_USE;

/* A program for these fetches and feeds, made if there is none, and an idle frame of it, or NULL;
 * called with the lock. The caller gives it back with program_cache_return_frame, or
 * program_cache_leave. */
situ_status program_cache_enter(struct situ_session *session, const struct plan_request *request,
                                struct cached **out, struct frame **frame) SITU_MUST_USE;
void program_cache_leave(struct situ_session *session, struct cached *cached);

/* Makes the frame that program_cache_enter has given ready, or a new one; called without the lock.
 */
situ_status program_cache_prepare_frame(struct situ_session *session, struct cached *cached,
                                        situ_tensor *const *fed,
                                        struct frame **frame) SITU_MUST_USE;

/* Lets the frame idle, or, when it is broken, go. */
void program_cache_return_frame(struct situ_session *session, struct cached *cached,
                                struct frame *frame);

/* Frees idle frames that hold memory of a device (all with NULL); returns the bytes. Called with
 * the lock. */
uint64_t program_cache_drop_idle(struct situ_session *session, const struct device *device);

/* Frees all programs; nobody runs one. Called with the lock. */
void program_cache_clear(struct situ_session *session);

/* In the child of a fork: forgets programs that threads of the parent run, or with `all` every one.
 */
void program_cache_forget(struct situ_session *session, bool all);

#endif
