/* SPDX-License-Identifier: Apache-2.0
 * call.h: a call of an op from Python, with bound and resolved arguments. */
#ifndef SITU_PYTHON_CALL_H
#define SITU_PYTHON_CALL_H

#include "op_signature.h"

enum { FLAT = 16, INLINE_OUTPUTS = 8, MAX_OUTPUTS = 1024 };

struct function_object {
  PyObject_HEAD vectorcallfunc vectorcall;
  int number; /* situ_op.number */
  PyObject *name, *defaults;
  struct op_signature signature;
};

struct call {
  struct function_object *function;
  PyObject *values[MAX_PARAMS];          /* borrowed; NULL: not given */
  const char *name;                      /* NULL: the name of the op */
  PyObject *inline_buffer[FLAT], **flat; /* inputs with lists flattened; owned */
  int n_flat, counts[MAX_INPUTS];
  situ_type types[MAX_ATTRS]; /* of type attributes, as far as known from inputs */
  situ_attr attrs[MAX_ATTRS];
  int n_attrs;
  int64_t integers[MAX_ATTRS][SITU_MAX_RANK * 2];
  situ_tensor *tensors[MAX_ATTRS]; /* of tensor attributes; owned */
  void *lists[MAX_ATTRS];          /* of list attributes; owned */
};

/* Binds positional and keyword arguments; flattens lists and resolves variables. Returns 0, or -1
 * with an exception. */
int call_bind(struct call *call, struct function_object *function, PyObject *const *args,
              Py_ssize_t n, PyObject *names);

/* Reads the attributes. Returns 0, or -1 with an exception. */
int call_attrs(struct call *call);

/* Adds the attributes with the types of lists of tensors, which must have been converted. Returns
 * 0, or -1 with an exception. */
int call_list_types(struct call *call);

/* Returns the required type of the inputs of parameter `p`; SITU_NO_TYPE: any. */
situ_type call_type(const struct call *call, int p);

/* The same for a value that is converted to such an input. */
situ_type call_type_for(const struct call *call, int p, PyObject *value);

/* Returns whether flat input `at` of parameter `p` was omitted and stands for all axes. */
static inline bool call_all_axes(const struct call *call, int p, int at) {
  return call->function->signature.inputs[p].all_axes && call->flat[at] == Py_None;
}

/* Returns the eager tensor [0, 1, ..., rank - 1]. New reference. */
PyObject *call_axes(int rank);

/* Frees a bound call. */
void call_clear(struct call *call);

/* Fast path for eager calls with tensors only and no attributes. Returns false, without side
 * effects, if call_eager has to handle the call. */
bool call_fast_path(const struct function_object *function, const char *name, PyObject *const *args,
                    Py_ssize_t n, PyObject **out);

/* Runs the call eagerly. */
PyObject *call_eager(struct call *call);
PyObject *call_emit(struct call *call, struct graph_object *graph);

#endif
