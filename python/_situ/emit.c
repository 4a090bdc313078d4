/* SPDX-License-Identifier: Apache-2.0
 * emit.c: adds a call of an op to a graph. */
#include <string.h>

#include "call.h"

static int check_graph(const struct call *call, int at, struct graph_object *graph) {
  const struct value_object *value = (struct value_object *)call->flat[at];
  if (value->graph == graph) return 0;
  PyObject *first = NULL;
  for (int i = 0; i < at && !first; i++)
    if (IS_VALUE(call->flat[i])) first = call->flat[i];
  if (first)
    PyErr_Format(PyExc_ValueError, "%S must be from the same graph as %S.", call->flat[at], first);
  else
    PyErr_Format(PyExc_ValueError, "%S is not from the graph that is being built.", call->flat[at]);
  return -1;
}

/* "[float32, int32]" */
static PyObject *list_mismatch(const struct call *call, int p) {
  char types[512] = "";
  int first = 0;
  for (int i = 0; i < p; i++) first += call->counts[i];
  for (int i = 0; i < call->counts[p]; i++) {
    PyObject *item = call->flat[first + i];
    const size_t length = strlen(types);
    snprintf(types + length, sizeof types - length, "%s%s", i ? ", " : "",
             IS_VALUE(item)    ? types_name(((struct value_object *)item)->type)
             : IS_TENSOR(item) ? types_name(situ_tensor_type(TENSOR_OF(item)))
                               : "?");
  }
  return PyErr_Format(
      PyExc_TypeError,
      "Tensors in list passed to '%s' of '%s' Op have types [%s] that don't all match.",
      call->function->signature.inputs[p].name, call->function->signature.name, types);
}

static PyObject *mismatch(const struct call *call, int p, int at, situ_type want) {
  const struct op_signature *signature = &call->function->signature;
  const struct op_input *input = &signature->inputs[p];
  const char *have = types_name(((struct value_object *)call->flat[at])->type);
  if (input->is_list) return list_mismatch(call, p);
  if (input->type_attr >= 0)
    return PyErr_Format(
        PyExc_TypeError,
        "Input '%s' of '%s' Op has type %s that does not match type %s of argument '%s'.",
        input->name, signature->name, have, types_name(want),
        signature->inputs[input->same_as].name);
  return PyErr_Format(PyExc_TypeError,
                      "Input '%s' of '%s' Op has type %s that does not match expected type of %s.",
                      input->name, signature->name, have, types_name(want));
}

/* Checks the type of an input; sets an exception if it is not allowed. */
static bool check_type(const struct call *call, int p, situ_type have) {
  const struct op_signature *signature = &call->function->signature;
  const int attr = signature->inputs[p].type_attr;
  const uint32_t types = attr < 0 ? UINT32_MAX : signature->attrs[attr].spec->types;
  if (types >> have & 1) return true;
  char list[512] = "";
  for (int t = 0; t < 32; t++) {
    const size_t length = strlen(list);
    if (types >> t & 1)
      snprintf(list + length, sizeof list - length, "%s%s", length ? ", " : "",
               types_name((situ_type)t));
  }
  PyErr_Format(PyExc_TypeError,
               "Value passed to parameter '%s' has DataType %s not in list of allowed values: %s "
               "(op: '%s')",
               signature->inputs[p].name, types_name(have), list, signature->name);
  return false;
}

/* Returns all axes of the first input: a constant, or a Range node if the rank is unknown. */
static PyObject *create_axes(const struct call *call, struct graph_object *graph) {
  const int rank = ((struct value_object *)call->flat[0])->shape.rank;
  if (rank < 0) {
    PyObject *function = PyDict_GetItemString(hooks.composite, "axes");
    return function ? PyObject_CallOneArg(function, call->flat[0]) : NULL;
  }
  char text[512];
  PyObject *axes = call_axes(rank);
  if (!axes) return NULL;
  snprintf(text, sizeof text, "%sConst", situ_name_scope(graph->graph));
  PyObject *value = graph_constant(graph, TENSOR_OF(axes), text);
  Py_DECREF(axes);
  return value;
}

/* Reads a variable within the scope of the op: "MatMul/ReadVariableOp". */
static PyObject *read_in_scope(struct graph_object *graph, PyObject *value, situ_type type,
                               const char *name, size_t scope_length) {
  PyObject *before = PyObject_GetAttrString((PyObject *)graph, "_scope"), *result = NULL;
  if (!before) return NULL;
  PyObject *scope = PyUnicode_FromStringAndSize(name, (Py_ssize_t)scope_length);
  if (scope && !PyObject_SetAttrString((PyObject *)graph, "_scope", scope)) {
    result = graph_tensor(graph, value, type, name);
    PyObject *type_, *error, *trace;
    PyErr_Fetch(&type_, &error, &trace);
    if (PyObject_SetAttrString((PyObject *)graph, "_scope", before)) Py_CLEAR(result);
    if (type_) PyErr_Restore(type_, error, trace);
  }
  Py_XDECREF(scope);
  Py_DECREF(before);
  return result;
}

/* Names constants created from arguments by op and argument: "mul/y". */
static PyObject *convert_input(const struct call *call, int p, int i, PyObject *value,
                               struct graph_object *graph, const char *name) {
  char text[512];
  const struct op_input *input = &call->function->signature.inputs[p];
  if (input->is_list)
    snprintf(text, sizeof text, "%s/%s_%d", name, input->name, i);
  else
    snprintf(text, sizeof text, "%s/%s", name, input->name);
  if (!PyObject_HasAttrString(value, "_situ_tensor_"))
    return graph_tensor(graph, value, call_type_for(call, p, value), text);
  return read_in_scope(graph, value, call_type_for(call, p, value), text, strlen(name) + 1);
}

static int make_values(struct call *call, struct graph_object *graph, const char *name) {
  const struct op_signature *signature = &call->function->signature;
  int at = 0;
  for (int p = 0; p < signature->n_inputs; p++) {
    for (int i = 0; i < call->counts[p]; i++, at++) {
      if (!IS_VALUE(call->flat[at])) {
        PyObject *value = call_all_axes(call, p, at)
                              ? create_axes(call, graph)
                              : convert_input(call, p, i, call->flat[at], graph, name);
        if (!value) return -1;
        Py_SETREF(call->flat[at], value);
      }
      if (((struct value_object *)call->flat[at])->graph != graph && graph->captures) {
        PyObject *inner = PyObject_CallMethod((PyObject *)graph, "_capture", "O", call->flat[at]);
        if (!inner) return -1;
        Py_SETREF(call->flat[at], inner);
      }
      if (check_graph(call, at, graph)) return -1;
      const situ_type have = ((struct value_object *)call->flat[at])->type,
                      want = call_type(call, p);
      const int attr = signature->inputs[p].type_attr;
      if (want != SITU_NO_TYPE && have != want) return mismatch(call, p, at, want), -1;
      if (!check_type(call, p, have)) return -1;
      if (attr >= 0) call->types[attr] = have;
    }
  }
  return 0;
}

static PyObject *results(struct graph_object *graph, situ_value value,
                         const struct op_signature *signature) {
  if (signature->n_outputs == 1 && !signature->list_output) return value_of(graph, value);
  struct operation_object *operation = operation_of(graph, value.node);
  PyObject *outputs = operation ? operation_outputs(operation) : NULL;
  const Py_ssize_t count = outputs ? PySequence_Size(outputs) : -1;
  if (count == 0) return Py_NewRef((PyObject *)operation); /* also for an empty list */
  return count > 0 ? PySequence_List(outputs) : NULL;
}

/* Calls device functions with the properties of the node to add; `name` is then "name/". */
static int enter_device(const struct call *call, struct graph_object *graph, const char *name) {
  if (!graph->functions || call->function->signature.takes_reference)
    return graph_check_open(graph);
  PyObject *tuple = PyTuple_New(call->n_flat);
  PyObject *text = PyUnicode_FromStringAndSize(name, (Py_ssize_t)strlen(name) - 1);
  for (int i = 0; tuple && i < call->n_flat; i++)
    PyTuple_SET_ITEM(tuple, i, Py_NewRef(call->flat[i]));
  const int failed =
      tuple && text ? graph_enter_device(graph, call->function->signature.name, text, tuple) : -1;
  Py_XDECREF(tuple);
  Py_XDECREF(text);
  return failed;
}

/* TensorFlow's automatic control dependencies: in functions, an op with a side effect runs after
 * those that come before it in the program. */
static situ_value emit_node(struct graph_object *graph, const struct call *call, const char *name,
                            const situ_values *inputs) {
  const struct op_signature *signature = &call->function->signature;
  const bool is_ordered = graph->orders_effects && signature->has_effect;
  const bool is_after = is_ordered && graph->last_effect;
  if (is_after)
    situ_control_push(graph->graph, &(situ_value){graph->graph, graph->last_effect - 1, 0}, 1);
  const situ_value value = situ_emit_lists(graph->graph, signature->name, name, inputs,
                                           signature->n_inputs, call->attrs, call->n_attrs);
  if (is_after) situ_control_pop(graph->graph);
  if (is_ordered && value.node >= 0) graph->last_effect = value.node + 1;
  return value;
}

/* Adds the node; `name` as in situ_emit. */
static PyObject *add(struct call *call, struct graph_object *graph, const char *name) {
  const struct op_signature *signature = &call->function->signature;
  situ_value inline_buffer[FLAT], *flat = inline_buffer;
  situ_values inputs[MAX_INPUTS];
  if (call->n_flat > FLAT) flat = PyMem_Malloc(sizeof *flat * (size_t)call->n_flat);
  if (!flat) return PyErr_NoMemory();
  for (int i = 0; i < call->n_flat; i++)
    flat[i] = value_native((struct value_object *)call->flat[i]);
  for (int p = 0, at = 0; p < signature->n_inputs; at += call->counts[p++])
    inputs[p] = (situ_values){flat + at, call->counts[p]};
  PyObject *result = NULL;
  if (!enter_device(call, graph, name)) {
    situ_graph_lock(graph->graph); /* keeps other threads from seeing the error before it is taken
                                    */
    const situ_value value = emit_node(graph, call, name, inputs);
    if (!signature->takes_reference) graph_leave_device(graph);
    const situ_status status = value.node < 0 ? situ_graph_take_error(graph->graph) : NULL;
    situ_graph_unlock(graph->graph);
    result = value.node < 0 ? errors_raise_building(status) : results(graph, value, signature);
  }
  if (flat != inline_buffer) PyMem_Free(flat);
  return result;
}

/* Returns whether nothing needs the name before the node exists. */
static bool is_plain(const struct call *call, const struct graph_object *graph) {
  bool plain = !graph->functions;
  for (int i = 0; i < call->n_flat && plain; i++) plain = IS_VALUE(call->flat[i]);
  return plain;
}

PyObject *call_emit(struct call *call, struct graph_object *graph) {
  const bool named = call->name && *call->name;
  numerics_set_origin(graph);
  if (is_plain(call, graph)) {
    if (call_attrs(call) || make_values(call, graph, "") || call_list_types(call)) return NULL;
    return add(call, graph, named ? call->name : NULL);
  }
  PyObject *name = graph_unique(graph, situ_name_scope(graph->graph),
                                named ? call->name : call->function->signature.name);
  if (!name) return NULL;
  PyObject *result = NULL;
  char text[512]; /* "name/": verbatim */
  snprintf(text, sizeof text, "%s/", PyUnicode_AsUTF8(name));
  if (!call_attrs(call) && !make_values(call, graph, PyUnicode_AsUTF8(name)) &&
      !call_list_types(call))
    result = add(call, graph, text);
  Py_DECREF(name);
  return result;
}
