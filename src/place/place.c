/* SPDX-License-Identifier: Apache-2.0
 * place.c: a graph as the placer's problem: requests and kernels become numbers, once per (op,
 * type) and not per node. */
#include "place/place.h"

#include <string.h>

#include "base/text.h"

enum { HOST_PRIORITY = 70, DEVICE_PRIORITY = 210, FIRST_SUPPORTS = 64 };

/* A graph on its way to being a problem. */
struct translation {
  const struct situ_graph *graph;
  struct arena *arena; /* of what dies with the call */
  int32_t *support_of; /* by schema and type: number of its support + 1, or 0 */
  struct place_support *supports;
  int32_t n_supports, support_capacity;
  struct place_node *nodes;
  int32_t *edges;
  struct place_reference *references;
  int32_t n_references;
  struct place_member *members;
  int32_t n_members, n_groups;
};

static const char *node_name(const void *graph, int32_t node) {
  return ((const struct situ_graph *)graph)->nodes[node]->name;
}

static const char *node_op(const void *graph, int32_t node) {
  return ((const struct situ_graph *)graph)->nodes[node]->schema->op->name;
}

static void node_describe(const void *graph, int32_t node, struct text *out) {
  const struct situ_graph *of = graph;
  graph_describe(of, of->nodes[node], out);
}

/* "CPU, GPU (float, double)" */
static void node_kernels(const void *graph, int32_t node, struct text *out) {
  const struct schema *schema = ((const struct situ_graph *)graph)->nodes[node]->schema;
  for (int i = 0; i < MAX_KINDS && schema->kinds[i]; i++) {
    text_addf(out, "%s%s", i ? ", " : "", schema->kinds[i]);
    if (schema->kind_types[i] == UINT32_MAX) continue;
    const char *before = " (";
    for (int type = 1; type < TYPE_SLOTS; type++) {
      if (!(schema->kind_types[i] >> type & 1)) continue;
      text_addf(out, "%s%s", before, situ_type_name((situ_type)type));
      before = ", ";
    }
    text_add(out, ")");
  }
}

static situ_status node_order(const void *graph, int32_t *order) {
  return graph_stack_order(graph, order);
}

/* The type that decides where a node has a kernel; SITU_NO_TYPE where none does. */
static situ_type deciding_type(const struct node *node) {
  const int attr = node->schema->device_type_attr;
  const situ_type type = attr < 0 ? SITU_NO_TYPE : node->attrs[attr].type;
  return (unsigned)type < TYPE_SLOTS ? type : SITU_NO_TYPE;
}

/* Makes the support of a node's op with its types. */
static situ_status add_support(struct translation *to, const struct node *node) {
  if (to->n_supports == to->support_capacity) {
    const int32_t capacity = to->support_capacity ? 2 * to->support_capacity : FIRST_SUPPORTS;
    struct place_support *grown = ARENA_ARRAY(to->arena, struct place_support, capacity);
    if (!grown) return NO_MEMORY();
    if (to->n_supports) memcpy(grown, to->supports, sizeof *grown * (size_t)to->n_supports);
    to->supports = grown;
    to->support_capacity = capacity;
  }
  struct place_kernel *kernels = ARENA_ARRAY(to->arena, struct place_kernel, MAX_KINDS);
  if (!kernels) return NO_MEMORY();
  int32_t n = 0;
  for (int i = 0; i < MAX_KINDS && node->schema->kinds[i]; i++)
    if (schema_supports(node->schema, node->attrs, node->schema->kinds[i]))
      kernels[n++].kind = node->schema->kinds[i];
  to->supports[to->n_supports++] = (struct place_support){kernels, n};
  return NULL;
}

static situ_status find_support(struct translation *to, const struct node *node, int32_t *out) {
  int32_t *known = &to->support_of[node->schema->id * TYPE_SLOTS + (int)deciding_type(node)];
  if (!*known) {
    TRY(add_support(to, node));
    *known = to->n_supports;
  }
  *out = *known - 1;
  return NULL;
}

static bool takes_references(const struct schema *schema) {
  for (int i = 0; i < schema->n_inputs; i++)
    if (schema->inputs[i].is_ref) return true;
  return false;
}

static void add_references(struct translation *to, const struct node *node) {
  for (int32_t i = 0; i < node->n_inputs; i++)
    if (schema_input_port(node->schema, node->attrs, i)->is_ref)
      to->references[to->n_references++] = (struct place_reference){node->inputs[i].node, node->id};
}

static uint16_t flags_of(const struct schema *schema) {
  const bool ref = schema->n_outputs && schema->outputs[0].is_ref;
  return (uint16_t)((ref ? PLACE_REF_OUTPUT : 0) |
                    (schema->op->flags & OP_SHAPE_ONLY ? PLACE_METADATA : 0));
}

/* What a node with state had before; PLACE_FREE for the others. */
static int32_t previous_device(const struct node *node, const struct place_options *options) {
  const bool keeps = node->schema->op->flags & (OP_STATEFUL | OP_VARIABLE);
  return keeps && node->id < options->n_previous ? options->previous[node->id] : PLACE_FREE;
}

static situ_status add_nodes(struct translation *to, const struct place_options *options) {
  int32_t n_edges = 0;
  for (int32_t i = 0; i < to->graph->n_nodes; i++) {
    const struct node *node = to->graph->nodes[i];
    struct place_node *place = &to->nodes[i];
    place->edges = n_edges;
    place->n_inputs = node->n_inputs;
    place->spec = node->spec;
    TRY(find_support(to, node, &place->support));
    place->assigned = options->n_previous ? previous_device(node, options) : PLACE_FREE;
    place->n_outputs = (uint16_t)min_i64(node->n_outputs, UINT16_MAX);
    place->flags = flags_of(node->schema);
    for (int32_t k = 0; k < node->n_inputs; k++) to->edges[n_edges++] = node->inputs[k].node;
    for (int32_t k = 0; k < node->n_controls; k++) to->edges[n_edges++] = node->controls[k];
    if (takes_references(node->schema)) add_references(to, node);
  }
  to->nodes[to->graph->n_nodes].edges = n_edges;
  return NULL;
}

/* Numbers the groups that somebody names; own[i] is the group of node i's name + 1, or 0. */
static situ_status number_groups(struct translation *to, struct map *groups, int32_t *own) {
  for (int32_t i = 0; i < to->graph->n_nodes; i++) {
    const struct node *node = to->graph->nodes[i];
    for (int32_t k = 0; k < node->n_groups; k++) {
      const char *name = node->groups[k];
      int32_t known = -1;
      if (!map_find_or_put(groups, name, to->n_groups, &known)) return NO_MEMORY();
      if (known >= 0) continue;
      const int32_t named = map_get(&to->graph->names, name, strlen(name));
      if (named >= 0) own[named] = to->n_groups + 1;
      to->n_groups++;
    }
  }
  return NULL;
}

static void add_members(struct translation *to, const struct map *groups, const int32_t *own) {
  for (int32_t i = 0; i < to->graph->n_nodes; i++) {
    const struct node *node = to->graph->nodes[i];
    for (int32_t k = 0; k < node->n_groups; k++) {
      const int32_t group = map_get(groups, node->groups[k], strlen(node->groups[k]));
      to->members[to->n_members++] = (struct place_member){i, group};
    }
    if (own[i]) to->members[to->n_members++] = (struct place_member){i, own[i] - 1};
  }
}

static situ_status add_groups(struct translation *to, int64_t named) {
  if (!named) return NULL;
  int32_t *own = ARENA_ARRAY(to->arena, int32_t, to->graph->n_nodes);
  to->members = ARENA_ARRAY(to->arena, struct place_member, 2 * named);
  if (!own || !to->members) return NO_MEMORY();
  struct map groups = {0};
  const situ_status s = number_groups(to, &groups, own);
  if (!s) add_members(to, &groups, own);
  map_free(&groups);
  return s;
}

static situ_status translate(struct translation *to, const struct place_options *options) {
  int64_t n_edges = 0, n_data = 0, named = 0;
  for (int32_t i = 0; i < to->graph->n_nodes; i++) {
    const struct node *node = to->graph->nodes[i];
    n_data += takes_references(node->schema) ? node->n_inputs : 0;
    n_edges += node->n_inputs + node->n_controls;
    named += node->n_groups;
  }
  if (n_edges > INT32_MAX || 2 * named > INT32_MAX)
    return INVALID("The graph has too many edges: %lld", (long long)n_edges);
  /* Not cleared: every element is written, and there are many. */
  to->nodes = arena_alloc(to->arena, sizeof *to->nodes * ((size_t)to->graph->n_nodes + 1));
  to->edges = arena_alloc(to->arena, sizeof *to->edges * (size_t)n_edges);
  to->references = arena_alloc(to->arena, sizeof *to->references * (size_t)n_data);
  to->support_of = ARENA_ARRAY(to->arena, int32_t, schema_count() * TYPE_SLOTS);
  if (to->arena->failed) return NO_MEMORY();
  TRY(add_nodes(to, options));
  return add_groups(to, named);
}

static struct place_device *list_devices(const struct device_list *list, struct arena *arena) {
  struct place_device *devices = ARENA_ARRAY(arena, struct place_device, list->count);
  for (int i = 0; devices && i < list->count; i++) {
    const struct device *device = list->devices[i];
    devices[i] = (struct place_device){
        .name = device->name,
        .text = device->full,
        .priority = device->backend->is_host ? HOST_PRIORITY : DEVICE_PRIORITY};
  }
  return devices;
}

static struct place_spec *list_specs(const struct situ_graph *graph, struct arena *arena) {
  struct place_spec *specs = ARENA_ARRAY(arena, struct place_spec, graph->n_specs + 1);
  for (int32_t i = 0; specs && i < graph->n_specs; i++)
    specs[i] = (struct place_spec){.name = graph->specs[i].name, .text = graph->specs[i].written};
  /* A graph in which nobody asked for a device may have no specs yet. */
  if (specs && !graph->n_specs) specs[0].text = "";
  return specs;
}

static situ_status run(struct translation *to, const struct device_list *devices,
                       const struct place_options *options, struct arena *arena,
                       struct place_result *result) {
  TRY(translate(to, options));
  const struct place_problem problem = {
      .devices = list_devices(devices, to->arena),
      .n_devices = devices->count,
      .specs = list_specs(to->graph, to->arena),
      .n_specs = (int32_t)max_i64(to->graph->n_specs, 1),
      .supports = to->supports,
      .n_supports = to->n_supports,
      .nodes = to->nodes,
      .n_nodes = to->graph->n_nodes,
      .edges = to->edges,
      .references = to->references,
      .n_references = to->n_references,
      .members = to->members,
      .n_members = to->n_members,
      .n_groups = to->n_groups,
      .default_device = -1,
      .soft = options->soft,
      .reference = options->reference,
      .words = {to->graph, node_name, node_op, node_describe, node_kernels, node_order}};
  if (to->arena->failed) return NO_MEMORY();
  return placer_run(&problem, arena, result);
}

situ_status place_graph(const struct situ_graph *graph, const struct device_list *devices,
                        const struct place_options *options, struct arena *arena,
                        struct placement *out) {
  struct arena scratch = {0};
  struct translation to = {.graph = graph, .arena = &scratch};
  struct place_result result = {0};
  const situ_status s = run(&to, devices, options, arena, &result);
  arena_free(&scratch);
  if (s) return s;
  *out = (struct placement){.graph = graph,
                            .devices = devices,
                            .n_nodes = graph->n_nodes,
                            .device = result.device,
                            .reasons = result.reasons,
                            .warning = result.warning};
  return NULL;
}
