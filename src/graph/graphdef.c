/* SPDX-License-Identifier: Apache-2.0
 * graphdef.c: loading a graph and the functions that it calls.
 *
 * A GraphDef has one library; in situ each graph owns the functions that its own nodes call, so a
 * function is read into every graph that calls it. The nodes of a text may stand in any order: a
 * walk in depth adds the inputs of a node before it, so that a text that is in order already stays
 * as it is. */
#include "graph/graphdef.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "graph/names.h"
#include "graph/scope.h"
#include "graph/spec.h"

enum { FREE_BYTES = 256 << 20, SHOWN_NODES = 20, MOST_BODIES = 10000, MOST_DEPTH = 50 };

enum state { UNSEEN, OPEN, DONE };

/* An input as it is written. */
struct link {
  int32_t item; /* the node it comes from */
  int32_t output;
  const char *port; /* of functions: the name of the output, in which it has that index; or NULL */
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
  const struct proto_message *library;  /* NULL: none */
  const struct proto_message *function; /* the FunctionDef whose body is read; NULL: the graph */
  struct loading *outer;                /* of a function: who calls it */
  struct situ_graph *graph;
  struct item *items;
  int32_t count;
  struct map names; /* to items */
  int32_t *stack;   /* open items */
  int32_t depth;
  struct graphdef_budget budget;
};

/* Nodes and their inputs */

static situ_status add_args(struct loading *load);
static situ_status need_function(struct loading *load, const struct proto_value *call);

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

/* Reads the nodes of a field, behind `n_args` items that are there already. */
static situ_status read_items(struct loading *load, const struct proto_message *def,
                              const char *field, int64_t n_args) {
  const struct proto_value *node = NULL;
  int64_t count = n_args;
  while ((node = proto_next(def, field, node))) count++;
  if (count > INT32_MAX) return INVALID("A graph of more than 2^31 - 1 nodes.");
  load->items = ARENA_ARRAY(load->source.arena, struct item, count);
  load->stack = ARENA_ARRAY(load->source.arena, int32_t, count);
  if (!load->items || !load->stack) return NO_MEMORY();
  if (n_args) TRY(add_args(load));
  while ((node = proto_next(def, field, node))) {
    struct item *item = &load->items[load->count];
    item->def = node->message;
    item->offset = node->offset;
    TRY(read_item(load, item));
    load->count++;
  }
  return NULL;
}

/* The input of a node of a function: "arg", "node:port:index" or "^node". */
static situ_status read_function_link(const struct loading *load, const char *user,
                                      const struct proto_value *input, struct link *out) {
  const char *text = input->bytes.data + (input->bytes.data[0] == '^');
  const char *port = strchr(text, ':'), *index = port ? strchr(port + 1, ':') : NULL;
  char *end = NULL;
  out->offset = input->offset;
  out->item = map_get(&load->names, text, port ? (size_t)(port - text) : strlen(text));
  const long number = index ? strtol(index + 1, &end, 10) : 0;
  const bool right = !port || (index && index[1] >= '0' && index[1] <= '9' && !*end);
  if (out->item < 0 || !right || number > INT32_MAX)
    return proto_wrong(&load->source, input->offset, "node '%s' has the unknown input '%s'", user,
                       input->bytes.data);
  out->output = (int32_t)number;
  if (!port) return NULL;
  out->port = arena_strndup(load->source.arena, port + 1, (size_t)(index - port - 1));
  return out->port ? NULL : NO_MEMORY();
}

static situ_status read_link(const struct loading *load, const struct item *item,
                             const struct proto_value *input, struct link *out) {
  if (load->function) return read_function_link(load, item->name, input, out);
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
  item->links = ARENA_ARRAY(load->source.arena, struct link, count);
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
        arena_strndup(&load->graph->arena, s->bytes.data + 5, strlen(s->bytes.data + 5));
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
    if (!strcmp(key, "_class")) TRY(read_groups(load, value, draft->node));
    if (key[0] == '_') continue;
    const struct proto_value *call = proto_get(value->message, "func");
    if (call && schema_attr(item->schema, key) >= 0) TRY(need_function(load, call));
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

/* The flat number of an output that a function's link names. */
static int32_t find_output(const struct node *from, const struct link *link) {
  for (int32_t i = 0; link->port && i < from->n_outputs; i++) {
    int within = 0;
    const struct port *port = schema_output_port(from->schema, from->attrs, i, &within);
    if (within == link->output && !strcmp(port->name, link->port)) return i;
  }
  return link->port ? from->n_outputs : link->output;
}

static situ_status set_inputs(const struct loading *load, const struct item *item,
                              const struct draft *draft) {
  for (int32_t i = 0; i < item->n_inputs; i++) {
    const struct link *link = &item->links[i];
    const struct node *from = load->graph->nodes[load->items[link->item].id];
    const int32_t output = find_output(from, link);
    if (output >= from->n_outputs)
      return proto_wrong(&load->source, link->offset,
                         "node '%s' has the input '%s:%d', but that node has %d outputs",
                         item->name, from->name, (int)link->output, (int)from->n_outputs);
    draft->inputs[i] = (struct edge){from->id, output};
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
  node->name = arena_strndup(&graph->arena, item->name, strlen(item->name));
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
  struct strbuf names = {0};
  int shown = 0;
  strbuf_appendf(&names, "'%s'", load->items[item].name);
  for (int32_t at = load->depth - 1; at >= 0 && load->stack[at] != item; at--) {
    if (shown++ < SHOWN_NODES)
      strbuf_appendf(&names, " -> '%s'", load->items[load->stack[at]].name);
  }
  if (shown > SHOWN_NODES) strbuf_appendf(&names, " -> ... (%d more)", shown - SHOWN_NODES);
  strbuf_appendf(&names, " -> '%s'", load->items[item].name);
  const situ_status status = proto_wrong(&load->source, load->items[item].offset,
                                         "the graph has a cycle: %s", strbuf_get(&names));
  strbuf_free(&names);
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

static situ_status add_items(struct loading *load) {
  for (int32_t i = 0; i < load->count; i++)
    if (load->items[i].state != DONE) TRY(read_links(load, &load->items[i]));
  for (int32_t i = 0; i < load->count; i++) TRY(add_with_inputs(load, i));
  return NULL;
}

static situ_status load_graph(struct loading *load) {
  struct proto_message *def = NULL;
  TRY(read_def(&load->source, &def));
  const struct proto_value *library = proto_get(def, "library");
  load->library = library ? library->message : NULL;
  TRY(read_items(load, def, "node", 0));
  return add_items(load);
}

/* Functions */

static const struct proto_message *signature_of(const struct proto_message *function) {
  const struct proto_value *signature = proto_get(function, "signature");
  return signature ? signature->message : NULL;
}

static int64_t count_args(const struct proto_message *function, const char *field) {
  const struct proto_value *arg = NULL;
  int64_t count = 0;
  while ((arg = proto_next(signature_of(function), field, arg))) count++;
  return count;
}

/* The shape of argument `index` as its attribute _output_shapes has it; else unknown. */
static situ_status arg_shape(const struct loading *load, int64_t index, situ_shape *out) {
  const struct proto_value *arg = NULL, *attr = NULL;
  *out = SITU_ANY_SHAPE;
  while ((arg = proto_next(load->function, "arg_attr", arg))) {
    const struct proto_value *key = proto_get(arg->message, "key");
    const struct proto_value *attrs = proto_get(arg->message, "value");
    if ((key ? key->integer : 0) != index || !attrs) continue;
    while ((attr = proto_next(attrs->message, "attr", attr))) {
      const struct proto_value *value = proto_get(attr->message, "value");
      if (!value || strcmp(proto_text(attr->message, "key"), "_output_shapes") != 0) continue;
      const struct proto_value *list = proto_get(value->message, "list");
      const struct proto_value *shape = list ? proto_get(list->message, "shape") : NULL;
      if (shape) return graphdef_read_shape(&load->source, shape, out);
    }
  }
  return NULL;
}

/* Arguments of a function are placeholders of its body. */
static situ_status add_args(struct loading *load) {
  const struct proto_value *arg = NULL;
  while ((arg = proto_next(signature_of(load->function), "input_arg", arg))) {
    struct item *item = &load->items[load->count];
    const struct proto_value *type = proto_get(arg->message, "type");
    const char *name = proto_text(arg->message, "name");
    situ_shape shape;
    int32_t found = -1;
    if (!type || !names_legal(name))
      return proto_wrong(&load->source, arg->offset, "an argument needs a name and a type");
    TRY(arg_shape(load, load->count, &shape));
    if (!map_find_or_put(&load->names, name, load->count, &found)) return NO_MEMORY();
    if (found >= 0)
      return proto_wrong(&load->source, arg->offset, "Duplicate argument name: '%s'", name);
    const situ_value value = situ_placeholder(load->graph, name, (situ_type)type->integer, shape);
    TRY(proto_locate(&load->source, arg->offset, situ_graph_take_error(load->graph)));
    *item = (struct item){.name = name, .id = value.node, .state = DONE};
    load->count++;
  }
  return NULL;
}

/* The value that a function returns under a name. */
static situ_status find_return(const struct loading *load, const struct proto_value *arg,
                               situ_value *out) {
  const struct proto_value *ret = NULL;
  const char *name = proto_text(arg->message, "name");
  while ((ret = proto_next(load->function, "ret", ret)))
    if (!strcmp(proto_text(ret->message, "key"), name)) break;
  const struct proto_value *value = ret ? proto_get(ret->message, "value") : NULL;
  if (!value) return proto_wrong(&load->source, arg->offset, "'%s' is not returned", name);
  struct link link = {0};
  TRY(read_function_link(load, name, value, &link));
  const struct node *from = load->graph->nodes[load->items[link.item].id];
  *out = (situ_value){load->graph, from->id, find_output(from, &link)};
  if (out->output < from->n_outputs) return NULL;
  return proto_wrong(&load->source, value->offset, "there is no output '%s'", value->bytes.data);
}

/* Reads the body and gives the function to the graph of the caller. */
static situ_status load_body(struct loading *load, const char *name) {
  const int64_t n_in = count_args(load->function, "input_arg");
  const int64_t n_out = count_args(load->function, "output_arg");
  if (n_in > INT32_MAX / 2 || n_out > INT32_MAX / 2) return INVALID("Too many arguments.");
  TRY(read_items(load, load->function, "node_def", n_in));
  TRY(add_items(load));
  situ_value *values = ARENA_ARRAY(load->source.arena, situ_value, n_in + n_out + 1);
  if (!values) return NO_MEMORY();
  for (int64_t i = 0; i < n_in; i++) values[i] = (situ_value){load->graph, load->items[i].id, 0};
  const struct proto_value *arg = NULL;
  for (situ_value *out = values + n_in;
       (arg = proto_next(signature_of(load->function), "output_arg", arg)); out++)
    TRY(find_return(load, arg, out));
  situ_function_add(load->outer->graph, name, load->graph, values, (int)n_in, values + n_in,
                    (int)n_out);
  return situ_graph_take_error(load->outer->graph);
}

static situ_status load_function(struct loading *outer, const struct proto_value *def,
                                 const char *name) {
  struct loading load = {.source = outer->source,
                         .library = outer->library,
                         .function = def->message,
                         .outer = outer,
                         .graph = situ_graph_create(),
                         .budget = outer->budget};
  const situ_status status = load.graph ? load_body(&load, name) : NO_MEMORY();
  outer->budget = load.budget;
  map_free(&load.names);
  situ_graph_release(load.graph);
  return status;
}

/* A function must not call itself; nor may a small text ask for bodies without end. */
static situ_status check_calls(struct loading *load, const struct proto_value *call,
                               const struct proto_value *def) {
  int depth = 0;
  for (const struct loading *at = load; at; at = at->outer, depth++)
    if (at->function == def->message)
      return proto_wrong(&load->source, call->offset, "a function calls itself");
  if (depth <= MOST_DEPTH && load->budget.bodies++ < MOST_BODIES) return NULL;
  return proto_wrong(&load->source, call->offset, "functions call each other too often");
}

/* Reads a function of the library into the graph that calls it, once. */
static situ_status need_function(struct loading *load, const struct proto_value *call) {
  const char *name = proto_text(call->message, "name");
  const struct proto_value *def = NULL;
  if (graph_function(load->graph, name)) return NULL;
  while (load->library && (def = proto_next(load->library, "function", def)))
    if (signature_of(def->message) && !strcmp(proto_text(signature_of(def->message), "name"), name))
      break;
  if (!def)
    return proto_wrong(&load->source, call->offset, "the library has no function '%s'", name);
  TRY(check_calls(load, call, def));
  return load_function(load, def, name);
}

situ_status situ_graph_load(const char *text, size_t length, situ_graph **out) {
  if (!out) return INVALID("situ_graph_load: out is NULL.");
  *out = NULL;
  if (!text && length) return INVALID("situ_graph_load: text is NULL.");
  struct loading load = {.graph = situ_graph_create(), .budget = {FREE_BYTES, 0}};
  struct arena arena = {0};
  load.source =
      (struct proto_source){text ? text : "", length, &arena, text && protobinary_is(text, length)};
  situ_status status = load.graph ? load_graph(&load) : NO_MEMORY();
  map_free(&load.names);
  arena_free(&arena);
  if (!status)
    *out = load.graph;
  else
    situ_graph_release(load.graph);
  return status;
}
