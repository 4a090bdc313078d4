/* SPDX-License-Identifier: Apache-2.0
 * watch.c: runs without the interpreter's lock, that Ctrl-C ends. */
#include "situ_python.h"

static unsigned long main_thread; /* the one that signals are for */

/* A run of this thread. */
struct running {
  PyThreadState *state;
  const volatile char *cancel; /* as in struct watch_options */
};
static _Thread_local struct running *running; /* NULL: this thread is in no run */

/* Whether the run was cancelled, or the handler of a signal raised an exception. */
static bool stop(void *context) {
  struct running *run = context;
  if (run->cancel && *run->cancel) return true;
  if (PyThread_get_thread_ident() != main_thread) return false;
  PyEval_RestoreThread(run->state);
  const bool raised = PyErr_CheckSignals() != 0;
  run->state = PyEval_SaveThread();
  return raised;
}

/* Runs that wait for something else than devices ask this. */
static bool interrupted(void) { return running && stop(running); }

void watch_prepare(void) {
  main_thread = PyThread_get_thread_ident();
  situ_interrupt_set(interrupted);
}

situ_status watch_call(situ_status (*function)(void *context), void *context) {
  struct running run = {0}, *before = running;
  running = &run;
  run.state = PyEval_SaveThread();
  const situ_status status = function(context);
  running = before;
  PyEval_RestoreThread(run.state);
  return status;
}

situ_status watch_native(situ_session *session, const struct watch_options *options,
                         const situ_feed *feeds, int n_feeds, const situ_value *fetches,
                         int n_fetches, situ_tensor **results) {
  struct running run = {.cancel = options->cancel}, *before = running;
  const situ_run_options native = {.timeout_ms = options->timeout_ms,
                                   .stop = stop,
                                   .context = &run,
                                   .trace = options->trace,
                                   .there = options->there,
                                   .takes = options->takes};
  situ_session_retain(session);
  running = &run;
  run.state = PyEval_SaveThread();
  const situ_status status =
      situ_session_run_with(session, &native, feeds, n_feeds, fetches, n_fetches, results);
  situ_session_release(session);
  running = before;
  PyEval_RestoreThread(run.state);
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
