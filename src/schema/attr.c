/* SPDX-License-Identifier: Apache-2.0
 * attr.c: parses attribute values; see attr.h. */
#include "schema/attr.h"

#include <stdlib.h>
#include <string.h>

const char *attr_kind_name(situ_attr_kind kind) {
  static const char *const names[] = {"nothing",
#define KIND_NAME(name, text) text,
                                      SITU_ATTR_KINDS(KIND_NAME)
#undef KIND_NAME
  };
  return (size_t)kind < COUNT_OF(names) ? names[kind] : "invalid";
}

/* Reads an integer or, as SITU_ANY, a question mark; the rest of the text, or NULL. */
static const char *read_integer(const char *text, int64_t *out) {
  if (*text == '?') {
    *out = SITU_ANY;
    return text + 1;
  }
  char *end;
  *out = strtoll(text, &end, 10);
  return end == text ? NULL : end;
}

/* Reads "[1,2]"; returns the number of elements, or -1. */
static int read_list(const char *text, int64_t *items, int capacity) {
  int count = 0;
  if (*text++ != '[') return -1;
  if (*text == ']') return text[1] ? -1 : 0;
  while (count < capacity) {
    text = read_integer(text, &items[count++]);
    if (!text) return -1;
    if (*text == ']') return text[1] ? -1 : count;
    if (*text++ != ',') return -1;
  }
  return -1;
}

static bool parse_shape(const char *text, struct arena *arena, struct attr_value *out) {
  situ_shape *shape = ARENA_ARRAY(arena, situ_shape, 1);
  if (!shape) return false;
  shape->rank = !strcmp(text, "<unknown>") ? SITU_ANY : read_list(text, shape->dim, SITU_MAX_RANK);
  out->shape = shape;
  return shape->rank >= 0 || *text == '<';
}

static bool parse_list(const char *text, struct arena *arena, struct attr_value *out) {
  enum { MOST = 64 };
  int64_t *items = ARENA_ARRAY(arena, int64_t, MOST);
  if (!items) return false;
  out->list.items = items;
  out->list.count = read_list(text, items, MOST);
  return out->list.count >= 0;
}

static bool parse_reals(const char *text, struct arena *arena, struct attr_value *out) {
  double *items = ARENA_ARRAY(arena, double, strlen(text) / 2 + 1);
  if (!items || *text++ != '[') return false;
  out->reals.items = items;
  out->reals.count = 0;
  if (*text == ']') return !text[1];
  for (;;) {
    char *end = NULL;
    items[out->reals.count++] = strtod(text, &end);
    if (end == text) return false;
    if (*end == ']') return !end[1];
    if (*end != ',') return false;
    text = end + 1;
  }
}

static bool parse_text(const char *text, struct arena *arena, struct attr_value *out) {
  const size_t length = strlen(text);
  if (length < 2 || text[0] != '\'' || text[length - 1] != '\'') return false;
  out->text = arena_strndup(arena, text + 1, length - 2);
  return out->text;
}

static bool parse(situ_attr_kind kind, const char *text, struct arena *arena,
                  struct attr_value *out) {
  char *end = NULL;
  switch (kind) {
    case SITU_ATTR_INT:
      out->integer = strtoll(text, &end, 10);
      return *text && !*end;
    case SITU_ATTR_FLOAT:
      out->real = strtod(text, &end);
      return *text && !*end;
    case SITU_ATTR_BOOL:
      out->integer = !strcmp(text, "true");
      return out->integer || !strcmp(text, "false");
    case SITU_ATTR_TYPE:
      out->type = situ_type_parse(text);
      return out->type != SITU_NO_TYPE;
    case SITU_ATTR_SHAPE:
      return parse_shape(text, arena, out);
    case SITU_ATTR_STRING:
      return parse_text(text, arena, out);
    case SITU_ATTR_INTS:
      return parse_list(text, arena, out);
    case SITU_ATTR_FLOATS:
      return parse_reals(text, arena, out);
    case SITU_ATTR_TYPES:
    case SITU_ATTR_SHAPES: /* empty ones only: what a default is */
      out->list.items = NULL;
      out->list.count = 0;
      return !strcmp(text, "[]");
    default:
      return false;
  }
}

situ_status attr_parse(situ_attr_kind kind, const char *text, size_t length, struct arena *arena,
                       struct attr_value *out) {
  const char *copy = arena_strndup(arena, text, length);
  if (!copy) return NO_MEMORY();
  *out = (struct attr_value){.kind = kind};
  if (parse(kind, copy, arena, out)) return NULL;
  if (arena->failed) return NO_MEMORY();
  return INVALID("'%s' is no value of kind %s", copy, attr_kind_name(kind));
}

situ_attr attr_public(const char *name, const struct attr_value *value) {
  situ_attr attr = {.name = name, .kind = value->kind};
  if (value->kind == SITU_ATTR_FLOAT) attr.real = value->real;
  if (value->kind == SITU_ATTR_INT || value->kind == SITU_ATTR_BOOL) attr.integer = value->integer;
  if (value->kind == SITU_ATTR_TYPE) attr.integer = value->type;
  if (value->kind == SITU_ATTR_SHAPE) attr.shape = *value->shape;
  if (value->kind == SITU_ATTR_STRING) attr.text = value->text;
  if (value->kind == SITU_ATTR_TENSOR) attr.tensor = value->tensor;
  if (value->kind == SITU_ATTR_INTS) {
    attr.integer = value->list.count;
    attr.integers = value->list.items;
  }
  if (value->kind == SITU_ATTR_FLOATS) {
    attr.integer = value->reals.count;
    attr.reals = value->reals.items;
  }
  return attr;
}
