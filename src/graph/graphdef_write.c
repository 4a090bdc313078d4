/* SPDX-License-Identifier: Apache-2.0
 * graphdef_write.c: writes a graph as a GraphDef in text or JSON format, node by node. */
#include <stdio.h>
#include <string.h>

#include "graph/attrs.h"
#include "graph/graphdef.h"
#include "schema/function.h"

enum { PRODUCER = 134 }; /* the version of GraphDef that TensorFlow 1.15 writes */

static struct proto_value *add(situ_message *to, const char *field) {
  return proto_add(to, situ_message_type_field(to->type, field));
}

situ_message *graphdef_add_message(situ_message *to, const char *field) {
  const struct proto_value *value = add(to, field);
  return value ? value->message : NULL;
}

bool graphdef_add_bytes(situ_message *to, const char *field, const char *data, size_t length) {
  struct proto_value *value = add(to, field);
  if (value) value->bytes = proto_copy_bytes(to, data, length);
  return value && value->bytes;
}

bool graphdef_add_integer(situ_message *to, const char *field, int64_t number) {
  struct proto_value *value = add(to, field);
  if (value) value->integer = number;
  return value;
}

bool graphdef_add_real(situ_message *to, const char *field, double number) {
  struct proto_value *value = add(to, field);
  if (value) value->real = number;
  return value;
}

static bool add_string(situ_message *to, const char *field, const char *text) {
  return text && graphdef_add_bytes(to, field, text, strlen(text));
}

/* ---- Attributes ---- */

static bool add_ints(const struct attr_value *value, situ_message *out) {
  situ_message *list = graphdef_add_message(out, "list");
  bool ok = list;
  for (int64_t i = 0; ok && i < value->list.count; i++)
    ok = graphdef_add_integer(list, "i", value->list.items[i]);
  return ok;
}

static bool add_reals(const struct attr_value *value, situ_message *out) {
  situ_message *list = graphdef_add_message(out, "list");
  bool ok = list;
  for (int64_t i = 0; ok && i < value->reals.count; i++)
    ok = graphdef_add_real(list, "f", value->reals.items[i]);
  return ok;
}

static bool add_types(const struct attr_value *value, situ_message *out) {
  situ_message *list = graphdef_add_message(out, "list");
  bool ok = list;
  for (int64_t i = 0; ok && i < value->list.count; i++)
    ok = graphdef_add_integer(list, "type", value->list.items[i]);
  return ok;
}

static bool add_shapes(const struct attr_value *value, situ_message *out) {
  situ_message *list = graphdef_add_message(out, "list");
  bool ok = list;
  for (int64_t i = 0; ok && i < value->shapes.count; i++) {
    situ_message *shape = graphdef_add_message(list, "shape");
    ok = shape && graphdef_write_shape(&value->shapes.items[i], shape);
  }
  return ok;
}

static bool add_value(const struct attr_value *value, situ_message *out) {
  situ_message *part = NULL;
  switch (value->kind) {
    case SITU_ATTR_INT:
      return graphdef_add_integer(out, "i", value->integer);
    case SITU_ATTR_BOOL:
      return graphdef_add_integer(out, "b", value->integer);
    case SITU_ATTR_TYPE:
      return graphdef_add_integer(out, "type", value->type);
    case SITU_ATTR_FLOAT:
      return graphdef_add_real(out, "f", value->real);
    case SITU_ATTR_STRING:
      return add_string(out, "s", value->text);
    case SITU_ATTR_SHAPE:
      part = graphdef_add_message(out, "shape");
      return part && graphdef_write_shape(value->shape, part);
    case SITU_ATTR_TENSOR:
      part = graphdef_add_message(out, "tensor");
      return part && graphdef_write_tensor(value->tensor, part);
    case SITU_ATTR_INTS:
      return add_ints(value, out);
    case SITU_ATTR_FLOATS:
      return add_reals(value, out);
    case SITU_ATTR_TYPES:
      return add_types(value, out);
    case SITU_ATTR_SHAPES:
      return add_shapes(value, out);
    case SITU_ATTR_FUNCTION:
      part = graphdef_add_message(out, "func");
      return part && add_string(part, "name", value->function->name);
    case SITU_ATTR_NONE:
      break;
  }
  return true;
}

static bool add_groups(const struct node *node, situ_message *out) {
  situ_message *list = graphdef_add_message(out, "list");
  bool ok = list;
  for (int32_t i = 0; ok && i < node->n_groups; i++)
    ok = add_string(list, "s", arena_format(&out->tree->arena, "loc:@%s", node->groups[i]));
  return ok;
}

static bool add_attrs(const struct node *node, situ_message *out) {
  struct attr_iterator iterator = {.node = node};
  bool ok = true;
  while (ok && attrs_next(&iterator)) {
    situ_message *entry = graphdef_add_message(out, "attr");
    ok = entry && add_string(entry, "key", iterator.name);
    situ_message *value = ok ? graphdef_add_message(entry, "value") : NULL;
    if (iterator.index == ATTRS_CLASS)
      ok = value && add_groups(node, value);
    else
      ok = value && add_value(&node->attrs[iterator.index], value);
  }
  return ok;
}

/* ---- Nodes ---- */

static bool add_inputs(const struct situ_graph *graph, const struct node *node, situ_message *out) {
  bool ok = true;
  for (int32_t i = 0; ok && i < node->n_inputs; i++) {
    const struct edge edge = node->inputs[i];
    const char *name = graph->nodes[edge.node]->name;
    if (edge.output) name = arena_format(&out->tree->arena, "%s:%d", name, (int)edge.output);
    ok = add_string(out, "input", name);
  }
  for (int32_t i = 0; ok && i < node->n_controls; i++) {
    const char *name = graph->nodes[node->controls[i]]->name;
    ok = add_string(out, "input", arena_format(&out->tree->arena, "^%s", name));
  }
  return ok;
}

static bool add_node(const struct situ_graph *graph, const struct node *node, situ_message *out) {
  bool ok = out && add_string(out, "name", node->name) &&
            add_string(out, "op", node->schema->op->name) && add_inputs(graph, node, out);
  const char *device = graph->specs[node->spec].canonical;
  if (ok && *device) ok = add_string(out, "device", device);
  return ok && add_attrs(node, out);
}

static bool write_node(const struct situ_graph *graph, const struct node *node, bool as_json,
                       struct strbuf *out) {
  situ_message *def = situ_message_create(&proto_graph_def);
  situ_message *message = def ? graphdef_add_message(def, "node") : NULL;
  const bool ok = message && add_node(graph, node, message);
  if (ok && as_json) {
    strbuf_append(out, node->id ? ",\n" : "\n");
    json_format_write(out, message);
  } else if (ok) {
    text_write(out, def, 0);
  }
  situ_message_release(def);
  return ok && !out->failed;
}

situ_status situ_node_to_message(situ_value value, situ_message *out) {
  GRAPH_GUARD(value.graph);
  if (!value.graph || value.node < 0 || value.node >= value.graph->n_nodes || !out ||
      out->type != &proto_node_def)
    return INVALID("situ_node_to_message: the node is invalid, or the message is not a NodeDef.");
  return add_node(value.graph, value.graph->nodes[value.node], out) ? NULL : NO_MEMORY();
}

situ_status situ_graph_to_message(const situ_graph *live, situ_message *out) {
  if (!live || !out || out->type != &proto_graph_def)
    return INVALID("situ_graph_to_message: the graph is NULL, or the message is not a GraphDef.");
  const struct situ_graph *graph = NULL;
  TRY(graph_snapshot(live, &graph));
  bool ok = true;
  for (int32_t i = 0; ok && i < graph->n_nodes; i++)
    ok = add_node(graph, graph->nodes[i], graphdef_add_message(out, "node"));
  situ_message *versions = ok ? graphdef_add_message(out, "versions") : NULL;
  return versions && graphdef_add_integer(versions, "producer", PRODUCER) ? NULL : NO_MEMORY();
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
