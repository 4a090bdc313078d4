/* SPDX-License-Identifier: Apache-2.0
 * graphdef_write.c: writes a graph as a GraphDef in text or JSON format, node by node. */
#include <stdio.h>
#include <string.h>

#include "graph/attrs.h"
#include "graph/graphdef.h"
#include "schema/function.h"

enum { PRODUCER = 134 }; /* the version of GraphDef that TensorFlow 1.15 writes */

static struct proto_value *add(struct arena *arena, struct proto_message *to, const char *field) {
  return proto_add(arena, to, proto_field(to->type, field, strlen(field)));
}

struct proto_message *graphdef_add_message(struct arena *arena, struct proto_message *to,
                                           const char *field) {
  struct proto_value *value = add(arena, to, field);
  if (value) value->message = proto_create(arena, value->field->message);
  return value ? value->message : NULL;
}

bool graphdef_add_bytes(struct arena *arena, struct proto_message *to, const char *field,
                        const char *data, size_t length) {
  struct proto_value *value = add(arena, to, field);
  if (!value) return false;
  value->bytes.data = data;
  value->bytes.length = length;
  return true;
}

bool graphdef_add_integer(struct arena *arena, struct proto_message *to, const char *field,
                          int64_t number) {
  struct proto_value *value = add(arena, to, field);
  if (value) value->integer = number;
  return value;
}

bool graphdef_add_real(struct arena *arena, struct proto_message *to, const char *field,
                       double number) {
  struct proto_value *value = add(arena, to, field);
  if (value) value->real = number;
  return value;
}

static bool add_string(struct arena *arena, struct proto_message *to, const char *field,
                       const char *text) {
  return text && graphdef_add_bytes(arena, to, field, text, strlen(text));
}

/* ---- Attributes ---- */

static bool add_ints(struct arena *arena, const struct attr_value *value,
                     struct proto_message *out) {
  struct proto_message *list = graphdef_add_message(arena, out, "list");
  bool ok = list;
  for (int64_t i = 0; ok && i < value->list.count; i++)
    ok = graphdef_add_integer(arena, list, "i", value->list.items[i]);
  return ok;
}

static bool add_reals(struct arena *arena, const struct attr_value *value,
                      struct proto_message *out) {
  struct proto_message *list = graphdef_add_message(arena, out, "list");
  bool ok = list;
  for (int64_t i = 0; ok && i < value->reals.count; i++)
    ok = graphdef_add_real(arena, list, "f", value->reals.items[i]);
  return ok;
}

static bool add_types(struct arena *arena, const struct attr_value *value,
                      struct proto_message *out) {
  struct proto_message *list = graphdef_add_message(arena, out, "list");
  bool ok = list;
  for (int64_t i = 0; ok && i < value->list.count; i++)
    ok = graphdef_add_integer(arena, list, "type", value->list.items[i]);
  return ok;
}

static bool add_shapes(struct arena *arena, const struct attr_value *value,
                       struct proto_message *out) {
  struct proto_message *list = graphdef_add_message(arena, out, "list");
  bool ok = list;
  for (int64_t i = 0; ok && i < value->shapes.count; i++) {
    struct proto_message *shape = graphdef_add_message(arena, list, "shape");
    ok = shape && graphdef_write_shape(arena, &value->shapes.items[i], shape);
  }
  return ok;
}

static bool add_value(struct arena *arena, const struct attr_value *value,
                      struct proto_message *out) {
  struct proto_message *part = NULL;
  switch (value->kind) {
    case SITU_ATTR_INT:
      return graphdef_add_integer(arena, out, "i", value->integer);
    case SITU_ATTR_BOOL:
      return graphdef_add_integer(arena, out, "b", value->integer);
    case SITU_ATTR_TYPE:
      return graphdef_add_integer(arena, out, "type", value->type);
    case SITU_ATTR_FLOAT:
      return graphdef_add_real(arena, out, "f", value->real);
    case SITU_ATTR_STRING:
      return add_string(arena, out, "s", value->text);
    case SITU_ATTR_SHAPE:
      part = graphdef_add_message(arena, out, "shape");
      return part && graphdef_write_shape(arena, value->shape, part);
    case SITU_ATTR_TENSOR:
      part = graphdef_add_message(arena, out, "tensor");
      return part && graphdef_write_tensor(arena, value->tensor, part);
    case SITU_ATTR_INTS:
      return add_ints(arena, value, out);
    case SITU_ATTR_FLOATS:
      return add_reals(arena, value, out);
    case SITU_ATTR_TYPES:
      return add_types(arena, value, out);
    case SITU_ATTR_SHAPES:
      return add_shapes(arena, value, out);
    case SITU_ATTR_FUNCTION:
      part = graphdef_add_message(arena, out, "func");
      return part && add_string(arena, part, "name", value->function->name);
    case SITU_ATTR_NONE:
      break;
  }
  return true;
}

static bool add_groups(struct arena *arena, const struct node *node, struct proto_message *out) {
  struct proto_message *list = graphdef_add_message(arena, out, "list");
  bool ok = list;
  for (int32_t i = 0; ok && i < node->n_groups; i++)
    ok = add_string(arena, list, "s", arena_format(arena, "loc:@%s", node->groups[i]));
  return ok;
}

static bool add_attrs(struct arena *arena, const struct node *node, struct proto_message *out) {
  struct attr_iterator iterator = {.node = node};
  bool ok = true;
  while (ok && attrs_next(&iterator)) {
    struct proto_message *entry = graphdef_add_message(arena, out, "attr");
    ok = entry && add_string(arena, entry, "key", iterator.name);
    struct proto_message *value = ok ? graphdef_add_message(arena, entry, "value") : NULL;
    if (iterator.index == ATTRS_CLASS)
      ok = value && add_groups(arena, node, value);
    else
      ok = value && add_value(arena, &node->attrs[iterator.index], value);
  }
  return ok;
}

/* ---- Nodes ---- */

static bool add_inputs(struct arena *arena, const struct situ_graph *graph, const struct node *node,
                       struct proto_message *out) {
  bool ok = true;
  for (int32_t i = 0; ok && i < node->n_inputs; i++) {
    const struct edge edge = node->inputs[i];
    const char *name = graph->nodes[edge.node]->name;
    if (edge.output) name = arena_format(arena, "%s:%d", name, (int)edge.output);
    ok = add_string(arena, out, "input", name);
  }
  for (int32_t i = 0; ok && i < node->n_controls; i++) {
    const char *name = graph->nodes[node->controls[i]]->name;
    ok = add_string(arena, out, "input", arena_format(arena, "^%s", name));
  }
  return ok;
}

/* A GraphDef with one node. */
static struct proto_message *make_node(struct arena *arena, const struct situ_graph *graph,
                                       const struct node *node) {
  struct proto_message *def = proto_create(arena, &proto_graph);
  struct proto_message *out = def ? graphdef_add_message(arena, def, "node") : NULL;
  bool ok = out && add_string(arena, out, "name", node->name) &&
            add_string(arena, out, "op", node->schema->op->name) &&
            add_inputs(arena, graph, node, out);
  const char *device = graph->specs[node->spec].canonical;
  if (ok && *device) ok = add_string(arena, out, "device", device);
  return ok && add_attrs(arena, node, out) ? def : NULL;
}

static bool write_node(const struct situ_graph *graph, const struct node *node, bool as_json,
                       struct strbuf *out) {
  struct arena arena = {0};
  const struct proto_message *def = make_node(&arena, graph, node);
  if (def && as_json) {
    strbuf_append(out, node->id ? ",\n" : "\n");
    protojson_write(out, def->first->message);
  } else if (def) {
    prototext_write(out, def, 0);
  }
  arena_free(&arena);
  return def && !out->failed;
}

static situ_status write_buffer(const struct strbuf *buffer, FILE *stream) {
  const char *data = strbuf_get(buffer);
  if (buffer->failed) return NO_MEMORY();
  if (fwrite(data, 1, buffer->length, stream) == buffer->length) return NULL;
  return situ_status_create(SITU_UNKNOWN, "situ_graph_save: cannot write to the stream.");
}

situ_status situ_node_save(situ_value value, bool as_json, FILE *stream) {
  GRAPH_GUARD(value.graph);
  if (!value.graph || !stream || value.node < 0 || value.node >= value.graph->n_nodes)
    return INVALID("situ_node_save: the node is invalid, or the stream is NULL.");
  struct strbuf buffer = {0};
  const struct node *node = value.graph->nodes[value.node];
  situ_status status = write_node(value.graph, node, as_json, &buffer) ? NULL : NO_MEMORY();
  const size_t skip = as_json && !status ? (node->id ? 2 : 1) : 0; /* the separator */
  if (!status &&
      fwrite(buffer.data + skip, 1, buffer.length - skip, stream) != buffer.length - skip)
    status = situ_status_create(SITU_UNKNOWN, "situ_node_save: cannot write to the stream.");
  strbuf_free(&buffer);
  return status;
}

situ_status situ_graph_save(const situ_graph *live, bool as_json, FILE *stream) {
  if (!live || !stream) return INVALID("situ_graph_save: %s is NULL.", live ? "stream" : "graph");
  const struct situ_graph *graph = NULL;
  TRY(graph_snapshot(live, &graph));
  struct strbuf buffer = {0};
  situ_status status = NULL;
  strbuf_append(&buffer, as_json ? "{\"node\":[" : "");
  for (int32_t i = 0; !status && i < graph->n_nodes; i++) {
    if (!write_node(graph, graph->nodes[i], as_json, &buffer)) status = NO_MEMORY();
    if (!status) status = write_buffer(&buffer, stream);
    buffer.length = 0;
  }
  if (as_json)
    strbuf_appendf(&buffer, "\n],\"versions\":{\"producer\":%d}}\n", PRODUCER);
  else
    strbuf_appendf(&buffer, "versions {\n  producer: %d\n}\n", PRODUCER);
  if (!status) status = write_buffer(&buffer, stream);
  strbuf_free(&buffer);
  return status;
}
