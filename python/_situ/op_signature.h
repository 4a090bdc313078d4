/* SPDX-License-Identifier: Apache-2.0
 * op_signature.h: the signature of an op as a Python function: parameters in order. */
#ifndef SITU_PYTHON_OP_SIGNATURE_H
#define SITU_PYTHON_OP_SIGNATURE_H

#include "situ_python.h"

struct op_input {
  const char *name;
  PyObject *key;  /* interned name */
  situ_type type; /* fixed, or SITU_NO_TYPE */
  int type_attr;  /* -1: none, or a list of types */
  int types_attr; /* of a list of tensors of any types: the attribute with the types; else -1 */
  int same_as;    /* the first input with the same type attribute; itself if none */
  bool is_list;
  bool all_axes; /* may be omitted or None: all axes of the first input */
};

struct op_attr {
  const situ_op_attr *spec;
  PyObject *key, *alias;  /* interned; alias may be NULL */
  situ_type default_type; /* of a type attribute */
  bool of_list;           /* the types of a list of tensors: inferred */
};

struct op_signature {
  const char *name;
  int n_inputs, n_attrs, n_outputs;
  int n_needed; /* number of required inputs */
  struct op_input inputs[MAX_INPUTS];
  PyObject *input_alias[MAX_INPUTS];
  struct op_attr attrs[MAX_ATTRS];
  int n_params;
  int param_attr[MAX_PARAMS]; /* parameter after the inputs: the index of its attribute */
  bool list_output;
  bool takes_reference; /* colocated with a variable; device functions are not called */
  bool on_host;         /* may block */
  bool has_effect;      /* in a function it runs in the order of the program */
  bool simple;          /* non-blocking, tensors in, one tensor out, no required attributes */
};

/* Derives the signature from an op definition; false with an exception. */
bool op_signature_init(const situ_op *op, struct op_signature *out);

#endif
