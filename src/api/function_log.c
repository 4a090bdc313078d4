/* SPDX-License-Identifier: Apache-2.0
 * function_log.c: the placement log of functions. A node is logged when the first program that runs
 * it is compiled: nodes that no fetch depends on never run, and gradient nodes are logged with the
 * program that first needs them. */
#include <stdlib.h>
#include <string.h>

#include "api/session.h"
#include "place/placement_log.h"

/* Marks fed nodes; another output of such a node may still be needed. */
static void mark_arguments(const struct plan_request *request, struct placement_log_node *nodes) {
  for (int32_t i = 0; i < request->n_feeds; i++) {
    struct placement_log_node *node = &nodes[request->feeds[i].edge.node];
    node->is_argument = true;
    node->device = request->feeds[i].device;
  }
}

static void mark(struct placement_log_node *nodes, int32_t id) {
  if (!nodes[id].is_argument) nodes[id].runs = true;
}

/* Marks the nodes that the fetches depend on. Inputs precede their consumers. */
static void mark_running(const struct plan_request *request, struct placement_log_node *nodes) {
  const struct situ_graph *graph = request->graph;
  for (int32_t i = 0; i < request->n_fetches; i++) mark(nodes, request->fetches[i].node);
  for (int32_t i = graph->n_nodes - 1; i >= 0; i--) {
    if (!nodes[i].runs) continue;
    const struct node *node = graph->nodes[i];
    nodes[i].device = request->placement[i];
    for (int32_t k = 0; k < node->n_inputs; k++) mark(nodes, node->inputs[k].node);
    for (int32_t k = 0; k < node->n_controls; k++) mark(nodes, node->controls[k]);
  }
}

/* Removes nodes that were logged before, and remembers the rest. */
static situ_status skip_logged(struct situ_session *session, struct placement_log_node *nodes,
                               int32_t n) {
  if (session->n_logged < n) {
    char *larger = realloc(session->logged, (size_t)n);
    if (!larger) return NO_MEMORY();
    memset(larger + session->n_logged, 0, (size_t)(n - session->n_logged));
    session->logged = larger;
    session->n_logged = n;
  }
  for (int32_t i = 0; i < n; i++) {
    const bool is_wanted = nodes[i].runs || nodes[i].is_argument;
    if (session->logged[i]) nodes[i] = (struct placement_log_node){0};
    session->logged[i] |= is_wanted;
  }
  return NULL;
}

situ_status session_log_program(struct situ_session *session, const struct plan_request *request) {
  const int32_t n = request->graph->n_nodes;
  struct placement_log_node *nodes = calloc((size_t)n + 1, sizeof *nodes);
  if (!nodes) return NO_MEMORY();
  mark_arguments(request, nodes);
  mark_running(request, nodes);
  situ_status status = skip_logged(session, nodes, n);
  if (!status) status = placement_log_function(&session->placement, nodes);
  free(nodes);
  return status;
}

void session_log_function(struct situ_session *session) {
  pthread_mutex_lock(&session->lock);
  if (session->log == LOG_NOTHING) session->log = LOG_FUNCTION;
  session->services.logs = true;
  pthread_mutex_unlock(&session->lock);
}
