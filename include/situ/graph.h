/* SPDX-License-Identifier: Apache-2.0
 * graph.h: building a graph of operations.
 *
 * A graph only grows. Adding a node never fails by itself: the first error is kept and returned by
 * situ_graph_status and by everything that runs the graph; values made after it are invalid and may
 * be passed on safely.
 *
 * Any thread may add nodes while others run, plan or save the graph: a run sees the nodes that were
 * there when it began. Scopes and the first error belong to the graph, not to a thread: where
 * several threads build one graph, each holds its lock from the push to the pop, or until it has
 * taken the error.
 */
#ifndef SITU_GRAPH_H
#define SITU_GRAPH_H

#include "situ/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct situ_graph situ_graph;

/* An output of a node: a plain value, borrowed from its graph. `node` is negative for an invalid
 * one. */
typedef struct situ_value {
  situ_graph *graph;
  int32_t node;
  int32_t output;
} situ_value;

/* Kinds of attributes: name, and spelling in op signatures. */
#define SITU_ATTR_KINDS(X) \
  X(INT, "int")            \
  X(FLOAT, "float")        \
  X(BOOL, "bool")          \
  X(TYPE, "type")          \
  X(SHAPE, "shape")        \
  X(STRING, "string")      \
  X(TENSOR, "tensor")      \
  X(INTS, "list(int)")     \
  X(FLOATS, "list(float)") \
  X(TYPES, "list(type)")   \
  X(SHAPES, "list(shape)") \
  X(FUNCTION, "func")

typedef enum situ_attr_kind {
  SITU_ATTR_NONE = 0,
#define SITU_ATTR_ENUM(name, word) SITU_ATTR_##name,
  SITU_ATTR_KINDS(SITU_ATTR_ENUM)
#undef SITU_ATTR_ENUM
} situ_attr_kind;

/* An attribute of an operation; made by the functions below. What it points to is copied or
 * retained by the graph. */
typedef struct situ_attr {
  const char *name;
  situ_attr_kind kind;
  int64_t integer; /* INT, BOOL, TYPE; the count of INTS, FLOATS, TYPES, SHAPES */
  double real;
  situ_shape shape;
  const char *text; /* STRING; the name of a FUNCTION */
  situ_tensor *tensor;
  const int64_t *integers; /* INTS, TYPES */
  const double *reals;     /* FLOATS */
  const situ_shape *shapes;
} situ_attr;

/* One attribute of each kind. */
SITU_API situ_attr situ_attr_int(const char *name, int64_t value);
SITU_API situ_attr situ_attr_float(const char *name, double value);
SITU_API situ_attr situ_attr_bool(const char *name, bool value);
SITU_API situ_attr situ_attr_type(const char *name, situ_type value);
SITU_API situ_attr situ_attr_shape(const char *name, situ_shape value);
SITU_API situ_attr situ_attr_string(const char *name, const char *value);
SITU_API situ_attr situ_attr_tensor(const char *name, situ_tensor *value);
SITU_API situ_attr situ_attr_ints(const char *name, const int64_t *values, int count);
SITU_API situ_attr situ_attr_floats(const char *name, const double *values, int count);

/* Lists of element types (as numbers) and of shapes, and a function of the graph by its name. */
SITU_API situ_attr situ_attr_types(const char *name, const int64_t *types, int count);
SITU_API situ_attr situ_attr_shapes(const char *name, const situ_shape *shapes, int count);
SITU_API situ_attr situ_attr_function(const char *name, const char *function);

/* An empty graph; NULL without memory. */
SITU_API situ_graph *situ_graph_create(void);

/* Adds a reference; returns the graph. */
SITU_API situ_graph *situ_graph_retain(situ_graph *graph);

/* Drops a reference; NULL is ignored. */
SITU_API void situ_graph_release(situ_graph *graph);

/* Locks the graph: other threads wait before they read or change it. Runs go on with what they
 * have. One thread may lock it several times, and unlocks it as often. */
SITU_API void situ_graph_lock(situ_graph *graph);
SITU_API void situ_graph_unlock(situ_graph *graph);

/* A copy of the first error, or NULL. */
SITU_API situ_status situ_graph_status(const situ_graph *graph) SITU_MUST_USE;

/* Sets the source location ("model.c:12") of nodes added from now on, for failures of numeric
 * checks; NULL: none. The text is copied. */
SITU_API void situ_graph_set_origin(situ_graph *graph, const char *place);

/* Takes the first error out of the graph, which goes on without the node that failed; NULL if
 * there is none. */
SITU_API situ_status situ_graph_take_error(situ_graph *graph) SITU_MUST_USE;

/* Nodes added between push and pop ask for this device. Scopes nest: what the inner one leaves open
 * comes from the outer one; NULL hides the outer scopes, "" changes nothing. */
SITU_API void situ_device_push(situ_graph *graph, const char *device);
SITU_API void situ_device_pop(situ_graph *graph);

/* As situ_device_push of NULL and then of `device`, but as one scope, and nodes report the device
 * as it is written here: what a device function returned. */
SITU_API void situ_device_push_exact(situ_graph *graph, const char *device);

/* Makes a node that is there ask for another device ("" for none), reported as it is written.
 * Sessions that have placed it go on as before. */
SITU_API situ_status situ_device_set(situ_value value, const char *device) SITU_MUST_USE;

/* Nodes added between push and pop get names "scope/name"; a scope used twice becomes "scope_1".
 * "scope/" goes back into a scope, NULL or "" leads outside of all. */
SITU_API void situ_name_push(situ_graph *graph, const char *scope);
SITU_API void situ_name_pop(situ_graph *graph);

/* A name inside of `scope` ("" or "a/b/") that no node and no scope has, and none will be given;
 * "name/" makes it a node's. NULL where the name is not a legal one, or without memory. Borrowed.
 */
SITU_API const char *situ_name_reserve(situ_graph *graph, const char *scope, const char *name);

/* Nodes added between push and pop run after these values are computed. */
SITU_API void situ_control_push(situ_graph *graph, const situ_value *values, int count);
SITU_API void situ_control_pop(situ_graph *graph);

/* Nodes added between push and pop are placed with the node of `value` and those of the scopes
 * outside, and ask for the device that the innermost of these asks for; device scopes outside are
 * hidden. Ops that take a reference are in such a scope of the variable by themselves. */
SITU_API void situ_colocate_push(situ_graph *graph, situ_value value);
SITU_API void situ_colocate_pop(situ_graph *graph);

/* Enters a scope that hides all colocation and device scopes outside; situ_colocate_pop leaves it.
 */
SITU_API void situ_colocate_push_none(situ_graph *graph);

/* Nodes added outside of colocation scopes are placed with the node of that name, which need not be
 * there yet, until this is called with NULL; ops that only the host has stay apart. The text is
 * copied. */
SITU_API void situ_colocate_name(situ_graph *graph, const char *name);

/* Adds a node and returns its first output (output -1 where it has none). `name` may be NULL: then
 * the op's. Names are made unique ("MatMul_1"), where upper and lower case count as the same; "a/"
 * is the name "a" outside of all scopes, which must be new. */
SITU_API situ_value situ_emit(situ_graph *graph, const char *op, const char *name,
                              const situ_value *inputs, int n_inputs, const situ_attr *attrs,
                              int n_attrs);

/* The tensor of a value that is a constant, borrowed from the graph; NULL where it is none. */
SITU_API situ_tensor *situ_value_constant(situ_value value);

/* Gives the graph a function, which ops like If and While call by its name: `body` is a graph of
 * its own (retained), `inputs` are placeholders of it, `outputs` values. */
SITU_API void situ_function_add(situ_graph *graph, const char *name, situ_graph *body,
                                const situ_value *inputs, int n_inputs, const situ_value *outputs,
                                int n_outputs);

/* The values of one input: one, or the elements of a list. */
typedef struct situ_values {
  const situ_value *items;
  int count;
} situ_values;

/* situ_emit with the inputs as the op's signature has them, lists included. */
SITU_API situ_value situ_emit_lists(situ_graph *graph, const char *op, const char *name,
                                    const situ_values *inputs, int n_inputs, const situ_attr *attrs,
                                    int n_attrs);

/* Another output of the same node; an invalid value if there is none. */
SITU_API situ_value situ_value_output(situ_value value, int output);

/* Input number `index` of the node of a value, lists laid flat; an invalid value if there is none.
 */
SITU_API situ_value situ_value_input(situ_value value, int index);

/* The first output of node number `index` that must run before that of a value; an invalid value if
 * there is none. */
SITU_API situ_value situ_value_control(situ_value value, int index);

/* A constant with a copy of the data. */
SITU_API situ_value situ_constant(situ_graph *graph, const char *name, situ_type type,
                                  situ_shape shape, const void *data);

/* A constant that shares a tensor. */
SITU_API situ_value situ_constant_tensor(situ_graph *graph, const char *name, situ_tensor *tensor);

/* A value that is given to every run; dimensions may be SITU_ANY. */
SITU_API situ_value situ_placeholder(situ_graph *graph, const char *name, situ_type type,
                                     situ_shape shape);

/* Whether the value belongs to a graph and names an output of a node of it, or a node that has no
 * outputs. */
SITU_API bool situ_value_valid(situ_value value);

/* What is known of a value: name of its node, its op, element type, shape as far as known. Texts
 * are borrowed. */
SITU_API const char *situ_value_name(situ_value value);
SITU_API const char *situ_value_op(situ_value value);
SITU_API situ_type situ_value_type(situ_value value);
SITU_API situ_shape situ_value_shape(situ_value value);

/* Tells what the graph cannot find out: the shape of a value, sizes of it as far as they are known.
 * Nodes that are made afterwards know it. A failure where it contradicts what is known. */
SITU_API situ_status situ_value_set_shape(situ_value value, situ_shape shape) SITU_MUST_USE;

/* The device that was asked for, in canonical form; "" for none. Borrowed. */
SITU_API const char *situ_value_device(situ_value value);

/* The number of nodes, and the first output of node 0 <= index < count (output -1 where a node has
 * none). */
SITU_API int situ_graph_count(const situ_graph *graph);
SITU_API situ_value situ_graph_node(situ_graph *graph, int index);

/* The value of "name" or "name:1"; an invalid value if there is none. */
SITU_API situ_value situ_graph_find(situ_graph *graph, const char *name);

/* Reads a graph: a GraphDef in protobuf's text form, as JSON (protobuf's mapping: bytes in base64),
 * or in the binary form (.pb). Nodes may stand in any order. Versions, attributes that begin with
 * '_' (other than "_class") and attributes of TensorFlow that situ does not have are read over, the
 * latter at their default value only. Functions are read from the library where nodes call them.
 * Errors give line and column, or the byte.
 * Tensors whose elements the text only repeats may take 256 MiB in all. */
SITU_API situ_status situ_graph_load(const char *text, size_t length,
                                     situ_graph **out) SITU_MUST_USE;

/* Writes a graph as a GraphDef in text form, or as JSON, to a stream. */
SITU_API situ_status situ_graph_save(const situ_graph *graph, bool as_json,
                                     FILE *stream) SITU_MUST_USE;

/* Writes the node of a value alone, as it stands in the graph's GraphDef. */
SITU_API situ_status situ_node_save(situ_value value, bool as_json, FILE *stream) SITU_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
