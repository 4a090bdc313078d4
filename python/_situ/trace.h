/* SPDX-License-Identifier: Apache-2.0
 * trace.h: the compiled graph of a Python function. */
#ifndef SITU_PYTHON_TRACE_H
#define SITU_PYTHON_TRACE_H

#include "situ_python.h"

struct trace_object {
  PyObject_HEAD situ_session *session;
  struct graph_object *graph;
  PyObject *name, *structure;          /* of the results; None for non-tensors */
  PyObject *captured, *read, *written; /* tuples: tensors, variables, variables */
  situ_feed *feeds;                    /* arguments, captured tensors, variables; tensors unset */
  int *donate;         /* per feed: for a variable, 1 + the index of its new value; else 0 */
  situ_value *fetches; /* results, new values of variables, operations */
  int n_inputs, n_feeds, n_outputs, n_fetches;
};

/* Runs it with one eager tensor per input; `borrowed`: results must not retain their memory. */
PyObject *trace_run(struct trace_object *self, PyObject *const *inputs, bool borrowed);

#endif
