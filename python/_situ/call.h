/* SPDX-License-Identifier: Apache-2.0
 * call.h: one call of an op from Python: its arguments, bound and resolved. */
#ifndef SITU_PYTHON_CALL_H
#define SITU_PYTHON_CALL_H

#include "op_signature.h"

enum { FLAT = 16, FEW_OUTPUTS = 8, MAX_OUTPUTS = 1024 };

struct function_object {
  PyObject_HEAD vectorcallfunc vectorcall;
  int number; /* of the op in the catalogue */
  PyObject *name, *defaults;
  struct op_signature signature;
};

struct call {
  struct function_object *function;
  PyObject *values[MAX_PARAMS]; /* as bound, borrowed; NULL: not given */
  const char *name;             /* NULL: the op's */
  PyObject *few[FLAT], **flat;  /* inputs one after the other, lists laid flat; owned */
  int n_flat, counts[MAX_INPUTS];
  situ_type types[MAX_ATTRS]; /* of type attributes, as far as inputs say */
  situ_attr attrs[MAX_ATTRS];
  int n_attrs;
  int64_t integers[MAX_ATTRS][SITU_MAX_RANK * 2];
  situ_tensor *tensors[MAX_ATTRS]; /* of attributes; owned */
  void *lists[MAX_ATTRS];          /* of types, shapes, numbers; owned */
};

/* Binds positional and keyword arguments to the parameters; lays inputs flat and looks behind
 * variables. 0, or -1 with an exception. */
int call_bind(struct call *call, struct function_object *function, PyObject *const *args,
              Py_ssize_t n, PyObject *names);

/* Reads the attributes. 0, or -1 with an exception. */
int call_attrs(struct call *call);

/* The type that flat input `i` of parameter `p` has to have; SITU_NO_TYPE: any. */
situ_type call_type(const struct call *call, int p);

/* The same for a value that is to become such an input. */
situ_type call_type_for(const struct call *call, int p, PyObject *value);

/* Whether flat input `at` of parameter `p` was left out, and means all dimensions. */
static inline bool call_all_axes(const struct call *call, int p, int at) {
  return call->function->signature.inputs[p].all_axes && call->flat[at] == Py_None;
}

/* The numbers of all dimensions of a tensor of that rank, as an eager tensor. New reference. */
PyObject *call_axes(int rank);

/* Frees what binding made. */
void call_clear(struct call *call);

/* Runs a call of tensors alone, without attributes, where nothing else is to be heeded. False, and
 * nothing has happened, where call_eager has to look closer. */
bool call_quick(const struct function_object *function, const char *name, PyObject *const *args,
                Py_ssize_t n, PyObject **out);

/* Runs it, or adds it to a graph. */
PyObject *call_eager(struct call *call);
PyObject *call_emit(struct call *call, struct graph_object *graph);

#endif
