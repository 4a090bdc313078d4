/* SPDX-License-Identifier: Apache-2.0
 * graph.h: builds, inspects, loads and saves graphs of operations.
 *
 * Nodes are never removed. Adding a node does not report errors directly: the graph keeps the first
 * error, which situ_graph_status and all functions that run the graph return. Values created after
 * an error are invalid and may safely be passed on.
 *
 * Threads may add nodes while others run, plan or save the graph: a run uses the nodes that existed
 * when it began. Scopes and the first error belong to the graph, not to a thread: threads that
 * build the same graph must hold its lock from push to pop, and until they have taken the error.
 */
#ifndef SITU_GRAPH_H
#define SITU_GRAPH_H

#include "situ/message.h"
#include "situ/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct situ_graph situ_graph;

/* An output of a node: a plain value that borrows its graph. A negative `node` marks an invalid
 * value. */
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

/* An attribute of an operation; create it with the functions below. The graph copies or retains
 * what it points to. */
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

/* Return an attribute of each kind. */
SITU_API situ_attr situ_attr_int(const char *name, int64_t value);
SITU_API situ_attr situ_attr_float(const char *name, double value);
SITU_API situ_attr situ_attr_bool(const char *name, bool value);
SITU_API situ_attr situ_attr_type(const char *name, situ_type value);
SITU_API situ_attr situ_attr_shape(const char *name, situ_shape value);
SITU_API situ_attr situ_attr_string(const char *name, const char *value);
SITU_API situ_attr situ_attr_tensor(const char *name, situ_tensor *value);
SITU_API situ_attr situ_attr_ints(const char *name, const int64_t *values, int count);
SITU_API situ_attr situ_attr_floats(const char *name, const double *values, int count);

/* Lists of element types (situ_type values) and of shapes, and a function of the graph by name. */
SITU_API situ_attr situ_attr_types(const char *name, const int64_t *types, int count);
SITU_API situ_attr situ_attr_shapes(const char *name, const situ_shape *shapes, int count);
SITU_API situ_attr situ_attr_function(const char *name, const char *function);

/* Creates an empty graph; NULL if out of memory. */
SITU_API situ_graph *situ_graph_create(void);

/* Adds a reference; returns the graph. */
SITU_API situ_graph *situ_graph_retain(situ_graph *graph);

/* Drops a reference; NULL is ignored. */
SITU_API void situ_graph_release(situ_graph *graph);

/* Lock and unlock the graph: other threads wait before they read or change it; runs continue. The
 * lock is recursive. */
SITU_API void situ_graph_lock(situ_graph *graph);
SITU_API void situ_graph_unlock(situ_graph *graph);

/* Returns a copy of the first error, or NULL. */
SITU_API situ_status situ_graph_status(const situ_graph *graph) SITU_MUST_USE;

/* Sets the source location ("model.c:12") of nodes added from now on, which failed numeric checks
 * report; NULL: none. The string is copied. */
SITU_API void situ_graph_set_origin(situ_graph *graph, const char *location);

/* Returns the first error and clears it; NULL if there is none. The graph stays usable, without the
 * node that failed. */
SITU_API situ_status situ_graph_take_error(situ_graph *graph) SITU_MUST_USE;

/* Nodes added between push and pop request this device (tf.device). Scopes nest: fields that the
 * inner scope does not set come from the outer one; NULL hides the outer scopes, "" changes
 * nothing. */
SITU_API void situ_device_push(situ_graph *graph, const char *device);
SITU_API void situ_device_pop(situ_graph *graph);

/* Like situ_device_push of NULL and then of `device`, but as one scope, and nodes report `device`
 * verbatim. Used for device functions. */
SITU_API void situ_device_push_exact(situ_graph *graph, const char *device);

/* Changes the requested device of an existing node ("": none), reported verbatim. Sessions that
 * have already placed the node ignore the change. */
SITU_API situ_status situ_device_set(situ_value value, const char *device) SITU_MUST_USE;

/* Nodes added between push and pop are named "scope/name" (tf.name_scope); a scope that is used
 * twice becomes "scope_1". "scope/" re-enters a scope, NULL or "" the root scope. */
SITU_API void situ_name_push(situ_graph *graph, const char *scope);
SITU_API void situ_name_pop(situ_graph *graph);

/* Returns the current name scope: "" or "a/b/". Borrowed from the graph. */
SITU_API const char *situ_name_scope(situ_graph *graph);

/* Name scopes belong to the thread that opens them. Device, control and colocation scopes hold for
 * the nodes of all threads until this call, after which each thread starts with those that are open
 * now and opens and closes its own (tf.Graph.switch_to_thread_local). */
SITU_API void situ_graph_use_thread_scopes(situ_graph *graph);

/* Reserves and returns a unique name in `scope` ("" or "a/b/"); pass it as "name/" to situ_emit to
 * give it to a node. NULL if the name is not legal (errno is EINVAL) or out of memory (ENOMEM).
 * Borrowed. */
SITU_API const char *situ_name_reserve(situ_graph *graph, const char *scope, const char *name);

/* Nodes added between push and pop run after these values are computed (tf.control_dependencies).
 */
SITU_API void situ_control_push(situ_graph *graph, const situ_value *values, int count);
SITU_API void situ_control_pop(situ_graph *graph);

/* Nodes added between push and pop are colocated with the node of `value` and those of the outer
 * colocation scopes, and request the device of the innermost; outer device scopes are hidden. Ops
 * with a reference input are implicitly colocated with the variable. */
SITU_API void situ_colocate_push(situ_graph *graph, situ_value value);
SITU_API void situ_colocate_pop(situ_graph *graph);

/* Hides all outer colocation and device scopes until situ_colocate_pop. */
SITU_API void situ_colocate_push_none(situ_graph *graph);

/* Colocates nodes added outside of colocation scopes with the node of that name, which need not
 * exist yet; NULL ends it. Host-only ops are excluded. The string is copied. */
SITU_API void situ_colocate_name(situ_graph *graph, const char *name);

/* Adds a node and returns its first output (output -1 if it has none). `name` NULL: the name of the
 * op. Names are made unique ("MatMul_1"), ignoring case; "a/" is the absolute name "a", which must
 * not exist yet. */
SITU_API situ_value situ_emit(situ_graph *graph, const char *op, const char *name,
                              const situ_value *inputs, int n_inputs, const situ_attr *attrs,
                              int n_attrs);

/* Returns the tensor of a constant, borrowed from the graph; NULL if the value is not a constant.
 */
SITU_API situ_tensor *situ_value_constant(situ_value value);

/* Adds a function to the graph, which ops such as If and While call by name. `body` is another
 * graph (retained), `inputs` are placeholders and `outputs` values of it. */
SITU_API void situ_function_add(situ_graph *graph, const char *name, situ_graph *body,
                                const situ_value *inputs, int n_inputs, const situ_value *outputs,
                                int n_outputs);

/* The values of one input: one value, or the elements of a list input. */
typedef struct situ_values {
  const situ_value *items;
  int count;
} situ_values;

/* Like situ_emit, with inputs grouped as in the signature of the op, for ops with list inputs. */
SITU_API situ_value situ_emit_lists(situ_graph *graph, const char *op, const char *name,
                                    const situ_values *inputs, int n_inputs, const situ_attr *attrs,
                                    int n_attrs);

/* Returns another output of the same node; an invalid value if there is none. */
SITU_API situ_value situ_value_output(situ_value value, int output);

/* Returns an input of the node of a value, with lists flattened; an invalid value if there is none.
 */
SITU_API situ_value situ_value_input(situ_value value, int index);

/* Returns the first output of a control input of the node of a value; an invalid value if there is
 * none. */
SITU_API situ_value situ_value_control(situ_value value, int index);

/* Adds a constant with a copy of `data`. */
SITU_API situ_value situ_constant(situ_graph *graph, const char *name, situ_type type,
                                  situ_shape shape, const void *data);

/* Adds a constant that retains `tensor`. */
SITU_API situ_value situ_constant_tensor(situ_graph *graph, const char *name, situ_tensor *tensor);

/* Adds a placeholder, which every run must feed; dimensions may be SITU_ANY. */
SITU_API situ_value situ_placeholder(situ_graph *graph, const char *name, situ_type type,
                                     situ_shape shape);

/* Returns whether the value is an existing output of a node, or a node without outputs. */
SITU_API bool situ_value_valid(situ_value value);

/* Return the name and op of the node of a value (borrowed), its element type, and its static shape.
 */
SITU_API const char *situ_value_name(situ_value value);
SITU_API const char *situ_value_op(situ_value value);
SITU_API situ_type situ_value_type(situ_value value);
SITU_API situ_shape situ_value_shape(situ_value value);

/* Refines the static shape of a value (tf.Tensor.set_shape); nodes added afterwards use it. Fails
 * if it contradicts the known shape. */
SITU_API situ_status situ_value_set_shape(situ_value value, situ_shape shape) SITU_MUST_USE;

/* Returns the requested device in canonical form; "" if there is none. Borrowed. */
SITU_API const char *situ_value_device(situ_value value);

/* Return the number of nodes, and the first output of node 0 <= index < count (output -1 if it has
 * none). */
SITU_API int situ_graph_count(const situ_graph *graph);
SITU_API situ_value situ_graph_node(situ_graph *graph, int index);

/* Finds the value "name" or "name:1"; an invalid value if there is none. */
SITU_API situ_value situ_graph_find(situ_graph *graph, const char *name);

/* Loads a GraphDef in protobuf text, JSON or binary (.pb) format. Nodes may be in any order.
 * Ignores versions, attributes that begin with '_' (except "_class"), and TensorFlow attributes
 * that situ lacks if they have their default value. Loads the functions of the library that nodes
 * call. Errors contain line and column, or the byte offset. Tensors given in compressed form (a
 * repeated element) may take 256 MiB in total. */
SITU_API situ_status situ_graph_load(const char *data, size_t length,
                                     situ_graph **out) SITU_MUST_USE;

/* Writes a graph as a GraphDef in text or JSON format. */
SITU_API situ_status situ_graph_save(const situ_graph *graph, bool as_json,
                                     FILE *stream) SITU_MUST_USE;

/* Writes the NodeDef of a value's node. */
SITU_API situ_status situ_node_save(situ_value value, bool as_json, FILE *stream) SITU_MUST_USE;

/* Fill an empty GraphDef from a graph, or a NodeDef from a value's node. */
SITU_API situ_status situ_graph_to_message(const situ_graph *graph,
                                           situ_message *out) SITU_MUST_USE;
SITU_API situ_status situ_node_to_message(situ_value value, situ_message *out) SITU_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
