/* SPDX-License-Identifier: Apache-2.0
 * graphdef.c: loads a graph and the functions that it calls from a GraphDef.
 *
 * A GraphDef has one function library; in situ each graph owns the functions that its own nodes
 * call, so a function is loaded into every graph that calls it. The nodes of a GraphDef may be in
 * any order: a depth-first search adds the inputs of a node before the node, which preserves the
 * order of a GraphDef that is already sorted. */
#include "graph/graphdef.h"

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/map.h"
#include "graph/names.h"
#include "graph/scope.h"
#include "graph/spec.h"

enum { NODE_BYTES = 1024 }; /* memory of a node, about */
enum { SHOWN_NODES = 20, MAX_BODIES = 10000, MAX_DEPTH = 50 };

enum state { NEW, OPEN, DONE };

/* An input of a NodeDef. */
struct link {
  int32_t item; /* the producer */
  int32_t output;
  const char *port; /* in functions: the output's name, with `output` the index in it; else NULL */
  size_t offset;
};

/* A NodeDef. */
struct item {
  const situ_message *def;
  size_t offset;
  const char *name;
  const struct schema *schema;
  struct link *links; /* inputs, then control inputs */
  int32_t n_inputs, n_controls;
  int32_t next; /* the next link to visit */
  int32_t id;   /* in the graph, once DONE */
  int32_t mark; /* the last item with this one as control input, + 1: removes duplicates */
  enum state state;
};

struct loader {
  struct proto_source source;
  const situ_message *library;  /* NULL: none */
  const situ_message *function; /* the FunctionDef being loaded; NULL: the graph */
  struct loader *outer;         /* of a function: its caller */
  struct situ_graph *graph;
  struct item *items;
  int32_t count;
  struct map names; /* from names to items */
  int32_t *stack;   /* items on the path of the search */
  int32_t depth;
  struct graphdef_budget budget;
};

/* ---- Nodes and their inputs ---- */

static situ_status add_args(struct loader *loader);
static situ_status load_called_function(struct loader *loader, const struct proto_value *call);

/* The value of a required string field. */
static situ_status require_string(const struct loader *loader, const struct item *item,
                                  const char *field, const char **out) {
  const struct proto_value *value = proto_get(item->def, field);
  if (!value || !value->bytes->length)
    return proto_error(&loader->source, item->offset, "a node has no '%s'", field);
  if (strlen(value->bytes->data) != value->bytes->length)
    return proto_error(&loader->source, value->offset, "'%s' contains a zero byte", field);
  *out = value->bytes->data;
  return NULL;
}

static situ_status read_item(struct loader *loader, struct item *item) {
  const char *op = NULL;
  int32_t found = -1;
  TRY(require_string(loader, item, "name", &item->name));
  TRY(require_string(loader, item, "op", &op));
  if (!names_legal(item->name))
    return proto_error(&loader->source, proto_get(item->def, "name")->offset,
                       "'%s' is not a valid node name", item->name);
  if (!map_find_or_put(&loader->names, item->name, loader->count, &found)) return NO_MEMORY();
  if (found >= 0)
    return proto_error(&loader->source, item->offset, "Duplicate node name in graph: '%s'",
                       item->name);
  item->schema = schema_find(op);
  if (item->schema) return NULL;
  return proto_add_location(&loader->source, proto_get(item->def, "op")->offset,
                            emit_unknown_op(op));
}

/* Reads the nodes of a field, after the `n_args` arguments of a function. */
static situ_status read_items(struct loader *loader, const situ_message *def, const char *field,
                              int64_t n_args) {
  const struct proto_value *node = NULL;
  int64_t count = n_args;
  while ((node = proto_next(def, field, node))) count++;
  if (count > INT32_MAX) return INVALID("A graph must not have more than 2^31 - 1 nodes.");
  loader->items = ARENA_ARRAY(loader->source.arena, struct item, count);
  loader->stack = ARENA_ARRAY(loader->source.arena, int32_t, count);
  if (!loader->items || !loader->stack) return NO_MEMORY();
  if (n_args) TRY(add_args(loader));
  while ((node = proto_next(def, field, node))) {
    struct item *item = &loader->items[loader->count];
    item->def = node->message;
    item->offset = node->offset;
    TRY(read_item(loader, item));
    loader->count++;
  }
  return NULL;
}

/* Parses an input inside a function: "arg", "node:port:index" or "^node". */
static situ_status read_function_link(const struct loader *loader, const char *user,
                                      const struct proto_value *input, struct link *out) {
  const char *text = input->bytes->data + (input->bytes->data[0] == '^');
  const char *port = strchr(text, ':'), *index = port ? strchr(port + 1, ':') : NULL;
  char *end = NULL;
  out->offset = input->offset;
  out->item = map_get(&loader->names, text, port ? (size_t)(port - text) : strlen(text));
  const long number = index ? strtol(index + 1, &end, 10) : 0;
  const bool is_valid = !port || (index && index[1] >= '0' && index[1] <= '9' && !*end);
  if (out->item < 0 || !is_valid || number > INT32_MAX)
    return proto_error(&loader->source, input->offset, "node '%s' has the unknown input '%s'", user,
                       input->bytes->data);
  out->output = (int32_t)number;
  if (!port) return NULL;
  out->port = arena_strndup(loader->source.arena, port + 1, (size_t)(index - port - 1));
  return out->port ? NULL : NO_MEMORY();
}

static situ_status read_link(const struct loader *loader, const struct item *item,
                             const struct proto_value *input, struct link *out) {
  if (loader->function) return read_function_link(loader, item->name, input, out);
  const char *text = input->bytes->data;
  const size_t length = input->bytes->length, control = text[0] == '^';
  const size_t name = graph_parse_tensor_name(text + control, length - control, &out->output);
  out->offset = input->offset;
  out->item = name && strlen(text) == length ? map_get(&loader->names, text + control, name) : -1;
  if (out->item >= 0 && (!control || name == length - control)) return NULL;
  return proto_error(&loader->source, input->offset, "node '%s' has the unknown input '%s'",
                     item->name, text);
}

static situ_status read_links(struct loader *loader, struct item *item) {
  const struct proto_value *input = NULL;
  int64_t count = 0;
  while ((input = proto_next(item->def, "input", input))) count++;
  if (count > INT32_MAX / 2) return INVALID("Node '%s' has too many inputs.", item->name);
  item->links = ARENA_ARRAY(loader->source.arena, struct link, count);
  if (!item->links) return NO_MEMORY();
  while ((input = proto_next(item->def, "input", input))) {
    const bool control = input->bytes->data[0] == '^';
    if (!control && item->n_controls)
      return proto_error(&loader->source, input->offset,
                         "node '%s' has the input '%s' after a control input", item->name,
                         input->bytes->data);
    TRY(read_link(loader, item, input, &item->links[item->n_inputs + item->n_controls]));
    item->n_inputs += !control;
    item->n_controls += control;
  }
  return NULL;
}

/* ---- Adding a node ---- */

static situ_status read_groups(struct loader *loader, const struct proto_value *from,
                               struct node *node) {
  const struct proto_value *list = proto_get(from->message, "list"), *s = NULL;
  int32_t count = 0;
  if (!list)
    return proto_error(&loader->source, from->offset, "'_class' must be a list of strings");
  while ((s = proto_next(list->message, "s", s))) count++;
  const char **groups = ARENA_ARRAY(&loader->graph->arena, const char *, count);
  if (!groups) return NO_MEMORY();
  node->groups = groups;
  while ((s = proto_next(list->message, "s", s))) {
    if (strncmp(s->bytes->data, "loc:@", 5)) continue; /* TensorFlow has no other kind */
    groups[node->n_groups] =
        arena_strndup(&loader->graph->arena, s->bytes->data + 5, strlen(s->bytes->data + 5));
    if (!groups[node->n_groups++]) return NO_MEMORY();
  }
  return NULL;
}

/* Ignores attributes that begin with '_', other than "_class". */
static situ_status read_attrs(struct loader *loader, const struct item *item, struct draft *draft) {
  const struct proto_value *entry = NULL;
  while ((entry = proto_next(item->def, "attr", entry))) {
    const char *key = proto_string(entry->message, "key");
    const struct proto_value *value = proto_get(entry->message, "value");
    if (!*key || !value)
      return proto_error(&loader->source, entry->offset, "an attribute needs a key and a value");
    if (!strcmp(key, "_class")) TRY(read_groups(loader, value, draft->node));
    if (key[0] == '_') continue;
    const struct proto_value *call = proto_get(value->message, "func");
    if (call && schema_attr(item->schema, key) >= 0) TRY(load_called_function(loader, call));
    TRY(graphdef_read_attr(&loader->source, key, value, &loader->budget, loader->graph, draft));
  }
  return NULL;
}

static situ_status read_device(struct loader *loader, const struct item *item, struct node *node) {
  const struct proto_value *device = proto_get(item->def, "device");
  if (!device) return NULL;
  if (strlen(device->bytes->data) != device->bytes->length)
    return proto_error(&loader->source, device->offset, "'device' contains a zero byte");
  return proto_add_location(&loader->source, device->offset,
                            spec_parse(loader->graph, device->bytes->data, 0, &node->spec));
}

/* The flat index of the output that a link refers to. */
static int32_t find_output(const struct node *from, const struct link *link) {
  for (int32_t i = 0; link->port && i < from->n_outputs; i++) {
    int within = 0;
    const situ_op_port *port = schema_output_port(from->schema, from->attrs, i, &within);
    if (within == link->output && !strcmp(port->name, link->port)) return i;
  }
  return link->port ? from->n_outputs : link->output;
}

static situ_status set_inputs(const struct loader *loader, const struct item *item,
                              const struct draft *draft) {
  for (int32_t i = 0; i < item->n_inputs; i++) {
    const struct link *link = &item->links[i];
    const struct node *from = loader->graph->nodes[loader->items[link->item].id];
    const int32_t output = find_output(from, link);
    if (output >= from->n_outputs)
      return proto_error(&loader->source, link->offset,
                         "node '%s' has the input '%s:%d', but that node has %d outputs",
                         item->name, from->name, (int)link->output, (int)from->n_outputs);
    draft->inputs[i] = (struct edge){from->id, output};
  }
  return NULL;
}

/* Sets the control inputs without duplicates. */
static bool set_controls(struct loader *loader, const struct item *item, struct node *node) {
  const int32_t mark = (int32_t)(item - loader->items) + 1;
  int32_t *controls = ARENA_ARRAY(&loader->graph->arena, int32_t, item->n_controls);
  if (!controls) return false;
  for (int32_t i = 0; i < item->n_controls; i++) {
    struct item *from = &loader->items[item->links[item->n_inputs + i].item];
    if (from->mark == mark) continue;
    from->mark = mark;
    controls[node->n_controls++] = from->id;
  }
  node->controls = controls;
  return true;
}

static situ_status add_item(struct loader *loader, struct item *item) {
  struct situ_graph *graph = loader->graph;
  struct draft draft;
  if (!emit_begin(graph, item->schema, item->n_inputs, &draft)) return NO_MEMORY();
  struct node *node = draft.node;
  node->name = arena_strndup(&graph->arena, item->name, strlen(item->name));
  if (!node->name) return NO_MEMORY();
  TRY(set_inputs(loader, item, &draft));
  if (item->n_controls && !set_controls(loader, item, node)) return NO_MEMORY();
  TRY(read_device(loader, item, node));
  TRY(read_attrs(loader, item, &draft));
  TRY(proto_add_location(&loader->source, item->offset, emit_finish(graph, &draft)));
  item->id = node->id;
  return names_add(&graph->scopes->names, &graph->arena, node->name, node->id) ? NULL : NO_MEMORY();
}

/* ---- Depth-first search ---- */

/* The error for a cycle: the items on the stack from `item` on. */
static situ_status cycle_error(const struct loader *loader, int32_t item) {
  struct strbuf names = {0};
  int shown = 0;
  strbuf_appendf(&names, "'%s'", loader->items[item].name);
  for (int32_t at = loader->depth - 1; at >= 0 && loader->stack[at] != item; at--) {
    if (shown++ < SHOWN_NODES)
      strbuf_appendf(&names, " -> '%s'", loader->items[loader->stack[at]].name);
  }
  if (shown > SHOWN_NODES) strbuf_appendf(&names, " -> ... (%d more)", shown - SHOWN_NODES);
  strbuf_appendf(&names, " -> '%s'", loader->items[item].name);
  const situ_status status = proto_error(&loader->source, loader->items[item].offset,
                                         "the graph has a cycle: %s", strbuf_get(&names));
  strbuf_free(&names);
  return status;
}

static situ_status open_item(struct loader *loader, int32_t number) {
  struct item *item = &loader->items[number];
  if (item->state == DONE) return NULL;
  if (item->state == OPEN) return cycle_error(loader, number);
  item->state = OPEN;
  loader->stack[loader->depth++] = number;
  return NULL;
}

/* Adds an item after all items that it depends on. */
static situ_status add_with_inputs(struct loader *loader, int32_t number) {
  TRY(open_item(loader, number));
  while (loader->depth) {
    struct item *item = &loader->items[loader->stack[loader->depth - 1]];
    if (item->next < item->n_inputs + item->n_controls) {
      TRY(open_item(loader, item->links[item->next++].item));
      continue;
    }
    TRY(add_item(loader, item));
    item->state = DONE;
    loader->depth--;
  }
  return NULL;
}

/* Text has no control characters except white space. In binary format each node contains the tag
 * 0x12 of its op, and a message without nodes begins with another tag or has a small length. */
static bool is_binary(const char *data, size_t length) {
  if (!length || !strchr("\n\x12\x18\x22\x2a", data[0]) || !data[0]) return false;
  for (size_t i = 0; i < length; i++) {
    const unsigned char c = (unsigned char)data[i];
    if (c < ' ' && !(c >= '\t' && c <= '\r')) return true;
  }
  return false;
}

/* Detects the format (binary, JSON or text) and parses it. */
static situ_status read_def(const struct proto_source *source, situ_message *out) {
  if (source->is_binary) return binary_read(source, out);
  size_t start = 0;
  while (start < source->length && strchr(" \t\r\n", source->text[start]) && source->text[start])
    start++;
  const bool is_json = start < source->length && source->text[start] == '{';
  return is_json ? json_format_read(source, out) : text_read(source, out);
}

static situ_status add_items(struct loader *loader) {
  for (int32_t i = 0; i < loader->count; i++)
    if (loader->items[i].state != DONE) TRY(read_links(loader, &loader->items[i]));
  for (int32_t i = 0; i < loader->count; i++) TRY(add_with_inputs(loader, i));
  return NULL;
}

static situ_status load_graph(struct loader *loader, situ_message *def) {
  TRY(read_def(&loader->source, def));
  const struct proto_value *library = proto_get(def, "library");
  loader->library = library ? library->message : NULL;
  if (library) {
    TRY(graphdef_reject(&loader->source, library->message, "gradient"));
    TRY(graphdef_reject(&loader->source, library->message, "registered_gradients"));
  }
  TRY(read_items(loader, def, "node", 0));
  return add_items(loader);
}

/* ---- Functions ---- */

static const situ_message *signature_of(const situ_message *function) {
  const struct proto_value *signature = proto_get(function, "signature");
  return signature ? signature->message : NULL;
}

static int64_t count_args(const situ_message *function, const char *field) {
  const struct proto_value *arg = NULL;
  int64_t count = 0;
  while ((arg = proto_next(signature_of(function), field, arg))) count++;
  return count;
}

/* The shape of argument `index` from its attribute _output_shapes; unknown without it. */
static situ_status arg_shape(const struct loader *loader, int64_t index, situ_shape *out) {
  const struct proto_value *arg = NULL, *attr = NULL;
  *out = SITU_ANY_SHAPE;
  while ((arg = proto_next(loader->function, "arg_attr", arg))) {
    const struct proto_value *key = proto_get(arg->message, "key");
    const struct proto_value *attrs = proto_get(arg->message, "value");
    if ((key ? key->integer : 0) != index || !attrs) continue;
    while ((attr = proto_next(attrs->message, "attr", attr))) {
      const struct proto_value *value = proto_get(attr->message, "value");
      if (!value || strcmp(proto_string(attr->message, "key"), "_output_shapes") != 0) continue;
      const struct proto_value *list = proto_get(value->message, "list");
      const struct proto_value *shape = list ? proto_get(list->message, "shape") : NULL;
      if (shape) return graphdef_read_shape(&loader->source, shape, out);
    }
  }
  return NULL;
}

/* Adds the arguments of a function as placeholders of its body. */
static situ_status add_args(struct loader *loader) {
  const struct proto_value *arg = NULL;
  while ((arg = proto_next(signature_of(loader->function), "input_arg", arg))) {
    struct item *item = &loader->items[loader->count];
    const struct proto_value *type = proto_get(arg->message, "type");
    const char *name = proto_string(arg->message, "name");
    situ_shape shape;
    int32_t found = -1;
    if (!type || !names_legal(name))
      return proto_error(&loader->source, arg->offset, "an argument needs a name and a type");
    TRY(graphdef_check_type(&loader->source, type));
    TRY(arg_shape(loader, loader->count, &shape));
    if (!map_find_or_put(&loader->names, name, loader->count, &found)) return NO_MEMORY();
    if (found >= 0)
      return proto_error(&loader->source, arg->offset, "Duplicate argument name: '%s'", name);
    const situ_value value = situ_placeholder(loader->graph, name, (situ_type)type->integer, shape);
    TRY(proto_add_location(&loader->source, arg->offset, situ_graph_take_error(loader->graph)));
    *item = (struct item){.name = name, .id = value.node, .state = DONE};
    loader->count++;
  }
  return NULL;
}

/* Finds the value that a function returns as an output. */
static situ_status find_return(const struct loader *loader, const struct proto_value *arg,
                               situ_value *out) {
  const struct proto_value *ret = NULL;
  const char *name = proto_string(arg->message, "name");
  while ((ret = proto_next(loader->function, "ret", ret)))
    if (!strcmp(proto_string(ret->message, "key"), name)) break;
  const struct proto_value *value = ret ? proto_get(ret->message, "value") : NULL;
  if (!value) return proto_error(&loader->source, arg->offset, "'%s' is not returned", name);
  struct link link = {0};
  TRY(read_function_link(loader, name, value, &link));
  const struct node *from = loader->graph->nodes[loader->items[link.item].id];
  *out = (situ_value){loader->graph, from->id, find_output(from, &link)};
  if (out->output < from->n_outputs) return NULL;
  return proto_error(&loader->source, value->offset, "unknown output '%s'", value->bytes->data);
}

/* Rejects polymorphic functions. */
static situ_status check_signature(const struct loader *loader) {
  static const char *const lists[] = {"input_arg", "output_arg"};
  static const char *const fields[] = {"type_attr", "number_attr", "type_list_attr", "is_ref"};
  const situ_message *signature = signature_of(loader->function);
  TRY(graphdef_reject(&loader->source, signature, "attr"));
  for (size_t i = 0; i < COUNT_OF(lists); i++) {
    const struct proto_value *arg = NULL;
    while ((arg = proto_next(signature, lists[i], arg)))
      for (size_t k = 0; k < COUNT_OF(fields); k++)
        TRY(graphdef_reject(&loader->source, arg->message, fields[k]));
  }
  return NULL;
}

/* Counts the nodes of a body, which is read once per caller. */
static situ_status spend_nodes(struct loader *loader) {
  const uint64_t bytes = (uint64_t)loader->count * NODE_BYTES;
  if (bytes > loader->budget.bytes)
    return situ_status_create(SITU_RESOURCE_EXHAUSTED,
                              "Calls of functions expand a GraphDef to too many nodes for its "
                              "size. SITU_EXPANSION_LIMIT raises the limit.");
  loader->budget.bytes -= bytes;
  return NULL;
}

/* Loads the body and adds the function to the graph of the caller. */
static situ_status load_body(struct loader *loader, const char *name) {
  TRY(check_signature(loader));
  const int64_t n_in = count_args(loader->function, "input_arg");
  const int64_t n_out = count_args(loader->function, "output_arg");
  if (n_in > INT32_MAX / 2 || n_out > INT32_MAX / 2) return INVALID("Too many arguments.");
  TRY(read_items(loader, loader->function, "node_def", n_in));
  TRY(spend_nodes(loader));
  TRY(add_items(loader));
  situ_value *values = ARENA_ARRAY(loader->source.arena, situ_value, n_in + n_out + 1);
  if (!values) return NO_MEMORY();
  for (int64_t i = 0; i < n_in; i++)
    values[i] = (situ_value){loader->graph, loader->items[i].id, 0};
  const struct proto_value *arg = NULL;
  for (situ_value *out = values + n_in;
       (arg = proto_next(signature_of(loader->function), "output_arg", arg)); out++)
    TRY(find_return(loader, arg, out));
  situ_function_add(loader->outer->graph, name, loader->graph, values, (int)n_in, values + n_in,
                    (int)n_out);
  return situ_graph_take_error(loader->outer->graph);
}

static situ_status load_function(struct loader *outer, const struct proto_value *def,
                                 const char *name) {
  struct loader loader = {.source = outer->source,
                          .library = outer->library,
                          .function = def->message,
                          .outer = outer,
                          .graph = situ_graph_create(),
                          .budget = outer->budget};
  const situ_status status = loader.graph ? load_body(&loader, name) : NO_MEMORY();
  outer->budget = loader.budget;
  map_free(&loader.names);
  situ_graph_release(loader.graph);
  return status;
}

/* Rejects recursion, and small GraphDefs that expand to very many function bodies. */
static situ_status check_calls(struct loader *loader, const struct proto_value *call,
                               const struct proto_value *def) {
  int depth = 0;
  for (const struct loader *at = loader; at; at = at->outer, depth++)
    if (at->function == def->message)
      return proto_error(&loader->source, call->offset, "a function calls itself");
  if (depth <= MAX_DEPTH && loader->budget.bodies++ < MAX_BODIES) return NULL;
  return proto_error(&loader->source, call->offset,
                     "function calls are nested too deeply, or there are too many");
}

/* Loads a function of the library into the graph that calls it, unless it is already there. */
static situ_status load_called_function(struct loader *loader, const struct proto_value *call) {
  const char *name = proto_string(call->message, "name");
  const struct proto_value *def = NULL;
  if (graph_function(loader->graph, name)) return NULL;
  while (loader->library && (def = proto_next(loader->library, "function", def)))
    if (signature_of(def->message) &&
        !strcmp(proto_string(signature_of(def->message), "name"), name))
      break;
  if (!def)
    return proto_error(&loader->source, call->offset, "the library has no function '%s'", name);
  TRY(check_calls(loader, call, def));
  return load_function(loader, def, name);
}

situ_status situ_graph_load(const char *text, size_t length, situ_graph **out) {
  if (!out) return INVALID("situ_graph_load: out is NULL.");
  *out = NULL;
  if (!text && length) return INVALID("situ_graph_load: text is NULL.");
  if (length > PROTO_MAX_SIZE) return INVALID("A GraphDef must not have more than 2 GiB.");
  struct loader loader = {.graph = situ_graph_create(), .budget = {limits_expansion(length), 0}};
  situ_message *def = situ_message_create(&proto_graph_def);
  situ_status status = loader.graph && def ? NULL : NO_MEMORY();
  if (!status) {
    loader.source = (struct proto_source){.text = text ? text : "",
                                          .length = length,
                                          .name = "GraphDef",
                                          .arena = &def->tree->arena,
                                          .is_binary = text && is_binary(text, length)};
    status = load_graph(&loader, def);
  }
  map_free(&loader.names);
  situ_message_release(def);
  if (!status)
    *out = loader.graph;
  else
    situ_graph_release(loader.graph);
  return status;
}
