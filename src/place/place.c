/* SPDX-License-Identifier: Apache-2.0
 * place.c: converts a graph to the placer's abstract problem. Requests and kernels are converted
 * once per (op, type), not per node. */
#include "place/place.h"

#include <string.h>

#include "base/strbuf.h"
#include "tensor/type.h"

enum { HOST_PRIORITY = 70, DEVICE_PRIORITY = 210, INITIAL_CAPACITY = 64 };

/* The properties shared by all nodes of an op with the same deciding type. */
struct family {
  int32_t support; /* index + 1; 0: not set yet */
  uint16_t flags;  /* enum place_flags */
  bool takes_references, keeps_device;
};

/* A problem under construction. */
struct conversion {
  const struct situ_graph *graph;
  struct arena *arena;     /* scratch memory */
  unsigned lacks;          /* features that some device lacks: enum place_needs */
  int32_t n_devices;       /* of the placer */
  int32_t *numbers;        /* by the placer's number: the number in the device list */
  int32_t *placer_numbers; /* the reverse */
  struct family *families; /* indexed by schema, type and needs */
  struct place_support *supports;
  int32_t n_supports, support_capacity;
  struct place_node *nodes;
  int32_t *edges;
  int32_t n_edges, edge_capacity;
  struct place_reference *references;
  int32_t n_references, reference_capacity;
  struct place_member *members;
  int32_t n_members, n_groups;
  int64_t n_named; /* total of node->n_groups */
};

/* Grows an array to hold `more` elements after `count`. Sets arena->failed when memory runs out. */
static void *reserve(struct arena *arena, void *array, int32_t count, int32_t more,
                     int32_t *capacity, size_t size) {
  if (more <= *capacity - count) return array;
  const int64_t least = max_i64((int64_t)count + more, INITIAL_CAPACITY);
  const int64_t wanted = max_i64(2 * (int64_t)*capacity, least);
  arena->failed = arena->failed || wanted > INT32_MAX;
  void *grown = arena->failed ? NULL : arena_alloc(arena, size * (size_t)wanted);
  if (!grown) return array;
  if (count) memcpy(grown, array, size * (size_t)count);
  *capacity = (int32_t)wanted;
  return grown;
}

/* Reserves elements of an array member of a conversion; false when memory runs out. */
#define RESERVE(to, array, count, capacity, more)                                        \
  ((to)->array = reserve((to)->arena, (to)->array, (to)->count, (more), &(to)->capacity, \
                         sizeof *(to)->array),                                           \
   !(to)->arena->failed)

static const char *node_name(const void *graph, int32_t node) {
  return ((const struct situ_graph *)graph)->nodes[node]->name;
}

static const char *node_op(const void *graph, int32_t node) {
  return ((const struct situ_graph *)graph)->nodes[node]->schema->op->name;
}

static void node_describe(const void *graph, int32_t node, struct strbuf *out) {
  const struct situ_graph *g = graph;
  graph_describe(g, g->nodes[node], out);
}

/* "CPU, GPU (float, double)" */
static void node_kernels(const void *graph, int32_t node, struct strbuf *out) {
  const struct schema *schema = ((const struct situ_graph *)graph)->nodes[node]->schema;
  for (int i = 0; i < MAX_KINDS && schema->kinds[i]; i++) {
    strbuf_appendf(out, "%s%s", i ? ", " : "", schema->kinds[i]);
    if (schema->kind_types[i] == UINT32_MAX) continue;
    const char *separator = " (";
    for (int type = 1; type < MAX_TYPES; type++) {
      if (!(schema->kind_types[i] >> type & 1)) continue;
      strbuf_appendf(out, "%s%s", separator, situ_type_name((situ_type)type));
      separator = ", ";
    }
    strbuf_append(out, ")");
  }
}

static situ_status node_order(const void *graph, int32_t *order) {
  return graph_import_order(graph, order);
}

/* The type that determines which devices have a kernel; SITU_NO_TYPE: none does. */
static situ_type deciding_type(const struct node *node) {
  const int attr = node->schema->device_type_attr;
  const situ_type type = attr < 0 ? SITU_NO_TYPE : node->attrs[attr].type;
  return (unsigned)type < MAX_TYPES ? type : SITU_NO_TYPE;
}

/* The features that a node's types need and some device lacks. */
static unsigned needs_of(const struct conversion *to, const struct node *node) {
  unsigned needs = 0;
  for (int i = 0; to->lacks && i < node->schema->n_attrs; i++) {
    if (node->attrs[i].kind != SITU_ATTR_TYPE) continue;
    if (node->attrs[i].type == SITU_HALF) needs |= NEEDS_HALF;
    if (type_real(node->attrs[i].type) == SITU_DOUBLE) needs |= NEEDS_DOUBLE;
  }
  return needs & to->lacks;
}

/* Adds the kernels of a node's op for its types. */
static situ_status add_support(struct conversion *to, const struct node *node, unsigned needs) {
  struct place_kernel *kernels = ARENA_ARRAY(to->arena, struct place_kernel, MAX_KINDS);
  if (!kernels || !RESERVE(to, supports, n_supports, support_capacity, 1)) return NO_MEMORY();
  int32_t n = 0;
  for (int i = 0; i < MAX_KINDS && node->schema->kinds[i]; i++)
    if (schema_supports(node->schema, node->attrs, node->schema->kinds[i]))
      kernels[n++] = (struct place_kernel){node->schema->kinds[i], node->schema->kind_priority[i]};
  to->supports[to->n_supports++] = (struct place_support){kernels, n, needs};
  return NULL;
}

static bool takes_references(const struct schema *schema) {
  for (int i = 0; i < schema->n_inputs; i++)
    if (schema->inputs[i].is_ref) return true;
  return false;
}

static situ_status find_family(struct conversion *to, const struct node *node,
                               const struct family **out) {
  const struct schema *schema = node->schema;
  const unsigned needs = needs_of(to, node);
  const size_t types = (size_t)schema->id * MAX_TYPES + (size_t)deciding_type(node);
  struct family *family = &to->families[types * (1 << NEEDS_COUNT) + needs];
  *out = family;
  if (family->support) return NULL;
  TRY(add_support(to, node, needs));
  const bool ref = schema->n_outputs && schema->outputs[0].is_ref;
  *family =
      (struct family){.support = to->n_supports,
                      .flags = (uint16_t)((ref ? PLACE_REF_OUTPUT : 0) |
                                          (schema->op->flags & OP_SHAPE_ONLY ? PLACE_METADATA : 0)),
                      .takes_references = takes_references(schema),
                      .keeps_device = schema->op->flags & (OP_STATEFUL | OP_VARIABLE)};
  return NULL;
}

static situ_status add_references(struct conversion *to, const struct node *node) {
  if (!RESERVE(to, references, n_references, reference_capacity, node->n_inputs))
    return NO_MEMORY();
  for (int32_t i = 0; i < node->n_inputs; i++)
    if (schema_input_port(node->schema, node->attrs, i)->is_ref)
      to->references[to->n_references++] = (struct place_reference){node->inputs[i].node, node->id};
  return NULL;
}

static situ_status add_node(struct conversion *to, const struct node *node,
                            const struct place_options *options) {
  const struct family *family;
  TRY(find_family(to, node, &family));
  if (!RESERVE(to, edges, n_edges, edge_capacity, node->n_inputs + node->n_controls))
    return NO_MEMORY();
  const bool stays = family->keeps_device && node->id < options->n_previous;
  to->nodes[node->id] = (struct place_node){
      .edges = to->n_edges,
      .n_inputs = node->n_inputs,
      .spec = node->spec,
      .support = family->support - 1,
      .assigned = stays ? to->placer_numbers[options->previous[node->id]] : PLACE_FREE,
      .n_outputs = (uint16_t)min_i64(node->n_outputs, UINT16_MAX),
      .flags = family->flags};
  for (int32_t k = 0; k < node->n_inputs; k++) to->edges[to->n_edges++] = node->inputs[k].node;
  for (int32_t k = 0; k < node->n_controls; k++) to->edges[to->n_edges++] = node->controls[k];
  to->n_named += node->n_groups;
  return family->takes_references ? add_references(to, node) : NULL;
}

/* The colocation groups by name. Nodes of one scope share the string, so most lookups compare
 * addresses only. */
struct groups {
  struct map numbers;
  const char *last;
  int32_t last_number;
};

/* The index of a group, added if it is new; -1: out of memory. */
static int32_t find_group(struct conversion *to, struct groups *groups, const char *name,
                          int32_t *own) {
  if (name == groups->last) return groups->last_number;
  int32_t number = -1;
  if (!map_find_or_put(&groups->numbers, name, to->n_groups, &number)) return -1;
  if (number < 0) {
    const int32_t named = graph_find(to->graph, name, strlen(name));
    number = to->n_groups++;
    if (named >= 0) own[named] = number + 1;
  }
  groups->last = name;
  groups->last_number = number;
  return number;
}

/* Lists each node with its groups and, last, the group of its own name if that exists. own[node]
 * (index + 1) is complete only after the first call, so it is called twice. */
static situ_status list_members(struct conversion *to, struct groups *groups, int32_t *own) {
  to->n_members = 0;
  for (int32_t i = 0; i < to->graph->n_nodes; i++) {
    const struct node *node = to->graph->nodes[i];
    for (int32_t k = 0; k < node->n_groups; k++) {
      const int32_t group = find_group(to, groups, node->groups[k], own);
      if (group < 0) return NO_MEMORY();
      to->members[to->n_members++] = (struct place_member){i, group};
    }
    if (own[i]) to->members[to->n_members++] = (struct place_member){i, own[i] - 1};
  }
  return NULL;
}

static situ_status add_groups(struct conversion *to) {
  if (!to->n_named) return NULL;
  int32_t *own = ARENA_ARRAY(to->arena, int32_t, to->graph->n_nodes);
  to->members = ARENA_ARRAY(to->arena, struct place_member, 2 * to->n_named);
  if (!own || !to->members || to->n_named > INT32_MAX / 2) return NO_MEMORY();
  struct groups groups = {0};
  situ_status s = list_members(to, &groups, own);
  if (!s) s = list_members(to, &groups, own);
  map_free(&groups.numbers);
  return s;
}

static situ_status convert(struct conversion *to, const struct place_options *options) {
  const int32_t n = to->graph->n_nodes;
  to->families =
      ARENA_ARRAY(to->arena, struct family, schema_count() * MAX_TYPES * (1 << NEEDS_COUNT));
  /* Not zeroed: every element is written, and there are many. */
  to->nodes = arena_alloc(to->arena, sizeof *to->nodes * ((size_t)n + 1));
  if (!to->families || !to->nodes) return NO_MEMORY();
  for (int32_t i = 0; i < n; i++) TRY(add_node(to, to->graph->nodes[i], options));
  to->nodes[n].edges = to->n_edges;
  return add_groups(to);
}

static unsigned lacks_of(const struct device *device) {
  return (device->info.has_half ? 0 : NEEDS_HALF) | (device->info.has_double ? 0 : NEEDS_DOUBLE);
}

/* Lists the usable devices for the placer, whose numbers differ from those of `list`. */
static struct place_device *list_devices(struct conversion *to, const struct device_list *list) {
  struct place_device *devices = ARENA_ARRAY(to->arena, struct place_device, list->count);
  to->numbers = ARENA_ARRAY(to->arena, int32_t, list->count);
  to->placer_numbers = ARENA_ARRAY(to->arena, int32_t, list->count);
  if (to->arena->failed) return NULL;
  for (int i = 0; i < list->count; i++) {
    const struct device *device = list->devices[i];
    if (!device_is_usable(list, device)) continue;
    to->numbers[to->n_devices] = i;
    to->placer_numbers[i] = to->n_devices;
    to->lacks |= lacks_of(device);
    devices[to->n_devices++] = (struct place_device){
        .name = device->name,
        .text = device->full,
        .lacks = lacks_of(device),
        .priority = device->backend->is_host ? HOST_PRIORITY : DEVICE_PRIORITY};
  }
  return devices;
}

static struct place_spec *list_specs(const struct situ_graph *graph, bool any_task,
                                     struct arena *arena) {
  struct place_spec *specs = ARENA_ARRAY(arena, struct place_spec, graph->n_specs + 1);
  for (int32_t i = 0; specs && i < graph->n_specs; i++) {
    specs[i] = (struct place_spec){.name = graph->specs[i].name, .text = graph->specs[i].written};
    if (any_task) name_clear_task(&specs[i].name);
  }
  /* A graph without requests may have no specs yet. */
  if (specs && !graph->n_specs) specs[0].text = "";
  return specs;
}

static situ_status run(struct conversion *to, const struct device_list *devices,
                       const struct place_options *options, struct arena *arena,
                       struct place_result *result) {
  const struct place_device *usable = list_devices(to, devices);
  if (!usable) return NO_MEMORY();
  TRY(convert(to, options));
  const struct place_problem problem = {
      .devices = usable,
      .n_devices = to->n_devices,
      .specs = list_specs(to->graph, options->any_task, to->arena),
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
      .callbacks = {to->graph, node_name, node_op, node_describe, node_kernels, node_order}};
  if (to->arena->failed) return NO_MEMORY();
  TRY(placer_run(&problem, arena, result));
  for (int32_t i = 0; i < problem.n_nodes; i++) result->device[i] = to->numbers[result->device[i]];
  return NULL;
}

situ_status place_graph(const struct situ_graph *graph, const struct device_list *devices,
                        const struct place_options *options, struct arena *arena,
                        struct placement *out) {
  struct arena scratch = {0};
  struct conversion to = {.graph = graph, .arena = &scratch};
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
