/* SPDX-License-Identifier: Apache-2.0
 * transform.c: functions of elements: graphs with a session. A function with seeded random ops has
 * a session per iterator, so that its random numbers restart with each iterator, as in TensorFlow.
 * */
#include <stdlib.h>
#include <string.h>

#include "api/session.h"
#include "data/data.h"
#include "graph/graph.h"
#include "schema/function.h"

struct situ_transform {
  int references; /* atomic */
  situ_graph *graph;
  situ_session *session; /* NULL: each iterator has its own session */
  situ_value *inputs, *outputs;
  int n_inputs, n_outputs;
  _Atomic bool is_logged; /* its placement was logged */
};

situ_transform *situ_transform_retain(situ_transform *transform) {
  if (transform) __atomic_add_fetch(&transform->references, 1, __ATOMIC_RELAXED);
  return transform;
}

void situ_transform_release(situ_transform *transform) {
  if (!transform || __atomic_sub_fetch(&transform->references, 1, __ATOMIC_ACQ_REL) > 0) return;
  situ_session_release(transform->session);
  situ_graph_release(transform->graph);
  free(transform->inputs);
  free(transform->outputs);
  free(transform);
}

static situ_value *copy_values(const situ_value *from, int n) {
  situ_value *copy = calloc((size_t)n + 1, sizeof *copy);
  if (copy && n) memcpy(copy, from, sizeof *copy * (size_t)n);
  return copy;
}

static int64_t seed_of(const struct node *node, const char *name) {
  const int at = schema_attr(node->schema, name);
  return at < 0 ? 0 : node->attrs[at].integer;
}

/* Returns whether nodes of a graph or of its functions are seeded random ops. */
static bool is_seeded(const situ_graph *graph) {
  GRAPH_GUARD(graph);
  for (int i = 0; i < graph->n_nodes; i++) {
    const struct node *node = graph->nodes[i];
    const bool has_state = node->schema->op->flags & OP_STATEFUL;
    if (has_state && (seed_of(node, "seed") || seed_of(node, "seed2"))) return true;
  }
  for (int i = 0; i < graph->n_functions; i++)
    if (is_seeded(graph->functions[i]->graph)) return true;
  return false;
}

static const struct op_def *outer_state(const situ_graph *graph) {
  GRAPH_GUARD(graph);
  for (int i = 0; i < graph->n_nodes; i++)
    if (iterator_op_has_state(graph->nodes[i]->schema->op)) return graph->nodes[i]->schema->op;
  const struct op_def *found = NULL;
  for (int i = 0; i < graph->n_functions && !found; i++)
    found = outer_state(graph->functions[i]->graph);
  return found;
}

const struct op_def *transform_outer_state(const situ_transform *transform) {
  return outer_state(transform->graph);
}

static situ_status create_session(const situ_transform *transform, situ_session **out) {
  const situ_config config = {.allow_soft_placement = true};
  return situ_session_create(transform->graph, &config, out);
}

situ_status situ_transform_create(situ_graph *graph, const situ_value *inputs, int n_inputs,
                                  const situ_value *outputs, int n_outputs, situ_transform **out) {
  if (!out || n_inputs < 0 || n_outputs < 1 || (n_inputs && !inputs) || !outputs)
    return INVALID("situ_transform_create: a function needs a graph, inputs and outputs.");
  *out = NULL;
  if (!graph) return INVALID("situ_transform_create: the graph is NULL.");
  situ_transform *transform = calloc(1, sizeof *transform);
  if (!transform) return NO_MEMORY();
  transform->references = 1;
  transform->inputs = copy_values(inputs, n_inputs);
  transform->outputs = copy_values(outputs, n_outputs);
  transform->n_inputs = n_inputs;
  transform->n_outputs = n_outputs;
  situ_status status = transform->inputs && transform->outputs ? NULL : NO_MEMORY();
  transform->graph = situ_graph_retain(graph);
  if (!status && !is_seeded(graph)) status = create_session(transform, &transform->session);
  if (status)
    situ_transform_release(transform);
  else
    *out = transform;
  return status;
}

bool transform_is_plain(const situ_transform *transform) { return transform->session != NULL; }
int transform_inputs(const situ_transform *transform) { return transform->n_inputs; }
int transform_outputs(const situ_transform *transform) { return transform->n_outputs; }

static struct function_session *find_function_session(const struct iteration *iteration,
                                                      const situ_transform *transform) {
  struct function_session *function_session = iteration->function_sessions;
  while (function_session && function_session->transform != transform)
    function_session = function_session->next;
  return function_session;
}

static situ_status create_function_session(struct iteration *iteration, situ_transform *transform,
                                           struct function_session **out) {
  struct function_session *function_session = calloc(1, sizeof *function_session);
  if (!function_session) return NO_MEMORY();
  const situ_status status = create_session(transform, &function_session->session);
  if (status) {
    free(function_session);
    return status;
  }
  function_session->transform = situ_transform_retain(transform);
  function_session->next = iteration->function_sessions;
  iteration->function_sessions = *out = function_session;
  return NULL;
}

/* Only the first session of a function logs its placement: the others are equal. */
static void log_placement(struct iteration *iteration, situ_transform *transform,
                          situ_session *session) {
  if (atomic_load(&iteration->log_placement) && !atomic_exchange(&transform->is_logged, true))
    session_log_function(session);
}

/* Returns the session of a function in an iteration. */
static situ_status session_of(struct iteration *iteration, situ_transform *transform,
                              situ_session **out) {
  *out = transform->session;
  if (*out) {
    log_placement(iteration, transform, *out);
    return NULL;
  }
  pthread_mutex_lock(&iteration->lock);
  struct function_session *function_session = find_function_session(iteration, transform);
  const situ_status status =
      function_session ? NULL : create_function_session(iteration, transform, &function_session);
  if (!status) {
    *out = function_session->session;
    log_placement(iteration, transform, *out);
  }
  pthread_mutex_unlock(&iteration->lock);
  return status;
}

void transform_release_sessions(struct iteration *iteration) {
  while (iteration->function_sessions) {
    struct function_session *function_session = iteration->function_sessions;
    iteration->function_sessions = function_session->next;
    situ_session_release(function_session->session);
    situ_transform_release(function_session->transform);
    free(function_session);
  }
}

/* The end of another iterator within the function must not look like the end of this one. */
static situ_status not_the_end(situ_status cause) {
  situ_status status =
      situ_status_create(SITU_INVALID_ARGUMENT, "Function invocation produced OutOfRangeError: %s",
                         situ_status_message(cause));
  status = status_at_node(status, situ_status_node(cause));
  situ_status_release(cause);
  return status;
}

situ_status transform_name_function(const struct cursor *cursor, situ_status cause) {
  const char *function = cursor->dataset->spec.function;
  if (!cause || !function) return cause;
  situ_status status = situ_status_create(
      SITU_INTERNAL,
      "Got error code %s and message: {\n%s\n} \nfrom running user-defined function %s: ",
      situ_code_name(situ_status_code(cause)), situ_status_message(cause), function);
  status = status_at_node(status, situ_status_node(cause));
  situ_status_release(cause);
  return status;
}

/* Names the transformation in the error of its function. */
static situ_status name_transformation(const struct cursor *cursor, situ_status status) {
  const char *kind = cursor->dataset->kind->name;
  if (cursor->dataset->spec.function) return transform_name_function(cursor, status);
  if (situ_status_code(status) == SITU_OUT_OF_RANGE) status = not_the_end(status);
  return status_note(status,
                     "Error in user-defined function passed to %sDataset transformation with "
                     "iterator: Iterator::Root::%s",
                     kind, kind);
}

situ_status transform_call(const struct cursor *cursor, situ_tensor *const *element, int n,
                           situ_tensor **results) {
  enum { INLINE = 16 };
  situ_transform *transform = cursor->dataset->spec.transform;
  situ_session *session = NULL;
  TRY(session_of(cursor->iteration, transform, &session));
  const int n_call =
      transform->n_inputs - cursor->dataset->spec.n_params; /* inputs that are not captured values
                                                             */
  situ_feed inline_buffer[INLINE], *feeds = inline_buffer;
  if (transform->n_inputs > INLINE) feeds = malloc(sizeof *feeds * (size_t)transform->n_inputs);
  if (!feeds) return NO_MEMORY();
  situ_status status = NULL;
  for (int i = 0; i < transform->n_inputs && !status; i++) {
    feeds[i].value = transform->inputs[i];
    feeds[i].tensor = NULL;
    if (i < n)
      feeds[i].tensor = element[i];
    else
      status = cursor_param(cursor, i - n_call, &feeds[i].tensor);
  }
  if (!status)
    status = situ_session_run(session, feeds, transform->n_inputs, transform->outputs,
                              transform->n_outputs, results);
  if (feeds != inline_buffer) free(feeds);
  return status ? name_transformation(cursor, status) : NULL;
}
