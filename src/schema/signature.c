/* SPDX-License-Identifier: Apache-2.0
 * signature.c: parses op definitions; the grammar is in schema.h. */
#include "schema/signature.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *skip_blanks(const char *text) {
  while (*text == ' ' || *text == '\n') text++;
  return text;
}

struct token signature_token(const char **text) {
  const char *at = skip_blanks(*text), *end = at;
  bool quoted = false;
  for (int depth = 0; *end && (depth > 0 || quoted || (*end != ' ' && *end != '\n')); end++) {
    if (*end == '\'') quoted = !quoted;
    if (quoted) continue;
    depth += *end == '{' || *end == '[' || *end == '(';
    depth -= *end == '}' || *end == ']' || *end == ')';
  }
  *text = end;
  return (struct token){at, (size_t)(end - at)};
}

static int count_tokens(const char *text) {
  int count = 0;
  while (signature_token(&text).length) count++;
  return count;
}

static bool is(struct token token, const char *text) {
  return strlen(text) == token.length && !memcmp(token.at, text, token.length);
}

static char *copy(struct arena *arena, struct token token) {
  return arena_strndup(arena, token.at, token.length);
}

/* Cuts "name:rest" in two; false without a colon or a name. */
static bool cut(struct token token, struct token *name, struct token *rest) {
  const char *colon = memchr(token.at, ':', token.length);
  if (!colon || colon == token.at) return false;
  *name = (struct token){token.at, (size_t)(colon - token.at)};
  *rest = (struct token){colon + 1, token.length - name->length - 1};
  return rest->length;
}

static situ_type type_of(struct token token) {
  char name[16];
  if (token.length >= sizeof name) return SITU_NO_TYPE;
  memcpy(name, token.at, token.length);
  name[token.length] = 0;
  return situ_type_parse(name);
}

/* The types of "float double" as bits; 0 if a token is no type or there is none. */
static uint32_t types_of(struct token set) {
  uint32_t bits = 0;
  const char *end = set.at + set.length;
  for (const char *at = skip_blanks(set.at); at < end; at = skip_blanks(at)) {
    size_t length = 0;
    while (at + length < end && at[length] != ' ' && at[length] != '\n') length++;
    const situ_type type = type_of((struct token){at, length});
    if (type == SITU_NO_TYPE) return 0;
    bits |= 1u << type;
    at += length;
  }
  return bits;
}

static int find_attr(const struct schema *schema, struct token name) {
  for (int i = 0; i < schema->n_attrs; i++)
    if (is(name, schema->attrs[i].name)) return i;
  return -1;
}

static situ_status unreadable(const struct op_def *op, const char *what, struct token token) {
  return INTERNAL("Op '%s': cannot read %s '%.*s'", op->name, what, (int)token.length, token.at);
}

/* Attributes */

/* Reads "{float double}", "{'SAME','VALID'}" or "list({float double})"; returns its length, 0 if
 * there is none. */
static size_t read_set(struct token rest, struct arena *arena, situ_op_attr *out) {
  static const char list[] = "list(";
  const size_t before = strncmp(rest.at, list, strlen(list)) ? 0 : strlen(list);
  const char *end = memchr(rest.at, '}', rest.length);
  if (rest.at[before] != '{' || !end || (before && end[1] != ')')) return 0;
  const struct token set = {rest.at + before + 1, (size_t)(end - rest.at) - before - 1};
  const bool quoted = memchr(set.at, '\'', set.length);
  if (quoted && before) return 0;
  out->kind = quoted ? SITU_ATTR_STRING : before ? SITU_ATTR_TYPES : SITU_ATTR_TYPE;
  out->strings = quoted ? copy(arena, set) : NULL;
  out->types = quoted ? 0 : types_of(set);
  return quoted || out->types ? before + set.length + 2 + !!before : 0;
}

/* Reads "int32" or "list(int32)"; returns its length, 0 if there is none. */
static size_t read_narrow(struct token rest, situ_op_attr *out) {
  static const char one[] = "int32", list[] = "list(int32)";
  const bool is_list = !strncmp(rest.at, list, strlen(list));
  if (!is_list && strncmp(rest.at, one, strlen(one)) != 0) return 0;
  out->kind = is_list ? SITU_ATTR_INTS : SITU_ATTR_INT;
  out->minimum = INT32_MIN;
  out->maximum = INT32_MAX;
  return strlen(is_list ? list : one);
}

/* Reads the kind in front of *rest, with its set, and goes past it. */
static bool read_kind(struct token *rest, struct arena *arena, situ_op_attr *out) {
  static const char *const names[] = {
#define KIND_NAME(name, text) text,
      SITU_ATTR_KINDS(KIND_NAME)
#undef KIND_NAME
  };
  size_t length = read_set(*rest, arena, out);
  if (rest->at[0] == '{' && !length) return false;
  if (!length) length = read_narrow(*rest, out);
  for (size_t i = 0; !length && i < COUNT_OF(names); i++) {
    if (strncmp(rest->at, names[i], strlen(names[i]))) continue;
    length = strlen(names[i]);
    out->kind = (situ_attr_kind)(i + 1);
  }
  rest->at += length;
  rest->length -= length;
  return length;
}

static situ_status read_default(const struct op_def *op, struct token text, struct arena *arena,
                                situ_op_attr *out, struct attr_value *value) {
  if (!text.length) return NULL;
  if (*text.at != '=')
    return INTERNAL("Op '%s': attribute '%s' goes on with '%.*s'", op->name, out->name,
                    (int)text.length, text.at);
  TRY(attr_parse(out->kind, text.at + 1, text.length - 1, arena, value));
  out->default_value = arena_strndup(arena, text.at + 1, text.length - 1);
  if (out->kind == SITU_ATTR_TYPE && !(out->types >> value->type & 1))
    return INTERNAL("Op '%s': the default of '%s' is not in its set", op->name, out->name);
  return NULL;
}

/* Reads ">=1" or "[4]" and goes past it; returns where ">=1" starts, or NULL. */
static const char *read_bounds(struct token *rest, situ_op_attr *out) {
  const bool is_minimum = rest->length > 2 && !memcmp(rest->at, ">=", 2);
  if (!is_minimum && (!rest->length || *rest->at != '[')) return NULL;
  const char *start = rest->at;
  char *end;
  const int64_t number = strtoll(start + 1 + is_minimum, &end, 10);
  if (out->kind == SITU_ATTR_INT)
    out->minimum = number;
  else
    out->min_length = number;
  if (!is_minimum) out->max_length = number;
  end += !is_minimum && *end == ']';
  rest->length -= (size_t)(end - start);
  rest->at = end;
  return is_minimum ? start : NULL;
}

/* The type of an attribute as catalogs show it: "int>=1" for "int32>=1". */
static const char *type_text(struct arena *arena, struct token kind, const char *bounds,
                             const char *end) {
  static const char narrow[] = "int32";
  const char *at = kind.length < strlen(narrow) ? NULL : kind.at;
  const size_t list = at && !strncmp(at, "list(", 5) ? 5 : 0;
  char text[64];
  if (!at || strncmp(at + list, narrow, strlen(narrow)))
    return arena_strndup(arena, kind.at, bounds ? (size_t)(end - kind.at) : kind.length);
  snprintf(text, sizeof text, "%s%.*s", list ? "list(int)" : "int",
           bounds ? (int)(end - bounds) : 0, bounds ? bounds : "");
  return arena_strndup(arena, text, strlen(text));
}

static situ_status read_attr(const struct op_def *op, struct token token, struct arena *arena,
                             situ_op_attr *out, struct attr_value *value) {
  struct token name, rest;
  out->types = UINT32_MAX;
  out->minimum = INT64_MIN;
  out->max_length = out->maximum = INT64_MAX;
  if (!cut(token, &name, &rest)) return unreadable(op, "attribute", token);
  struct token type = rest;
  if (!read_kind(&rest, arena, out)) return unreadable(op, "attribute", token);
  type.length -= rest.length;
  const char *bounds = read_bounds(&rest, out);
  out->type = type_text(arena, type, bounds, rest.at);
  out->name = copy(arena, name);
  return read_default(op, rest, arena, out, value);
}

static situ_status read_attrs(const struct op_def *op, struct arena *arena, struct schema *out) {
  const char *text = op->attrs ? op->attrs : "";
  out->n_attrs = count_tokens(text);
  out->attrs = ARENA_ARRAY(arena, situ_op_attr, out->n_attrs);
  out->defaults = ARENA_ARRAY(arena, struct attr_value, out->n_attrs);
  if (!out->attrs || !out->defaults) return NO_MEMORY();
  for (int i = 0; i < out->n_attrs; i++)
    TRY(read_attr(op, signature_token(&text), arena, &out->attrs[i], &out->defaults[i]));
  out->device_type_attr = -1;
  for (int i = out->n_attrs - 1; i >= 0; i--)
    if (out->attrs[i].kind == SITU_ATTR_TYPE) out->device_type_attr = i;
  return NULL;
}

/* Ports */

/* Reads the type of a port after "&", "@" or "N*"; a list has a number or a list of types. */
static bool read_type(struct token text, const struct schema *schema, situ_op_port *out) {
  const int attr = find_attr(schema, text);
  const situ_attr_kind kind = attr >= 0 ? schema->attrs[attr].kind : SITU_ATTR_NONE;
  out->type = out->is_handle ? SITU_RESOURCE : attr < 0 ? type_of(text) : SITU_NO_TYPE;
  *(out->is_handle ? &out->handle_attr : &out->type_attr) = attr;
  out->is_types = kind == SITU_ATTR_TYPES && !out->is_list && !out->is_handle;
  out->is_list = out->is_list || out->is_types;
  if (attr >= 0) {
    out->type_name = schema->attrs[attr].name;
    return kind == SITU_ATTR_TYPE || out->is_types;
  }
  out->type_name = situ_type_name(out->type);
  return out->is_handle ? is(text, out->type_name) : out->type != SITU_NO_TYPE;
}

/* Cuts the shape off "T[n,4]" and returns it; its length is 0 if there is none. */
static struct token cut_shape(struct token *type) {
  const char *open = memchr(type->at, '[', type->length);
  const size_t length = open ? (size_t)(open - type->at) : type->length;
  const struct token shape = {type->at + length, type->length - length};
  type->length = length;
  return shape;
}

static bool read_port(struct token token, struct arena *arena, const struct schema *schema,
                      situ_op_port *out, struct token *shape) {
  struct token name, rest;
  out->type_attr = out->number_attr = out->handle_attr = -1;
  if (!cut(token, &name, &rest)) return false;
  out->name = copy(arena, name);
  const char *star = memchr(rest.at, '*', rest.length);
  out->is_list = star;
  if (star) {
    out->number_attr = find_attr(schema, (struct token){rest.at, (size_t)(star - rest.at)});
    if (out->number_attr < 0 || schema->attrs[out->number_attr].kind != SITU_ATTR_INT) return false;
    rest.length -= (size_t)(star + 1 - rest.at);
    rest.at = star + 1;
  }
  out->is_handle = rest.length && *rest.at == '@';
  out->is_ref = rest.length && *rest.at == '&';
  rest.at += out->is_ref || out->is_handle;
  rest.length -= out->is_ref || out->is_handle;
  *shape = cut_shape(&rest);
  return read_type(rest, schema, out);
}

static situ_status read_ports(const struct op_def *op, const char *text, struct arena *arena,
                              const struct schema *schema, int *count, situ_op_port **ports,
                              struct port_shape **shapes) {
  struct port_symbols symbols = {0};
  if (!text) text = "";
  *count = count_tokens(text);
  *ports = ARENA_ARRAY(arena, situ_op_port, *count);
  *shapes = ARENA_ARRAY(arena, struct port_shape, *count);
  if (!*ports || !*shapes) return NO_MEMORY();
  for (int i = 0; i < *count; i++) {
    const struct token token = signature_token(&text);
    struct token shape;
    if (!read_port(token, arena, schema, &(*ports)[i], &shape))
      return unreadable(op, "port", token);
    if (shape.length &&
        !port_shape_parse(shape.at, shape.length, schema, &symbols, arena, &(*shapes)[i]))
      return unreadable(op, "shape of port", token);
  }
  return NULL;
}

/* Reads both lists of ports; only inputs have shapes. */
static situ_status read_all_ports(const struct op_def *op, struct arena *arena,
                                  struct schema *out) {
  struct port_shape *outputs;
  TRY(read_ports(op, op->inputs, arena, out, &out->n_inputs, &out->inputs, &out->input_shapes));
  TRY(read_ports(op, op->outputs, arena, out, &out->n_outputs, &out->outputs, &outputs));
  for (int i = 0; i < out->n_inputs; i++)
    out->has_shapes = out->has_shapes || out->input_shapes[i].count;
  for (int i = 0; i < out->n_outputs; i++)
    if (outputs[i].count)
      return INTERNAL("Op '%s': the shape function sets the shapes of outputs", op->name);
  return NULL;
}

static situ_status read_host(const struct op_def *op, struct schema *out) {
  const char *text = op->host ? op->host : "";
  for (struct token token = signature_token(&text); token.length; token = signature_token(&text)) {
    int i = 0;
    while (i < out->n_inputs && !is(token, out->inputs[i].name)) i++;
    if (i == out->n_inputs)
      return INTERNAL("HostMemory args '%.*s' not found in OpDef: %s", (int)token.length, token.at,
                      op->name);
    out->inputs[i].is_host = true;
  }
  return NULL;
}

/* Marks attributes that the inputs determine. */
static void mark_inferred(struct schema *out) {
  for (int i = 0; i < out->n_inputs; i++) {
    const situ_op_port *port = &out->inputs[i];
    if (port->type_attr >= 0 && !port->is_types) out->attrs[port->type_attr].inferred = true;
    if (port->number_attr >= 0) out->attrs[port->number_attr].inferred = true;
  }
}

/* An op that takes handles refers to variables, as one that takes references does. */
static void mark_handles(struct schema *out) {
  for (int i = 0; i < out->n_inputs; i++) {
    situ_op_port *port = &out->inputs[i];
    port->is_ref = port->is_ref || port->is_handle;
    out->has_handles = out->has_handles || port->is_handle;
  }
}

/* Devices */

static situ_status read_devices(const struct op_def *op, struct arena *arena, struct schema *out) {
  const char *text = op->devices ? op->devices : "";
  int count = 0;
  for (struct token token = signature_token(&text); token.length; token = signature_token(&text)) {
    const char *open = memchr(token.at, '(', token.length);
    const bool preferred = token.length && token.at[token.length - 1] == '*';
    const size_t name = open ? (size_t)(open - token.at) : token.length - preferred;
    uint32_t types = UINT32_MAX;
    if (open) types = types_of((struct token){open + 1, token.length - name - 2});
    if (!types || !name || count == MAX_KINDS - 1 || (open && out->device_type_attr < 0))
      return INTERNAL("Op '%s': cannot read devices '%s'", op->name, op->devices);
    out->kinds[count] = arena_strndup(arena, token.at, name);
    out->kind_priority[count] = preferred;
    out->kind_types[count++] = types;
  }
  return count ? NULL : INTERNAL("Op '%s' has no devices", op->name);
}

situ_status signature_parse(const struct op_def *op, struct arena *arena, struct schema *out) {
  *out = (struct schema){.op = op};
  if (!op->name || !op->doc || !op->shape)
    return INTERNAL("Op '%s': name, doc and shape must be there", op->name ? op->name : "?");
  TRY(read_attrs(op, arena, out));
  TRY(read_all_ports(op, arena, out));
  TRY(read_host(op, out));
  TRY(read_devices(op, arena, out));
  mark_inferred(out);
  mark_handles(out);
  return arena->failed ? NO_MEMORY() : NULL;
}
