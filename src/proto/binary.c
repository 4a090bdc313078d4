/* SPDX-License-Identifier: Apache-2.0
 * binary.c: reads and writes protobuf's binary wire format.
 *
 * The reader keeps unknown fields. The writer fills its buffer from the end to the front, so that
 * the length of a message is known when it is written before the message. */
#include <stdlib.h>
#include <string.h>

#include "proto/message.h"
#include "proto/wire.h"

/* ---- Reading ---- */

static size_t offset_in(const struct proto_source *source, const uint8_t *at) {
  return (size_t)((const char *)at - source->text);
}

/* The error of a field that cannot be read. */
static situ_status field_error(const struct proto_source *source, struct wire wire) {
  const size_t start = offset_in(source, wire.at);
  uint64_t tag = 0, length = 0;
  if (!wire_read_varint(&wire, &tag))
    return proto_error(source, start, "a varint is not terminated");
  if (!(tag >> 3) || tag > UINT32_MAX)
    return proto_error(source, start, "invalid field number %llu", (unsigned long long)(tag >> 3));
  const int type = (int)(tag & 7);
  const size_t payload = offset_in(source, wire.at);
  if (type == WIRE_VARINT || (type == WIRE_LENGTH && !wire_read_varint(&wire, &length)))
    return proto_error(source, payload, "a varint is not terminated");
  if (type == WIRE_FIXED64) length = 8;
  if (type == WIRE_FIXED32) length = 4;
  if (!length) return proto_error(source, start, "unknown wire type %d", type);
  return proto_error(source, offset_in(source, wire.at), "%llu bytes are expected, %zu are left",
                     (unsigned long long)length, (size_t)(wire.end - wire.at));
}

/* The wire type of a single value. */
static int wire_type(const situ_field *field) {
  switch (field->kind) {
    case SITU_FIELD_DOUBLE:
    case SITU_FIELD_FIXED64:
      return WIRE_FIXED64;
    case SITU_FIELD_FLOAT:
    case SITU_FIELD_FIXED32:
      return WIRE_FIXED32;
    case SITU_FIELD_STRING:
    case SITU_FIELD_BYTES:
    case SITU_FIELD_MESSAGE:
      return WIRE_LENGTH;
    default:
      return WIRE_VARINT;
  }
}

static void set_number(const situ_field *field, uint64_t bits, struct proto_value *out) {
  const uint32_t low = (uint32_t)bits;
  float single = 0;
  switch (field->kind) {
    case SITU_FIELD_FLOAT:
      memcpy(&single, &low, sizeof single);
      out->real = (double)single;
      break;
    case SITU_FIELD_DOUBLE:
      memcpy(&out->real, &bits, sizeof out->real);
      break;
    case SITU_FIELD_INT32:
    case SITU_FIELD_ENUM:
      out->integer = (int32_t)low;
      break;
    case SITU_FIELD_UINT32:
      out->integer = low;
      break;
    case SITU_FIELD_BOOL:
      out->integer = bits != 0;
      break;
    default:
      out->integer = (int64_t)bits;
  }
}

struct reader {
  const struct proto_source *source;
  int depth;
};

static situ_status read_packed(const struct reader *reader, struct wire wire, situ_message *message,
                               const situ_field *field) {
  const int type = wire_type(field);
  while (wire.at < wire.end) {
    const size_t offset = offset_in(reader->source, wire.at);
    struct proto_value *value = proto_add(message, field);
    uint64_t bits = 0;
    if (!value) return NO_MEMORY();
    value->offset = (uint32_t)offset;
    if (!(type == WIRE_VARINT ? wire_read_varint(&wire, &bits)
                              : wire_read_fixed(&wire, type == WIRE_FIXED32 ? 4 : 8, &bits)))
      return proto_error(reader->source, offset, "a packed field is truncated");
    set_number(field, bits, value);
  }
  return NULL;
}

static situ_status read_message(struct reader *reader, struct wire wire, situ_message *out);

static situ_status read_submessage(struct reader *reader, struct wire inside, size_t offset,
                                   situ_message *out) {
  out->offset = (uint32_t)offset;
  if (++reader->depth > PROTO_MAX_DEPTH)
    return proto_error(reader->source, offset, "messages are nested too deeply");
  TRY(read_message(reader, inside, out));
  reader->depth--;
  return NULL;
}

/* Reads an entry; its key replaces an equal one. */
static situ_status read_map_entry(struct reader *reader, struct wire inside, size_t offset,
                                  situ_message *message, const situ_field *field) {
  const situ_field *kinds = field->message->fields;
  situ_message *entry = situ_message_insert_message(message, field, INT64_MAX);
  if (!entry) return NO_MEMORY();
  TRY(read_submessage(reader, inside, offset, entry));
  if (!proto_complete_entry(entry)) return NO_MEMORY();
  struct proto_value *slot = proto_slot(message, field);
  slot->list->items[slot->list->count - 1].offset = (uint32_t)offset;
  const int64_t first = situ_message_find(message, field, situ_message_get(entry, &kinds[0], 0));
  if (first != (int64_t)slot->list->count - 1) situ_message_remove(message, field, first, 1);
  return NULL;
}

static situ_status read_value(struct reader *reader, const struct wire_field *from, size_t offset,
                              situ_message *message, const situ_field *field) {
  const int type = wire_type(field);
  if (from->type == WIRE_LENGTH && type != WIRE_LENGTH && field->is_repeated)
    return read_packed(reader, from->inside, message, field);
  if (from->type != type)
    return proto_error(reader->source, offset, "'%s' of %s has wire type %d", field->name,
                       schema_short_name(message->type->name), from->type);
  if (field->is_map) return read_map_entry(reader, from->inside, offset, message, field);
  struct proto_value *value = proto_add(message, field);
  if (!value) return NO_MEMORY();
  value->offset = (uint32_t)offset;
  if (field->message) return read_submessage(reader, from->inside, offset, value->message);
  if (type != WIRE_LENGTH) {
    set_number(field, from->value, value);
    return NULL;
  }
  value->bytes = proto_copy_bytes(message, (const char *)from->inside.at,
                                  (size_t)(from->inside.end - from->inside.at));
  return value->bytes ? NULL : NO_MEMORY();
}

/* Appends a field to the unknown ones. */
static bool keep_unknown(situ_message *message, const uint8_t *start, const uint8_t *end) {
  const size_t size = (size_t)(end - start);
  if (message->n_unknown + size > message->in_unknown) {
    const size_t capacity = (message->n_unknown + size) * 2;
    char *data = arena_alloc(&message->tree->arena, capacity);
    if (!data) return false;
    if (message->n_unknown) memcpy(data, message->unknown, message->n_unknown);
    message->unknown = data;
    message->in_unknown = capacity;
  }
  memcpy(message->unknown + message->n_unknown, start, size);
  message->n_unknown += size;
  return true;
}

static situ_status read_message(struct reader *reader, struct wire wire, situ_message *out) {
  while (wire.at < wire.end) {
    const struct wire start = wire;
    struct wire_field from;
    if (!wire_read_field(&wire, &from)) return field_error(reader->source, start);
    const situ_field *field = schema_field(out->type, from.number);
    if (field)
      TRY(read_value(reader, &from, offset_in(reader->source, start.at), out, field));
    else if (!keep_unknown(out, start.at, wire.at))
      return NO_MEMORY();
  }
  return NULL;
}

situ_status binary_read(const struct proto_source *source, situ_message *out) {
  struct reader reader = {source, 0};
  const uint8_t *data = (const uint8_t *)source->text;
  return read_message(&reader, (struct wire){data, data + source->length}, out);
}

/* ---- Writing ---- */

/* Bytes [start, capacity) are written. */
struct writer {
  char *data;
  size_t start, capacity;
  bool failed;
};

static char *prepend(struct writer *out, size_t size) {
  if (size > out->start && !out->failed) {
    const size_t used = out->capacity - out->start, capacity = (used + size) * 2 + 64;
    char *data = malloc(capacity);
    if (data && used) memcpy(data + capacity - used, out->data + out->start, used);
    out->failed = !data;
    free(out->data);
    out->data = data;
    out->start = data ? capacity - used : 0;
    out->capacity = data ? capacity : 0;
  }
  if (out->failed) return NULL;
  out->start -= size;
  return out->data + out->start;
}

static void write_bytes(struct writer *out, const void *bytes, size_t size) {
  char *to = size ? prepend(out, size) : NULL;
  if (to) memcpy(to, bytes, size);
}

static void write_varint(struct writer *out, uint64_t value) {
  char bytes[10];
  size_t count = 0;
  for (; value > 127; value >>= 7) bytes[count++] = (char)((value & 127) | 128);
  bytes[count++] = (char)value;
  write_bytes(out, bytes, count);
}

static void write_tag(struct writer *out, const situ_field *field, int type) {
  write_varint(out, (uint64_t)field->number << 3 | (uint64_t)type);
}

static void write_number(struct writer *out, const situ_field *field,
                         const struct proto_value *value) {
  const float single = field->kind == SITU_FIELD_FLOAT ? (float)value->real : 0;
  switch (wire_type(field)) {
    case WIRE_FIXED64:
      write_bytes(out, &value->integer, 8);
      break;
    case WIRE_FIXED32:
      write_bytes(out, field->kind == SITU_FIELD_FLOAT ? (const void *)&single : &value->integer,
                  4);
      break;
    default:
      write_varint(out, (uint64_t)value->integer);
  }
}

static void write_message(struct writer *out, const situ_message *message);

static void write_value(struct writer *out, const situ_field *field,
                        const struct proto_value *value) {
  const size_t end = out->capacity - out->start;
  if (field->message)
    write_message(out, value->message);
  else if (proto_is_bytes(field))
    write_bytes(out, value->bytes->data, value->bytes->length);
  else
    write_number(out, field, value);
  if (wire_type(field) == WIRE_LENGTH) write_varint(out, out->capacity - out->start - end);
  write_tag(out, field, wire_type(field));
}

static void write_packed(struct writer *out, const situ_field *field,
                         const struct proto_list *list) {
  const size_t end = out->capacity - out->start;
  for (size_t i = list->count; i > 0; i--) write_number(out, field, &list->items[i - 1]);
  write_varint(out, out->capacity - out->start - end);
  write_tag(out, field, WIRE_LENGTH);
}

static void write_map(struct writer *out, const situ_field *field, const struct proto_list *list) {
  const struct proto_value **sorted = proto_sorted_entries(list);
  if (!sorted) out->failed = true;
  for (size_t i = sorted ? list->count : 0; i > 0; i--) write_value(out, field, sorted[i - 1]);
  free((void *)sorted);
}

static void write_list(struct writer *out, const situ_field *field, const struct proto_list *list) {
  if (field->is_map) {
    write_map(out, field, list);
  } else if (wire_type(field) != WIRE_LENGTH) {
    write_packed(out, field, list);
  } else {
    for (size_t i = list->count; i > 0; i--) write_value(out, field, &list->items[i - 1]);
  }
}

static void write_message(struct writer *out, const situ_message *message) {
  write_bytes(out, message->unknown, message->n_unknown);
  for (uint16_t i = message->count; i > 0; i--) {
    const struct proto_value *slot = &message->slots[i - 1];
    const situ_field *field = proto_field_of(message, slot);
    if (!proto_is_written(message, slot)) continue;
    if (field->is_repeated)
      write_list(out, field, slot->list);
    else
      write_value(out, field, slot);
  }
}

char *binary_write(const situ_message *message, size_t *length) {
  struct writer out = {0};
  write_bytes(&out, "", 1);
  write_message(&out, message);
  *length = out.capacity - out.start - 1;
  if (!out.failed) memmove(out.data, out.data + out.start, *length + 1);
  return out.data;
}
