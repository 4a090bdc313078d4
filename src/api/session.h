/* SPDX-License-Identifier: Apache-2.0
 * session.h: internals of a session. */
#ifndef SITU_API_SESSION_H
#define SITU_API_SESSION_H

#include <pthread.h>

#include "api/program_cache.h"
#include "base/fork.h"
#include "exec/frame.h"
#include "exec/state.h"
#include "place/place.h"
#include "plan/plan.h"
#include "situ/session.h"

enum { MAX_PROGRAMS = 256, MAX_IDLE_FRAMES = 8 };

/* The placement log of a session. */
enum placement_log { LOG_NOTHING, LOG_GRAPH, LOG_FUNCTION };

struct situ_session {
  int references; /* atomic */
  enum placement_log log;
  bool soft;
  bool checked;           /* numeric checks, regardless of the process setting */
  bool is_inner;          /* session of a function or tape: its feeds were checked by the caller */
  _Atomic bool cancelled; /* cancels blocked runs */
  bool closed;            /* guarded by the lock */
  struct situ_session *next, **link; /* list of all sessions */
  struct fork_handler fork;
  situ_graph *graph;                 /* may grow */
  const struct device_list *devices; /* NULL after close */
  pthread_mutex_t lock;              /* guards the members below */
  const struct situ_graph *snapshot; /* the placed version of the graph */
  struct arena placement_arena;
  struct placement placement;
  char *logged;     /* per node of a function: it was logged; NULL: none */
  int32_t n_logged; /* elements of `logged` */
  int32_t placed;   /* number of nodes when the graph was placed; -1: never */
  struct program_cache programs;
  struct cached_program *recent; /* the program of the last run */
  uint64_t last_used;            /* increases with each run of any session */
  struct program_key key;        /* of the current run; reused */
  bool *has_pressure_handler;    /* per device: release_idle_memory is registered */
  struct state state;
  char *task, *scope; /* as in situ_config; owned */
  struct resources resources;
  struct services services;
  pthread_mutex_t callee_lock;
  struct callee *callees; /* sessions of function bodies: functions.c */
  pthread_cond_t idle;    /* signalled when no run is active */
};

/* FailedPrecondition if the session is closed. Must hold the lock. */
situ_status session_check_open(const struct situ_session *session) SITU_MUST_USE;

/* Closes all sessions of the process; FailedPrecondition if one is running. */
situ_status session_close_all(void) SITU_MUST_USE;

/* The feeds and fetches of a run. */
struct run_request {
  struct plan_feed few_feeds[8], *feeds;
  situ_tensor *few_tensors[8],
      **tensors; /* borrowed from the caller, except values computed by earlier programs */
  struct edge few_fetches[8], *fetches;
  int32_t n_feeds, n_fetches;
  bool keep_on_device; /* as in struct plan_request */
  const int *donate;   /* as in situ_run_options */
  struct arena arena;
};

/* Runs a step, with as many programs as it needs: see steps.c. */
situ_status steps_run(struct situ_session *session, struct run_request *run_request,
                      situ_tensor **results) SITU_MUST_USE;

/* struct services.run: runs a function of the graph of `context`, a session. */
situ_status functions_run(void *context, const struct function *function, situ_tensor *const *in,
                          situ_tensor **out, situ_tensor **tape) SITU_MUST_USE;

/* Closes and releases the sessions of functions. */
void functions_close(struct situ_session *session);
void functions_release(struct situ_session *session);

/* Takes a snapshot of the graph, and places it if it has grown. Must hold the lock. */
situ_status session_place(struct situ_session *session) SITU_MUST_USE;

/* Logs the placement of function nodes that this program is the first to run. Must hold the lock.
 * */
situ_status session_log_program(struct situ_session *session,
                                const struct plan_request *request) SITU_MUST_USE;

/* Enables the placement log of a function session that has not run yet. */
void session_log_function(struct situ_session *session);

/* Checks that a value belongs to a snapshot of the session's graph; `what` and `index` name it in
 * the error. */
situ_status session_check_value(const struct situ_session *session,
                                const struct situ_graph *snapshot, situ_value value,
                                const char *what, int index) SITU_MUST_USE;

/* Checks that a tensor can be fed for a value; with `allow_null` it may be NULL if the static shape
 * is known. */
situ_status session_check_feed(const struct situ_session *session,
                               const struct situ_graph *snapshot, const situ_feed *feed, int index,
                               bool allow_null) SITU_MUST_USE;

/* Sets up the cache of programs. */
void session_programs_init(struct situ_session *session);

/* Finds or compiles the program of a request, and takes an idle frame (or NULL). The caller
 * releases it with session_programs_return_frame or session_programs_release. Must hold the lock.
 */
situ_status session_programs_acquire(struct situ_session *session,
                                     const struct plan_request *request,
                                     struct cached_program **out,
                                     struct frame **frame) SITU_MUST_USE;
void session_programs_release(struct situ_session *session, struct cached_program *cached,
                              struct frame *frame);

/* Prepares the frame from session_programs_acquire, or creates one. Must not hold the lock. */
situ_status session_programs_prepare_frame(struct situ_session *session,
                                           struct cached_program *cached, situ_tensor *const *fed,
                                           struct frame **frame) SITU_MUST_USE;

/* Makes the frame idle, and releases the program. */
void session_programs_return_frame(struct situ_session *session, struct cached_program *cached,
                                   struct frame *frame);

/* Frees all programs; none may be running. Must hold the lock. */
void session_programs_clear(struct situ_session *session);

/* The memory that programs hold while they do not run: counts it, frees it. */
uint64_t session_programs_idle_bytes(struct situ_session *session);
void session_programs_free_idle(struct situ_session *session);

/* As session_programs_free_idle; false if another thread holds the lock. */
bool session_programs_try_free_idle(struct situ_session *session);

/* Called before a session allocates a frame: if other sessions keep more idle memory than
 * MAX_IDLE_FRAMES times what the largest program needs (and more than MIN_IDLE_BYTES), frees that
 * of the sessions that ran least recently. Each trace of a tf.function has a session. Must hold
 * the lock of the session. */
void session_bound_idle_memory(struct situ_session *session);

#endif
