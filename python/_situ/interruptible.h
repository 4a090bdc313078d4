/* SPDX-License-Identifier: Apache-2.0
 * interruptible.h: runs that release the GIL and can be interrupted by Ctrl-C. */
#ifndef SITU_PYTHON_INTERRUPTIBLE_H
#define SITU_PYTHON_INTERRUPTIBLE_H

#include "situ_python.h"

/* Options of a run; zero members are defaults. */
struct run_options {
  int64_t timeout_ms;
  situ_trace *trace;
  bool keep_on_device;         /* results stay on their devices */
  const int *donate;           /* as in situ_run_options */
  const volatile char *cancel; /* a nonzero value cancels the run; NULL: not cancellable */
};

/* Runs a session without the GIL, interruptible. Returns 0, or -1 with an exception. */
int interruptible_run(situ_session *session, struct graph_object *graph,
                      const struct run_options *options, const situ_feed *feeds, int n_feeds,
                      const situ_value *fetches, int n_fetches, situ_tensor **results);

/* The same. A failure with an exception set comes from a signal handler. */
situ_status interruptible_run_native(situ_session *session, const struct run_options *options,
                                     const situ_feed *feeds, int n_feeds, const situ_value *fetches,
                                     int n_fetches, situ_tensor **results);

/* Release and reacquire the GIL; blocked calls in between are interruptible. */
struct interruptible {
  PyThreadState *state;
  const volatile char *cancel; /* as in struct run_options */
  struct interruptible *before;
};
void interruptible_enter(struct interruptible *call);
void interruptible_leave(struct interruptible *call);

/* Raises the failure of an interruptible call, or the exception of a signal handler. Returns NULL.
 */
PyObject *interruptible_raise(situ_status status, struct graph_object *graph);

/* Calls a function without the GIL, interruptible. A failure with an exception set comes from a
 * signal handler. */
situ_status interruptible_call(situ_status (*function)(void *context), void *context);

/* Returns whether the caller is in an interruptible call of its own thread, which raises a pending
 * exception. */
bool interruptible_is_active(void);

/* Whether a signal handler has raised an exception; asks at some steps of a long loop that has the
 * GIL. */
static inline bool interruptible_pending(int64_t step) {
  return (step & 0xffff) == 0xffff && PyErr_CheckSignals();
}

/* Stores the main thread, which receives signals. */
void interruptible_prepare(void);

#endif
