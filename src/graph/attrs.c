/* SPDX-License-Identifier: Apache-2.0
 * attrs.c: iterates over, formats and sets the attributes of nodes. */
#include "graph/attrs.h"

#include <string.h>

#include "base/strbuf.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"
#include "tensor/type.h"

/* Replaces the best candidate if `name` lies between `after` and it. */
static void consider(struct attr_iterator *best, const char *after, const char *name, int index) {
  if (after && strcmp(name, after) <= 0) return;
  if (best->name && strcmp(name, best->name) >= 0) return;
  best->name = name;
  best->index = index;
}

bool attrs_next(struct attr_iterator *iterator) {
  const struct node *node = iterator->node;
  struct attr_iterator best = {.node = node};
  for (int i = 0; i < node->schema->n_attrs; i++)
    if (node->attrs[i].kind != SITU_ATTR_NONE)
      consider(&best, iterator->name, node->schema->attrs[i].name, i);
  if (node->n_groups) consider(&best, iterator->name, "_class", ATTRS_CLASS);
  if (!best.name) return false;
  *iterator = best;
  return true;
}

const char *attrs_type_name(situ_type type) {
#define ATTRS_TYPE(name, number, bytes, tf_name, numpy) \
  if ((int)type == (number)) return "DT_" #name;
  SITU_TYPES(ATTRS_TYPE)
#undef ATTRS_TYPE
  return "DT_INVALID";
}

/* ---- Attributes passed to situ_emit ---- */

static situ_status unknown_attr_error(const struct schema *schema, const char *name) {
  struct strbuf list = {0};
  for (int i = 0; i < schema->n_attrs; i++)
    strbuf_appendf(&list, "%s%s", i ? ", " : "", schema->attrs[i].name);
  const situ_status status =
      INVALID("NodeDef mentions attr '%s' not in Op '%s', which has: %s", name, schema->op->name,
              list.length ? strbuf_get(&list) : "none");
  strbuf_free(&list);
  return status;
}

static situ_status copy_list(struct arena *arena, const situ_attr *attr, struct attr_value *out) {
  if (attr->integer < 0 || (attr->integer && !attr->integers))
    return INVALID("Attribute '%s': invalid list of %lld integers.", attr->name,
                   (long long)attr->integer);
  int64_t *items = ARENA_ARRAY(arena, int64_t, attr->integer);
  if (!items) return NO_MEMORY();
  for (int64_t i = 0; i < attr->integer; i++) items[i] = attr->integers[i];
  out->list.items = items;
  out->list.count = attr->integer;
  return NULL;
}

static situ_status copy_reals(struct arena *arena, const situ_attr *attr, struct attr_value *out) {
  if (attr->integer < 0 || (attr->integer && !attr->reals))
    return INVALID("Attribute '%s': invalid list of %lld numbers.", attr->name,
                   (long long)attr->integer);
  double *items = ARENA_ARRAY(arena, double, attr->integer + 1);
  if (!items) return NO_MEMORY();
  for (int64_t i = 0; i < attr->integer; i++) items[i] = attr->reals[i];
  out->reals.items = items;
  out->reals.count = attr->integer;
  return NULL;
}

static situ_status check_type(const situ_attr *attr, int64_t type) {
  char text[TYPE_ERROR_TEXT];
  if (situ_type_size((situ_type)type)) return NULL;
  return INVALID("Attribute '%s': %s.", attr->name, type_error(type, NULL, text));
}

static situ_status copy_types(struct arena *arena, const situ_attr *attr, struct attr_value *out) {
  TRY(copy_list(arena, attr, out));
  for (int64_t i = 0; i < attr->integer; i++) TRY(check_type(attr, attr->integers[i]));
  return NULL;
}

static situ_status copy_shapes(struct arena *arena, const situ_attr *attr, struct attr_value *out) {
  if (attr->integer < 0 || (attr->integer && !attr->shapes))
    return INVALID("Attribute '%s': invalid list of %lld shapes.", attr->name,
                   (long long)attr->integer);
  situ_shape *items = ARENA_ARRAY(arena, situ_shape, attr->integer + 1);
  if (!items) return NO_MEMORY();
  for (int64_t i = 0; i < attr->integer; i++) {
    TRY(shape_check(&attr->shapes[i]));
    items[i] = attr->shapes[i];
  }
  out->shapes.items = items;
  out->shapes.count = attr->integer;
  return NULL;
}

static situ_status find_function(const struct situ_graph *graph, const situ_attr *attr,
                                 struct attr_value *out) {
  out->function = attr->text ? graph_function(graph, attr->text) : NULL;
  if (out->function) return NULL;
  return INVALID("Attribute '%s': the graph has no function '%s'.", attr->name,
                 attr->text ? attr->text : "");
}

static situ_status copy_shape(struct arena *arena, const situ_attr *attr, struct attr_value *out) {
  TRY(shape_check(&attr->shape));
  situ_shape *shape = arena_alloc(arena, sizeof *shape);
  if (!shape) return NO_MEMORY();
  *shape = attr->shape;
  out->shape = shape;
  return NULL;
}

/* Constants are kept in host memory. */
static situ_status retain_tensor(struct situ_graph *graph, const situ_attr *attr,
                                 situ_tensor **out) {
  if (!attr->tensor) return INVALID("Attribute '%s': the tensor is NULL.", attr->name);
  TRY(tensor_host(attr->tensor, out));
  const bool is_retained = graph_retain_tensor(graph, *out);
  situ_tensor_release(*out);
  return is_retained ? NULL : NO_MEMORY();
}

static situ_status copy_value(struct situ_graph *graph, const situ_attr *attr,
                              struct attr_value *out) {
  out->kind = attr->kind;
  switch (attr->kind) {
    case SITU_ATTR_INT:
      out->integer = attr->integer;
      return NULL;
    case SITU_ATTR_BOOL:
      out->integer = attr->integer != 0;
      return NULL;
    case SITU_ATTR_FLOAT:
      out->real = attr->real;
      return NULL;
    case SITU_ATTR_TYPE:
      out->type = (situ_type)attr->integer;
      return check_type(attr, attr->integer);
    case SITU_ATTR_SHAPE:
      return copy_shape(&graph->arena, attr, out);
    case SITU_ATTR_STRING:
      if (!attr->text) return INVALID("Attribute '%s': the string is NULL.", attr->name);
      out->text = arena_strndup(&graph->arena, attr->text, strlen(attr->text));
      return out->text ? NULL : NO_MEMORY();
    case SITU_ATTR_TENSOR:
      return retain_tensor(graph, attr, &out->tensor);
    case SITU_ATTR_INTS:
      return copy_list(&graph->arena, attr, out);
    case SITU_ATTR_FLOATS:
      return copy_reals(&graph->arena, attr, out);
    case SITU_ATTR_TYPES:
      return copy_types(&graph->arena, attr, out);
    case SITU_ATTR_SHAPES:
      return copy_shapes(&graph->arena, attr, out);
    case SITU_ATTR_FUNCTION:
      return find_function(graph, attr, out);
    case SITU_ATTR_NONE:
      break;
  }
  return INVALID("Attribute '%s': %d is not a kind of attribute.", attr->name, (int)attr->kind);
}

situ_status attrs_set(struct situ_graph *graph, struct draft *draft, const situ_attr *attr) {
  const struct schema *schema = draft->node->schema;
  if (!attr->name) return INVALID("An attribute has no name.");
  const int index = schema_attr(schema, attr->name);
  if (index < 0) return unknown_attr_error(schema, attr->name);
  if (draft->attrs[index].kind != SITU_ATTR_NONE)
    return INVALID("Attribute '%s' is given twice.", attr->name);
  return copy_value(graph, attr, &draft->attrs[index]);
}
