/* SPDX-License-Identifier: Apache-2.0
 * watch.h: runs without the interpreter's lock, that Ctrl-C ends. */
#ifndef SITU_PYTHON_WATCH_H
#define SITU_PYTHON_WATCH_H

#include "situ_python.h"

/* How a run is watched; zero is the default of everything. */
struct watch_options {
  int64_t timeout_ms;
  situ_trace *trace;
  bool keep_on_device;         /* results stay on their devices */
  const int *donate;           /* as in situ_run_options */
  const volatile char *cancel; /* not 0: the run shall end; NULL: nobody says so */
};

/* Runs a session without the interpreter's lock; Ctrl-C ends the run. 0, or -1 with an exception.
 */
int watch_run(situ_session *session, struct graph_object *graph,
              const struct watch_options *options, const situ_feed *feeds, int n_feeds,
              const situ_value *fetches, int n_fetches, situ_tensor **results);

/* The same; a failure with an exception set is that of a handler of signals. */
situ_status watch_native(situ_session *session, const struct watch_options *options,
                         const situ_feed *feeds, int n_feeds, const situ_value *fetches,
                         int n_fetches, situ_tensor **results);

/* Lets go of the interpreter's lock, and takes it again; what waits in between is ended by Ctrl-C.
 */
struct watched {
  PyThreadState *state;
  const volatile char *cancel; /* as in struct watch_options; NULL: never */
  struct watched *before;
};
void watch_enter(struct watched *watched);
void watch_leave(struct watched *watched);

/* Raises a failure of what was watched: the exception of a handler of signals where it raised one.
 * NULL. */
PyObject *watch_raise(situ_status status, struct graph_object *graph);

/* Calls a function without the interpreter's lock; Ctrl-C ends what waits in it. A failure with an
 * exception set is that of a handler of signals. */
situ_status watch_call(situ_status (*function)(void *context), void *context);

/* Remembers the main thread, for which signals are. */
void watch_prepare(void);

#endif
