/* SPDX-License-Identifier: Apache-2.0
 * random_graph.c: see random_graph.h. */
#include "support/random_graph.h"

#include <dirent.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "support/random_args.h"
#include "support/random_call.h"
#include "tensor/type.h"

enum { MOST_VALUES = 64, MOST_RESULT = 1 << 20, RUN_MILLISECONDS = 100 };

/* A graph in the making. */
struct builder {
  struct random_bytes *bytes;
  situ_graph *graph;
  situ_value pool[MOST_VALUES]; /* outputs that later nodes may read */
  situ_value inits[MOST_VALUES];
  situ_feed feeds[MOST_VALUES];
  int n_pool, n_inits, n_feeds, n_functions;
  bool feeds_all; /* all inputs are fed, with shapes that the graph does not know */
  struct arena arena;
};

static unsigned byte(struct builder *b) { return random_byte(b->bytes); }

/* The process */

static _Atomic int64_t run_until; /* milliseconds; 0: no run */

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static bool is_late(void) {
  const int64_t until = atomic_load(&run_until);
  return until && now() > until;
}

static char folder[] = "/tmp/situ-random-graph-XXXXXX";

/* Removes the temporary folder; names in it have no slashes. */
static void remove_folder(void) {
  DIR *entries = opendir(folder);
  for (struct dirent *entry = NULL; entries && (entry = readdir(entries));)
    unlinkat(dirfd(entries), entry->d_name, 0);
  if (entries) closedir(entries);
  rmdir(folder);
}

void random_graph_start(void) {
  setenv("SITU_SIM_GPUS", "A=64MiB,B=64MiB", 1);
  situ_status_release(situ_devices_reset());
  situ_interrupt_set(is_late);
  if (!mkdtemp(folder) || chdir(folder)) abort();
  atexit(remove_folder);
}

bool random_graph_leaves_out(int id) {
  static const char *const parts[] = {"Print", "Collective", "TaskSend", "TaskReceive", "Abort"};
  const struct op_def *op = schema_get(id)->op;
  for (size_t i = 0; i < COUNT_OF(parts); i++)
    if (strstr(op->name, parts[i])) return true;
  return op->flags & OP_COLLECTIVE;
}

/* Inputs */

static situ_value constant(struct builder *b, situ_tensor *tensor) {
  const situ_value value = situ_constant_tensor(b->graph, NULL, tensor);
  return value;
}

/* A constant of the type and shape; of a type without values, a float. */
static situ_value new_constant(struct builder *b, situ_type type, situ_shape shape) {
  situ_tensor *tensor = random_tensor(b->bytes, &b->arena, type, shape, true);
  if (!tensor) tensor = random_tensor(b->bytes, &b->arena, SITU_FLOAT, SITU_SCALAR, true);
  const situ_value value = constant(b, tensor);
  situ_tensor_release(tensor);
  return value;
}

/* A variable with an initial value; sometimes without one. */
static situ_value new_variable(struct builder *b, bool by_handle, situ_type type,
                               situ_shape shape) {
  const situ_attr attrs[] = {situ_attr_type("dtype", type), situ_attr_shape("shape", shape)};
  const situ_value variable =
      situ_emit(b->graph, by_handle ? "VarHandleOp" : "VariableV2", NULL, NULL, 0, attrs, 2);
  if (byte(b) % 16 == 0 || b->n_inits == MOST_VALUES) return variable;
  const situ_value in[] = {variable, new_constant(b, type, shape)};
  b->inits[b->n_inits++] =
      situ_emit(b->graph, by_handle ? "AssignVariableOp" : "Assign", NULL, in, 2, NULL, 0);
  return variable;
}

/* Whether the op `user` can use the resources that the op `maker` creates, going by their names. */
static bool fits(const char *maker, const char *user) {
  static const char *const words[] = {"Queue",  "Table",    "Mutex",   "Accumulator",
                                      "Reader", "Iterator", "Dataset", "Batch"};
  for (size_t i = 0; i < COUNT_OF(words); i++)
    if (strstr(maker, words[i]) && strstr(user, words[i])) return true;
  return false;
}

/* An op without inputs whose output is a resource: a queue for a queue op, for example. */
static const struct schema *find_maker(struct builder *b, const char *user) {
  const int count = schema_count(), start = (int)((byte(b) << 8 | byte(b)) % (unsigned)count);
  const bool any = byte(b) % 8 == 0;
  const struct schema *found = NULL;
  for (int i = 0; i < count && !found; i++) {
    const struct schema *schema = schema_get((start + i) % count);
    if (schema->n_inputs || !schema->n_outputs || schema->op->flags & OP_VARIABLE) continue;
    if (schema->outputs[0].type != SITU_RESOURCE) continue;
    if (any || fits(schema->op->name, user)) found = schema;
  }
  return found ? found : schema_find("FIFOQueueV2");
}

static situ_type attr_type(const struct random_args *args, const char *name) {
  const int attr = schema_attr(args->schema, name);
  return attr < 0 ? SITU_NO_TYPE : args->types[attr];
}

/* Gives the maker of a resource the types that its user has. */
static void copy_types(struct random_args *maker, const struct random_args *user) {
  static const char *const lists[] = {"Tcomponents", "component_types", "output_types"};
  const situ_type key = attr_type(user, "Tin"), value = attr_type(user, "Tout");
  const situ_type key2 = attr_type(user, "Tkeys"), value2 = attr_type(user, "Tvalues");
  if (schema_attr(maker->schema, "key_dtype") >= 0 && (key || key2)) {
    random_args_set(maker, situ_attr_type("key_dtype", key ? key : key2));
    random_args_set(maker, situ_attr_type("value_dtype", value ? value : value2));
  }
  if (attr_type(user, "dtype") && schema_attr(maker->schema, "dtype") >= 0)
    random_args_set(maker, situ_attr_type("dtype", attr_type(user, "dtype")));
  for (int i = 0; i < user->n_attrs; i++)
    for (size_t k = 0; k < COUNT_OF(lists); k++)
      for (size_t m = 0; m < COUNT_OF(lists) && !strcmp(user->attrs[i].name, lists[k]); m++)
        if (schema_attr(maker->schema, lists[m]) >= 0)
          random_args_set(maker, situ_attr_types(lists[m], user->attrs[i].integers,
                                                 (int)user->attrs[i].integer));
}

static situ_value new_resource(struct builder *b, const struct random_args *user) {
  struct random_args args = {.bytes = b->bytes, .schema = find_maker(b, user->schema->op->name)};
  random_args_draw(&args);
  if (byte(b) % 8) copy_types(&args, user);
  const situ_value value =
      situ_emit(b->graph, args.schema->op->name, NULL, NULL, 0, args.attrs, args.n_attrs);
  random_args_free(&args);
  return value;
}

static situ_value new_list(struct builder *b, situ_type type) {
  const situ_shape shape = {2, {2, 2}}, one = {1, {1}};
  const int32_t any = byte(b) % 2 ? -1 : 2;
  const situ_value in[] = {new_constant(b, type ? type : SITU_FLOAT, shape),
                           situ_constant(b->graph, NULL, SITU_INT32, one, &any)};
  return situ_emit(b->graph, "TensorListFromTensor", NULL, in, 2, NULL, 0);
}

static situ_value find_in_pool(struct builder *b, situ_type type) {
  const int start = b->n_pool ? (int)(byte(b) % (unsigned)b->n_pool) : 0;
  for (int i = 0; i < b->n_pool; i++) {
    const situ_value value = b->pool[(start + i) % b->n_pool];
    if (situ_value_type(value) == type) return value;
  }
  return (situ_value){0};
}

/* A placeholder that may know less of its shape than the fed tensor has. */
static situ_value new_placeholder(struct builder *b, situ_tensor *tensor) {
  situ_shape shape = situ_tensor_shape(tensor);
  const unsigned known = b->feeds_all ? 0 : byte(b);
  for (int d = 0; d < shape.rank; d++)
    if (known >> (d % 7) & 1) shape.dim[d] = SITU_ANY;
  if (known % 3 == 0) shape = SITU_ANY_SHAPE;
  const situ_value value = situ_placeholder(b->graph, NULL, situ_tensor_type(tensor), shape);
  b->feeds[b->n_feeds++] = (situ_feed){value, situ_tensor_retain(tensor)};
  return value;
}

static situ_value make_input(struct builder *b, const struct random_args *args, int i) {
  const situ_op_port *port = args->ports[i];
  const situ_type type = args->input_types[i];
  if (port->is_ref) return new_variable(b, port->is_handle, type, args->shapes[i]);
  const bool reuses = byte(b) % (args->inputs[i] ? 4 : 2) == 0;
  const situ_value old = reuses ? find_in_pool(b, type) : (situ_value){0};
  if (reuses && situ_value_valid(old)) return old;
  if (type == SITU_RESOURCE) return new_resource(b, args);
  if (type == SITU_VARIANT) return new_list(b, attr_type(args, "element_dtype"));
  if (!args->inputs[i]) return new_constant(b, SITU_FLOAT, SITU_SCALAR);
  const bool is_fed = b->feeds_all || (!port->is_host && byte(b) % 3 == 0);
  if (is_fed && b->n_feeds < MOST_VALUES) return new_placeholder(b, args->inputs[i]);
  return constant(b, args->inputs[i]);
}

/* Functions */

/* One node of a body: the value, or an element-wise op of it. */
static situ_value transform(struct builder *b, situ_graph *body, situ_value value) {
  static const char *const ops[] = {"Identity", "Neg", "Square", "Tanh", "ZerosLike", "Shape"};
  const unsigned which = byte(b) % (COUNT_OF(ops) + 2);
  if (which >= COUNT_OF(ops)) return value;
  const situ_value made = situ_emit(body, ops[which], NULL, &value, 1, NULL, 0);
  situ_status failed = situ_graph_take_error(body);
  situ_status_release(failed);
  return failed ? value : made;
}

/* The counter of a loop: an int32 plus one; other values are transformed. */
static situ_value step(struct builder *b, situ_graph *body, situ_value value) {
  const int32_t one = 1;
  if (situ_value_type(value) != SITU_INT32 || byte(b) % 4 == 0) return transform(b, body, value);
  const situ_value in[] = {value, situ_constant(body, NULL, SITU_INT32, SITU_SCALAR, &one)};
  return situ_emit(body, "AddV2", NULL, in, 2, NULL, 0);
}

static situ_value condition(struct builder *b, situ_graph *body, const situ_value *in, int n) {
  const int32_t limit = 3;
  const bool yes = byte(b) % 8 == 0;
  if (n && situ_value_type(in[0]) == SITU_INT32 && byte(b) % 4) {
    const situ_value less[] = {in[0], situ_constant(body, NULL, SITU_INT32, SITU_SCALAR, &limit)};
    return situ_emit(body, "Less", NULL, less, 2, NULL, 0);
  }
  if (n && byte(b) % 2) return situ_emit(body, "ToBool", NULL, in, 1, NULL, 0);
  return situ_constant(body, NULL, SITU_BOOL, SITU_SCALAR, &yes);
}

static const char *new_function(struct builder *b, const int64_t *types, int n, bool is_condition) {
  situ_graph *body = situ_graph_create();
  situ_value in[8], out[8];
  char name[32];
  for (int i = 0; i < n; i++)
    in[i] = situ_placeholder(body, NULL, (situ_type)types[i], SITU_ANY_SHAPE);
  for (int i = 0; i < n; i++) out[i] = step(b, body, in[i]);
  if (is_condition) out[0] = condition(b, body, in, n);
  snprintf(name, sizeof name, "function_%d", b->n_functions++);
  situ_function_add(b->graph, name, body, in, n, out, is_condition ? 1 : n);
  situ_graph_release(body);
  return arena_strndup(&b->arena, name, strlen(name));
}

/* Gives an op with functions one list of types for all of its lists, and functions of them. */
static void add_functions(struct builder *b, struct random_args *args) {
  const struct schema *schema = args->schema;
  int64_t *types = ARENA_ARRAY(&args->arena, int64_t, 4);
  const int n = 1 + (int)(byte(b) % 3);
  bool has_functions = false;
  for (int i = 0; i < n; i++)
    types[i] = byte(b) % 2 ? SITU_INT32 : byte(b) % 2 ? SITU_FLOAT : random_type(b->bytes, ~0u);
  for (int i = 0; i < schema->n_attrs; i++)
    has_functions = has_functions || schema->attrs[i].kind == SITU_ATTR_FUNCTION;
  for (int i = 0; has_functions && i < schema->n_attrs; i++) {
    const situ_op_attr *spec = &schema->attrs[i];
    if (spec->kind == SITU_ATTR_TYPES) random_args_set(args, situ_attr_types(spec->name, types, n));
    if (spec->kind != SITU_ATTR_FUNCTION) continue;
    const bool is_condition = !strcmp(spec->name, "cond");
    random_args_set(args, situ_attr_function(spec->name, new_function(b, types, n, is_condition)));
  }
}

/* Nodes */

static void add_to_pool(struct builder *b, situ_value node) {
  for (int i = 0; situ_value_valid(situ_value_output(node, i)); i++)
    if (b->n_pool < MOST_VALUES) b->pool[b->n_pool++] = situ_value_output(node, i);
}

/* Draws arguments again with the attributes that were set, which the inputs follow. */
static bool draw(struct builder *b, struct random_args *args) {
  add_functions(b, args);
  const bool has_functions = args->n_attrs > 0;
  return has_functions ? random_args_draw_inputs(args) : random_args_draw(args);
}

/* Adds a node of an op; an invalid value if it cannot be built. */
static situ_value add_node(struct builder *b, int id) {
  static const char *const devices[] = {"", "", "/cpu:0", "/gpu:0", "/gpu:1"};
  struct random_args args = {.bytes = b->bytes, .schema = schema_get(id)};
  situ_value inputs[ARGS_MOST], node = {0};
  const bool drawn = draw(b, &args);
  if (drawn && getenv("SITU_TEST_VERBOSE")) random_args_print(&args);
  situ_device_push(b->graph, devices[byte(b) % COUNT_OF(devices)]);
  for (int i = 0; drawn && i < args.n_inputs; i++) inputs[i] = make_input(b, &args, i);
  situ_status status = situ_graph_take_error(b->graph);
  if (drawn && !status) {
    node = situ_emit(b->graph, args.schema->op->name, NULL, inputs, args.n_inputs, args.attrs,
                     args.n_attrs);
    status = situ_graph_take_error(b->graph);
  }
  situ_device_pop(b->graph);
  if (status) {
    if (getenv("SITU_TEST_VERBOSE")) fprintf(stderr, "  %s\n", situ_status_message(status));
    node = (situ_value){0};
  }
  situ_status_release(status);
  random_args_free(&args);
  return node;
}

/* Adds the gradients of a value; returns the first one that there is. */
static situ_value add_gradients_of(struct builder *b, situ_value y, const situ_value *xs, int n) {
  situ_value gradients[8], first = {0};
  situ_status status = situ_gradients(b->graph, &y, 1, xs, n, NULL, NULL, gradients);
  for (int i = 0; !status && i < n; i++) {
    if (!situ_value_valid(gradients[i])) continue;
    if (b->n_pool < MOST_VALUES) b->pool[b->n_pool++] = gradients[i];
    if (!situ_value_valid(first)) first = gradients[i];
  }
  situ_status_release(status);
  situ_status_release(situ_graph_take_error(b->graph));
  return first;
}

/* Adds the gradients of a node's first output to the inputs of the node, and second ones. */
static void add_gradients(struct builder *b, situ_value node) {
  situ_value xs[8];
  int n = 0;
  for (; n < 8 && situ_value_valid(situ_value_input(node, n)); n++)
    xs[n] = situ_value_input(node, n);
  if (!n || node.output < 0) return;
  const situ_value first = add_gradients_of(b, node, xs, n);
  if (situ_value_valid(first) && byte(b) % 2) add_gradients_of(b, first, xs, n);
}

/* Running */

static bool is_small(situ_value value) {
  return situ_shape_count(situ_value_shape(value)) <= MOST_RESULT;
}

static bool is_graph_small(situ_graph *graph) {
  for (int i = 0; i < situ_graph_count(graph); i++) {
    const situ_value node = situ_graph_node(graph, i);
    for (int k = 0; situ_value_valid(situ_value_output(node, k)); k++)
      if (!is_small(situ_value_output(node, k))) return false;
  }
  return true;
}

static void note(struct random_graph_result *result, situ_status status) {
  if (status && getenv("SITU_TEST_VERBOSE")) fprintf(stderr, "  %s\n", situ_status_message(status));
  if (situ_status_code(status) == SITU_INTERNAL && !result->worst)
    result->worst = status;
  else
    situ_status_release(status);
}

static situ_status run(const struct builder *b, situ_session *session, situ_value fetch) {
  const situ_run_options options = {.timeout_ms = RUN_MILLISECONDS};
  situ_tensor *result = NULL;
  situ_status status =
      situ_session_run_with(session, &options, b->feeds, b->n_feeds, &fetch, 1, &result);
  read_tensor(result);
  situ_tensor_release(result);
  return status;
}

static void run_all(struct builder *b, situ_value node, struct random_graph_result *result) {
  const situ_config config = {.allow_soft_placement = byte(b) % 4 != 0, .threads = 1};
  situ_session *session = NULL;
  atomic_store(&run_until, now() + RUN_MILLISECONDS);
  note(result, situ_session_create(b->graph, &config, &session));
  for (int i = 0; session && i < b->n_inits; i++) note(result, run(b, session, b->inits[i]));
  for (int times = 0; session && times < 2; times++) {
    const situ_status status = run(b, session, node);
    result->has_run = result->has_run || !status;
    note(result, status);
  }
  for (int i = 0; session && i < b->n_pool && i < 12; i++)
    note(result, run(b, session, b->pool[i]));
  situ_session_release(session);
  atomic_store(&run_until, 0);
}

/* Replaces a value by that of the same name in another graph. */
static void rename_value(situ_graph *graph, situ_value *value) {
  char name[512];
  if (value->output < 0)
    snprintf(name, sizeof name, "%s", situ_value_name(*value));
  else
    snprintf(name, sizeof name, "%s:%d", situ_value_name(*value), value->output);
  *value = situ_graph_find(graph, name);
}

/* Writes the graph as a GraphDef and continues with the loaded graph. */
static void reload(struct builder *b, situ_value *node) {
  char *text = NULL;
  size_t length = 0;
  situ_graph *graph = NULL;
  FILE *stream = open_memstream(&text, &length);
  situ_status status = situ_graph_save(b->graph, false, stream);
  fclose(stream);
  if (!status) status = situ_graph_load(text, length, &graph);
  free(text);
  if (status && getenv("SITU_TEST_VERBOSE")) fprintf(stderr, "  %s\n", situ_status_message(status));
  situ_status_release(status);
  if (!graph) return;
  rename_value(graph, node);
  for (int i = 0; i < b->n_inits; i++) rename_value(graph, &b->inits[i]);
  for (int i = 0; i < b->n_feeds; i++) rename_value(graph, &b->feeds[i].value);
  for (int i = 0; i < b->n_pool; i++) rename_value(graph, &b->pool[i]);
  situ_graph_release(b->graph);
  b->graph = graph;
}

struct random_graph_result random_graph(int id, struct random_bytes *bytes) {
  struct builder b = {.bytes = bytes, .graph = situ_graph_create()};
  struct random_graph_result result = {0};
  situ_value node = {0};
  b.feeds_all = byte(&b) % 4 == 0;
  if (!random_graph_leaves_out(id)) node = add_node(&b, id);
  result.is_built = node.graph != NULL;
  if (result.is_built) {
    add_to_pool(&b, node);
    if (byte(&b) % 3 == 0) add_gradients(&b, node);
    for (unsigned more = byte(&b) % 3; more; more--) {
      const int other = (int)((byte(&b) << 8 | byte(&b)) % (unsigned)schema_count());
      const situ_value next =
          random_graph_leaves_out(other) ? (situ_value){0} : add_node(&b, other);
      if (next.graph) add_to_pool(&b, next);
    }
    if (is_graph_small(b.graph)) {
      if (!b.n_functions && byte(&b) % 4 == 0) reload(&b, &node);
      run_all(&b, node, &result);
    }
  }
  for (int i = 0; i < b.n_feeds; i++) situ_tensor_release(b.feeds[i].tensor);
  situ_graph_release(b.graph);
  arena_free(&b.arena);
  return result;
}
