/* SPDX-License-Identifier: Apache-2.0
 * describe.c: formats a node on one line, as TensorFlow does in errors. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "graph/attrs.h"
#include "graph/graph.h"
#include "proto/message.h"
#include "schema/function.h"
#include "tensor/number.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"
#include "tensor/type.h"

enum { SHOWN_VALUES = 3 };

static void add_escaped(struct strbuf *out, const char *text) {
  text_escape(out, text, strlen(text), false);
}

static void add_string(struct strbuf *out, situ_string text) {
  text_escape(out, text.data, text.length, false);
}

static void add_complex(struct strbuf *out, situ_type part, const void *data, int64_t index) {
  strbuf_append(out, "(");
  number_write(out, part, number_at(part, data, 2 * index));
  strbuf_append(out, ",");
  number_write(out, part, number_at(part, data, 2 * index + 1));
  strbuf_append(out, ")");
}

static void add_element(struct strbuf *out, situ_type type, const void *data, int64_t index) {
  if (type == SITU_STRING)
    add_string(out, tensor_string_at(data, index));
  else if (type_is_real(type))
    number_write(out, type, number_at(type, data, index));
  else if (type_is_complex(type))
    add_complex(out, type_real(type), data, index);
  else
    number_write_integer(out, type, number_integer_at(type, data, index));
}

static void add_tensor(struct strbuf *out, const situ_tensor *tensor) {
  const situ_type type = situ_tensor_type(tensor);
  const situ_shape shape = situ_tensor_shape(tensor);
  const int64_t count = situ_shape_count(shape);
  char printed[SHAPE_STRING_SIZE];
  strbuf_appendf(out, "Tensor<type: %s shape: %s values: ", situ_type_name(type),
                 shape_print(&shape, printed));
  for (int64_t i = 0; i < count && i < SHOWN_VALUES; i++) {
    if (i) strbuf_append(out, " ");
    add_element(out, type, situ_tensor_data(tensor), i);
  }
  strbuf_append(out, count > SHOWN_VALUES ? "...>" : ">");
}

static void add_value(struct strbuf *out, const struct attr_value *value) {
  char printed[SHAPE_STRING_SIZE];
  switch (value->kind) {
    case SITU_ATTR_INT:
      strbuf_appendf(out, "%" PRId64, value->integer);
      break;
    case SITU_ATTR_BOOL:
      strbuf_append(out, value->integer ? "true" : "false");
      break;
    case SITU_ATTR_FLOAT:
      number_write(out, SITU_DOUBLE, value->real);
      break;
    case SITU_ATTR_TYPE:
      strbuf_append(out, attrs_type_name(value->type));
      break;
    case SITU_ATTR_SHAPE:
      strbuf_append(out, shape_print(value->shape, printed));
      break;
    case SITU_ATTR_STRING:
      strbuf_append(out, "\"");
      add_escaped(out, value->text);
      strbuf_append(out, "\"");
      break;
    case SITU_ATTR_TENSOR:
      add_tensor(out, value->tensor);
      break;
    case SITU_ATTR_INTS:
      strbuf_append(out, "[");
      for (int64_t i = 0; i < value->list.count; i++)
        strbuf_appendf(out, "%s%" PRId64, i ? ", " : "", value->list.items[i]);
      strbuf_append(out, "]");
      break;
    case SITU_ATTR_FLOATS:
      strbuf_append(out, "[");
      for (int64_t i = 0; i < value->reals.count; i++)
        strbuf_appendf(out, "%s%g", i ? ", " : "", value->reals.items[i]);
      strbuf_append(out, "]");
      break;
    case SITU_ATTR_TYPES:
      strbuf_append(out, "[");
      for (int64_t i = 0; i < value->list.count; i++)
        strbuf_appendf(out, "%s%s", i ? ", " : "",
                       attrs_type_name((situ_type)value->list.items[i]));
      strbuf_append(out, "]");
      break;
    case SITU_ATTR_SHAPES:
      strbuf_append(out, "[");
      for (int64_t i = 0; i < value->shapes.count; i++)
        strbuf_appendf(out, "%s%s", i ? ", " : "", shape_print(&value->shapes.items[i], printed));
      strbuf_append(out, "]");
      break;
    case SITU_ATTR_FUNCTION:
      strbuf_appendf(out, "%s[]", value->function->name);
      break;
    case SITU_ATTR_NONE:
      break;
  }
}

static void add_groups(struct strbuf *out, const struct node *node) {
  strbuf_append(out, "_class=[");
  for (int32_t i = 0; i < node->n_groups; i++) {
    strbuf_appendf(out, "%s\"loc:@", i ? ", " : "");
    add_escaped(out, node->groups[i]);
    strbuf_append(out, "\"");
  }
  strbuf_append(out, "]");
}

static void add_attrs(struct strbuf *out, const struct situ_graph *graph, const struct node *node) {
  const char *comma = "";
  struct attr_iterator iterator = {.node = node};
  while (attrs_next(&iterator)) {
    strbuf_append(out, comma);
    comma = ", ";
    if (iterator.index == ATTRS_CLASS) {
      add_groups(out, node);
    } else {
      strbuf_appendf(out, "%s=", node->schema->attrs[iterator.index].name);
      add_value(out, &node->attrs[iterator.index]);
    }
  }
  if (node->spec) strbuf_appendf(out, "%s_device=\"%s\"", comma, graph->specs[node->spec].written);
}

void graph_describe(const struct situ_graph *graph, const struct node *node, struct strbuf *out) {
  strbuf_appendf(out, "%s = %s[", node->name, node->schema->op->name);
  add_attrs(out, graph, node);
  strbuf_append(out, "](");
  for (int32_t i = 0; i < node->n_inputs; i++) {
    const struct edge edge = node->inputs[i];
    strbuf_appendf(out, "%s%s", i ? ", " : "", graph->nodes[edge.node]->name);
    if (edge.output) strbuf_appendf(out, ":%d", (int)edge.output);
  }
  for (int32_t i = 0; i < node->n_controls; i++)
    strbuf_appendf(out, "%s^%s", i || node->n_inputs ? ", " : "",
                   graph->nodes[node->controls[i]]->name);
  strbuf_append(out, ")");
}
