/* SPDX-License-Identifier: Apache-2.0
 * snapshot.c: the lock of a graph and its immutable snapshots.
 *
 * A snapshot is a shallow copy of struct situ_graph that shares the arrays of nodes, specs and
 * functions. Elements are appended after those that a snapshot can see, so nothing is copied. An
 * array that must grow, or whose elements must change, is copied first; the old one is retired and
 * freed with the graph. A snapshot is taken only after a change and is about as large as two nodes.
 */
#include <stdlib.h>
#include <string.h>

#include "base/fork.h"
#include "graph/build.h"

/* An array that only snapshots refer to. */
struct retired {
  struct retired *next;
  void *array;
};

struct graph_shared {
  pthread_mutex_t lock; /* recursive */
  struct fork_handler fork;
  struct situ_graph *graph;
  const struct situ_graph *last; /* the last snapshot, or NULL */
  struct retired *retired;
};

static void init_lock(void *lock) {
  pthread_mutexattr_t attr;
  pthread_mutexattr_init(&attr);
  pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(lock, &attr);
  pthread_mutexattr_destroy(&attr);
}

bool graph_create_shared(struct situ_graph *graph) {
  struct graph_shared *shared = calloc(1, sizeof *shared);
  if (!shared) return false;
  shared->graph = graph;
  init_lock(&shared->lock);
  fork_register(&shared->fork, init_lock, &shared->lock);
  graph->shared = shared;
  return true;
}

void graph_destroy_shared(struct situ_graph *graph) {
  struct graph_shared *shared = graph->shared;
  if (!shared) return;
  while (shared->retired) {
    struct retired *retired = shared->retired;
    shared->retired = retired->next;
    free(retired->array);
    free(retired);
  }
  fork_unregister(&shared->fork);
  pthread_mutex_destroy(&shared->lock);
  free(shared);
}

void graph_lock(const struct situ_graph *graph) {
  if (graph && !graph->is_snapshot) pthread_mutex_lock(&graph->shared->lock);
}

void graph_unlock(const struct situ_graph *graph) {
  if (graph && !graph->is_snapshot) pthread_mutex_unlock(&graph->shared->lock);
}

void situ_graph_lock(situ_graph *graph) { graph_lock(graph); }
void situ_graph_unlock(situ_graph *graph) { graph_unlock(graph); }

const struct situ_graph *graph_live(const struct situ_graph *graph) { return graph->shared->graph; }

situ_status graph_make_snapshot(const struct situ_graph *live, const struct situ_graph **out) {
  GRAPH_GUARD(live);
  struct situ_graph *graph = live->shared->graph;
  TRY(status_copy(graph->error));
  *out = atomic_load_explicit(&graph->snapshot, memory_order_relaxed);
  if (*out) return NULL; /* another thread has taken one */
  struct situ_graph *copy = arena_alloc(&graph->arena, sizeof *copy);
  if (!copy) return NO_MEMORY();
  *copy = (struct situ_graph){.references = 1,
                              .is_snapshot = true,
                              .shared = graph->shared,
                              .nodes = graph->nodes,
                              .n_nodes = graph->n_nodes,
                              .specs = graph->specs,
                              .n_specs = graph->n_specs,
                              .functions = graph->functions,
                              .n_functions = graph->n_functions,
                              .registered_gradients = graph->registered_gradients,
                              .scopes = graph->scopes,
                              .is_eager = graph->is_eager};
  atomic_init(&copy->snapshot, copy);
  graph->shared->last = *out = copy;
  atomic_store_explicit(&graph->snapshot, copy, memory_order_release);
  return NULL;
}

void graph_invalidate_snapshot(struct situ_graph *graph) {
  if (atomic_load_explicit(&graph->snapshot, memory_order_relaxed))
    atomic_store_explicit(&graph->snapshot, NULL, memory_order_release);
}

/* Defers freeing an array until the graph is destroyed; false when memory runs out. */
static bool retire(struct graph_shared *shared, void *array) {
  struct retired *retired = malloc(sizeof *retired);
  if (!retired) return false;
  *retired = (struct retired){shared->retired, array};
  shared->retired = retired;
  return true;
}

/* Resizes an array. Copies it if the last snapshot refers to it; older snapshots refer to the same
 * array or to retired ones. NULL when memory runs out. */
static void *resize(struct graph_shared *shared, void *array, const void *in_snapshot, size_t bytes,
                    size_t new_bytes) {
  if (!array || array != in_snapshot) return realloc(array, new_bytes);
  void *copy = malloc(new_bytes);
  if (!copy || !retire(shared, array)) {
    free(copy);
    return NULL;
  }
  memcpy(copy, array, bytes);
  return copy;
}

/* Doubles an array; `array` points to the pointer to it, of any type. */
static bool grow(struct graph_shared *shared, void *array, const void *in_snapshot, int32_t count,
                 int32_t *capacity, size_t size) {
  if (*capacity > INT32_MAX / 2) return false;
  const int32_t new_capacity = *capacity ? *capacity * 2 : 16;
  void *old = NULL;
  memcpy(&old, array, sizeof old);
  void *grown = resize(shared, old, in_snapshot, size * (size_t)count, size * (size_t)new_capacity);
  if (!grown) return false;
  memcpy(array, &grown, sizeof grown);
  *capacity = new_capacity;
  /* cppcheck-suppress memleak ; it went back through memcpy */
  return true;
}

bool graph_grow_nodes(struct situ_graph *graph) {
  const struct situ_graph *last = graph->shared->last;
  return graph->n_nodes < graph->node_capacity ||
         grow(graph->shared, &graph->nodes, last ? last->nodes : NULL, graph->n_nodes,
              &graph->node_capacity, sizeof *graph->nodes);
}

bool graph_grow_specs(struct situ_graph *graph) {
  const struct situ_graph *last = graph->shared->last;
  return graph->n_specs < graph->spec_capacity ||
         grow(graph->shared, &graph->specs, last ? last->specs : NULL, graph->n_specs,
              &graph->spec_capacity, sizeof *graph->specs);
}

bool graph_grow_functions(struct situ_graph *graph) {
  const struct situ_graph *last = graph->shared->last;
  return graph->n_functions < graph->function_capacity ||
         grow(graph->shared, &graph->functions, last ? last->functions : NULL, graph->n_functions,
              &graph->function_capacity, sizeof *graph->functions);
}

struct node *graph_writable_node(struct situ_graph *graph, int32_t id) {
  struct graph_shared *shared = graph->shared;
  graph_invalidate_snapshot(graph);
  if (!shared->last || id >= shared->last->n_nodes) return graph->nodes[id];
  struct node *copy = arena_alloc(&graph->arena, sizeof *copy);
  const size_t size = sizeof *graph->nodes;
  struct node **nodes =
      copy ? resize(shared, graph->nodes, shared->last->nodes, size * (size_t)graph->n_nodes,
                    size * (size_t)graph->node_capacity)
           : NULL;
  if (!nodes) return NULL;
  *copy = *nodes[id];
  graph->nodes = nodes;
  return graph->nodes[id] = copy;
}

const struct node *graph_node(const struct situ_graph *graph, int32_t id) {
  GRAPH_GUARD(graph);
  return graph->nodes[id];
}

int32_t graph_count(const struct situ_graph *graph) {
  GRAPH_GUARD(graph);
  return graph->n_nodes;
}
