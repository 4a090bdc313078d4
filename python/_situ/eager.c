/* SPDX-License-Identifier: Apache-2.0
 * eager.c: runs a call of an op eagerly. */
#include <string.h>

#include "call.h"
#include "tape.h"
#include "interruptible.h"

/* Calls with fewer bytes keep the GIL: releasing it would take longer. */
enum { SMALL_CALL = 1 << 15 };

static PyObject *mismatch(const struct call *call, int at, situ_type want) {
  return errors_raise(
      situ_status_create(SITU_INVALID_ARGUMENT,
                         "cannot compute %s as input #%d(zero-based) was expected to be a %s "
                         "tensor but is a %s tensor [Op:%s]%s%s%s",
                         call->function->signature.name, at, situ_type_name(want),
                         situ_type_name(situ_tensor_type(TENSOR_OF(call->flat[at]))),
                         call->function->signature.name, call->name ? " name: " : "",
                         call->name ? call->name : "", call->name ? "/" : ""),
      NULL);
}

static int make_tensors(struct call *call) {
  const struct op_signature *signature = &call->function->signature;
  int at = 0;
  for (int p = 0; p < signature->n_inputs; p++) {
    for (int i = 0; i < call->counts[p]; i++, at++) {
      PyObject *value = call->flat[at];
      const situ_type want = call_type_for(call, p, value);
      if (IS_TENSOR(value)) {
        if (want != SITU_NO_TYPE && situ_tensor_type(TENSOR_OF(value)) != want)
          return mismatch(call, at, want), -1;
        continue;
      }
      PyObject *tensor = call_all_axes(call, p, at)
                             ? call_axes(situ_tensor_shape(TENSOR_OF(call->flat[0])).rank)
                             : tensor_of(value, want);
      if (!tensor) return -1;
      Py_SETREF(call->flat[at], tensor);
      const int attr = signature->inputs[p].type_attr;
      if (attr >= 0) call->types[attr] = situ_tensor_type(TENSOR_OF(tensor));
    }
  }
  return 0;
}

/* Appends the op to the message, as TensorFlow does. */
static PyObject *raise(const struct op_signature *signature, const char *name, situ_status status) {
  const char *text = situ_status_message(status), *end = strchr(text, '\n');
  const int first = end ? (int)(end - text) : (int)strlen(text);
  const bool named = name && *name;
  const situ_status error = situ_status_create(situ_status_code(status), "%.*s [Op:%s]%s%s%s%s",
                                               first, text, signature->name, named ? " name: " : "",
                                               named ? name : "", named ? "/" : "", end ? end : "");
  situ_status_release(status);
  return errors_raise(error, NULL);
}

static PyObject *results(const struct op_signature *signature, situ_tensor **outputs, int count) {
  if (signature->n_outputs == 1 && !signature->list_output)
    return tensor_wrap_on_scope_device(outputs[0]);
  if (!signature->n_outputs) { /* the program has one that says that it ran */
    for (int i = 0; i < count; i++) situ_tensor_release(outputs[i]);
    Py_RETURN_NONE;
  }
  PyObject *list = PyList_New(count);
  bool good = list != NULL;
  for (int i = 0; i < count; i++) { /* consumes all outputs, also on failure */
    PyObject *tensor = list ? tensor_wrap_on_scope_device(outputs[i]) : NULL;
    if (!list) situ_tensor_release(outputs[i]);
    good = good && tensor;
    if (tensor) PyList_SET_ITEM(list, i, tensor);
  }
  if (!good) Py_CLEAR(list);
  return list;
}

/* Returns the tensor of all axes; borrowed. */
static situ_tensor *all_axes(const situ_tensor *tensor) {
  PyObject *axes = call_axes(situ_tensor_shape(tensor).rank);
  if (!axes) return NULL;
  Py_DECREF(axes); /* cached by call_axes */
  return TENSOR_OF(axes);
}

/* Reads a short list of integers (shapes, axes). Returns the count; 0: it is something else. */
static int read_integers(PyObject *value, int32_t numbers[SITU_MAX_RANK]) {
  if (!PyList_CheckExact(value) && !PyTuple_CheckExact(value)) return 0;
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(value);
  if (n > SITU_MAX_RANK) return 0;
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject *item = PySequence_Fast_GET_ITEM(value, i);
    int overflow = 0;
    if (!PyLong_CheckExact(item)) return 0;
    const long number = PyLong_AsLongAndOverflow(item, &overflow);
    if (overflow || number != (int32_t)number) return 0;
    numbers[i] = (int32_t)number;
  }
  return (int)n;
}

/* Returns a vector of integers, cached since programs repeat the same shapes and axes. NULL without
 * an exception: the type is not supported. */
static situ_tensor *int_vector(const int32_t *numbers, int n, situ_type type) {
  static situ_tensor *known[64];
  uint32_t hash = (uint32_t)n;
  if (type != SITU_NO_TYPE && type != SITU_INT32) return NULL;
  for (int i = 0; i < n; i++) hash = (hash ^ (uint32_t)numbers[i]) * 0x9E3779B1u;
  situ_tensor **at = &known[hash >> 26];
  const size_t bytes = (size_t)n * sizeof *numbers;
  if (*at && situ_tensor_bytes(*at) == bytes && !memcmp(situ_tensor_data(*at), numbers, bytes))
    return situ_tensor_retain(*at);
  situ_tensor *owned = NULL;
  const situ_status status = situ_tensor_create(SITU_INT32, SITU_SHAPE(n), numbers, &owned);
  if (status) return situ_status_release(status), NULL;
  situ_tensor_release(*at);
  *at = owned;
  return situ_tensor_retain(owned);
}

/* The inputs of a call on the fast path. */
struct fast_call {
  situ_tensor *inputs[MAX_INPUTS];
  situ_tensor *owned[MAX_INPUTS]; /* owned: created from lists */
  int n_owned;
};

static situ_tensor *take_argument(const struct op_signature *signature, int i, PyObject *value,
                                  struct fast_call *q) {
  if (IS_TENSOR(value)) return TENSOR_OF(value);
  const struct op_input *input = &signature->inputs[i];
  int32_t numbers[SITU_MAX_RANK];
  const int count = input->same_as == i ? read_integers(value, numbers) : 0;
  if (!count) return NULL;
  const situ_type want = input->type_attr < 0 ? input->type : SITU_NO_TYPE;
  situ_tensor *tensor = int_vector(numbers, count, want);
  if (!tensor) tensor = convert_value(value, want);
  if (tensor) q->owned[q->n_owned++] = tensor;
  return tensor;
}

/* Collects arguments that are tensors of matching types or short lists of integers. */
static bool read_tensors(const struct op_signature *signature, PyObject *const *args, Py_ssize_t n,
                         struct fast_call *q) {
  size_t bytes = 0;
  for (int i = 0; i < signature->n_inputs; i++) {
    situ_tensor *tensor = i < n ? take_argument(signature, i, args[i], q) : all_axes(q->inputs[0]);
    if (!tensor) return PyErr_Clear(), false;
    q->inputs[i] = tensor;
    const struct op_input *input = &signature->inputs[i];
    const situ_type want =
        input->type_attr < 0 ? input->type : situ_tensor_type(q->inputs[input->same_as]);
    if (want != SITU_NO_TYPE && situ_tensor_type(tensor) != want) return false;
    bytes += situ_tensor_bytes(tensor);
  }
  return bytes <= SMALL_CALL;
}

static void forget(struct fast_call *q) {
  for (int i = 0; i < q->n_owned; i++) situ_tensor_release(q->owned[i]);
}

bool call_fast_path(const struct function_object *function, const char *name, PyObject *const *args,
                    Py_ssize_t n, PyObject **out) {
  const struct op_signature *signature = &function->signature;
  situ_eager *eager = context_fast_path();
  if (!eager || !signature->simple || n > signature->n_inputs || n < signature->n_needed)
    return false;
  struct fast_call q;
  q.n_owned = 0;
  if (!read_tensors(signature, args, n, &q)) return forget(&q), false;
  situ_tensor *output = NULL;
  int count = 0;
  const situ_call native = {
      .op = function->number, .inputs = q.inputs, .n_inputs = signature->n_inputs};
  const situ_status status = situ_eager_run(eager, &native, &output, 1, &count);
  const bool refused = tape_count && !status && tape_record(&native, &output, 1);
  forget(&q);
  if (refused) {
    situ_tensor_release(output);
    *out = NULL;
    return true;
  }
  *out = status ? raise(signature, name, status) : tensor_wrap(output);
  return true;
}

/* Runs a call; releases the GIL if it is large or may block. */
static situ_status run(situ_eager *eager, const situ_call *native, bool waits,
                       situ_tensor **outputs, int capacity, int *count) {
  size_t bytes = 0;
  for (int i = 0; i < native->n_inputs; i++) bytes += situ_tensor_bytes(native->inputs[i]);
  if (!waits && bytes <= SMALL_CALL) return situ_eager_run(eager, native, outputs, capacity, count);
  struct interruptible call = {0};
  interruptible_enter(&call);
  const situ_status status = situ_eager_run(eager, native, outputs, capacity, count);
  interruptible_leave(&call);
  return status;
}

/* Runs the call with arrays for its inputs and outputs. */
static PyObject *call_with(struct call *call, situ_eager *eager, situ_tensor **inputs,
                           situ_tensor **outputs, int capacity) {
  const struct op_signature *signature = &call->function->signature;
  for (int i = 0; i < call->n_flat; i++) inputs[i] = TENSOR_OF(call->flat[i]);
  const situ_call native = {.op = call->function->number,
                            .device = context_device(),
                            .inputs = inputs,
                            .n_inputs = call->n_flat,
                            .attrs = call->attrs,
                            .n_attrs = call->n_attrs};
  int count = 0;
  context_flush();
  const situ_status status = run(eager, &native, signature->on_host, outputs, capacity, &count);
  if (status && PyErr_Occurred()) return situ_status_release(status), NULL;
  if (status) return raise(signature, call->name, status);
  if (tape_count && tape_record(&native, outputs, count)) {
    for (int i = 0; i < count; i++) situ_tensor_release(outputs[i]);
    return NULL;
  }
  return results(signature, outputs, count);
}

PyObject *call_eager(struct call *call) {
  if (call_attrs(call) || make_tensors(call) || call_list_types(call)) return NULL;
  situ_eager *eager = context_eager();
  if (!eager) return NULL;
  situ_tensor *inline_buffer[FLAT], **inputs = inline_buffer, *one[INLINE_OUTPUTS], **outputs = one;
  const bool is_list = call->function->signature.list_output;
  if (call->n_flat > FLAT) inputs = PyMem_Malloc(sizeof *inputs * (size_t)call->n_flat);
  if (is_list) outputs = PyMem_Malloc(sizeof *outputs * MAX_OUTPUTS);
  PyObject *result = inputs && outputs ? call_with(call, eager, inputs, outputs,
                                                   is_list ? MAX_OUTPUTS : INLINE_OUTPUTS)
                                       : PyErr_NoMemory();
  if (inputs != inline_buffer) PyMem_Free(inputs);
  if (outputs != one) PyMem_Free(outputs);
  return result;
}
