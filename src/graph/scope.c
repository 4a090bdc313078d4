/* SPDX-License-Identifier: Apache-2.0
 * scope.c: pushes, pops and applies scopes. A push that fails still pushes, so that its pop is
 * balanced. */
#include "graph/scope.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "graph/build.h"
#include "graph/grow.h"
#include "graph/spec.h"

bool scope_create(struct situ_graph *graph) {
  graph->scopes = calloc(1, sizeof *graph->scopes);
  return graph->scopes;
}

static void free_stacks(struct scope_stacks *stacks) {
  free(stacks->devices);
  free(stacks->prefixes);
  free(stacks->controls);
  free(stacks->colocates);
}

void scope_destroy(struct situ_graph *graph) {
  struct scopes *scopes = graph->scopes;
  if (!scopes) return;
  names_free(&scopes->names);
  free_stacks(&scopes->shared);
  while (scopes->by_thread) {
    struct scope_stacks *stacks = scopes->by_thread;
    scopes->by_thread = stacks->next;
    free_stacks(stacks);
    free(stacks);
  }
  free(scopes->marks);
  free(scopes);
}

/* ---- Threads ---- */

/* Returns the stacks of the calling thread; NULL if it has none yet. */
static struct scope_stacks *find_stacks(const struct scopes *scopes) {
  struct scope_stacks *stacks = scopes->by_thread;
  while (stacks && !pthread_equal(stacks->thread, pthread_self())) stacks = stacks->next;
  return stacks;
}

/* Returns the stacks of the calling thread, created on first use; NULL when memory runs out, which
 * is then the error of the graph. */
static struct scope_stacks *thread_stacks(struct situ_graph *graph) {
  struct scopes *scopes = graph->scopes;
  struct scope_stacks *stacks = find_stacks(scopes);
  if (stacks) return stacks;
  stacks = calloc(1, sizeof *stacks);
  if (!stacks) {
    graph_set_error(graph, NO_MEMORY());
    return NULL;
  }
  stacks->thread = pthread_self();
  stacks->next = scopes->by_thread;
  scopes->by_thread = stacks;
  return stacks;
}

static void *copy_array(const void *from, int32_t n, size_t size) {
  void *copy = malloc((size_t)n * size + 1);
  if (copy && n) memcpy(copy, from, (size_t)n * size);
  return copy;
}

/* Gives a thread its own copy of the scopes of all threads; false when memory runs out. */
static bool inherit(struct scope_stacks *to, const struct scope_stacks *from) {
  struct scope_stacks copy = {
      .devices = copy_array(from->devices, from->n_devices, sizeof *from->devices),
      .controls = copy_array(from->controls, from->n_controls, sizeof *from->controls),
      .colocates = copy_array(from->colocates, from->n_colocates, sizeof *from->colocates)};
  if (!copy.devices || !copy.controls || !copy.colocates) {
    free_stacks(&copy);
    return false;
  }
  to->devices = copy.devices;
  to->controls = copy.controls;
  to->colocates = copy.colocates;
  to->n_devices = to->device_capacity = from->n_devices;
  to->n_controls = to->control_capacity = from->n_controls;
  to->n_colocates = to->colocate_capacity = from->n_colocates;
  to->default_group = from->default_group;
  return to->has_inherited = true;
}

/* Returns the stacks of devices, control inputs and colocation to change; NULL when memory runs
 * out, which is then the error of the graph. */
static struct scope_stacks *open_stacks(struct situ_graph *graph) {
  struct scopes *scopes = graph->scopes;
  if (!scopes->is_by_thread) return &scopes->shared;
  struct scope_stacks *stacks = thread_stacks(graph);
  if (!stacks || stacks->has_inherited || inherit(stacks, &scopes->shared)) return stacks;
  graph_set_error(graph, NO_MEMORY());
  return NULL;
}

/* Returns the stacks of devices, control inputs and colocation to read. */
static const struct scope_stacks *current_stacks(const struct situ_graph *graph) {
  const struct scopes *scopes = graph->scopes;
  const struct scope_stacks *own = scopes->is_by_thread ? find_stacks(scopes) : NULL;
  return own && own->has_inherited ? own : &scopes->shared;
}

void situ_graph_use_thread_scopes(situ_graph *graph) {
  GRAPH_GUARD(graph);
  if (graph) graph->scopes->is_by_thread = true;
}

const char *scope_prefix(const struct situ_graph *graph) {
  const struct scope_stacks *stacks = find_stacks(graph->scopes);
  return stacks && stacks->n_prefixes ? stacks->prefixes[stacks->n_prefixes - 1] : "";
}

static const struct colocate_scope *top_colocate(const struct scope_stacks *stacks) {
  static const struct colocate_scope none = {0};
  return stacks->n_colocates ? &stacks->colocates[stacks->n_colocates - 1] : &none;
}

static int32_t top_device(const struct scope_stacks *stacks) {
  const int32_t depth = stacks->n_devices;
  return depth > top_colocate(stacks)->floor ? stacks->devices[depth - 1] : 0;
}

static void set_unbalanced_error(struct situ_graph *graph, const char *what) {
  graph_set_error(graph, INVALID("situ_%s_pop without situ_%s_push.", what, what));
}

/* ---- Devices ---- */

static void push_spec(struct situ_graph *graph, int32_t spec) {
  struct scope_stacks *stacks = open_stacks(graph);
  if (!stacks) return;
  if (!GROW(stacks->devices, stacks->n_devices, stacks->device_capacity))
    graph_set_error(graph, NO_MEMORY());
  else
    stacks->devices[stacks->n_devices++] = spec;
}

void situ_device_push(situ_graph *graph, const char *device) {
  GRAPH_GUARD(graph);
  if (!graph) return;
  int32_t spec = 0;
  if (device && !graph->error)
    graph_set_error(graph, spec_parse(graph, device, top_device(current_stacks(graph)), &spec));
  push_spec(graph, spec);
}

void situ_device_push_exact(situ_graph *graph, const char *device) {
  GRAPH_GUARD(graph);
  if (!graph) return;
  int32_t spec = 0;
  if (device && *device && !graph->error)
    graph_set_error(graph, spec_parse_exact(graph, device, &spec));
  push_spec(graph, spec);
}

situ_status situ_device_set(situ_value value, const char *device) {
  GRAPH_GUARD(value.graph);
  if (!value.graph || !device || value.node < 0 || value.node >= value.graph->n_nodes)
    return INVALID("situ_device_set: the node is invalid, or the device is NULL.");
  int32_t spec = 0;
  if (*device) TRY(spec_parse_exact(value.graph, device, &spec));
  struct node *node = graph_writable_node(value.graph, value.node);
  if (!node) return NO_MEMORY();
  node->spec = spec;
  return NULL;
}

void situ_device_pop(situ_graph *graph) {
  GRAPH_GUARD(graph);
  if (!graph) return;
  struct scope_stacks *stacks = open_stacks(graph);
  if (stacks && stacks->n_devices > top_colocate(stacks)->floor)
    stacks->n_devices--;
  else
    set_unbalanced_error(graph, "device");
}

/* ---- Names ---- */

/* The prefix of a new scope; NULL when memory runs out. TensorFlow's rules: "" and NULL leave all
 * scopes, "a/" re-enters the scope a. */
static const char *enter_scope(struct situ_graph *graph, const char *scope) {
  const size_t length = scope ? strlen(scope) : 0;
  if (!length) return "";
  if (scope[length - 1] == '/') return arena_strndup(&graph->arena, scope, length);
  const char *name =
      names_unique(&graph->scopes->names, &graph->arena, scope_prefix(graph), scope, -1);
  return name ? arena_format(&graph->arena, "%s/", name) : NULL;
}

void situ_name_push(situ_graph *graph, const char *scope) {
  GRAPH_GUARD(graph);
  if (!graph) return;
  struct scope_stacks *stacks = thread_stacks(graph);
  if (!stacks) return;
  const bool inside = *scope_prefix(graph);
  if (scope && *scope && !(inside ? names_legal_inside(scope) : names_legal(scope)))
    graph_set_error(graph, INVALID("'%s' is not a valid scope name", scope));
  const char *prefix = graph->error ? "" : enter_scope(graph, scope);
  if (!prefix || !GROW(stacks->prefixes, stacks->n_prefixes, stacks->prefix_capacity))
    graph_set_error(graph, NO_MEMORY());
  else
    stacks->prefixes[stacks->n_prefixes++] = prefix;
}

void situ_name_pop(situ_graph *graph) {
  GRAPH_GUARD(graph);
  if (!graph) return;
  struct scope_stacks *stacks = find_stacks(graph->scopes);
  if (stacks && stacks->n_prefixes)
    stacks->n_prefixes--;
  else
    set_unbalanced_error(graph, "name");
}

const char *situ_name_scope(situ_graph *graph) {
  GRAPH_GUARD(graph);
  return graph ? scope_prefix(graph) : "";
}

const char *situ_name_reserve(situ_graph *graph, const char *scope, const char *name) {
  GRAPH_GUARD(graph);
  errno = EINVAL;
  if (!graph || !scope || !name) return NULL;
  if (!(*scope ? names_legal_inside(name) : names_legal(name))) return NULL;
  errno = ENOMEM;
  return names_unique(&graph->scopes->names, &graph->arena, scope, name, -1);
}

/* ---- Control inputs ---- */

static situ_status read_controls(struct situ_graph *graph, const situ_value *values, int count,
                                 struct control_scope *out) {
  if (count < 0 || (count && !values))
    return INVALID("situ_control_push: %d values, but the array is NULL.", count);
  int32_t *nodes = ARENA_ARRAY(&graph->arena, int32_t, count);
  if (!nodes) return NO_MEMORY();
  for (int i = 0; i < count; i++) {
    TRY(graph_check_value(graph, values[i], false, "situ_control_push", i));
    nodes[i] = values[i].node;
  }
  *out = (struct control_scope){graph->n_nodes, count, nodes};
  return NULL;
}

void situ_control_push(situ_graph *graph, const situ_value *values, int count) {
  GRAPH_GUARD(graph);
  if (!graph) return;
  struct scope_stacks *stacks = open_stacks(graph);
  struct control_scope scope = {0};
  if (!stacks) return;
  if (!graph->error) graph_set_error(graph, read_controls(graph, values, count, &scope));
  if (!GROW(stacks->controls, stacks->n_controls, stacks->control_capacity))
    graph_set_error(graph, NO_MEMORY());
  else
    stacks->controls[stacks->n_controls++] = scope;
}

void situ_control_pop(situ_graph *graph) {
  GRAPH_GUARD(graph);
  if (!graph) return;
  struct scope_stacks *stacks = open_stacks(graph);
  if (stacks && stacks->n_controls)
    stacks->n_controls--;
  else
    set_unbalanced_error(graph, "control");
}

/* Whether an input was created in the scope: then the node already runs after the scope's nodes. */
static bool is_dominated(const struct node *node, const struct control_scope *scope) {
  for (int32_t i = 0; i < node->n_inputs; i++)
    if (node->inputs[i].node >= scope->first) return true;
  return false;
}

/* Clears all marks and makes room for one per node. */
static bool clear_marks(const struct situ_graph *graph, struct scopes *scopes) {
  scopes->round++;
  if (scopes->n_marks >= graph->n_nodes) return true;
  uint32_t *marks = realloc(scopes->marks, (size_t)graph->node_capacity * sizeof *marks);
  if (!marks) return false;
  memset(marks + scopes->n_marks, 0,
         (size_t)(graph->node_capacity - scopes->n_marks) * sizeof *marks);
  scopes->marks = marks;
  scopes->n_marks = graph->node_capacity;
  return true;
}

/* Marks a node; false if it was marked before. */
static bool mark(struct scopes *scopes, int32_t id) {
  const bool is_new = scopes->marks[id] != scopes->round;
  scopes->marks[id] = scopes->round;
  return is_new;
}

/* Adds the control inputs of all scopes, without duplicates and without data inputs. */
static bool apply_controls(struct situ_graph *graph, struct node *node) {
  struct scopes *scopes = graph->scopes;
  const struct scope_stacks *stacks = current_stacks(graph);
  int32_t max_controls = 0;
  for (int32_t i = 0; i < stacks->n_controls; i++) max_controls += stacks->controls[i].count;
  if (!max_controls) return true;
  int32_t *controls = ARENA_ARRAY(&graph->arena, int32_t, max_controls);
  if (!controls || !clear_marks(graph, scopes)) return false;
  for (int32_t i = 0; i < node->n_inputs; i++) mark(scopes, node->inputs[i].node);
  for (int32_t i = 0; i < stacks->n_controls; i++) {
    const struct control_scope *scope = &stacks->controls[i];
    if (is_dominated(node, scope)) continue;
    for (int32_t k = 0; k < scope->count; k++)
      if (mark(scopes, scope->nodes[k])) controls[node->n_controls++] = scope->nodes[k];
  }
  node->controls = controls;
  return true;
}

/* ---- Colocation ---- */

static int compare_strings(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Colocates a scope with one more node: merges the node's groups, sorted and without duplicates,
 * and takes its device, if any, instead of that of nodes added earlier. */
static bool colocate_with(struct situ_graph *graph, const struct node *node,
                          struct colocate_scope *scope) {
  const struct colocate_scope outer = *scope;
  const int32_t n_own = node->n_groups ? node->n_groups : 1;
  const char **groups = ARENA_ARRAY(&graph->arena, const char *, outer.n_groups + n_own);
  if (!groups) return false;
  int32_t count = 0;
  for (int32_t i = 0; i < outer.n_groups; i++) groups[count++] = outer.groups[i];
  for (int32_t i = 0; i < n_own; i++)
    groups[count++] = node->n_groups ? node->groups[i] : node->name;
  qsort(groups, (size_t)count, sizeof *groups, compare_strings);
  int32_t n_unique = 0;
  for (int32_t i = 0; i < count; i++)
    if (!i || strcmp(groups[i], groups[n_unique - 1])) groups[n_unique++] = groups[i];
  scope->groups = groups;
  scope->n_groups = n_unique;
  if (node->spec) scope->spec = node->spec;
  return true;
}

static void push_colocation(struct situ_graph *graph, const struct colocate_scope *scope) {
  struct scope_stacks *stacks = open_stacks(graph);
  if (!stacks) return;
  if (!GROW(stacks->colocates, stacks->n_colocates, stacks->colocate_capacity))
    graph_set_error(graph, NO_MEMORY());
  else
    stacks->colocates[stacks->n_colocates++] = *scope;
}

void situ_colocate_push(situ_graph *graph, situ_value value) {
  GRAPH_GUARD(graph);
  if (!graph) return;
  const struct scope_stacks *stacks = current_stacks(graph);
  struct colocate_scope scope = *top_colocate(stacks);
  scope.floor = stacks->n_devices;
  if (!graph->error)
    graph_set_error(graph, graph_check_value(graph, value, false, "situ_colocate_push", 0));
  if (!graph->error && !colocate_with(graph, graph->nodes[value.node], &scope))
    graph_set_error(graph, NO_MEMORY());
  push_colocation(graph, &scope);
}

void situ_colocate_push_none(situ_graph *graph) {
  GRAPH_GUARD(graph);
  if (graph)
    push_colocation(graph, &(struct colocate_scope){.floor = current_stacks(graph)->n_devices});
}

void situ_colocate_name(situ_graph *graph, const char *name) {
  GRAPH_GUARD(graph);
  if (!graph) return;
  const char **group = name ? ARENA_ARRAY(&graph->arena, const char *, 1) : NULL;
  if (group) *group = arena_strndup(&graph->arena, name, strlen(name));
  if (name && (!group || !*group)) {
    graph_set_error(graph, NO_MEMORY());
    group = NULL;
  }
  struct scope_stacks *stacks = open_stacks(graph);
  if (stacks) stacks->default_group = group;
}

void situ_colocate_pop(situ_graph *graph) {
  GRAPH_GUARD(graph);
  if (!graph) return;
  struct scope_stacks *stacks = open_stacks(graph);
  if (!stacks || !stacks->n_colocates) {
    set_unbalanced_error(graph, "colocate");
    return;
  }
  const int32_t floor = stacks->colocates[--stacks->n_colocates].floor;
  if (stacks->n_devices > floor) {
    stacks->n_devices = floor;
    graph_set_error(
        graph, INVALID("situ_colocate_pop was called before situ_device_pop of an inner scope."));
  }
}

/* TensorFlow's rule: an op with reference inputs is colocated with their producers, as if it were
 * created in colocation scopes of those, which hide device scopes. Sets `has_references` if it has
 * some. */
static bool colocate_with_references(struct situ_graph *graph, const struct node *node,
                                     struct colocate_scope *scope, bool *has_references) {
  const struct schema *schema = node->schema;
  for (int32_t i = 0; i < schema->n_inputs && i < node->n_inputs; i++) {
    const situ_op_port *port = &schema->inputs[i];
    if (port->number_attr >= 0 || port->is_types) break; /* no op has references after a list */
    if (!port->is_ref || port->is_handle) continue;
    *has_references = true;
    if (!colocate_with(graph, graph->nodes[node->inputs[i].node], scope)) return false;
  }
  return true;
}

bool scope_apply(struct situ_graph *graph, struct node *node) {
  const struct scope_stacks *stacks = current_stacks(graph);
  struct colocate_scope colocate = *top_colocate(stacks);
  bool has_references = false;
  if (!colocate_with_references(graph, node, &colocate, &has_references)) return false;
  node->spec = colocate.spec || has_references ? colocate.spec : top_device(stacks);
  node->groups = colocate.groups;
  node->n_groups = colocate.n_groups;
  /* An op with only host kernels would move the whole group to the host. */
  if (!node->n_groups && stacks->default_group && node->schema->kinds[0] &&
      node->schema->kinds[1]) {
    node->groups = stacks->default_group;
    node->n_groups = 1;
  }
  return !stacks->n_controls || apply_controls(graph, node);
}
