/* SPDX-License-Identifier: Apache-2.0
 * proto.c: the table of GraphDef message types, and the tree of messages. */
#include "graph/proto.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* From tensorflow/core/framework/graph.proto and the files it imports. */

static const struct proto_type dim = {
    "Dim", (const struct proto_field[]){
               {"size", 1, PROTO_INT64, false, NULL}, {"name", 2, PROTO_STRING, false, NULL}, {0}}};

static const struct proto_type shape = {
    "TensorShapeProto",
    (const struct proto_field[]){
        {"dim", 2, PROTO_MESSAGE, true, &dim}, {"unknown_rank", 3, PROTO_BOOL, false, NULL}, {0}}};

static const struct proto_type tensor = {
    "TensorProto", (const struct proto_field[]){{"dtype", 1, PROTO_TYPE, false, NULL},
                                                {"tensor_shape", 2, PROTO_MESSAGE, false, &shape},
                                                {"version_number", 3, PROTO_IGNORED, false, NULL},
                                                {"tensor_content", 4, PROTO_BYTES, false, NULL},
                                                {"half_val", 13, PROTO_INT32, true, NULL},
                                                {"float_val", 5, PROTO_FLOAT, true, NULL},
                                                {"double_val", 6, PROTO_DOUBLE, true, NULL},
                                                {"int_val", 7, PROTO_INT32, true, NULL},
                                                {"string_val", 8, PROTO_BYTES, true, NULL},
                                                {"int64_val", 10, PROTO_INT64, true, NULL},
                                                {"bool_val", 11, PROTO_BOOL, true, NULL},
                                                {0}}};

static const struct proto_type list = {
    "ListValue", (const struct proto_field[]){{"s", 2, PROTO_BYTES, true, NULL},
                                              {"i", 3, PROTO_INT64, true, NULL},
                                              {"f", 4, PROTO_FLOAT, true, NULL},
                                              {"b", 5, PROTO_BOOL, true, NULL},
                                              {"type", 6, PROTO_TYPE, true, NULL},
                                              {"shape", 7, PROTO_MESSAGE, true, &shape},
                                              {"tensor", 8, PROTO_MESSAGE, true, &tensor},
                                              {"func", 9, PROTO_UNSUPPORTED, true, NULL},
                                              {0}}};

static const struct proto_type func = {
    "NameAttrList",
    (const struct proto_field[]){
        {"name", 1, PROTO_STRING, false, NULL}, {"attr", 2, PROTO_IGNORED, true, NULL}, {0}}};

static const struct proto_type attr = {
    "AttrValue", (const struct proto_field[]){{"s", 2, PROTO_BYTES, false, NULL},
                                              {"i", 3, PROTO_INT64, false, NULL},
                                              {"f", 4, PROTO_DOUBLE, false, NULL},
                                              {"b", 5, PROTO_BOOL, false, NULL},
                                              {"type", 6, PROTO_TYPE, false, NULL},
                                              {"shape", 7, PROTO_MESSAGE, false, &shape},
                                              {"tensor", 8, PROTO_MESSAGE, false, &tensor},
                                              {"list", 1, PROTO_MESSAGE, false, &list},
                                              {"func", 10, PROTO_MESSAGE, false, &func},
                                              {"placeholder", 9, PROTO_UNSUPPORTED, false, NULL},
                                              {0}}};

static const struct proto_type entry = {
    "AttrEntry",
    (const struct proto_field[]){
        {"key", 1, PROTO_STRING, false, NULL}, {"value", 2, PROTO_MESSAGE, false, &attr}, {0}}};

const struct proto_type proto_node = {
    "NodeDef",
    (const struct proto_field[]){{"name", 1, PROTO_STRING, false, NULL},
                                 {"op", 2, PROTO_STRING, false, NULL},
                                 {"input", 3, PROTO_STRING, true, NULL},
                                 {"device", 4, PROTO_STRING, false, NULL},
                                 {"attr", 5, PROTO_MAP, true, &entry},
                                 {"experimental_debug_info", 6, PROTO_IGNORED, false, NULL},
                                 {"experimental_type", 7, PROTO_IGNORED, false, NULL},
                                 {0}}};

static const struct proto_type arg = {
    "ArgDef",
    (const struct proto_field[]){{"name", 1, PROTO_STRING, false, NULL},
                                 {"description", 2, PROTO_IGNORED, false, NULL},
                                 {"type", 3, PROTO_TYPE, false, NULL},
                                 {"type_attr", 4, PROTO_UNSUPPORTED, false, NULL},
                                 {"number_attr", 5, PROTO_UNSUPPORTED, false, NULL},
                                 {"type_list_attr", 6, PROTO_UNSUPPORTED, false, NULL},
                                 {"handle_data", 7, PROTO_IGNORED, true, NULL},
                                 {"is_ref", 16, PROTO_UNSUPPORTED, false, NULL},
                                 {"experimental_full_type", 17, PROTO_IGNORED, false, NULL},
                                 {0}}};

static const struct proto_type signature = {
    "OpDef", (const struct proto_field[]){{"name", 1, PROTO_STRING, false, NULL},
                                          {"input_arg", 2, PROTO_MESSAGE, true, &arg},
                                          {"output_arg", 3, PROTO_MESSAGE, true, &arg},
                                          {"attr", 4, PROTO_UNSUPPORTED, true, NULL},
                                          {"summary", 5, PROTO_IGNORED, false, NULL},
                                          {"description", 6, PROTO_IGNORED, false, NULL},
                                          {"is_stateful", 17, PROTO_IGNORED, false, NULL},
                                          {"control_output", 20, PROTO_IGNORED, true, NULL},
                                          {0}}};

static const struct proto_type ret = {
    "RetEntry",
    (const struct proto_field[]){
        {"key", 1, PROTO_STRING, false, NULL}, {"value", 2, PROTO_STRING, false, NULL}, {0}}};

static const struct proto_type arg_attrs = {
    "ArgAttrs", (const struct proto_field[]){{"attr", 1, PROTO_MAP, true, &entry}, {0}}};

static const struct proto_type arg_entry = {
    "ArgAttrEntry",
    (const struct proto_field[]){
        {"key", 1, PROTO_INT32, false, NULL}, {"value", 2, PROTO_MESSAGE, false, &arg_attrs}, {0}}};

static const struct proto_type function = {
    "FunctionDef",
    (const struct proto_field[]){{"signature", 1, PROTO_MESSAGE, false, &signature},
                                 {"node_def", 3, PROTO_MESSAGE, true, &proto_node},
                                 {"ret", 4, PROTO_MAP, true, &ret},
                                 {"attr", 5, PROTO_IGNORED, true, NULL},
                                 {"control_ret", 6, PROTO_IGNORED, true, NULL},
                                 {"arg_attr", 7, PROTO_MAP, true, &arg_entry},
                                 {"resource_arg_unique_id", 8, PROTO_IGNORED, true, NULL},
                                 {0}}};

static const struct proto_type library = {
    "FunctionDefLibrary",
    (const struct proto_field[]){{"function", 1, PROTO_MESSAGE, true, &function},
                                 {"gradient", 2, PROTO_UNSUPPORTED, true, NULL},
                                 {"registered_gradients", 3, PROTO_UNSUPPORTED, true, NULL},
                                 {0}}};

const struct proto_type proto_graph = {
    "GraphDef", (const struct proto_field[]){{"node", 1, PROTO_MESSAGE, true, &proto_node},
                                             {"versions", 4, PROTO_IGNORED, false, NULL},
                                             {"version", 3, PROTO_IGNORED, false, NULL},
                                             {"library", 2, PROTO_MESSAGE, false, &library},
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

const char *proto_string(const struct proto_message *message, const char *name) {
  const struct proto_value *value = proto_get(message, name);
  return value ? value->bytes.data : "";
}

const struct proto_field *proto_field_by_number(const struct proto_type *type, uint64_t number) {
  for (const struct proto_field *field = type->fields; field->name; field++)
    if ((uint64_t)field->number == number) return field;
  return NULL;
}

enum { POSITION_SIZE = 64 };

/* Formats a position: line and column from 1, or the byte from 0 in binary format. */
static const char *format_position(const struct proto_source *source, size_t offset,
                                   char out[POSITION_SIZE]) {
  size_t start = 0, line = 1;
  for (size_t i = 0; !source->is_binary && i < offset && i < source->length; i++) {
    if (source->text[i] != '\n') continue;
    line++;
    start = i + 1;
  }
  if (source->is_binary)
    snprintf(out, POSITION_SIZE, "byte %zu", offset);
  else
    snprintf(out, POSITION_SIZE, "line %zu, column %zu", line, offset - start + 1);
  return out;
}

situ_status proto_error(const struct proto_source *source, size_t offset, const char *format, ...) {
  char *message = NULL;
  va_list arguments;
  va_start(arguments, format);
  const int length = vasprintf(&message, format, arguments);
  va_end(arguments);
  if (length < 0) return NO_MEMORY();
  char position[POSITION_SIZE];
  const situ_status status =
      INVALID("GraphDef, %s: %s", format_position(source, offset, position), message);
  free(message);
  return status;
}

situ_status proto_add_location(const struct proto_source *source, size_t offset,
                               situ_status status) {
  char position[POSITION_SIZE];
  if (!status) return NULL;
  return status_note(status, "at %s of the GraphDef", format_position(source, offset, position));
}
