/* SPDX-License-Identifier: Apache-2.0
 * watch.c: runs without the interpreter's lock, that Ctrl-C ends. */
#include "situ_python.h"

static unsigned long main_thread;             /* the one that signals are for */
static _Thread_local PyThreadState **running; /* of this thread, while it is in a run */

/* Lets Python handle signals; whether a handler raised an exception. */
static bool stop(void *context) {
  PyThreadState **state = context;
  if (PyThread_get_thread_ident() != main_thread) return false;
  PyEval_RestoreThread(*state);
  const bool raised = PyErr_CheckSignals() != 0;
  *state = PyEval_SaveThread();
  return raised;
}

/* Runs that wait for something else than devices ask this. */
static bool interrupted(void) { return running && stop(running); }

void watch_prepare(void) {
  main_thread = PyThread_get_thread_ident();
  situ_interrupt_set(interrupted);
}

situ_status watch_call(situ_status (*function)(void *context), void *context) {
  PyThreadState *state = NULL, **before = running;
  running = &state;
  state = PyEval_SaveThread();
  const situ_status status = function(context);
  running = before;
  PyEval_RestoreThread(state);
  return status;
}

situ_status watch_native(situ_session *session, const struct watch_options *options,
                         const situ_feed *feeds, int n_feeds, const situ_value *fetches,
                         int n_fetches, situ_tensor **results) {
  PyThreadState *state = NULL;
  const situ_run_options native = {.timeout_ms = options->timeout_ms,
                                   .stop = stop,
                                   .context = &state,
                                   .trace = options->trace,
                                   .there = options->there,
                                   .takes = options->takes};
  PyThreadState **before = running;
  situ_session_retain(session);
  running = &state;
  state = PyEval_SaveThread();
  const situ_status status =
      situ_session_run_with(session, &native, feeds, n_feeds, fetches, n_fetches, results);
  situ_session_release(session);
  running = before;
  PyEval_RestoreThread(state);
  return status;
}

int watch_run(situ_session *session, struct graph_object *graph,
              const struct watch_options *options, const situ_feed *feeds, int n_feeds,
              const situ_value *fetches, int n_fetches, situ_tensor **results) {
  const situ_status status =
      watch_native(session, options, feeds, n_feeds, fetches, n_fetches, results);
  if (!status) return 0;
  if (PyErr_Occurred()) /* what the handler of a signal raised is what the caller gets */
    situ_status_release(status);
  else
    errors_raise(status, graph);
  return -1;
}
