/* SPDX-License-Identifier: Apache-2.0
 * graphdef_attr.c: reads the attributes (AttrValue) of a NodeDef. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/attrs.h"
#include "graph/graphdef.h"
#include "schema/default_attr.h"
#include "tensor/number.h"

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

/* The only field of a message that is set; *is_more if there are others, too. */
static const struct proto_value *only_slot(const situ_message *message, bool *is_more) {
  const struct proto_value *found = NULL;
  *is_more = false;
  for (uint16_t i = 0; i < message->count; i++) {
    if (!proto_is_written(message, &message->slots[i])) continue;
    *is_more = *is_more || found;
    found = &message->slots[i];
  }
  return found;
}

/* The double of the shortest digits of a float: 0.1, not 0.10000000149, as the program wrote it. */
static double widen(double single) {
  struct decimal digits;
  char text[DECIMAL_DIGITS + 32];
  if (!isfinite(single)) return single;
  number_shortest(SITU_FLOAT, single, &digits);
  snprintf(text, sizeof text, "%s%.*se%d", digits.negative ? "-" : "", digits.count, digits.digits,
           digits.exponent - digits.count + 1);
  return strtod(text, NULL); /* without a decimal point, which depends on the locale */
}

static situ_status read_list(struct reader *in, const struct proto_value *from, situ_attr *out) {
  bool is_more = false;
  const struct proto_value *slot = only_slot(from->message, &is_more);
  const situ_field *field = slot ? proto_field_of(from->message, slot) : NULL;
  const int64_t count = slot ? (int64_t)slot->list->count : 0;
  out->kind = field ? list_kind(field->name) : in->empty;
  if (field && (is_more || out->kind == SITU_ATTR_NONE))
    return proto_error(in->source, slot->list->items[0].offset, "lists of '%s' are not supported",
                       field->name);
  int64_t *items = ARENA_ARRAY(in->source->arena, int64_t, count + 1);
  double *reals = ARENA_ARRAY(in->source->arena, double, count + 1);
  situ_shape *shapes = ARENA_ARRAY(in->source->arena, situ_shape, count + 1);
  if (!items || !reals || !shapes) return NO_MEMORY();
  for (int64_t i = 0; i < count; i++) {
    const struct proto_value *value = &slot->list->items[i];
    if (out->kind == SITU_ATTR_TYPES) TRY(graphdef_check_type(in->source, value));
    if (out->kind == SITU_ATTR_SHAPES)
      TRY(graphdef_read_shape(in->source, value, &shapes[i]));
    else if (out->kind == SITU_ATTR_FLOATS)
      reals[i] = widen(value->real);
    else
      items[i] = value->integer;
  }
  out->integers = items;
  out->reals = reals;
  out->shapes = shapes;
  out->integer = count;
  return NULL;
}

static situ_status read_string(struct reader *in, const struct proto_value *from, situ_attr *out) {
  if (strlen(from->bytes->data) != from->bytes->length)
    return proto_error(in->source, from->offset, "strings with zero bytes are not supported");
  out->kind = SITU_ATTR_STRING;
  out->text = from->bytes->data;
  return NULL;
}

/* Reads the field of an AttrValue that is set. */
static situ_status read_one(struct reader *in, const situ_field *kind,
                            const struct proto_value *from, situ_attr *out) {
  static const struct {
    const char *field;
    situ_attr_kind kind;
  } numbers[] = {{"i", SITU_ATTR_INT}, {"b", SITU_ATTR_BOOL}, {"type", SITU_ATTR_TYPE}};
  const char *field = kind->name;
  for (size_t i = 0; i < COUNT_OF(numbers); i++) {
    if (strcmp(field, numbers[i].field)) continue;
    out->kind = numbers[i].kind;
    out->integer = from->integer;
    return kind->values ? graphdef_check_type(in->source, from) : NULL;
  }
  if (!strcmp(field, "s")) return read_string(in, from, out);
  if (!strcmp(field, "f")) {
    out->kind = SITU_ATTR_FLOAT;
    out->real = widen(from->real);
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

static bool is_value(const situ_message *message, const char *expected) {
  struct strbuf text = {0};
  text_write(&text, message, 0);
  const bool same = !text.failed && !strcmp(strbuf_get(&text), expected);
  strbuf_free(&text);
  return same;
}

/* Whether an attribute that situ's op lacks has its default value and can be ignored. */
static bool is_default(const char *op, const char *name, const situ_message *value) {
  for (const struct default_attr *attr = default_attrs; attr->op; attr++)
    if (!strcmp(attr->op, op) && !strcmp(attr->name, name))
      return !attr->value || is_value(value, attr->value);
  return false;
}

situ_status graphdef_read_attr(const struct proto_source *source, const char *name,
                               const struct proto_value *from, struct graphdef_budget *budget,
                               struct situ_graph *graph, struct draft *draft) {
  bool is_more = false;
  const struct proto_value *field_set = only_slot(from->message, &is_more);
  TRY(graphdef_reject(source, from->message, "placeholder"));
  if (!field_set || is_more)
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
  situ_status status = read_one(&in, proto_field_of(from->message, field_set), field_set, &attr);
  if (!status) status = proto_add_location(source, from->offset, attrs_set(graph, draft, &attr));
  situ_tensor_release(in.tensor);
  return status;
}
