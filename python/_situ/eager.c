/* SPDX-License-Identifier: Apache-2.0
 * eager.c: runs a call of an op at once. */
#include <string.h>

#include "call.h"
#include "tape.h"
#include "watch.h"

/* Calls with no more bytes keep the interpreter's lock: to let go of it would take longer. */
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

/* TensorFlow adds the op to the text of the kernel. */
static PyObject *raise(const struct op_signature *signature, const char *name, situ_status status) {
  const char *text = situ_status_message(status), *end = strchr(text, '\n');
  const int first = end ? (int)(end - text) : (int)strlen(text);
  const bool named = name && *name;
  const situ_status told = situ_status_create(situ_status_code(status), "%.*s [Op:%s]%s%s%s%s",
                                              first, text, signature->name, named ? " name: " : "",
                                              named ? name : "", named ? "/" : "", end ? end : "");
  situ_status_release(status);
  return errors_raise(told, NULL);
}

static PyObject *results(const struct op_signature *signature, situ_tensor **outputs, int count) {
  if (signature->n_outputs == 1 && !signature->list_output) return tensor_wrap_here(outputs[0]);
  if (count == 0 && !signature->list_output) Py_RETURN_NONE;
  PyObject *list = PyList_New(count);
  bool good = list != NULL;
  for (int i = 0; i < count; i++) { /* takes over every output, also where one fails */
    PyObject *tensor = list ? tensor_wrap_here(outputs[i]) : NULL;
    if (!list) situ_tensor_release(outputs[i]);
    good = good && tensor;
    if (tensor) PyList_SET_ITEM(list, i, tensor);
  }
  if (!good) Py_CLEAR(list);
  return list;
}

/* All dimensions of a tensor; borrowed. */
static situ_tensor *axes_of(const situ_tensor *tensor) {
  PyObject *axes = call_axes(situ_tensor_shape(tensor).rank);
  if (!axes) return NULL;
  Py_DECREF(axes); /* it stays known */
  return TENSOR_OF(axes);
}

/* A list of a few integers: sizes, dimensions. How many; 0: it is something else. */
static int take_integers(PyObject *value, int32_t numbers[SITU_MAX_RANK]) {
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

/* A vector of integers. Programs say the same sizes again and again: tensors of some of them stay.
 * NULL, without an error: it is of another type. */
static situ_tensor *vector_of(const int32_t *numbers, int n, situ_type type) {
  static situ_tensor *known[64];
  uint32_t hash = (uint32_t)n;
  if (type != SITU_NO_TYPE && type != SITU_INT32) return NULL;
  for (int i = 0; i < n; i++) hash = (hash ^ (uint32_t)numbers[i]) * 0x9E3779B1u;
  situ_tensor **at = &known[hash >> 26];
  const size_t bytes = (size_t)n * sizeof *numbers;
  if (*at && situ_tensor_bytes(*at) == bytes && !memcmp(situ_tensor_data(*at), numbers, bytes))
    return situ_tensor_retain(*at);
  situ_tensor *made = NULL;
  const situ_status status = situ_tensor_create(SITU_INT32, SITU_SHAPE(n), numbers, &made);
  if (status) return situ_status_release(status), NULL;
  situ_tensor_release(*at);
  *at = made;
  return situ_tensor_retain(made);
}

/* The inputs of a call that is simple enough. */
struct quick {
  situ_tensor *inputs[MAX_INPUTS];
  situ_tensor *made[MAX_INPUTS]; /* owned: out of lists */
  int n_made;
};

static situ_tensor *take_argument(const struct op_signature *signature, int i, PyObject *value,
                                  struct quick *q) {
  if (IS_TENSOR(value)) return TENSOR_OF(value);
  const struct op_input *input = &signature->inputs[i];
  int32_t numbers[SITU_MAX_RANK];
  const int count = input->same_as == i ? take_integers(value, numbers) : 0;
  if (!count) return NULL;
  const situ_type want = input->type_attr < 0 ? input->type : SITU_NO_TYPE;
  situ_tensor *tensor = vector_of(numbers, count, want);
  if (!tensor) tensor = convert_value(value, want);
  if (tensor) q->made[q->n_made++] = tensor;
  return tensor;
}

/* The tensors of arguments that are tensors of types that agree, or a few integers. */
static bool take_tensors(const struct op_signature *signature, PyObject *const *args, Py_ssize_t n,
                         struct quick *q) {
  size_t bytes = 0;
  for (int i = 0; i < signature->n_inputs; i++) {
    situ_tensor *tensor = i < n ? take_argument(signature, i, args[i], q) : axes_of(q->inputs[0]);
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

static void forget(struct quick *q) {
  for (int i = 0; i < q->n_made; i++) situ_tensor_release(q->made[i]);
}

bool call_quick(const struct function_object *function, const char *name, PyObject *const *args,
                Py_ssize_t n, PyObject **out) {
  const struct op_signature *signature = &function->signature;
  situ_eager *eager = context_quick();
  if (!eager || !signature->simple || n > signature->n_inputs || n < signature->n_needed)
    return false;
  struct quick q;
  q.n_made = 0;
  if (!take_tensors(signature, args, n, &q)) return forget(&q), false;
  situ_tensor *output = NULL;
  int count = 0;
  const situ_call native = {
      .op = function->number, .inputs = q.inputs, .n_inputs = signature->n_inputs};
  const situ_status status = situ_eager_run(eager, &native, &output, 1, &count);
  const bool refused = tape_count && !status && tape_told(&native, &output, 1);
  forget(&q);
  if (refused) {
    situ_tensor_release(output);
    *out = NULL;
    return true;
  }
  *out = status ? raise(signature, name, status) : tensor_wrap(output);
  return true;
}

/* Runs a call; one that takes its time, or may wait for others, without the interpreter's lock. */
static situ_status run(situ_eager *eager, const situ_call *native, bool waits,
                       situ_tensor **outputs, int room, int *count) {
  size_t bytes = 0;
  for (int i = 0; i < native->n_inputs; i++) bytes += situ_tensor_bytes(native->inputs[i]);
  if (!waits && bytes <= SMALL_CALL) return situ_eager_run(eager, native, outputs, room, count);
  struct watched watched = {0};
  watch_enter(&watched);
  const situ_status status = situ_eager_run(eager, native, outputs, room, count);
  watch_leave(&watched);
  return status;
}

/* The call with room for its inputs and outputs. */
static PyObject *call_with(struct call *call, situ_eager *eager, situ_tensor **inputs,
                           situ_tensor **outputs, int room) {
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
  const situ_status status = run(eager, &native, signature->on_host, outputs, room, &count);
  if (status && PyErr_Occurred()) return situ_status_release(status), NULL;
  if (status) return raise(signature, call->name, status);
  if (tape_count && tape_told(&native, outputs, count)) {
    for (int i = 0; i < count; i++) situ_tensor_release(outputs[i]);
    return NULL;
  }
  return results(signature, outputs, count);
}

PyObject *call_eager(struct call *call) {
  if (call_attrs(call) || make_tensors(call)) return NULL;
  situ_eager *eager = context_eager();
  if (!eager) return NULL;
  situ_tensor *few[FLAT], **inputs = few, *one[FEW_OUTPUTS], **outputs = one;
  const bool is_list = call->function->signature.list_output;
  if (call->n_flat > FLAT) inputs = PyMem_Malloc(sizeof *inputs * (size_t)call->n_flat);
  if (is_list) outputs = PyMem_Malloc(sizeof *outputs * MAX_OUTPUTS);
  PyObject *result = inputs && outputs ? call_with(call, eager, inputs, outputs,
                                                   is_list ? MAX_OUTPUTS : FEW_OUTPUTS)
                                       : PyErr_NoMemory();
  if (inputs != few) PyMem_Free(inputs);
  if (outputs != one) PyMem_Free(outputs);
  return result;
}
