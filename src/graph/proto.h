/* SPDX-License-Identifier: Apache-2.0
 * proto.h: messages of a GraphDef as trees, which its text, JSON and binary forms all give.
 *
 * A table says which fields each kind of message has; readers and writers know nothing else. */
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
  PROTO_TEXT,
  PROTO_BYTES,
  PROTO_TYPE, /* an element type */
  PROTO_MESSAGE,
  PROTO_MAP,     /* messages {key, value}; in JSON an object */
  PROTO_IGNORED, /* read over: says nothing to situ */
  PROTO_REFUSED  /* what situ cannot do: an error */
};

struct proto_type;

struct proto_field {
  const char *name; /* as in the text form; in JSON also dtypeName */
  int number;       /* in the binary form */
  enum proto_kind kind;
  bool repeated;
  const struct proto_type *message; /* of kind MESSAGE and MAP */
};

struct proto_type {
  const char *name;
  const struct proto_field *fields; /* end in a row of zeros */
};

extern const struct proto_type proto_graph, proto_node;

struct proto_message;

/* One value of a field. */
struct proto_value {
  struct proto_value *next; /* of the same message */
  const struct proto_field *field;
  size_t offset; /* where it stands in the text */
  union {
    int64_t integer; /* INT32, INT64, BOOL, TYPE */
    double real;
    struct {
      const char *data; /* ends in a 0 that does not count */
      size_t length;
    } bytes;
    struct proto_message *message;
  };
};

struct proto_message {
  const struct proto_type *type;
  struct proto_value *first, *last;
};

/* An empty message; NULL without memory. */
struct proto_message *proto_create(struct arena *arena, const struct proto_type *type);

/* The field of that name, or NULL. */
const struct proto_field *proto_field(const struct proto_type *type, const char *name,
                                      size_t length);

/* The field of that number in the binary form, or NULL. */
const struct proto_field *proto_numbered(const struct proto_type *type, uint64_t number);

/* Appends a value to a field; NULL without memory. A field that is not in the table is a bug. */
struct proto_value *proto_add(struct arena *arena, struct proto_message *message,
                              const struct proto_field *field);

/* The last value of a field, or NULL. */
const struct proto_value *proto_get(const struct proto_message *message, const char *name);

/* The next value of a field behind `after`; NULL: the first. */
const struct proto_value *proto_next(const struct proto_message *message, const char *name,
                                     const struct proto_value *after);

/* The bytes of a field as text; "" if it is not there. */
const char *proto_text(const struct proto_message *message, const char *name);

/* A text that is being read, for errors with line and column; of the binary form with the byte. */
struct proto_source {
  const char *text;
  size_t length;
  struct arena *arena;
  bool is_binary;
};

/* A failure at a place: "line 3, column 14: ...", "byte 17: ...". */
situ_status proto_wrong(const struct proto_source *source, size_t offset, const char *format,
                        ...) SITU_MUST_USE SITU_FORMAT(3, 4);

/* Adds the place to a failure. */
situ_status proto_locate(const struct proto_source *source, size_t offset,
                         situ_status status) SITU_MUST_USE;

/* Whether this is a GraphDef in the binary form, and not a text. */
bool protobinary_is(const char *data, size_t length);

/* Reads the text form, JSON, or the binary form. */
situ_status protobinary_read(const struct proto_source *source, const struct proto_type *type,
                             struct proto_message **out) SITU_MUST_USE;
situ_status prototext_read(const struct proto_source *source, const struct proto_type *type,
                           struct proto_message **out) SITU_MUST_USE;
situ_status protojson_read(const struct proto_source *source, const struct proto_type *type,
                           struct proto_message **out) SITU_MUST_USE;

/* Appends the fields of a message in the text form, indented by so many blanks; or as JSON, on one
 * line. */
void prototext_write(struct strbuf *out, const struct proto_message *message, int indent);
void protojson_write(struct strbuf *out, const struct proto_message *message);

#endif
