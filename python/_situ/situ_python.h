/* SPDX-License-Identifier: Apache-2.0
 * situ_python.h: shared declarations of the extension. Each Python type has its own file. */
#ifndef SITU_PYTHON_H
#define SITU_PYTHON_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#if PY_VERSION_HEX < 0x030b0000
#include <frameobject.h> /* PyFrame_GetBack; later versions declare it in Python.h */
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

/* Python objects that the package registers on import. */
struct hooks {
  PyObject *dtypes[N_TYPES]; /* by situ_type */
  PyObject *shape;           /* TensorShape */
  PyObject *error;           /* (code, message, node, graph) -> exception */
  PyObject *pack;            /* (list, dtype, name) -> tensor: packs lists that contain tensors */
  PyObject *device_function; /* (graph, op properties) -> device */
  PyObject *eager_config;    /* () -> dict: options of the first eager call */
  PyObject *index;           /* (tensor, key) -> tensor */
  PyObject *repr;            /* repr and str of an eager tensor */
  PyObject *str;
  PyObject *node_def;      /* (operation) -> text */
  PyObject *folder;        /* str: the directory of the package */
  PyObject *composite;     /* dict: name of an operator -> function */
  PyObject *promote;       /* (x, y) -> pair of operands of a common type; None: no promotion */
  PyObject *message_class; /* (full name) -> class of a message type */
  PyObject *decode_error;  /* exception types of message parsers */
  PyObject *parse_error;
};
extern struct hooks hooks;

/* An eager tensor. */
struct tensor_object {
  PyObject_HEAD situ_tensor *tensor;
  PyObject *shape; /* TensorShape, created on demand */
  PyObject *weak;
  PyObject *dict; /* of attributes that programs set; usually NULL */
  int cpu;        /* tensor in host memory: the index of its CPU device */
};

struct graph_object {
  PyObject_HEAD situ_graph *graph;
  PyObject **values;     /* per node: the tensor of its first output, created on demand; owned */
  PyObject **operations; /* per node: the operation, created on demand; owned */
  int capacity;          /* capacity of both */
  PyObject *dict, *weak;
  struct origin *origins; /* where nodes were created, in the order of the nodes; see origin.c */
  int n_origins, origin_capacity;
  int functions; /* device functions on the stacks of all threads */
  bool finalized;
  bool captures;       /* values of other graphs become inputs: _capture */
  bool sealed;         /* a traced function: its values are only valid within it */
  bool orders_effects; /* of a function: ops with side effects run in the order of the program */
  int last_effect;     /* the node of the last one + 1; 0: none */
};

struct operation_object {
  PyObject_HEAD struct graph_object *graph;
  PyObject *inputs, *outputs; /* tuples of tensors, created on demand */
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
    function_type, trace_type, traced_type, recording_type, fast_path_type, tape_type,
    transform_type, dataset_type, iterator_type;

#define IS_TENSOR(o) (Py_TYPE(o) == &tensor_type)
#define IS_VALUE(o) (Py_TYPE(o) == &value_type)
#define TENSOR_OF(o) (((struct tensor_object *)(o))->tensor)

/* errors.c: raises the exception of a status and frees it; returns NULL. `graph` may be NULL. */
PyObject *errors_raise(situ_status status, struct graph_object *graph);

/* The same for the node of that name, or NULL. */
PyObject *errors_raise_at(situ_status status, const char *node, struct graph_object *graph);

/* Raises ValueError or TypeError for an error in graph construction; frees the status. */
PyObject *errors_raise_building(situ_status status);

/* Raises the Python error of a gradient that cannot be built: LookupError if the op has none,
 * NotImplementedError if it is not implemented for this call. Returns false for other statuses,
 * which it does not release. */
bool errors_raise_gradient(situ_status status);

/* context.c: returns the current graph of this thread, or NULL for eager execution. Borrowed. */
struct graph_object *context_graph(void);

/* Returns whether ops run eagerly outside of graphs. */
bool context_is_eager(void);

/* Returns the device of the eager device scope; "" if none. */
const char *context_device(void);

/* Returns the eager context of the process, created on first use; NULL with an exception. */
situ_eager *context_eager(void);

/* Returns the eager context if the fast path is possible: no graph, device scope or log. */
situ_eager *context_fast_path(void);

/* Returns whether eager placement logging is on. */
bool context_logs(void);

/* Flushes Python's stdout if eager ops or sessions log placement. */
void context_flush(void);

/* Flushes Python's stdout. */
void context_flush_stdout(void);
extern PyMethodDef context_methods[];

/* types.c: converts dtypes and shapes between Python and C. */
int types_number(PyObject *dtype, situ_type *out); /* None: SITU_NO_TYPE; returns 0, or -1 */
PyObject *types_dtype(situ_type type);             /* new reference */
int types_shape(PyObject *shape, situ_shape *out); /* None: SITU_ANY_SHAPE */
PyObject *types_tuple(situ_shape shape);           /* (2, None); None for an unknown rank */
PyObject *types_tensor_shape(situ_shape shape);    /* TensorShape */

/* Returns the name of a DType: "float32", "string". */
static inline const char *types_name(situ_type type) {
  return type == SITU_STRING ? "string" : situ_type_numpy(type);
}

/* Returns whether a type is one that NumPy has only with ml_dtypes: bfloat16, float8, int4. */
static inline bool types_is_storage(situ_type type) {
  return type == SITU_BFLOAT16 || type == SITU_FLOAT8_E5M2 || type == SITU_FLOAT8_E4M3FN ||
         type == SITU_INT4 || type == SITU_UINT4;
}

/* Returns whether a type is floating-point. */
static inline bool types_is_real(situ_type type) {
  return type == SITU_FLOAT || type == SITU_DOUBLE || type == SITU_HALF ||
         (types_is_storage(type) && type != SITU_INT4 && type != SITU_UINT4);
}
static inline bool types_is_complex(situ_type type) {
  return type == SITU_COMPLEX64 || type == SITU_COMPLEX128;
}

/* convert.c: returns a str as a C string; NULL with an exception if it has a null character. */
const char *convert_text(PyObject *text);

/* Converts a Python value (not a tensor) to a tensor in host memory; NULL with an exception.
 * SITU_NO_TYPE: infers the type as TensorFlow does. */
situ_tensor *convert_value(PyObject *value, situ_type type);

/* fill.c: creates a tensor from nested lists of that shape; raises if the lists change or an
 * element does not fit. */
situ_tensor *fill_tensor(PyObject *value, const situ_shape *shape, situ_type type);

/* buffer.c: creates a tensor from an object with the buffer protocol, without a copy if possible
 * and `share` is set. *unfit: the buffer is not supported. */
situ_tensor *buffer_value(PyObject *value, situ_type type, bool share, bool *unfit);

/* Stores one element: `real` or `whole`, depending on the type. */
void buffer_store(char *at, situ_type type, double real, int64_t whole);
void buffer_store_complex(char *at, situ_type type, double real, double imag);

/* Returns whether a nested list contains a tensor. */
bool convert_holds_tensor(PyObject *value);

/* array.c: copies a tensor to a NumPy array or scalar. */
PyObject *array_from_tensor(situ_tensor *tensor);

/* tensor.c: wraps a tensor; consumes the reference. */
PyObject *tensor_wrap(situ_tensor *tensor);

/* The same for a tensor created on the device of the scope. */
PyObject *tensor_wrap_on_scope_device(situ_tensor *tensor);

/* Returns the tensor of an object such as a variable, or NULL without an exception. */
PyObject *tensor_from_object(PyObject *value);

/* Converts any value to an eager tensor on the device of the scope. New reference. */
PyObject *tensor_of(PyObject *value, situ_type type);

/* value.c: returns the unique Python object of a graph value. New reference. */
PyObject *value_of(struct graph_object *graph, situ_value native);

/* Creates the object; only for value_of and the outputs of an operation. */
PyObject *value_create(struct graph_object *graph, situ_value native);

static inline situ_value value_native(const struct value_object *value) {
  return (situ_value){value->graph->graph, value->node, value->output};
}

/* operation.c: returns the unique Python object of a node. Borrowed from the graph. */
struct operation_object *operation_of(struct graph_object *graph, int node);

/* Returns the outputs as a tuple. Borrowed. */
PyObject *operation_outputs(struct operation_object *operation);
situ_value operation_native(const struct operation_object *operation);

/* graph.c: reserves space for the objects of a node. Returns 0, or -1 with an exception. */
int graph_reserve(struct graph_object *graph, int node);

/* Returns a unique name. New reference. */
PyObject *graph_unique(struct graph_object *graph, const char *scope, const char *name);

/* Adds a constant with a unique name. New reference. */
PyObject *graph_constant(struct graph_object *graph, situ_tensor *tensor, const char *name);

/* Converts a Python value to a value of the graph: a tensor of it, or a constant with `name`. */
PyObject *graph_tensor(struct graph_object *graph, PyObject *value, situ_type type,
                       const char *name);

/* Returns 0, or -1 with an exception if the graph is finalized. */
int graph_check_open(const struct graph_object *graph);

/* Enter and leave the device that device functions choose for the next node. */
int graph_enter_device(struct graph_object *graph, const char *op, PyObject *name,
                       PyObject *inputs);
void graph_leave_device(struct graph_object *graph);

/* store.c: returns the store in a capsule; NULL with an exception. Borrowed. */
situ_store *store_native(PyObject *capsule);
extern PyMethodDef store_methods[];

/* config.c: reads options from a dict, which owns the strings. 0, or -1 with an exception. */
struct config_store {
  situ_device_memory memory[64];
  situ_virtual_device virtual_devices[64];
};
int config_read(PyObject *dict, situ_config *out, struct config_store *store);

/* structure.c: maps leaf(item, context), which returns a new reference, over nested lists, tuples
 * and dicts. A tuple with a method `_make` is rebuilt by it. */
typedef PyObject *structure_leaf(PyObject *item, void *context);
PyObject *structure_map(PyObject *structure, structure_leaf *leaf, void *context);

/* Copies a sequence to a tuple, safe from changes by user code. TypeError with the message if it is
 * not a sequence. */
PyObject *structure_tuple(PyObject *sequence, const char *message);
extern PyMethodDef structure_methods[];

/* ops.c: returns the function of an op; borrowed. */
PyObject *ops_function(int number);
int ops_number(const char *name);

/* Calls it with a node name (NULL: the name of the op). */
PyObject *ops_call(PyObject *function, const char *name, PyObject *const *args, Py_ssize_t n);
extern PyMethodDef ops_methods[];

/* operators.c: the number protocol of tensors. */
extern PyNumberMethods operators_number;
PyObject *operators_compare(PyObject *a, PyObject *b, int how);
int operators_prepare(void);

/* recording.c: returns the trace of a Recording. Borrowed. */
situ_trace *recording_native(PyObject *object);

/* py_func.c: converts the current Python exception to a status and clears it. */
situ_status script_exception(void);

/* Records the source location of the following nodes; numeric checks report it from C. */
void numerics_set_origin(struct graph_object *graph);

/* origin.c: records the Python frames of the program that creates the following nodes. */
void origin_record(struct graph_object *graph);

/* Returns a list of (file, line, function), outermost first, where a node was created. */
PyObject *origin_of(struct graph_object *graph, int node);
void origin_free(struct graph_object *graph);

extern PyMethodDef dlpack_methods[], devices_methods[], types_methods[], script_methods[],
    cluster_methods[];
extern PyMethodDef checkpoint_methods[], message_functions[], numerics_methods[];
extern PyMethodDef tape_methods[], gradients_methods[];

#endif
