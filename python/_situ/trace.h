/* SPDX-License-Identifier: Apache-2.0
 * trace.h: the graph of a Python function, ready to be run. */
#ifndef SITU_PYTHON_TRACE_H
#define SITU_PYTHON_TRACE_H

#include "situ_python.h"

struct trace_object {
  PyObject_HEAD situ_session *session;
  struct graph_object *graph;
  PyObject *name, *structure;          /* of the results; None for what is no tensor */
  PyObject *captured, *read, *written; /* tuples: tensors, variables, variables */
  situ_feed *feeds;                    /* arguments, captured tensors, variables; no tensors yet */
  int *donate;         /* per feed: of a variable, 1 + the number of its new value; else 0 */
  situ_value *fetches; /* results, new values of variables, operations */
  int n_inputs, n_feeds, n_outputs, n_fetches;
};

/* Runs it with eager tensors, one for each input; `lent`: results do not keep their memory. */
PyObject *trace_run(struct trace_object *self, PyObject *const *inputs, bool lent);

#endif
