/* SPDX-License-Identifier: Apache-2.0
 * op_signature.c: see op_signature.h. */
#include "op_signature.h"

#include <string.h>

static void add_attr(struct op_signature *out, const situ_op_attr *spec) {
  out->attrs[out->n_attrs++] =
      (struct op_attr){.spec = spec,
                       .key = PyUnicode_InternFromString(spec->name),
                       .default_type = spec->kind == SITU_ATTR_TYPE && spec->default_value
                                           ? situ_type_parse(spec->default_value)
                                           : SITU_NO_TYPE};
}

static void add_input(struct op_signature *out, const situ_op_port *port) {
  out->inputs[out->n_inputs++] =
      (struct op_input){.name = port->name,
                        .key = PyUnicode_InternFromString(port->name),
                        .type = port->type,
                        .type_attr = port->is_types ? -1 : port->type_attr,
                        .types_attr = port->is_types ? port->type_attr : -1,
                        .is_list = port->is_list};
  if (port->is_ref && !port->is_handle) out->takes_reference = true;
  if (port->is_types) out->attrs[port->type_attr].of_list = true;
}

static void find_same(struct op_signature *signature) {
  for (int i = 0; i < signature->n_inputs; i++) {
    int first = 0;
    while (first < i && signature->inputs[first].type_attr != signature->inputs[i].type_attr)
      first++;
    signature->inputs[i].same_as = signature->inputs[i].type_attr < 0 ? i : first;
  }
}

static bool is_simple(const struct op_signature *signature) {
  bool simple = !signature->on_host && signature->n_inputs > 0 && signature->n_outputs == 1 &&
                !signature->list_output;
  for (int i = 0; i < signature->n_inputs; i++) simple = simple && !signature->inputs[i].is_list;
  for (int i = signature->n_inputs; i < signature->n_params; i++)
    simple = simple && signature->attrs[signature->param_attr[i]].spec->default_value;
  return simple;
}

/* Python names that differ from the op's, for one op or all (NULL); both names are accepted. */
static PyObject *other_name(const char *op, const char *name) {
  static const char *const names[][3] = {
      {"Select", "t", "x"},
      {"Select", "e", "y"},
      {"Where", "input", "condition"},
      {"SparseApplyProximalGradientDescent", "delta", "grad"},
      {"ResourceSparseApplyProximalGradientDescent", "delta", "grad"},
      {NULL, "dim", "axis"},
      {NULL, "squeeze_dims", "axis"},
      {NULL, "dimension", "axis"},
      {NULL, "concat_dim", "axis"},
      {NULL, "split_dim", "axis"},
      {NULL, "reduction_indices", "axis"},
      {NULL, "keep_dims", "keepdims"},
      {NULL, "DstT", "dtype"},
      {NULL, "string_tensor", "input"},
      {NULL, "bytes", "input_bytes"}};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!strcmp(names[i][1], name) && (!names[i][0] || !strcmp(names[i][0], op)))
      return PyUnicode_InternFromString(names[i][2]);
  return NULL;
}

static void find_aliases(struct op_signature *signature) {
  for (int i = 0; i < signature->n_inputs; i++)
    signature->input_alias[i] = other_name(signature->name, signature->inputs[i].name);
  for (int i = 0; i < signature->n_attrs; i++)
    signature->attrs[i].alias = other_name(signature->name, signature->attrs[i].spec->name);
  if (signature->n_inputs != 2 || strcmp(signature->inputs[1].name, "reduction_indices") != 0)
    return;
  signature->input_alias[0] = PyUnicode_InternFromString("input_tensor");
  signature->inputs[1].all_axes = true;
}

/* Orders the parameters after the inputs: attributes with a default last, as in TensorFlow. */
static void order_params(struct op_signature *signature) {
  signature->n_params = signature->n_inputs;
  for (int optional = 0; optional < 2; optional++)
    for (int i = 0; i < signature->n_attrs; i++) {
      const situ_op_attr *spec = signature->attrs[i].spec;
      if (!spec->inferred && !signature->attrs[i].of_list &&
          (spec->default_value != NULL) == optional)
        signature->param_attr[signature->n_params++] = i;
    }
}

bool op_signature_init(const situ_op *op, struct op_signature *out) {
  *out = (struct op_signature){.name = op->name,
                               .on_host = op->on_host,
                               .has_effect = op->has_effect,
                               .n_outputs = op->n_outputs};
  if (op->n_attrs > MAX_ATTRS || op->n_inputs > MAX_INPUTS) {
    PyErr_Format(PyExc_SystemError, "Op '%s' has too many inputs or attributes.", op->name);
    return false;
  }
  for (int i = 0; i < op->n_attrs; i++) add_attr(out, &op->attrs[i]);
  for (int i = 0; i < op->n_inputs; i++) add_input(out, &op->inputs[i]);
  for (int i = 0; i < op->n_outputs; i++)
    out->list_output = out->list_output || op->outputs[i].is_list;
  order_params(out);
  find_aliases(out);
  out->n_needed = out->n_inputs;
  while (out->n_needed && out->inputs[out->n_needed - 1].all_axes) out->n_needed--;
  find_same(out);
  out->simple = is_simple(out);
  return !PyErr_Occurred();
}
