/* SPDX-License-Identifier: Apache-2.0
 * transform.c: functions of elements: a graph with a session of its own, or, where random numbers
 * with seeds are drawn, one for each iterator: the numbers begin anew with it, as TensorFlow's. */
#include <stdlib.h>
#include <string.h>

#include "api/session.h"
#include "data/data.h"
#include "graph/graph.h"
#include "schema/function.h"

struct situ_transform {
  int references; /* atomic */
  situ_graph *graph;
  situ_session *session; /* NULL: each iterator has its own */
  situ_value *inputs, *outputs;
  int n_inputs, n_outputs;
  _Atomic bool is_logged; /* a session of it prints, or has printed, where its nodes go */
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

/* Whether nodes of a graph, or of its functions, draw random numbers with seeds. */
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

static struct begun *find_begun(const struct iteration *iteration,
                                const situ_transform *transform) {
  struct begun *begun = iteration->begun;
  while (begun && begun->transform != transform) begun = begun->next;
  return begun;
}

static situ_status begin(struct iteration *iteration, situ_transform *transform,
                         struct begun **out) {
  struct begun *begun = calloc(1, sizeof *begun);
  if (!begun) return NO_MEMORY();
  const situ_status status = create_session(transform, &begun->session);
  if (status) {
    free(begun);
    return status;
  }
  begun->transform = situ_transform_retain(transform);
  begun->next = iteration->begun;
  iteration->begun = *out = begun;
  return NULL;
}

/* The first session of a function logs its placement: those of later iterators are alike. */
static void log_placement(struct iteration *iteration, situ_transform *transform,
                          situ_session *session) {
  if (atomic_load(&iteration->logs) && !atomic_exchange(&transform->is_logged, true))
    session_log_function(session);
}

/* The session that runs a function in a walk. */
static situ_status session_of(struct iteration *iteration, situ_transform *transform,
                              situ_session **out) {
  *out = transform->session;
  if (*out) {
    log_placement(iteration, transform, *out);
    return NULL;
  }
  pthread_mutex_lock(&iteration->lock);
  struct begun *begun = find_begun(iteration, transform);
  const situ_status status = begun ? NULL : begin(iteration, transform, &begun);
  if (!status) {
    *out = begun->session;
    log_placement(iteration, transform, *out);
  }
  pthread_mutex_unlock(&iteration->lock);
  return status;
}

void transform_forget(struct iteration *iteration) {
  while (iteration->begun) {
    struct begun *begun = iteration->begun;
    iteration->begun = begun->next;
    situ_session_release(begun->session);
    situ_transform_release(begun->transform);
    free(begun);
  }
}

situ_status transform_call(const struct cursor *cursor, situ_tensor *const *row, int n,
                           situ_tensor **results) {
  enum { FEW = 16 };
  situ_transform *transform = cursor->dataset->spec.transform;
  situ_session *session = NULL;
  TRY(session_of(cursor->iteration, transform, &session));
  const int before = transform->n_inputs - cursor->dataset->spec.n_params; /* inputs, less params */
  situ_feed few[FEW], *feeds = few;
  if (transform->n_inputs > FEW) feeds = malloc(sizeof *feeds * (size_t)transform->n_inputs);
  if (!feeds) return NO_MEMORY();
  situ_status status = NULL;
  for (int i = 0; i < transform->n_inputs && !status; i++) {
    feeds[i].value = transform->inputs[i];
    feeds[i].tensor = NULL;
    if (i < n)
      feeds[i].tensor = row[i];
    else
      status = cursor_param(cursor, i - before, &feeds[i].tensor);
  }
  if (!status)
    status = situ_session_run(session, feeds, transform->n_inputs, transform->outputs,
                              transform->n_outputs, results);
  if (feeds != few) free(feeds);
  return status;
}
