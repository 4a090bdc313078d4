/* SPDX-License-Identifier: Apache-2.0
 * message.h: protocol buffer messages of TensorFlow (GraphDef, tf.train.Example, ConfigProto, ...):
 * their schemas, and messages that are built, read and written in protobuf's three formats.
 *
 *   situ_message *graph = situ_message_create(situ_message_type_find("tensorflow.GraphDef"));
 *   situ_status status = situ_message_parse(graph, SITU_FORMAT_BINARY, data, length);
 *   ...
 *   situ_message_release(graph);
 *
 * A message and its submessages are one tree: they share their memory, which is freed when the last
 * reference to one of them is released. One thread at a time may use a tree. Functions that return
 * false or NULL ran out of memory. A field must belong to the type of its message.
 */
#ifndef SITU_MESSAGE_H
#define SITU_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "situ/status.h"
#include "situ/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The kind of a field, numbered as in protobuf's FieldDescriptorProto. */
typedef enum situ_field_kind {
  SITU_FIELD_DOUBLE = 1,
  SITU_FIELD_FLOAT = 2,
  SITU_FIELD_INT64 = 3,
  SITU_FIELD_UINT64 = 4,
  SITU_FIELD_INT32 = 5,
  SITU_FIELD_FIXED64 = 6,
  SITU_FIELD_FIXED32 = 7,
  SITU_FIELD_BOOL = 8,
  SITU_FIELD_STRING = 9,
  SITU_FIELD_MESSAGE = 11,
  SITU_FIELD_BYTES = 12,
  SITU_FIELD_UINT32 = 13,
  SITU_FIELD_ENUM = 14
} situ_field_kind;

typedef struct situ_enum_value {
  const char *name;
  int32_t number;
} situ_enum_value;

typedef struct situ_enum_type {
  const char *name; /* "tensorflow.DataType" */
  const situ_enum_value *values;
  int count;
} situ_enum_type;

typedef struct situ_message_type situ_message_type;

typedef struct situ_field {
  const char *name;
  int32_t number;
  situ_field_kind kind;
  bool is_repeated, is_map; /* a map is a repeated field of messages {key, value} */
  const char *oneof;        /* the name of its oneof, or NULL */
  const situ_message_type *message;
  const situ_enum_type *values; /* of an enum */
} situ_field;

struct situ_message_type {
  const char *name;         /* "tensorflow.NodeDef" */
  const situ_field *fields; /* in the order of their numbers */
  int count;
  bool is_map_entry; /* {key, value}; both are always written */
};

typedef struct situ_message situ_message;

/* A value of a field. Numbers without fraction, bool and enums are integers; uint64 has the bits of
 * int64. Bytes are null-terminated and borrowed from the message. */
typedef union situ_field_value {
  int64_t integer;
  double real;
  situ_string bytes;
  situ_message *message;
} situ_field_value;

/* Return the type of that full name, or type `index` of all; NULL if there is none. */
SITU_API const situ_message_type *situ_message_type_find(const char *name);
SITU_API const situ_message_type *situ_message_type_at(int index);
SITU_API const situ_enum_type *situ_enum_type_at(int index);

/* Returns the field of that name, or NULL. */
SITU_API const situ_field *situ_message_type_field(const situ_message_type *type, const char *name);

/* Creates an empty message with one reference. */
SITU_API situ_message *situ_message_create(const situ_message_type *type);

/* Add and remove a reference to the tree of a message. NULL is ignored. */
SITU_API void situ_message_retain(situ_message *message);
SITU_API void situ_message_release(situ_message *message);

/* Returns the type of a message. */
SITU_API const situ_message_type *situ_message_type_of(const situ_message *message);

/* Returns whether a singular field is set. Fields without presence (scalars outside of oneofs) are
 * set if they are not zero. */
SITU_API bool situ_message_has(const situ_message *message, const situ_field *field);

/* Returns the number of elements of a repeated field. */
SITU_API int64_t situ_message_count(const situ_message *message, const situ_field *field);

/* Returns a value: of a singular field (index 0), its default if it is not set (NULL for messages);
 * or an element of a repeated field. */
SITU_API situ_field_value situ_message_get(const situ_message *message, const situ_field *field,
                                           int64_t index);

/* Returns the submessage of a singular field. If it is not set, it becomes so with the first change
 * of the submessage. */
SITU_API situ_message *situ_message_submessage(situ_message *message, const situ_field *field);

/* Sets a singular field (index 0) or an element of a repeated one; not for messages. Copies bytes.
 */
SITU_API bool situ_message_set(situ_message *message, const situ_field *field, int64_t index,
                               situ_field_value value);

/* Marks a message as set in the message that contains it, as a change does. */
SITU_API void situ_message_touch(situ_message *message);

/* Inserts an element before `index`; not for messages. */
SITU_API bool situ_message_insert(situ_message *message, const situ_field *field, int64_t index,
                                  situ_field_value value);

/* Inserts an empty message before element `index` and returns it. */
SITU_API situ_message *situ_message_insert_message(situ_message *message, const situ_field *field,
                                                   int64_t index);

/* Removes elements of a repeated field. */
SITU_API void situ_message_remove(situ_message *message, const situ_field *field, int64_t first,
                                  int64_t count);

/* Reorders a repeated field: element i becomes the old element order[i]. */
SITU_API bool situ_message_reorder(situ_message *message, const situ_field *field,
                                   const int64_t *order);

/* Returns the index of a key in a map field, or -1. */
SITU_API int64_t situ_message_find(const situ_message *message, const situ_field *field,
                                   situ_field_value key);

/* Return the entry {key, value} of a key in a map field, which is added if it is missing. */
SITU_API situ_message *situ_message_map_entry(situ_message *message, const situ_field *field,
                                              situ_field_value key);

/* Clear a field, or all fields. */
SITU_API void situ_message_clear_field(situ_message *message, const situ_field *field);
SITU_API void situ_message_clear(situ_message *message);

/* Returns the field of a oneof that is set, or NULL. */
SITU_API const situ_field *situ_message_which(const situ_message *message, const char *oneof);

/* Merges a message of the same type: sets scalars, appends to repeated fields, merges submessages.
 */
SITU_API bool situ_message_merge(situ_message *to, const situ_message *from);

/* Returns whether two messages have the same type and fields. NaN equals nothing. */
SITU_API bool situ_message_equal(const situ_message *a, const situ_message *b);

/* TEXT_LINE writes the text format on one line. JSON is on one line. */
typedef enum situ_format {
  SITU_FORMAT_BINARY,
  SITU_FORMAT_TEXT,
  SITU_FORMAT_TEXT_LINE,
  SITU_FORMAT_JSON
} situ_format;

/* Merges a message that is read. Errors contain line and column, or the byte offset; the message
 * then has the fields before the error. Messages may be nested 100 times and have 2 GiB. */
SITU_API situ_status situ_message_parse(situ_message *message, situ_format format, const char *data,
                                        size_t length) SITU_MUST_USE;

/* Writes a message to memory that the caller frees; it is null-terminated. Maps are sorted. */
SITU_API situ_status situ_message_write(const situ_message *message, situ_format format, char **out,
                                        size_t *length) SITU_MUST_USE;

/* Creates the tensor of a TensorProto. `*limit` is how many bytes repeated elements may take (see
 * situ_expansion_limit); what is used is subtracted. ResourceExhausted if there are more. */
SITU_API situ_status situ_message_read_tensor(const situ_message *message, uint64_t *limit,
                                              situ_tensor **out) SITU_MUST_USE;

/* Returns how many bytes an input of `bytes` bytes may expand to: SITU_EXPANSION_LIMIT, or 64 times
 * its size if that is more. */
SITU_API uint64_t situ_expansion_limit(uint64_t bytes);

#ifdef __cplusplus
}
#endif
#endif
