/* SPDX-License-Identifier: Apache-2.0
 * message.h: messages in memory, and their parsers and writers.
 *
 * A message has a slot for each field that is set, in the order of the field numbers. A repeated
 * field has an array of values. All memory is in the arena of the tree. */
#ifndef SITU_PROTO_MESSAGE_H
#define SITU_PROTO_MESSAGE_H

#include "base/arena.h"
#include "base/strbuf.h"
#include "proto/schema.h"

enum { PROTO_MAX_DEPTH = 100, PROTO_MAX_SIZE = INT32_MAX };

struct proto_bytes {
  size_t length;
  char data[]; /* followed by a 0 that is not part of it */
};

struct proto_list;

/* The value of a slot, or an element of a list. */
struct proto_value {
  union {
    int64_t integer;
    double real;
    const struct proto_bytes *bytes;
    situ_message *message;
    struct proto_list *list; /* in the slot of a repeated field */
  };
  uint32_t offset; /* in the source that was parsed, for errors */
  uint16_t field;  /* index in the fields of the type */
};

struct proto_list {
  struct proto_value *items;
  size_t count, capacity;
};

struct proto_tree {
  struct arena arena;
  size_t references;
};

struct situ_message {
  const situ_message_type *type;
  struct proto_tree *tree;
  situ_message *parent; /* of a submessage that is not set yet: the message that contains it */
  struct proto_value *slots;
  uint16_t count, capacity;
  bool is_absent;    /* a submessage that was only read: not set in its parent */
  uint32_t offset;   /* in the source */
  char *unknown;     /* fields that the type lacks, in binary format */
  size_t n_unknown;  /* bytes of them */
  size_t in_unknown; /* capacity */
};

/* An empty message in the tree of another; NULL when memory runs out. */
situ_message *proto_create(struct proto_tree *tree, const situ_message_type *type);

static inline const situ_field *proto_field_of(const situ_message *message,
                                               const struct proto_value *value) {
  return &message->type->fields[value->field];
}

/* The slot of a field, or NULL. Submessages that are not set have none. */
struct proto_value *proto_slot(const situ_message *message, const situ_field *field);

/* Appends a value to a repeated field, or sets a singular one, to zero; NULL when memory runs out.
 */
struct proto_value *proto_add(situ_message *message, const situ_field *field);

/* Copies bytes to the tree; NULL when memory runs out. */
const struct proto_bytes *proto_copy_bytes(situ_message *message, const char *data, size_t length);

/* Whether a scalar is zero or empty, and is not written unless its field has presence. */
bool proto_is_zero(const situ_field *field, const struct proto_value *value);

static inline bool proto_is_real(const situ_field *field) {
  return field->kind == SITU_FIELD_FLOAT || field->kind == SITU_FIELD_DOUBLE;
}

static inline bool proto_is_bytes(const situ_field *field) {
  return field->kind == SITU_FIELD_STRING || field->kind == SITU_FIELD_BYTES;
}

/* Whether a slot is written: it is set, and not the default of a field without presence. */
bool proto_is_written(const situ_message *message, const struct proto_value *slot);

/* Adds the key and the value that an entry of a map lacks; false when memory runs out. */
bool proto_complete_entry(situ_message *entry);

/* Sorts the entries of a map by key into `out`; NULL when memory runs out. The caller frees it. */
const struct proto_value **proto_sorted_entries(const struct proto_list *list);

/* The last value of a field, or NULL. */
const struct proto_value *proto_get(const situ_message *message, const char *name);

/* The next value of a field after `after`, or the first if that is NULL; NULL at the end. */
const struct proto_value *proto_next(const situ_message *message, const char *name,
                                     const struct proto_value *after);

/* The bytes of a field as a string; "" if it is not set. */
const char *proto_string(const situ_message *message, const char *name);

/* The input of a parser; errors have its line and column, or the byte offset in binary format. */
struct proto_source {
  const char *text; /* NULL: the message was not parsed, and errors have no position */
  size_t length;
  const char *name; /* of the message: "GraphDef" */
  struct arena *arena;
  bool is_binary;
};

/* An error at a position: "GraphDef, line 3, column 14: ...", "GraphDef, byte 17: ...". */
situ_status proto_error(const struct proto_source *source, size_t offset, const char *format,
                        ...) SITU_MUST_USE SITU_FORMAT(3, 4);

/* Adds the position to an error; NULL stays NULL. */
situ_status proto_add_location(const struct proto_source *source, size_t offset,
                               situ_status status) SITU_MUST_USE;

/* Merge a message in binary format, text format or JSON. */
situ_status binary_read(const struct proto_source *source, situ_message *out) SITU_MUST_USE;
situ_status text_read(const struct proto_source *source, situ_message *out) SITU_MUST_USE;
situ_status json_format_read(const struct proto_source *source, situ_message *out) SITU_MUST_USE;

/* Appends bytes escaped as in text format; UTF-8 is kept if `is_utf8`. */
void text_escape(struct strbuf *out, const char *bytes, size_t length, bool is_utf8);

/* Append the fields of a message in text format (indent -1: on one line), or as JSON on one line.
 */
void text_write(struct strbuf *out, const situ_message *message, int indent);
void json_format_write(struct strbuf *out, const situ_message *message);

/* Writes binary format to memory that the caller frees; NULL when memory runs out. */
char *binary_write(const situ_message *message, size_t *length);

#endif
