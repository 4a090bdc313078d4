/* SPDX-License-Identifier: Apache-2.0
 * placer.c: the placement cases, with fake ops and devices. */
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "conform/conform.h"
#include "place/placer.h"

/* A case as a problem; the arena holds everything but the maps. */
struct question {
  const struct json *test;
  struct arena *arena;
  struct place_problem problem;
  const struct json **nodes; /* each node's object */
  struct map names, ops, specs, groups;
};

/* What the cases take for granted. */
static int kind_priority(const char *kind) {
  static const struct {
    const char *kind;
    int priority;
  } known[] = {{"GPU", 210}, {"XPU", 55}, {"CPU", 50}};
  for (size_t i = 0; i < COUNT_OF(known); i++)
    if (!strcmp(known[i].kind, kind)) return known[i].priority;
  return -1;
}

static const char *node_name(const void *context, int32_t node) {
  const struct question *q = context;
  return json_string(json_get(q->nodes[node], "name"), "");
}

static const char *node_op(const void *context, int32_t node) {
  const struct question *q = context;
  return json_string(json_get(q->nodes[node], "op"), "");
}

static const struct json *op_of(const struct question *q, int32_t node) {
  return json_get(json_get(q->test, "ops"), node_op(q, node));
}

static bool is_ref(const struct json *type) { return !strncmp(json_string(type, ""), "ref(", 4); }

static bool is_handle(const struct json *type) {
  return !strcmp(json_string(type, ""), "resource");
}

static int32_t count_of(const struct json *value) { return value ? value->count : 0; }

static int32_t find_device(const struct question *q, const char *name) {
  for (int32_t i = 0; i < q->problem.n_devices; i++)
    if (!strcmp(q->problem.devices[i].text, name)) return i;
  return PLACE_INVALID;
}

static situ_status read_devices(struct question *q) {
  const struct json *list = json_get(q->test, "devices");
  const char *preset = json_string(json_get(q->test, "default_device"), NULL);
  struct place_device *devices = ARENA_ARRAY(q->arena, struct place_device, count_of(list) + 1);
  if (!devices) return NO_MEMORY();
  int32_t n = 0;
  for (const struct json *at = json_first(list); at; at = at->next, n++) {
    devices[n].text = json_string(at, "");
    TRY(name_parse_flags(devices[n].text, NAME_REFERENCE, &devices[n].name));
    devices[n].priority = kind_priority(devices[n].name.kind);
  }
  q->problem.devices = devices;
  q->problem.n_devices = n;
  q->problem.default_device = preset ? find_device(q, preset) : -1;
  if (q->problem.default_device >= 0) {
    q->problem.local = devices[q->problem.default_device].name;
    q->problem.local.has_kind = q->problem.local.has_index = false;
  }
  return NULL;
}

static situ_status read_supports(struct question *q) {
  const struct json *ops = json_get(q->test, "ops");
  struct place_support *supports = ARENA_ARRAY(q->arena, struct place_support, count_of(ops) + 1);
  int32_t n = 0;
  if (!supports) return NO_MEMORY();
  for (const struct json *op = json_first(ops); op; op = op->next, n++) {
    const struct json *list = json_get(op, "kernels");
    struct place_kernel *kernels = ARENA_ARRAY(q->arena, struct place_kernel, count_of(list) + 1);
    if (!kernels || !map_put(&q->ops, op->key, n)) return NO_MEMORY();
    supports[n].kernels = kernels;
    for (const struct json *at = json_first(list); at; at = at->next)
      kernels[supports[n].count++] = (struct place_kernel){at->key, (int)json_integer(at, 0)};
  }
  q->problem.supports = supports;
  q->problem.n_supports = n;
  return NULL;
}

/* The number of a request. */
static situ_status find_spec(struct question *q, struct place_spec *specs, const char *text,
                             int32_t *out) {
  const int32_t fresh = q->problem.n_specs;
  int32_t known = -1;
  if (!map_find_or_put(&q->specs, text, fresh, &known)) return NO_MEMORY();
  *out = known >= 0 ? known : fresh;
  if (known >= 0) return NULL;
  struct place_spec *spec = &specs[q->problem.n_specs++];
  spec->text = text;
  const situ_status s = name_parse_flags(text, NAME_REFERENCE, &spec->name);
  spec->malformed = s != NULL;
  situ_status_release(s);
  return NULL;
}

/* The node of an input "name" or "name:1". */
static int32_t producer_of(const struct question *q, const char *input) {
  const char *colon = strrchr(input, ':');
  return map_get(&q->names, input, colon ? (size_t)(colon - input) : strlen(input));
}

static void read_node(struct question *q, int32_t number, struct place_node *node) {
  const struct json *op = op_of(q, number), *outputs = json_get(op, "outputs");
  const char *name = node_op(q, number);
  const char *assigned = json_string(json_get(q->nodes[number], "assigned"), "");
  const bool metadata = !strcmp(name, "Shape") || !strcmp(name, "Size") || !strcmp(name, "Rank");
  node->support = map_get(&q->ops, name, strlen(name));
  node->assigned = *assigned ? find_device(q, assigned) : PLACE_FREE;
  node->n_outputs = (uint16_t)count_of(outputs);
  node->flags = (uint16_t)((is_ref(json_at(outputs, 0)) ? PLACE_REF_OUTPUT : 0) |
                           (is_handle(json_at(outputs, 0)) ? PLACE_HANDLE_OUTPUT : 0) |
                           (metadata ? PLACE_METADATA : 0));
}

static situ_status read_edges(struct question *q, int32_t number, struct place_node *node,
                              int32_t *edges, struct place_reference *references) {
  const struct json *types = json_get(op_of(q, number), "inputs");
  int32_t n = 0;
  for (const struct json *at = json_first(json_get(q->nodes[number], "inputs")); at;
       at = at->next, n++) {
    const int32_t from = producer_of(q, json_string(at, ""));
    if (from < 0) return INVALID("no such input: %s", json_string(at, ""));
    edges[node->edges + n] = from;
    if (is_ref(json_at(types, n)) || is_handle(json_at(types, n)))
      references[q->problem.n_references++] = (struct place_reference){from, number};
  }
  node->n_inputs = n;
  node[1].edges = node->edges + n;
  return NULL;
}

/* A node is in its colocation groups, and in that of its own name. */
static situ_status read_groups(struct question *q, int32_t number, struct place_member *members) {
  const struct json *list = json_get(q->nodes[number], "colocate");
  for (int32_t i = 0; i <= count_of(list); i++) {
    const char *text = json_string(json_at(list, i), "");
    const bool own = i == count_of(list);
    if (!own && strncmp(text, "loc:@", 5)) continue;
    const char *group = own ? node_name(q, number) : text + 5;
    int32_t known = -1;
    if (!map_find_or_put(&q->groups, group, q->problem.n_groups, &known)) return NO_MEMORY();
    if (known < 0) known = q->problem.n_groups++;
    members[q->problem.n_members++] = (struct place_member){number, known};
  }
  return NULL;
}

static situ_status read_nodes(struct question *q) {
  const struct json *list = json_get(q->test, "nodes");
  const int32_t n = count_of(list);
  int32_t n_edges = 0, n_members = 0;
  q->nodes = ARENA_ARRAY(q->arena, const struct json *, n + 1);
  if (!q->nodes) return NO_MEMORY();
  for (const struct json *at = json_first(list); at; at = at->next) {
    q->nodes[q->problem.n_nodes] = at;
    if (!map_put(&q->names, json_string(json_get(at, "name"), ""), q->problem.n_nodes++))
      return NO_MEMORY();
    n_edges += count_of(json_get(at, "inputs"));
    n_members += count_of(json_get(at, "colocate")) + 1;
  }
  struct place_node *nodes = ARENA_ARRAY(q->arena, struct place_node, n + 1);
  struct place_spec *specs = ARENA_ARRAY(q->arena, struct place_spec, n + 1);
  int32_t *edges = ARENA_ARRAY(q->arena, int32_t, n_edges + 1), none;
  struct place_reference *references = ARENA_ARRAY(q->arena, struct place_reference, n_edges + 1);
  struct place_member *members = ARENA_ARRAY(q->arena, struct place_member, n_members + 1);
  if (q->arena->failed) return NO_MEMORY();
  q->problem.nodes = nodes;
  q->problem.specs = specs;
  q->problem.edges = edges;
  q->problem.references = references;
  q->problem.members = members;
  TRY(find_spec(q, specs, "", &none));
  for (int32_t i = 0; i < n; i++) {
    TRY(find_spec(q, specs, json_string(json_get(q->nodes[i], "device"), ""), &nodes[i].spec));
    read_node(q, i, &nodes[i]);
    TRY(read_edges(q, i, &nodes[i], edges, references));
    TRY(read_groups(q, i, members));
  }
  return NULL;
}

static situ_status place(struct question *q, struct place_result *result) {
  q->problem.soft = json_bool(json_get(q->test, "soft"), false);
  q->problem.reference = true;
  q->problem.callbacks = (struct place_callbacks){.context = q, .name = node_name, .op = node_op};
  TRY(read_devices(q));
  TRY(read_supports(q));
  TRY(read_nodes(q));
  return placer_run(&q->problem, q->arena, result);
}

static void add_result(const struct question *q, const struct place_result *result,
                       struct strbuf *out) {
  strbuf_append(out, "{\"assign\": {");
  for (int32_t i = 0; i < q->problem.n_nodes; i++) {
    strbuf_append(out, i ? ", " : "");
    json_write_string(out, node_name(q, i));
    strbuf_append(out, ": ");
    json_write_string(out, q->problem.devices[result->device[i]].text);
  }
  strbuf_append(out, "}}");
}

void conform_placer(const struct json *test, struct strbuf *out) {
  struct arena arena = {0};
  struct question q = {.test = test, .arena = &arena};
  struct place_result result;
  const situ_status s = place(&q, &result);
  if (s) {
    strbuf_appendf(
        out, "{\"error\": {\"code\": \"%s\", \"text\": ", situ_code_name(situ_status_code(s)));
    json_write_string(out, situ_status_message(s));
    strbuf_append(out, "}}");
  } else {
    add_result(&q, &result, out);
  }
  situ_status_release(s);
  map_free(&q.names);
  map_free(&q.ops);
  map_free(&q.specs);
  map_free(&q.groups);
  arena_free(&arena);
}
