/* SPDX-License-Identifier: Apache-2.0
 * proto.h: GraphDef messages as trees, and their parsers and writers for protobuf's binary, text
 * and JSON formats.
 *
 * A table describes the fields of each message type; parsers and writers depend on nothing else. */
#ifndef SITU_GRAPH_PROTO_H
#define SITU_GRAPH_PROTO_H

#include "base/arena.h"
#include "base/strbuf.h"
#include "situ/tensor.h"

enum proto_kind {
  PROTO_INT32,
  PROTO_INT64,
  PROTO_FLOAT,
  PROTO_DOUBLE,
  PROTO_BOOL,
  PROTO_STRING,
  PROTO_BYTES,
  PROTO_TYPE, /* a DataType */
  PROTO_MESSAGE,
  PROTO_MAP,        /* messages {key, value}; an object in JSON */
  PROTO_IGNORED,    /* skipped */
  PROTO_UNSUPPORTED /* an error */
};

struct proto_type;

struct proto_field {
  const char *name; /* in text format; JSON also accepts camelCase */
  int number;       /* in binary format */
  enum proto_kind kind;
  bool repeated;
  const struct proto_type *message; /* of kind MESSAGE and MAP */
};

struct proto_type {
  const char *name;
  const struct proto_field *fields; /* terminated by a zero element */
};

extern const struct proto_type proto_graph, proto_node;

struct proto_message;

/* One value of a field. */
struct proto_value {
  struct proto_value *next; /* of the same message */
  const struct proto_field *field;
  size_t offset; /* in the source, for errors */
  union {
    int64_t integer; /* INT32, INT64, BOOL, TYPE */
    double real;
    struct {
      const char *data; /* followed by a 0 that is not part of it */
      size_t length;
    } bytes;
    struct proto_message *message;
  };
};

struct proto_message {
  const struct proto_type *type;
  struct proto_value *first, *last;
};

/* An empty message; NULL when memory runs out. */
struct proto_message *proto_create(struct arena *arena, const struct proto_type *type);

/* The field of that name, or NULL. */
const struct proto_field *proto_field(const struct proto_type *type, const char *name,
                                      size_t length);

/* The field of that number in binary format, or NULL. */
const struct proto_field *proto_field_by_number(const struct proto_type *type, uint64_t number);

/* Appends a value to a field; NULL when memory runs out. `field` must be in the message's type. */
struct proto_value *proto_add(struct arena *arena, struct proto_message *message,
                              const struct proto_field *field);

/* The last value of a field, or NULL. */
const struct proto_value *proto_get(const struct proto_message *message, const char *name);

/* The next value of a field after `after`, or the first if that is NULL; NULL at the end. */
const struct proto_value *proto_next(const struct proto_message *message, const char *name,
                                     const struct proto_value *after);

/* The bytes of a field as a string; "" if it is not set. */
const char *proto_string(const struct proto_message *message, const char *name);

/* The input of a parser; errors have its line and column, or the byte offset in binary format. */
struct proto_source {
  const char *text;
  size_t length;
  struct arena *arena;
  bool is_binary;
};

/* An error at a position: "line 3, column 14: ...", "byte 17: ...". */
situ_status proto_error(const struct proto_source *source, size_t offset, const char *format,
                        ...) SITU_MUST_USE SITU_FORMAT(3, 4);

/* Adds the position to an error; NULL stays NULL. */
situ_status proto_add_location(const struct proto_source *source, size_t offset,
                               situ_status status) SITU_MUST_USE;

/* Whether this is a GraphDef in binary format. */
bool protobinary_is(const char *data, size_t length);

/* Parse binary format, text format or JSON. */
situ_status protobinary_read(const struct proto_source *source, const struct proto_type *type,
                             struct proto_message **out) SITU_MUST_USE;
situ_status prototext_read(const struct proto_source *source, const struct proto_type *type,
                           struct proto_message **out) SITU_MUST_USE;
situ_status protojson_read(const struct proto_source *source, const struct proto_type *type,
                           struct proto_message **out) SITU_MUST_USE;

/* Append the fields of a message in text format with the given indentation, or as JSON on one line.
 */
void prototext_write(struct strbuf *out, const struct proto_message *message, int indent);
void protojson_write(struct strbuf *out, const struct proto_message *message);

#endif
