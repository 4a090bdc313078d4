/* SPDX-License-Identifier: Apache-2.0
 * situ_python.h: what the files of the extension share. One file makes each Python object. */
#ifndef SITU_PYTHON_H
#define SITU_PYTHON_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#if PY_VERSION_HEX < 0x030b0000
#define PyFloat_Pack2(real, at, little) _PyFloat_Pack2(real, (unsigned char *)(at), little)
#define PyFloat_Unpack2(at, little) _PyFloat_Unpack2((const unsigned char *)(at), little)
#endif
#if PY_VERSION_HEX < 0x030a0000 /* CPython 3.9 */
static inline PyObject *Py_NewRef(PyObject *object) {
  Py_INCREF(object);
  return object;
}
static inline PyObject *Py_XNewRef(PyObject *object) {
  Py_XINCREF(object);
  return object;
}
#endif

#include <situ/catalog.h>
#include <situ/device.h>
#include <situ/eager.h>
#include <situ/graph.h>
#include <situ/session.h>

enum { MAX_INPUTS = 12, MAX_ATTRS = 12, MAX_PARAMS = MAX_INPUTS + MAX_ATTRS + 1, N_TYPES = 32 };

/* Python objects that the package hands over when it is imported. */
struct hooks {
  PyObject *dtypes[N_TYPES]; /* by the number of the type */
  PyObject *shape;           /* TensorShape */
  PyObject *error;           /* (code, message, node, graph) -> exception */
  PyObject *pack;            /* (list, dtype, name) -> tensor: lists that hold tensors */
  PyObject *device_function; /* (graph, proxy of an op) -> device */
  PyObject *eager_config;    /* () -> dict: options of the first eager call */
  PyObject *index;           /* (tensor, key) -> tensor */
  PyObject *repr;            /* (eager tensor) -> str, and of str */
  PyObject *str;
  PyObject *node_def;  /* (operation) -> text */
  PyObject *folder;    /* str: where the package lies */
  PyObject *composite; /* dict: name of an operator -> function that stands for it */
};
extern struct hooks hooks;

/* An eager tensor. */
struct tensor_object {
  PyObject_HEAD situ_tensor *tensor;
  PyObject *shape; /* TensorShape, once it was asked for */
  PyObject *weak;
  int cpu; /* of a tensor in host memory: which CPU device made it */
};

struct graph_object {
  PyObject_HEAD situ_graph *graph;
  PyObject **values;     /* by node: the tensor of its first output, once asked for; owned */
  PyObject **operations; /* by node: the operation, once asked for; owned */
  int room;              /* of both */
  PyObject *scope;       /* str: "" or "a/b/" */
  PyObject *dict, *weak;
  int functions; /* device functions on the stack */
  bool finalized;
  bool captures; /* values of other graphs become inputs: _capture */
  bool sealed;   /* of a function that is traced: its values mean nothing outside */
};

struct operation_object {
  PyObject_HEAD struct graph_object *graph;
  PyObject *inputs, *outputs; /* tuples of tensors; NULL until asked for */
  PyObject *dict, *weak;
  int node;
};

/* A tensor of a graph. */
struct value_object {
  PyObject_HEAD struct graph_object *graph;
  int node, output;
  situ_type type;
  situ_shape shape;
  PyObject *dict, *weak;
};

extern PyTypeObject base_type, tensor_type, graph_type, operation_type, value_type, session_type,
    function_type, trace_type, traced_type, recording_type, front_type, tape_type, transform_type,
    dataset_type, iterator_type;

#define IS_TENSOR(o) (Py_TYPE(o) == &tensor_type)
#define IS_VALUE(o) (Py_TYPE(o) == &value_type)
#define TENSOR_OF(o) (((struct tensor_object *)(o))->tensor)

/* errors.c: sets the Python exception of a status and frees it; returns NULL. `graph` may be NULL.
 */
PyObject *errors_raise(situ_status status, struct graph_object *graph);

/* Sets ValueError or TypeError for an error while a graph is built; frees the status. */
PyObject *errors_raise_building(situ_status status);

/* context.c: where ops of this thread go: the graph, or NULL for eager. Borrowed. */
struct graph_object *context_graph(void);

/* Whether ops run at once where no graph was entered. */
bool context_is_eager(void);

/* The device of this thread's eager scope; "" for none. */
const char *context_device(void);

/* The process's eager context, made on first use; NULL with an exception. */
situ_eager *context_eager(void);

/* The same if an op may run at once without further ado: no graph, no device scope, no log; else
 * NULL without an exception. */
situ_eager *context_quick(void);

/* Whether eager ops and functions log where they run. */
bool context_logs(void);

/* Whether eager ops or sessions log on standard output: Python's buffer goes out first. */
void context_flush(void);

/* Python's buffer of standard output goes out. */
void context_flush_stdout(void);
extern PyMethodDef context_methods[];

/* types.c: dtypes and shapes between Python and C. */
int types_number(PyObject *dtype, situ_type *out); /* None gives SITU_NO_TYPE; 0, or -1 */
PyObject *types_dtype(situ_type type);             /* new reference */
int types_shape(PyObject *shape, situ_shape *out); /* None gives SITU_ANY_SHAPE */
PyObject *types_tuple(situ_shape shape);           /* (2, None); None for an unknown rank */
PyObject *types_tensor_shape(situ_shape shape);    /* TensorShape */

/* "float32", "string": the name of a DType. */
static inline const char *types_word(situ_type type) {
  return type == SITU_STRING ? "string" : situ_type_numpy(type);
}

/* Whether elements are real numbers. */
static inline bool types_is_real(situ_type type) {
  return type == SITU_FLOAT || type == SITU_DOUBLE || type == SITU_HALF;
}

/* convert.c: a tensor in host memory of any Python value but a tensor; NULL with an exception.
 * `type` may be SITU_NO_TYPE: then as TensorFlow chooses. */
situ_tensor *convert_value(PyObject *value, situ_type type);

/* fill.c: a tensor of the elements of nested lists of that shape; an exception where the lists
 * change meanwhile, or an element does not fit. */
situ_tensor *fill_tensor(PyObject *value, const situ_shape *shape, situ_type type);

/* buffer.c: the same of an object with the buffer protocol, without a copy where that is possible
 * and `share` allows it. Sets *unfit where the object has to go another way. */
situ_tensor *buffer_value(PyObject *value, situ_type type, bool share, bool *unfit);

/* Stores one element: `real` or `whole`, as the type asks for. */
void buffer_store(char *at, situ_type type, double real, int64_t whole);

/* Whether a list holds a tensor somewhere. */
bool convert_holds_tensor(PyObject *value);

/* array.c: the NumPy array, or scalar, of a tensor; a copy. */
PyObject *array_of(situ_tensor *tensor);

/* tensor.c: a new eager tensor; takes over the reference. */
PyObject *tensor_wrap(situ_tensor *tensor);

/* The same, of a tensor that was made on the device of the scope. */
PyObject *tensor_wrap_here(situ_tensor *tensor);

/* The tensor that an object stands for (a variable), or NULL: without an exception if it is none.
 */
PyObject *tensor_behind(PyObject *value);

/* The eager tensor of any value: converted, put on the device of the scope. New reference. */
PyObject *tensor_of(PyObject *value, situ_type type);

/* value.c: the tensor of a value of a graph: always the same object. New reference. */
PyObject *value_of(struct graph_object *graph, situ_value native);

/* A new one; only for value_of and the outputs of an operation. */
PyObject *value_create(struct graph_object *graph, situ_value native);

static inline situ_value value_native(const struct value_object *value) {
  return (situ_value){value->graph->graph, value->node, value->output};
}
PyObject *value_str(struct value_object *value);

/* operation.c: the operation of a node: always the same object. Borrowed from the graph. */
struct operation_object *operation_of(struct graph_object *graph, int node);

/* The tensors that it makes: a tuple. Borrowed. */
PyObject *operation_outputs(struct operation_object *operation);
situ_value operation_native(const struct operation_object *operation);

/* graph.c: makes room for the objects of a node. 0, or -1 with an exception. */
int graph_reserve(struct graph_object *graph, int node);

/* A name that is not yet taken. New reference. */
PyObject *graph_unique(struct graph_object *graph, const char *scope, const char *name);

/* A constant; `name` as it is (made unique). New reference to a tensor of the graph. */
PyObject *graph_constant(struct graph_object *graph, situ_tensor *tensor, const char *name);

/* The value of a Python value in a graph: a tensor of it, or a constant called `name`. */
PyObject *graph_tensor(struct graph_object *graph, PyObject *value, situ_type type,
                       const char *name);

/* 0, or -1 with an exception where the graph is finalized. */
int graph_check_open(const struct graph_object *graph);

/* Enters and leaves the device that functions on the stack choose for a node to come. */
int graph_enter_device(struct graph_object *graph, const char *op, PyObject *name,
                       PyObject *inputs);
void graph_leave_device(struct graph_object *graph);

/* config.c: options out of a dict; texts are borrowed from it. 0, or -1 with an exception. */
/* store.c: the store in a capsule; NULL with an exception. Borrowed. */
situ_store *store_native(PyObject *capsule);
extern PyMethodDef store_methods[];

struct config_store {
  situ_device_memory memory[64];
  situ_virtual_device virtual_devices[64];
};
int config_read(PyObject *dict, situ_config *out, struct config_store *store);

/* structure.c: the same lists, tuples and dicts with leaf(item, context), a new reference, in place
 * of each item. */
typedef PyObject *structure_leaf(PyObject *item, void *context);
PyObject *structure_map(PyObject *structure, structure_leaf *leaf, void *context);

/* The elements of a sequence as a tuple of its own: code of the program that runs while they are
 * read cannot change it. TypeError with the message where it is no sequence. */
PyObject *structure_tuple(PyObject *sequence, const char *message);

/* ops.c: the functions of all rows, by number; borrowed. */
PyObject *ops_function(int number);
int ops_number(const char *name);

/* Calls one with a name for the node (NULL: the op's). */
PyObject *ops_call(PyObject *function, const char *name, PyObject *const *args, Py_ssize_t n);
extern PyMethodDef ops_methods[];

/* operators.c: the number protocol of tensors. */
extern PyNumberMethods operators_number;
PyObject *operators_compare(PyObject *a, PyObject *b, int how);
int operators_prepare(void);

/* recording.c: what a Recording holds. Borrowed. */
situ_trace *recording_native(PyObject *object);

/* py_func.c: the status of the Python exception that is set, which is cleared. */
situ_status script_exception(void);

/* Tells a graph where in the program the nodes to come are asked for, where a failure would say it.
 */
void numerics_origin(struct graph_object *graph);

extern PyMethodDef dlpack_methods[], devices_methods[], types_methods[], script_methods[],
    cluster_methods[];
extern PyMethodDef checksum_methods[];
extern PyMethodDef numerics_methods[];
extern PyMethodDef tape_methods[], gradients_methods[];

#endif
