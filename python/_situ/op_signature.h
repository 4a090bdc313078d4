/* SPDX-License-Identifier: Apache-2.0
 * op_signature.h: the row of an op, as a Python function needs it: parameters in order. */
#ifndef SITU_PYTHON_OP_SIGNATURE_H
#define SITU_PYTHON_OP_SIGNATURE_H

#include "situ_python.h"

struct op_input {
  char name[48];
  PyObject *key;  /* interned name */
  situ_type type; /* fixed, or SITU_NO_TYPE */
  int type_attr;  /* -1: none */
  int same_as;    /* the first input of the same type attribute; itself where there is none */
  bool is_list;
  bool all_axes; /* may be left out, or None: then all dimensions of the first input */
};

struct op_attr {
  char name[48];
  PyObject *key, *alias; /* interned; alias may be NULL */
  situ_attr_kind kind;
  bool inferred;
  uint32_t types;        /* of a type attribute: bit situ_type is set for what it may be; 0: any */
  situ_type preset_type; /* of a type attribute with a default */
  char preset[48];       /* the default as written; "" for none */
  bool has_preset;
};

struct op_signature {
  const char *name;
  int n_inputs, n_attrs, n_outputs;
  int n_needed; /* inputs that cannot be left out */
  struct op_input inputs[MAX_INPUTS];
  PyObject *input_alias[MAX_INPUTS];
  struct op_attr attrs[MAX_ATTRS];
  int n_params;
  int param_attr[MAX_PARAMS]; /* of a parameter behind the inputs: the number of its attribute */
  bool list_output;
  bool
      takes_reference; /* then it is colocated with a variable, and device functions do not count */
  bool on_host;        /* may wait for others */
  bool simple;         /* does not wait; tensors in, one tensor out; attributes may be left out */
};

/* Parses the texts of a row; false with an exception. */
bool op_signature_parse(const situ_op *op, struct op_signature *out);

#endif
