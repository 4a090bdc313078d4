/* SPDX-License-Identifier: Apache-2.0
 * graphdef_attr.c: reads the attributes (AttrValue) of a NodeDef. */
#include <string.h>

#include "graph/attrs.h"
#include "graph/graphdef.h"
#include "schema/default_attr.h"

struct reader {
  const struct proto_source *source;
  struct graphdef_budget *budget;
  situ_tensor *tensor;  /* released after the attribute is set */
  situ_attr_kind empty; /* the kind of an empty list */
};

/* The kind of a list from the field of its elements. */
static situ_attr_kind list_kind(const char *field) {
  if (!strcmp(field, "i")) return SITU_ATTR_INTS;
  if (!strcmp(field, "f")) return SITU_ATTR_FLOATS;
  if (!strcmp(field, "type")) return SITU_ATTR_TYPES;
  return strcmp(field, "shape") ? SITU_ATTR_NONE : SITU_ATTR_SHAPES;
}

static situ_status read_list(struct reader *in, const struct proto_value *from, situ_attr *out) {
  const struct proto_value *first = from->message->first;
  int64_t count = 0;
  out->kind = first ? list_kind(first->field->name) : in->empty;
  for (const struct proto_value *value = first; value; value = value->next, count++)
    if (out->kind == SITU_ATTR_NONE || value->field != first->field)
      return proto_error(in->source, value->offset, "lists of '%s' are not supported",
                         value->field->name);
  int64_t *items = ARENA_ARRAY(in->source->arena, int64_t, count + 1);
  double *reals = ARENA_ARRAY(in->source->arena, double, count + 1);
  situ_shape *shapes = ARENA_ARRAY(in->source->arena, situ_shape, count + 1);
  if (!items || !reals || !shapes) return NO_MEMORY();
  count = 0;
  for (const struct proto_value *value = first; value; value = value->next, count++) {
    if (out->kind == SITU_ATTR_SHAPES)
      TRY(graphdef_read_shape(in->source, value, &shapes[count]));
    else if (out->kind == SITU_ATTR_FLOATS)
      reals[count] = value->real;
    else
      items[count] = value->integer;
  }
  out->integers = items;
  out->reals = reals;
  out->shapes = shapes;
  out->integer = count;
  return NULL;
}

static situ_status read_string(struct reader *in, const struct proto_value *from, situ_attr *out) {
  if (strlen(from->bytes.data) != from->bytes.length)
    return proto_error(in->source, from->offset, "strings with zero bytes are not supported");
  out->kind = SITU_ATTR_STRING;
  out->text = from->bytes.data;
  return NULL;
}

/* Reads the field_set field of an AttrValue that is set. */
static situ_status read_one(struct reader *in, const struct proto_value *from, situ_attr *out) {
  static const struct {
    const char *field;
    situ_attr_kind kind;
  } numbers[] = {{"i", SITU_ATTR_INT}, {"b", SITU_ATTR_BOOL}, {"type", SITU_ATTR_TYPE}};
  const char *field = from->field->name;
  for (size_t i = 0; i < COUNT_OF(numbers); i++) {
    if (strcmp(field, numbers[i].field)) continue;
    out->kind = numbers[i].kind;
    out->integer = from->integer;
    return NULL;
  }
  if (from->field->kind == PROTO_BYTES) return read_string(in, from, out);
  if (from->field->kind == PROTO_DOUBLE) {
    out->kind = SITU_ATTR_FLOAT;
    out->real = from->real;
    return NULL;
  }
  if (!strcmp(field, "list")) return read_list(in, from, out);
  if (!strcmp(field, "shape")) {
    out->kind = SITU_ATTR_SHAPE;
    return graphdef_read_shape(in->source, from, &out->shape);
  }
  if (!strcmp(field, "func")) {
    out->kind = SITU_ATTR_FUNCTION;
    out->text = proto_string(from->message, "name");
    return NULL;
  }
  out->kind = SITU_ATTR_TENSOR;
  TRY(graphdef_read_tensor(in->source, from, in->budget, &in->tensor));
  out->tensor = in->tensor;
  return NULL;
}

static bool is_value(const struct proto_message *message, const char *expected) {
  struct strbuf text = {0};
  prototext_write(&text, message, 0);
  const bool same = !text.failed && !strcmp(strbuf_get(&text), expected);
  strbuf_free(&text);
  return same;
}

/* Whether an attribute that situ's op lacks has its default value and can be ignored. */
static bool is_default(const char *op, const char *name, const struct proto_message *value) {
  for (const struct default_attr *attr = default_attrs; attr->op; attr++)
    if (!strcmp(attr->op, op) && !strcmp(attr->name, name))
      return !attr->value || is_value(value, attr->value);
  return false;
}

situ_status graphdef_read_attr(const struct proto_source *source, const char *name,
                               const struct proto_value *from, struct graphdef_budget *budget,
                               struct situ_graph *graph, struct draft *draft) {
  const struct proto_value *field_set = from->message->first;
  if (!field_set || field_set->next)
    return proto_error(source, from->offset, "attribute '%s' must have one value", name);
  const struct schema *schema = draft->node->schema;
  const int index = schema_attr(schema, name);
  if (index < 0 && is_default(schema->op->name, name, from->message)) return NULL;
  struct reader in = {source, budget, NULL, SITU_ATTR_INTS};
  if (index >= 0 && (schema->attrs[index].kind == SITU_ATTR_TYPES ||
                     schema->attrs[index].kind == SITU_ATTR_FLOATS ||
                     schema->attrs[index].kind == SITU_ATTR_SHAPES))
    in.empty = schema->attrs[index].kind;
  situ_attr attr = {.name = name};
  situ_status status = read_one(&in, field_set, &attr);
  if (!status) status = proto_add_location(source, from->offset, attrs_set(graph, draft, &attr));
  situ_tensor_release(in.tensor);
  return status;
}
