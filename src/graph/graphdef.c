/* SPDX-License-Identifier: Apache-2.0
 * graphdef.c: loading a graph.
 *
 * The nodes of a text may stand in any order: a walk in depth adds the inputs of a node before it,
 * so that a text that is in order already stays as it is. */
#include "graph/graphdef.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "graph/names.h"
#include "graph/scope.h"
#include "graph/spec.h"

enum { FREE_BYTES = 256 << 20, SHOWN_NODES = 20 };

enum state { UNSEEN, OPEN, DONE };

/* An input as it is written. */
struct link {
  int32_t item; /* the node it comes from */
  int32_t output;
  size_t offset;
};

/* A node of the text. */
struct item {
  const struct proto_message *def;
  size_t offset;
  const char *name;
  const struct schema *schema;
  struct link *links; /* inputs, then control inputs */
  int32_t n_inputs, n_controls;
  int32_t next; /* the link to follow next */
  int32_t id;   /* in the graph, when done */
  int32_t mark; /* the last item that has it as control input, + 1 */
  enum state state;
};

struct loading {
  struct proto_source source;
  struct arena arena;
  struct situ_graph *graph;
  struct item *items;
  int32_t count;
  struct map names; /* to items */
  int32_t *stack;   /* open items */
  int32_t depth;
  struct graphdef_budget budget;
};

/* Nodes and their inputs */

/* The text of a field, which must be there; `what` names it. */
static situ_status need_text(const struct loading *load, const struct item *item, const char *field,
                             const char **out) {
  const struct proto_value *value = proto_get(item->def, field);
  if (!value || !value->bytes.length)
    return proto_wrong(&load->source, item->offset, "a node without '%s'", field);
  if (strlen(value->bytes.data) != value->bytes.length)
    return proto_wrong(&load->source, value->offset, "'%s' with a byte of 0", field);
  *out = value->bytes.data;
  return NULL;
}

static situ_status read_item(struct loading *load, struct item *item) {
  const char *op = NULL;
  int32_t found = -1;
  TRY(need_text(load, item, "name", &item->name));
  TRY(need_text(load, item, "op", &op));
  if (!names_legal(item->name))
    return proto_wrong(&load->source, proto_get(item->def, "name")->offset,
                       "'%s' is not a valid node name", item->name);
  if (!map_find_or_put(&load->names, item->name, load->count, &found)) return NO_MEMORY();
  if (found >= 0)
    return proto_wrong(&load->source, item->offset, "Duplicate node name in graph: '%s'",
                       item->name);
  item->schema = schema_find(op);
  if (item->schema) return NULL;
  return proto_locate(&load->source, proto_get(item->def, "op")->offset, emit_unknown_op(op));
}

static situ_status read_items(struct loading *load, const struct proto_message *def) {
  const struct proto_value *node = NULL;
  int64_t count = 0;
  while ((node = proto_next(def, "node", node))) count++;
  if (count > INT32_MAX) return INVALID("A graph of more than 2^31 - 1 nodes.");
  load->items = ARENA_ARRAY(&load->arena, struct item, count);
  load->stack = ARENA_ARRAY(&load->arena, int32_t, count);
  if (!load->items || !load->stack) return NO_MEMORY();
  while ((node = proto_next(def, "node", node))) {
    struct item *item = &load->items[load->count];
    item->def = node->message;
    item->offset = node->offset;
    TRY(read_item(load, item));
    load->count++;
  }
  return NULL;
}

static situ_status read_link(const struct loading *load, const struct item *item,
                             const struct proto_value *input, struct link *out) {
  const char *text = input->bytes.data;
  const size_t length = input->bytes.length, control = text[0] == '^';
  const size_t name = graph_split(text + control, length - control, &out->output);
  out->offset = input->offset;
  out->item = name && strlen(text) == length ? map_get(&load->names, text + control, name) : -1;
  if (out->item >= 0 && (!control || name == length - control)) return NULL;
  return proto_wrong(&load->source, input->offset, "node '%s' has the unknown input '%s'",
                     item->name, text);
}

static situ_status read_links(struct loading *load, struct item *item) {
  const struct proto_value *input = NULL;
  int64_t count = 0;
  while ((input = proto_next(item->def, "input", input))) count++;
  if (count > INT32_MAX / 2) return INVALID("Node '%s' has too many inputs.", item->name);
  item->links = ARENA_ARRAY(&load->arena, struct link, count);
  if (!item->links) return NO_MEMORY();
  while ((input = proto_next(item->def, "input", input))) {
    const bool control = input->bytes.data[0] == '^';
    if (!control && item->n_controls)
      return proto_wrong(&load->source, input->offset,
                         "node '%s' has the input '%s' behind a control input", item->name,
                         input->bytes.data);
    TRY(read_link(load, item, input, &item->links[item->n_inputs + item->n_controls]));
    item->n_inputs += !control;
    item->n_controls += control;
  }
  return NULL;
}

/* One node */

static situ_status read_groups(struct loading *load, const struct proto_value *from,
                               struct node *node) {
  const struct proto_value *list = proto_get(from->message, "list"), *s = NULL;
  int32_t count = 0;
  if (!list) return proto_wrong(&load->source, from->offset, "'_class' must be a list of strings");
  while ((s = proto_next(list->message, "s", s))) count++;
  const char **groups = ARENA_ARRAY(&load->graph->arena, const char *, count);
  if (!groups) return NO_MEMORY();
  node->groups = groups;
  while ((s = proto_next(list->message, "s", s))) {
    if (strncmp(s->bytes.data, "loc:@", 5)) continue; /* TensorFlow knows no other kind */
    groups[node->n_groups] =
        arena_text(&load->graph->arena, s->bytes.data + 5, strlen(s->bytes.data + 5));
    if (!groups[node->n_groups++]) return NO_MEMORY();
  }
  return NULL;
}

/* Attributes that begin with '_' belong to other tools and say nothing to situ. */
static situ_status read_attrs(struct loading *load, const struct item *item, struct draft *draft) {
  const struct proto_value *entry = NULL;
  while ((entry = proto_next(item->def, "attr", entry))) {
    const char *key = proto_text(entry->message, "key");
    const struct proto_value *value = proto_get(entry->message, "value");
    if (!*key || !value)
      return proto_wrong(&load->source, entry->offset, "an attribute needs a key and a value");
    if (!strcmp(key, "_class"))
      TRY(read_groups(load, value, draft->node));
    else if (key[0] != '_')
      TRY(graphdef_read_attr(&load->source, key, value, &load->budget, load->graph, draft));
  }
  return NULL;
}

static situ_status read_device(struct loading *load, const struct item *item, struct node *node) {
  const struct proto_value *device = proto_get(item->def, "device");
  if (!device) return NULL;
  if (strlen(device->bytes.data) != device->bytes.length)
    return proto_wrong(&load->source, device->offset, "'device' with a byte of 0");
  return proto_locate(&load->source, device->offset,
                      spec_parse(load->graph, device->bytes.data, 0, &node->spec));
}

static situ_status set_inputs(const struct loading *load, const struct item *item,
                              const struct draft *draft) {
  for (int32_t i = 0; i < item->n_inputs; i++) {
    const struct link *link = &item->links[i];
    const struct node *from = load->graph->nodes[load->items[link->item].id];
    if (link->output >= from->n_outputs)
      return proto_wrong(&load->source, link->offset,
                         "node '%s' has the input '%s:%d', but that node has %d outputs",
                         item->name, from->name, (int)link->output, (int)from->n_outputs);
    draft->inputs[i] = (struct edge){from->id, link->output};
  }
  return NULL;
}

/* Each once. */
static bool set_controls(struct loading *load, const struct item *item, struct node *node) {
  const int32_t mark = (int32_t)(item - load->items) + 1;
  int32_t *controls = ARENA_ARRAY(&load->graph->arena, int32_t, item->n_controls);
  if (!controls) return false;
  for (int32_t i = 0; i < item->n_controls; i++) {
    struct item *from = &load->items[item->links[item->n_inputs + i].item];
    if (from->mark == mark) continue;
    from->mark = mark;
    controls[node->n_controls++] = from->id;
  }
  node->controls = controls;
  return true;
}

static situ_status add_item(struct loading *load, struct item *item) {
  struct situ_graph *graph = load->graph;
  struct draft draft;
  if (!emit_begin(graph, item->schema, item->n_inputs, &draft)) return NO_MEMORY();
  struct node *node = draft.node;
  node->name = arena_text(&graph->arena, item->name, strlen(item->name));
  if (!node->name) return NO_MEMORY();
  TRY(set_inputs(load, item, &draft));
  if (item->n_controls && !set_controls(load, item, node)) return NO_MEMORY();
  TRY(read_device(load, item, node));
  TRY(read_attrs(load, item, &draft));
  TRY(proto_locate(&load->source, item->offset, emit_finish(graph, &draft)));
  item->id = node->id;
  return names_enter(&graph->scopes->names, &graph->arena, node->name, node->id) ? NULL
                                                                                 : NO_MEMORY();
}

/* Order */

/* The open items from the last one down to `item` feed each other. */
static situ_status cycle(const struct loading *load, int32_t item) {
  struct text names = {0};
  int shown = 0;
  text_addf(&names, "'%s'", load->items[item].name);
  for (int32_t at = load->depth - 1; at >= 0 && load->stack[at] != item; at--) {
    if (shown++ < SHOWN_NODES) text_addf(&names, " -> '%s'", load->items[load->stack[at]].name);
  }
  if (shown > SHOWN_NODES) text_addf(&names, " -> ... (%d more)", shown - SHOWN_NODES);
  text_addf(&names, " -> '%s'", load->items[item].name);
  const situ_status status = proto_wrong(&load->source, load->items[item].offset,
                                         "the graph has a cycle: %s", text_get(&names));
  text_free(&names);
  return status;
}

static situ_status open_item(struct loading *load, int32_t number) {
  struct item *item = &load->items[number];
  if (item->state == DONE) return NULL;
  if (item->state == OPEN) return cycle(load, number);
  item->state = OPEN;
  load->stack[load->depth++] = number;
  return NULL;
}

/* Adds an item, and all that it needs before it. */
static situ_status add_with_inputs(struct loading *load, int32_t number) {
  TRY(open_item(load, number));
  while (load->depth) {
    struct item *item = &load->items[load->stack[load->depth - 1]];
    if (item->next < item->n_inputs + item->n_controls) {
      TRY(open_item(load, item->links[item->next++].item));
      continue;
    }
    TRY(add_item(load, item));
    item->state = DONE;
    load->depth--;
  }
  return NULL;
}

/* Reads the form that it finds: binary, JSON or text. */
static situ_status read_def(const struct proto_source *source, struct proto_message **out) {
  if (source->is_binary) return protobinary_read(source, &proto_graph, out);
  size_t start = 0;
  while (start < source->length && strchr(" \t\r\n", source->text[start]) && source->text[start])
    start++;
  const bool is_json = start < source->length && source->text[start] == '{';
  return is_json ? protojson_read(source, &proto_graph, out)
                 : prototext_read(source, &proto_graph, out);
}

static situ_status load_graph(struct loading *load) {
  struct proto_message *def = NULL;
  TRY(read_def(&load->source, &def));
  TRY(read_items(load, def));
  for (int32_t i = 0; i < load->count; i++) TRY(read_links(load, &load->items[i]));
  for (int32_t i = 0; i < load->count; i++) TRY(add_with_inputs(load, i));
  return NULL;
}

situ_status situ_graph_load(const char *text, size_t length, situ_graph **out) {
  if (!out) return INVALID("situ_graph_load: out is NULL.");
  *out = NULL;
  if (!text && length) return INVALID("situ_graph_load: text is NULL.");
  struct loading load = {.graph = situ_graph_create(), .budget = {FREE_BYTES}};
  load.source = (struct proto_source){text ? text : "", length, &load.arena,
                                      text && protobinary_is(text, length)};
  situ_status status = load.graph ? load_graph(&load) : NO_MEMORY();
  map_free(&load.names);
  arena_free(&load.arena);
  if (!status)
    *out = load.graph;
  else
    situ_graph_release(load.graph);
  return status;
}
