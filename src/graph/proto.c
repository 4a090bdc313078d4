/* SPDX-License-Identifier: Apache-2.0
 * proto.c: the table of messages, and trees. */
#include "graph/proto.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The parts of tensorflow/core/framework/graph.proto and of what it includes. */

static const struct proto_type dim = {
    "Dim", (const struct proto_field[]){
               {"size", PROTO_INT64, false, NULL}, {"name", PROTO_TEXT, false, NULL}, {0}}};

static const struct proto_type shape = {
    "TensorShapeProto",
    (const struct proto_field[]){
        {"dim", PROTO_MESSAGE, true, &dim}, {"unknown_rank", PROTO_BOOL, false, NULL}, {0}}};

static const struct proto_type tensor = {
    "TensorProto", (const struct proto_field[]){{"dtype", PROTO_TYPE, false, NULL},
                                                {"tensor_shape", PROTO_MESSAGE, false, &shape},
                                                {"version_number", PROTO_IGNORED, false, NULL},
                                                {"tensor_content", PROTO_BYTES, false, NULL},
                                                {"half_val", PROTO_INT32, true, NULL},
                                                {"float_val", PROTO_FLOAT, true, NULL},
                                                {"double_val", PROTO_DOUBLE, true, NULL},
                                                {"int_val", PROTO_INT32, true, NULL},
                                                {"string_val", PROTO_BYTES, true, NULL},
                                                {"int64_val", PROTO_INT64, true, NULL},
                                                {"bool_val", PROTO_BOOL, true, NULL},
                                                {0}}};

static const struct proto_type list = {
    "ListValue", (const struct proto_field[]){{"s", PROTO_BYTES, true, NULL},
                                              {"i", PROTO_INT64, true, NULL},
                                              {"f", PROTO_FLOAT, true, NULL},
                                              {"b", PROTO_BOOL, true, NULL},
                                              {"type", PROTO_TYPE, true, NULL},
                                              {"shape", PROTO_MESSAGE, true, &shape},
                                              {"tensor", PROTO_MESSAGE, true, &tensor},
                                              {"func", PROTO_REFUSED, true, NULL},
                                              {0}}};

static const struct proto_type func = {
    "NameAttrList",
    (const struct proto_field[]){
        {"name", PROTO_TEXT, false, NULL}, {"attr", PROTO_IGNORED, true, NULL}, {0}}};

static const struct proto_type attr = {
    "AttrValue", (const struct proto_field[]){{"s", PROTO_BYTES, false, NULL},
                                              {"i", PROTO_INT64, false, NULL},
                                              {"f", PROTO_DOUBLE, false, NULL},
                                              {"b", PROTO_BOOL, false, NULL},
                                              {"type", PROTO_TYPE, false, NULL},
                                              {"shape", PROTO_MESSAGE, false, &shape},
                                              {"tensor", PROTO_MESSAGE, false, &tensor},
                                              {"list", PROTO_MESSAGE, false, &list},
                                              {"func", PROTO_MESSAGE, false, &func},
                                              {"placeholder", PROTO_REFUSED, false, NULL},
                                              {0}}};

static const struct proto_type entry = {
    "AttrEntry",
    (const struct proto_field[]){
        {"key", PROTO_TEXT, false, NULL}, {"value", PROTO_MESSAGE, false, &attr}, {0}}};

const struct proto_type proto_node = {
    "NodeDef", (const struct proto_field[]){{"name", PROTO_TEXT, false, NULL},
                                            {"op", PROTO_TEXT, false, NULL},
                                            {"input", PROTO_TEXT, true, NULL},
                                            {"device", PROTO_TEXT, false, NULL},
                                            {"attr", PROTO_MAP, true, &entry},
                                            {"experimental_debug_info", PROTO_IGNORED, false, NULL},
                                            {"experimental_type", PROTO_IGNORED, false, NULL},
                                            {0}}};

static const struct proto_type library = {
    "FunctionDefLibrary",
    (const struct proto_field[]){
        {"function", PROTO_REFUSED, true, NULL}, {"gradient", PROTO_REFUSED, true, NULL}, {0}}};

const struct proto_type proto_graph = {
    "GraphDef", (const struct proto_field[]){{"node", PROTO_MESSAGE, true, &proto_node},
                                             {"versions", PROTO_IGNORED, false, NULL},
                                             {"version", PROTO_IGNORED, false, NULL},
                                             {"library", PROTO_MESSAGE, false, &library},
                                             {0}}};

struct proto_message *proto_create(struct arena *arena, const struct proto_type *type) {
  struct proto_message *message = ARENA_ARRAY(arena, struct proto_message, 1);
  if (message) message->type = type;
  return message;
}

const struct proto_field *proto_field(const struct proto_type *type, const char *name,
                                      size_t length) {
  for (const struct proto_field *field = type->fields; field->name; field++)
    if (!strncmp(field->name, name, length) && !field->name[length]) return field;
  return NULL;
}

struct proto_value *proto_add(struct arena *arena, struct proto_message *message,
                              const struct proto_field *field) {
  struct proto_value *value = ARENA_ARRAY(arena, struct proto_value, 1);
  if (!value) return NULL;
  value->field = field;
  if (message->last)
    message->last->next = value;
  else
    message->first = value;
  message->last = value;
  return value;
}

const struct proto_value *proto_next(const struct proto_message *message, const char *name,
                                     const struct proto_value *after) {
  const struct proto_value *value = after ? after->next : message->first;
  while (value && strcmp(value->field->name, name)) value = value->next;
  return value;
}

const struct proto_value *proto_get(const struct proto_message *message, const char *name) {
  const struct proto_value *found = NULL, *value = NULL;
  while ((value = proto_next(message, name, value))) found = value;
  return found;
}

const char *proto_text(const struct proto_message *message, const char *name) {
  const struct proto_value *value = proto_get(message, name);
  return value ? value->bytes.data : "";
}

/* Line and column, counted from 1, of a place in the text. */
static void locate(const struct proto_source *source, size_t offset, size_t *line, size_t *column) {
  size_t start = 0;
  *line = 1;
  for (size_t i = 0; i < offset && i < source->length; i++) {
    if (source->text[i] != '\n') continue;
    ++*line;
    start = i + 1;
  }
  *column = offset - start + 1;
}

situ_status proto_wrong(const struct proto_source *source, size_t offset, const char *format, ...) {
  char *text = NULL;
  va_list arguments;
  va_start(arguments, format);
  const int length = vasprintf(&text, format, arguments);
  va_end(arguments);
  if (length < 0) return NO_MEMORY();
  size_t line = 0, column = 0;
  locate(source, offset, &line, &column);
  const situ_status status = INVALID("GraphDef, line %zu, column %zu: %s", line, column, text);
  free(text);
  return status;
}

situ_status proto_locate(const struct proto_source *source, size_t offset, situ_status status) {
  size_t line = 0, column = 0;
  if (!status) return NULL;
  locate(source, offset, &line, &column);
  return status_note(status, "at line %zu, column %zu of the GraphDef", line, column);
}
