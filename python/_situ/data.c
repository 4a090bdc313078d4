/* SPDX-License-Identifier: Apache-2.0
 * data.c: the Python types Transform, Dataset and Iterator (situ/data.h). */
#include <situ/data.h>
#include <string.h>

#include "situ_python.h"
#include "interruptible.h"

struct transform_object {
  PyObject_HEAD situ_transform *transform;
  PyObject *graph;
};

struct dataset_object {
  PyObject_HEAD situ_dataset *dataset;
  PyObject *weak;
};

struct iterator_object {
  PyObject_HEAD situ_iterator *iterator;
  PyObject *structure; /* of an element: indices of components */
  PyObject *weak;
  int n_components;
};

/* Releases the GIL, which threads of a dataset may need before they end. */
#define WITHOUT_GIL(call) \
  Py_BEGIN_ALLOW_THREADS; \
  call;                   \
  Py_END_ALLOW_THREADS

/* Transform(graph, inputs, outputs) */

static situ_value *read_values(PyObject *tuple) {
  const Py_ssize_t n = PyTuple_GET_SIZE(tuple);
  situ_value *values = PyMem_Calloc((size_t)n + 1, sizeof *values);
  for (Py_ssize_t i = 0; values && i < n; i++) {
    PyObject *item = PyTuple_GET_ITEM(tuple, i);
    if (!IS_VALUE(item)) {
      PyErr_Format(PyExc_TypeError, "%R is not a tensor of a graph", item);
      PyMem_Free(values);
      return NULL;
    }
    values[i] = value_native((struct value_object *)item);
  }
  return values ? values : (situ_value *)PyErr_NoMemory();
}

static PyObject *transform_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  (void)kwargs;
  PyObject *graph, *inputs, *outputs;
  if (!PyArg_ParseTuple(args, "O!O!O!", &graph_type, &graph, &PyTuple_Type, &inputs, &PyTuple_Type,
                        &outputs))
    return NULL;
  struct transform_object *self = (struct transform_object *)type->tp_alloc(type, 0);
  situ_value *in = self ? read_values(inputs) : NULL;
  situ_value *out = in ? read_values(outputs) : NULL;
  if (out) {
    const situ_status status = situ_transform_create(
        ((struct graph_object *)graph)->graph, in, (int)PyTuple_GET_SIZE(inputs), out,
        (int)PyTuple_GET_SIZE(outputs), &self->transform);
    if (status) errors_raise(status, (struct graph_object *)graph);
    self->graph = Py_NewRef(graph);
  }
  PyMem_Free(in);
  PyMem_Free(out);
  if (PyErr_Occurred()) Py_CLEAR(self);
  return (PyObject *)self;
}

static void transform_dealloc(PyObject *object) {
  struct transform_object *self = (struct transform_object *)object;
  situ_transform_release(self->transform);
  Py_XDECREF(self->graph);
  Py_TYPE(object)->tp_free(object);
}

PyTypeObject transform_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_situ.Transform",
    .tp_basicsize = sizeof(struct transform_object),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "A graph as a function of the elements of a dataset.",
    .tp_new = transform_new,
    .tp_dealloc = transform_dealloc,
};

/* Generators: Python functions that return an iterator over tuples of tensors */

static situ_status generator_open(void *context, void **state) {
  const PyGILState_STATE lock = PyGILState_Ensure();
  *state = PyObject_CallNoArgs(context);
  const situ_status status = *state ? NULL : script_exception();
  PyGILState_Release(lock);
  return status;
}

static situ_status generator_next(void *state, situ_tensor **components, int n_components,
                                  bool *end) {
  const PyGILState_STATE lock = PyGILState_Ensure();
  PyObject *element = PyIter_Next(state);
  *end = !element && !PyErr_Occurred();
  if (element && (!PyTuple_Check(element) || PyTuple_GET_SIZE(element) != n_components))
    PyErr_Format(PyExc_TypeError, "a generator must yield tuples of %d tensors", n_components);
  for (int i = 0; element && i < n_components && !PyErr_Occurred(); i++) {
    PyObject *item = PyTuple_GET_ITEM(element, i);
    if (IS_TENSOR(item))
      components[i] = situ_tensor_retain(TENSOR_OF(item));
    else
      PyErr_SetString(PyExc_TypeError, "a generator must yield tensors");
  }
  const situ_status status = PyErr_Occurred() ? script_exception() : NULL;
  Py_XDECREF(element);
  PyGILState_Release(lock);
  return status;
}

static void release_object(void *object) {
  const PyGILState_STATE lock = PyGILState_Ensure();
  Py_XDECREF((PyObject *)object);
  PyGILState_Release(lock);
}

/* Dataset(kind, inputs, params, **options) */

struct spec_arrays {
  situ_dataset **inputs;
  situ_param *params;
  situ_shape *shapes;
};

static int read_inputs(PyObject *inputs, PyObject *params, struct spec_arrays *arrays) {
  const Py_ssize_t n = PyTuple_GET_SIZE(inputs), m = PyTuple_GET_SIZE(params);
  arrays->inputs = PyMem_Calloc((size_t)n + 1, sizeof(situ_dataset *));
  arrays->params = PyMem_Calloc((size_t)m + 1, sizeof *arrays->params);
  if (!arrays->inputs || !arrays->params) return PyErr_NoMemory(), -1;
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject *item = PyTuple_GET_ITEM(inputs, i);
    if (Py_TYPE(item) != &dataset_type)
      return PyErr_Format(PyExc_TypeError, "%R is not a dataset", item), -1;
    arrays->inputs[i] = ((struct dataset_object *)item)->dataset;
  }
  for (Py_ssize_t i = 0; i < m; i++) {
    PyObject *item = PyTuple_GET_ITEM(params, i);
    if (IS_TENSOR(item))
      arrays->params[i].tensor = TENSOR_OF(item);
    else
      arrays->params[i].argument = (int)PyLong_AsLong(item);
  }
  return PyErr_Occurred() ? -1 : 0;
}

static int read_shapes(PyObject *shapes, struct spec_arrays *arrays) {
  if (!shapes || shapes == Py_None) return 0;
  PyObject *list = structure_tuple(shapes, "shapes must be a list");
  if (!list) return -1;
  const Py_ssize_t n = PyTuple_GET_SIZE(list);
  arrays->shapes = PyMem_Calloc((size_t)n + 1, sizeof *arrays->shapes);
  if (!arrays->shapes) PyErr_NoMemory();
  for (Py_ssize_t i = 0; i < n && !PyErr_Occurred(); i++)
    types_shape(PyTuple_GET_ITEM(list, i), &arrays->shapes[i]);
  Py_DECREF(list);
  return PyErr_Occurred() ? -1 : 0;
}

static int read_options(PyObject *kwargs, situ_dataset_spec *spec, situ_generator *generator,
                        PyObject **shapes) {
  static char *names[] = {"transform",   "inner",        "parallel", "cycle",  "block",
                          "flags",       "n_components", "type",     "shapes", "device",
                          "compression", "generator",    "function", NULL};
  PyObject *transform = NULL, *inner = NULL, *type = NULL, *function = NULL;
  PyObject *empty = PyTuple_New(0);
  if (!empty) return -1;
  const int done = PyArg_ParseTupleAndKeywords(
      empty, kwargs, "|OOiiiIiOOzzOz", names, &transform, &inner, &spec->parallel, &spec->cycle,
      &spec->block, &spec->flags, &spec->n_components, &type, shapes, &spec->device,
      &spec->compression, &function, &spec->function);
  Py_DECREF(empty);
  if (!done) return -1;
  if (transform && Py_TYPE(transform) == &transform_type)
    spec->transform = ((struct transform_object *)transform)->transform;
  if (inner && Py_TYPE(inner) == &dataset_type)
    spec->inner = ((struct dataset_object *)inner)->dataset;
  if (function && function != Py_None) {
    *generator =
        (situ_generator){generator_open, generator_next, release_object, release_object, function};
    spec->generator = generator;
  }
  return type && types_number(type, &spec->type) ? -1 : 0;
}

static PyObject *dataset_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  const char *kind;
  PyObject *inputs, *params, *shapes = NULL;
  situ_dataset_spec spec = {0};
  situ_generator generator;
  struct spec_arrays arrays = {0};
  if (!PyArg_ParseTuple(args, "sO!O!", &kind, &PyTuple_Type, &inputs, &PyTuple_Type, &params))
    return NULL;
  struct dataset_object *self = (struct dataset_object *)type->tp_alloc(type, 0);
  if (self && !read_options(kwargs, &spec, &generator, &shapes) &&
      !read_inputs(inputs, params, &arrays) && !read_shapes(shapes, &arrays)) {
    spec.inputs = arrays.inputs;
    spec.n_inputs = (int)PyTuple_GET_SIZE(inputs);
    spec.params = arrays.params;
    spec.n_params = (int)PyTuple_GET_SIZE(params);
    spec.shape = arrays.shapes;
    if (spec.generator) Py_INCREF((PyObject *)generator.context);
    const situ_status status = situ_dataset_create(kind, &spec, &self->dataset);
    if (status && spec.generator) Py_DECREF((PyObject *)generator.context);
    if (status) errors_raise_building(status);
  }
  PyMem_Free(arrays.inputs);
  PyMem_Free(arrays.params);
  PyMem_Free(arrays.shapes);
  if (PyErr_Occurred()) Py_CLEAR(self);
  return (PyObject *)self;
}

static void dataset_dealloc(PyObject *object) {
  struct dataset_object *self = (struct dataset_object *)object;
  if (self->weak) PyObject_ClearWeakRefs(object);
  WITHOUT_GIL(situ_dataset_release(self->dataset));
  Py_TYPE(object)->tp_free(object);
}

static PyObject *dataset_cardinality(PyObject *self, PyObject *none) {
  (void)none;
  return PyLong_FromLongLong(situ_dataset_cardinality(((struct dataset_object *)self)->dataset));
}

static PyObject *dataset_handle(PyObject *self, PyObject *none) {
  (void)none;
  situ_tensor *handle = NULL;
  const situ_status status = situ_dataset_handle(((struct dataset_object *)self)->dataset, &handle);
  return status ? errors_raise(status, NULL) : tensor_wrap(handle);
}

static PyMethodDef dataset_methods[] = {
    {"cardinality", dataset_cardinality, METH_NOARGS, "Returns the number of elements."},
    {"handle", dataset_handle, METH_NOARGS, "Returns a resource handle of the dataset."},
    {NULL, NULL, 0, NULL}};

PyTypeObject dataset_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_situ.Dataset",
    .tp_basicsize = sizeof(struct dataset_object),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "A description of a sequence of elements.",
    .tp_new = dataset_new,
    .tp_dealloc = dataset_dealloc,
    .tp_methods = dataset_methods,
    .tp_weaklistoffset = offsetof(struct dataset_object, weak),
};

/* Iterator */

struct next_request {
  situ_iterator *iterator;
  situ_tensor **components;
  bool end;
};

static situ_status call_next(void *context) {
  struct next_request *request = context;
  return situ_iterator_next(request->iterator, request->components, &request->end);
}

/* Returns the tensors of a tuple, borrowed, in an array that the caller frees. */
static situ_tensor **read_tensors(PyObject *tuple) {
  const Py_ssize_t n = PyTuple_GET_SIZE(tuple);
  situ_tensor **tensors = PyMem_Calloc((size_t)n + 1, sizeof(situ_tensor *));
  if (!tensors) PyErr_NoMemory();
  for (Py_ssize_t i = 0; i < n && tensors; i++) {
    PyObject *item = PyTuple_GET_ITEM(tuple, i);
    if (IS_TENSOR(item)) {
      tensors[i] = TENSOR_OF(item);
      continue;
    }
    PyErr_Format(PyExc_TypeError, "%R is not a tensor", item);
    PyMem_Free(tensors);
    tensors = NULL;
  }
  return tensors;
}

/* Iterator(dataset, structure, arguments). A leaf of the structure is the index of a component, or
 * a callable with an attribute `index` that converts the component. */
static PyObject *iterator_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  (void)kwargs;
  PyObject *dataset, *structure, *arguments;
  if (!PyArg_ParseTuple(args, "O!OO!", &dataset_type, &dataset, &structure, &PyTuple_Type,
                        &arguments))
    return NULL;
  situ_tensor **values = read_tensors(arguments);
  if (!values) return NULL;
  struct iterator_object *self = (struct iterator_object *)type->tp_alloc(type, 0);
  if (!self) {
    PyMem_Free(values);
    return NULL;
  }
  situ_dataset *native = ((struct dataset_object *)dataset)->dataset;
  situ_status status = NULL;
  self->structure = Py_NewRef(structure);
  self->n_components = situ_dataset_components(native);
  const int n = (int)PyTuple_GET_SIZE(arguments);
  WITHOUT_GIL(status = situ_iterator_create(native, values, n, &self->iterator));
  PyMem_Free(values);
  if (!status && context_logs()) situ_iterator_log_placement(self->iterator);
  if (!status) return (PyObject *)self;
  Py_DECREF(self);
  return errors_raise(status, NULL);
}

/* The components of an element. */
struct element {
  situ_tensor **components;
  int count;
};

static PyObject *wrap_component(PyObject *item, void *context) {
  const struct element *element = context;
  PyObject *number = PyLong_Check(item) ? Py_NewRef(item) : PyObject_GetAttrString(item, "index");
  const long index = number ? PyLong_AsLong(number) : -1;
  Py_XDECREF(number);
  if (!PyErr_Occurred() && (index < 0 || index >= element->count))
    PyErr_Format(PyExc_IndexError, "element has no component %ld", index);
  PyObject *tensor =
      PyErr_Occurred() ? NULL : tensor_wrap(situ_tensor_retain(element->components[index]));
  if (!tensor || PyLong_Check(item)) return tensor;
  PyObject *result = PyObject_CallOneArg(item, tensor);
  Py_DECREF(tensor);
  return result;
}

static PyObject *iterator_next(PyObject *object) {
  enum { INLINE = 16 };
  struct iterator_object *self = (struct iterator_object *)object;
  situ_tensor *inline_buffer[INLINE] = {NULL}, **components = inline_buffer;
  if (!self->iterator) return NULL;
  if (context_graph()) return PyObject_CallMethod(object, "_emit_next", NULL);
  if (self->n_components > INLINE)
    components = PyMem_Calloc((size_t)self->n_components, sizeof *components);
  if (!components) return PyErr_NoMemory();
  struct next_request request = {situ_iterator_retain(self->iterator), components, false};
  context_flush();
  situ_status status = interruptible_call(call_next, &request);
  WITHOUT_GIL(situ_iterator_release(request.iterator));
  PyObject *result = NULL;
  if (status && PyErr_Occurred()) { /* Ctrl-C */
    situ_status_release(status);
  } else if (status) {
    const situ_status error = situ_status_create(
        situ_status_code(status), "%s [Op:IteratorGetNext] name: ", situ_status_message(status));
    situ_status_release(status);
    errors_raise(error, NULL);
  } else if (!request.end) {
    struct element element = {components, self->n_components};
    result = structure_map(self->structure, wrap_component, &element);
  }
  for (int i = 0; i < self->n_components; i++) situ_tensor_release(components[i]);
  if (components != inline_buffer) PyMem_Free(components);
  return result;
}

static PyObject *iterator_handle(PyObject *object, PyObject *none) {
  (void)none;
  struct iterator_object *self = (struct iterator_object *)object;
  situ_tensor *handle = NULL;
  if (!self->iterator) return PyErr_Format(PyExc_ValueError, "the iterator is closed");
  const situ_status status = situ_iterator_handle(self->iterator, &handle);
  return status ? errors_raise(status, NULL) : tensor_wrap(handle);
}

/* position(check): returns the position as a tensor. If `check`, functions of elements must not
 * depend on other state. */
static PyObject *iterator_save(PyObject *object, PyObject *check) {
  struct iterator_object *self = (struct iterator_object *)object;
  situ_tensor *saved = NULL;
  if (!self->iterator) return PyErr_Format(PyExc_ValueError, "the iterator is closed");
  const int checks = PyObject_IsTrue(check);
  if (checks < 0) return NULL;
  situ_status status = NULL;
  if (checks) {
    WITHOUT_GIL(status = situ_iterator_check_state(self->iterator));
  }
  if (!status) {
    WITHOUT_GIL(status = situ_iterator_save(self->iterator, &saved));
  }
  return status ? errors_raise(status, NULL) : tensor_wrap(saved);
}

struct restoring {
  situ_iterator *iterator;
  const situ_tensor *saved;
};

static situ_status restore(void *context) {
  const struct restoring *restoring = context;
  return situ_iterator_restore(restoring->iterator, restoring->saved);
}

/* restore(saved): continues at a saved position. */
static PyObject *iterator_restore(PyObject *object, PyObject *saved) {
  struct iterator_object *self = (struct iterator_object *)object;
  if (!self->iterator) return PyErr_Format(PyExc_ValueError, "the iterator is closed");
  if (!IS_TENSOR(saved)) return PyErr_Format(PyExc_TypeError, "%R is not a tensor", saved);
  struct restoring restoring = {situ_iterator_retain(self->iterator), TENSOR_OF(saved)};
  const situ_status status = interruptible_call(restore, &restoring);
  WITHOUT_GIL(situ_iterator_release(restoring.iterator));
  if (!status) Py_RETURN_NONE;
  if (!PyErr_Occurred()) return errors_raise(status, NULL);
  situ_status_release(status); /* Ctrl-C */
  return NULL;
}

/* close(): stops the threads of the iterator; it yields no more elements. */
static PyObject *iterator_close(PyObject *object, PyObject *none) {
  (void)none;
  struct iterator_object *self = (struct iterator_object *)object;
  situ_iterator *iterator = self->iterator;
  self->iterator = NULL;
  WITHOUT_GIL(situ_iterator_release(iterator));
  Py_RETURN_NONE;
}

static void iterator_dealloc(PyObject *object) {
  struct iterator_object *self = (struct iterator_object *)object;
  if (self->weak) PyObject_ClearWeakRefs(object);
  if (self->iterator) {
    WITHOUT_GIL(situ_iterator_release(self->iterator));
  }
  Py_XDECREF(self->structure);
  Py_TYPE(object)->tp_free(object);
}

static PyMethodDef iterator_methods[] = {
    {"close", iterator_close, METH_NOARGS, "Stops the threads of the iterator."},
    {"handle", iterator_handle, METH_NOARGS, "Returns a resource handle of the iterator."},
    {"position", iterator_save, METH_O, "Returns the position of the iterator as a tensor."},
    {"restore", iterator_restore, METH_O, "Continues at a saved position."},
    {NULL, NULL, 0, NULL}};

PyTypeObject iterator_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_situ.Iterator",
    .tp_basicsize = sizeof(struct iterator_object),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .tp_doc = "Iterates over the elements of a dataset.",
    .tp_new = iterator_new,
    .tp_dealloc = iterator_dealloc,
    .tp_iter = PyObject_SelfIter,
    .tp_iternext = iterator_next,
    .tp_methods = iterator_methods,
    .tp_weaklistoffset = offsetof(struct iterator_object, weak),
};
