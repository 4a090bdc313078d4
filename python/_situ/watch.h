/* SPDX-License-Identifier: Apache-2.0
 * watch.h: runs that release the GIL and can be interrupted by Ctrl-C. */
#ifndef SITU_PYTHON_WATCH_H
#define SITU_PYTHON_WATCH_H

#include "situ_python.h"

/* Options of a run; zero members are defaults. */
struct watch_options {
  int64_t timeout_ms;
  situ_trace *trace;
  bool keep_on_device;         /* results stay on their devices */
  const int *donate;           /* as in situ_run_options */
  const volatile char *cancel; /* a nonzero value cancels the run; NULL: not cancellable */
};

/* Runs a session without the GIL, interruptible. Returns 0, or -1 with an exception. */
int watch_run(situ_session *session, struct graph_object *graph,
              const struct watch_options *options, const situ_feed *feeds, int n_feeds,
              const situ_value *fetches, int n_fetches, situ_tensor **results);

/* The same. A failure with an exception set comes from a signal handler. */
situ_status watch_native(situ_session *session, const struct watch_options *options,
                         const situ_feed *feeds, int n_feeds, const situ_value *fetches,
                         int n_fetches, situ_tensor **results);

/* Release and reacquire the GIL; blocked calls in between are interruptible. */
struct watched {
  PyThreadState *state;
  const volatile char *cancel; /* as in struct watch_options */
  struct watched *before;
};
void watch_enter(struct watched *watched);
void watch_leave(struct watched *watched);

/* Raises the failure of a watched call, or the exception of a signal handler. Returns NULL. */
PyObject *watch_raise(situ_status status, struct graph_object *graph);

/* Calls a function without the GIL, interruptible. A failure with an exception set comes from a
 * signal handler. */
situ_status watch_call(situ_status (*function)(void *context), void *context);

/* Returns whether the caller is in a watched call of its own thread, which raises a pending
 * exception. */
bool watch_is_active(void);

/* Stores the main thread, which receives signals. */
void watch_prepare(void);

#endif
