/* SPDX-License-Identifier: Apache-2.0
 * interruptible.c: runs that release the GIL and can be interrupted by Ctrl-C. */
#include "situ_python.h"
#include "interruptible.h"

static unsigned long main_thread; /* receives signals */

static _Thread_local struct interruptible *running; /* NULL: not in a run */

/* Returns whether the run was cancelled or a signal handler raised an exception. A run inside of a
 * callback has the GIL: it leaves signals to the interpreter. */
static bool stop(void *context) {
  struct interruptible *run = context;
  if (run->cancel && *run->cancel) return true;
  if (PyThread_get_thread_ident() != main_thread || PyGILState_Check()) return false;
  PyEval_RestoreThread(run->state);
  const bool raised = PyErr_CheckSignals() != 0;
  run->state = PyEval_SaveThread();
  return raised;
}

/* Polled by blocked and long runs. */
static bool interrupted(void) { return running && stop(running); }

bool interruptible_is_active(void) { return running; }

void interruptible_prepare(void) {
  main_thread = PyThread_get_thread_ident();
  situ_interrupt_set(interrupted);
}

void interruptible_enter(struct interruptible *call) {
  call->before = running;
  running = call;
  call->state = PyEval_SaveThread();
}

void interruptible_leave(struct interruptible *call) {
  running = call->before;
  PyEval_RestoreThread(call->state);
}

PyObject *interruptible_raise(situ_status status, struct graph_object *graph) {
  if (!PyErr_Occurred()) return errors_raise(status, graph);
  situ_status_release(status);
  return NULL;
}

situ_status interruptible_call(situ_status (*function)(void *context), void *context) {
  struct interruptible call = {0};
  interruptible_enter(&call);
  const situ_status status = function(context);
  interruptible_leave(&call);
  return status;
}

situ_status interruptible_run_native(situ_session *session, const struct run_options *options,
                                     const situ_feed *feeds, int n_feeds, const situ_value *fetches,
                                     int n_fetches, situ_tensor **results) {
  struct interruptible call = {.cancel = options->cancel};
  const situ_run_options native = {.timeout_ms = options->timeout_ms,
                                   .stop = stop,
                                   .context = &call,
                                   .trace = options->trace,
                                   .keep_on_device = options->keep_on_device,
                                   .donate = options->donate};
  situ_session_retain(session);
  interruptible_enter(&call);
  const situ_status status =
      situ_session_run_with(session, &native, feeds, n_feeds, fetches, n_fetches, results);
  situ_session_release(session);
  interruptible_leave(&call);
  return status;
}

int interruptible_run(situ_session *session, struct graph_object *graph,
                      const struct run_options *options, const situ_feed *feeds, int n_feeds,
                      const situ_value *fetches, int n_fetches, situ_tensor **results) {
  const situ_status status =
      interruptible_run_native(session, options, feeds, n_feeds, fetches, n_fetches, results);
  if (status) interruptible_raise(status, graph);
  return status ? -1 : 0;
}
