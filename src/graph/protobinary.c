/* SPDX-License-Identifier: Apache-2.0
 * protobinary.c: parses protobuf's binary wire format (.pb).
 *
 * The recursion is as deep as the nesting of message types. Unknown fields are skipped, as in
 * protobuf. */
#include <string.h>

#include "graph/proto.h"
#include "tensor/type.h"

enum wire { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_LENGTH = 2, WIRE_FIXED32 = 5 };

struct reader {
  const struct proto_source *source;
  size_t at, end; /* of the message */
};

/* A field number with the payload of its wire type. */
struct element {
  size_t offset;
  uint64_t number, integer; /* of WIRE_VARINT; the length of WIRE_LENGTH */
  enum wire wire;
  struct reader payload; /* of the others */
};

static situ_status read_varint(struct reader *reader, uint64_t *out) {
  const size_t start = reader->at;
  *out = 0;
  for (int shift = 0; shift < 64 && reader->at < reader->end; shift += 7) {
    const unsigned char byte = (unsigned char)reader->source->text[reader->at++];
    *out |= (uint64_t)(byte & 0x7f) << shift;
    if (!(byte & 0x80)) return NULL;
  }
  return proto_error(reader->source, start, "a varint is not terminated");
}

static situ_status take_payload(struct reader *reader, uint64_t length, struct reader *out) {
  if (length > reader->end - reader->at)
    return proto_error(reader->source, reader->at, "%llu bytes are expected, %zu are left",
                       (unsigned long long)length, reader->end - reader->at);
  *out = (struct reader){reader->source, reader->at, reader->at + (size_t)length};
  reader->at = out->end;
  return NULL;
}

static situ_status read_element(struct reader *reader, struct element *out) {
  uint64_t tag = 0;
  out->offset = reader->at;
  TRY(read_varint(reader, &tag));
  out->number = tag >> 3;
  out->wire = (enum wire)(tag & 7);
  switch (tag & 7) {
    case WIRE_VARINT:
      return read_varint(reader, &out->integer);
    case WIRE_FIXED64:
      return take_payload(reader, 8, &out->payload);
    case WIRE_FIXED32:
      return take_payload(reader, 4, &out->payload);
    case WIRE_LENGTH:
      TRY(read_varint(reader, &out->integer));
      return take_payload(reader, out->integer, &out->payload);
    default:
      return proto_error(reader->source, out->offset, "unknown wire type %d", (int)(tag & 7));
  }
}

/* Decodes little endian on any machine. */
static uint64_t fixed(const struct reader *payload) {
  uint64_t bits = 0;
  for (size_t i = payload->end; i > payload->at; i--)
    bits = bits << 8 | (unsigned char)payload->source->text[i - 1];
  return bits;
}

static double fixed_real(const struct reader *payload) {
  const uint64_t bits = fixed(payload);
  const uint32_t low = (uint32_t)bits;
  double wide = 0;
  float narrow = 0;
  memcpy(&wide, &bits, sizeof wide);
  memcpy(&narrow, &low, sizeof narrow);
  return payload->end - payload->at == sizeof narrow ? (double)narrow : wide;
}

static bool is_real(const struct proto_field *field) {
  return field->kind == PROTO_FLOAT || field->kind == PROTO_DOUBLE;
}

static situ_status set_integer(const struct proto_source *source, uint64_t bits,
                               struct proto_value *value) {
  value->integer = (int64_t)bits;
  if (value->field->kind == PROTO_INT32) value->integer = (int32_t)(uint32_t)bits;
  if (value->field->kind == PROTO_BOOL) value->integer = bits != 0;
  char text[TYPE_ERROR_TEXT];
  const bool is_type = bits <= INT32_MAX && situ_type_size((situ_type)bits);
  if (value->field->kind == PROTO_TYPE && !is_type)
    return proto_error(source, value->offset, "%s", type_error(value->integer, NULL, text));
  return NULL;
}

/* A packed repeated field. */
static situ_status read_packed(struct reader payload, struct proto_message *message,
                               const struct proto_field *field) {
  while (payload.at < payload.end) {
    struct proto_value *value = proto_add(payload.source->arena, message, field);
    if (!value) return NO_MEMORY();
    value->offset = payload.at;
    uint64_t bits = 0;
    struct reader number = payload;
    if (is_real(field)) {
      TRY(take_payload(&payload, field->kind == PROTO_FLOAT ? 4 : 8, &number));
      value->real = fixed_real(&number);
    } else {
      TRY(read_varint(&payload, &bits));
      TRY(set_integer(payload.source, bits, value));
    }
  }
  return NULL;
}

static situ_status read_message(struct reader payload, const struct proto_type *type,
                                struct proto_message **out);

static situ_status read_length_delimited(const struct element *element, struct proto_value *value) {
  const struct reader *payload = &element->payload;
  if (value->field->message) return read_message(*payload, value->field->message, &value->message);
  const size_t length = payload->end - payload->at;
  value->bytes.data =
      arena_strndup(payload->source->arena, payload->source->text + payload->at, length);
  value->bytes.length = length;
  return value->bytes.data ? NULL : NO_MEMORY();
}

static bool has_length(const struct proto_field *field) {
  return field->message || field->kind == PROTO_STRING || field->kind == PROTO_BYTES;
}

/* Reads a known field; its wire type must match its kind. */
static situ_status read_value(struct reader *reader, const struct element *element,
                              struct proto_message *message, const struct proto_field *field) {
  const bool block = has_length(field), packed = element->wire == WIRE_LENGTH && !block;
  if (packed && field->repeated) return read_packed(element->payload, message, field);
  const bool real = element->wire == WIRE_FIXED32 || element->wire == WIRE_FIXED64;
  if (packed || block != (element->wire == WIRE_LENGTH) || real != is_real(field))
    return proto_error(reader->source, element->offset, "'%s' of %s has wire type %d", field->name,
                       message->type->name, (int)element->wire);
  struct proto_value *value = proto_add(reader->source->arena, message, field);
  if (!value) return NO_MEMORY();
  value->offset = element->offset;
  if (block) return read_length_delimited(element, value);
  if (!real) return set_integer(reader->source, element->integer, value);
  value->real = fixed_real(&element->payload);
  return NULL;
}

static situ_status read_message(struct reader payload, const struct proto_type *type,
                                struct proto_message **out) {
  *out = proto_create(payload.source->arena, type);
  if (!*out) return NO_MEMORY();
  while (payload.at < payload.end) {
    struct element element = {.payload = payload};
    TRY(read_element(&payload, &element));
    const struct proto_field *field = proto_field_by_number(type, element.number);
    if (!field || field->kind == PROTO_IGNORED) continue;
    if (field->kind == PROTO_UNSUPPORTED)
      return proto_error(payload.source, element.offset, "'%s' of %s is not supported", field->name,
                         type->name);
    TRY(read_value(&payload, &element, *out, field));
  }
  return NULL;
}

/* Text has no control characters except white space. In binary format each node contains the tag
 * 0x12 of its op, and a message without nodes begins with another tag or has a small length. */
bool protobinary_is(const char *data, size_t length) {
  if (!length || !strchr("\n\x12\x18\x22\x2a", data[0]) || !data[0]) return false;
  for (size_t i = 0; i < length; i++) {
    const unsigned char c = (unsigned char)data[i];
    if (c < ' ' && !(c >= '\t' && c <= '\r')) return true;
  }
  return false;
}

situ_status protobinary_read(const struct proto_source *source, const struct proto_type *type,
                             struct proto_message **out) {
  return read_message((struct reader){source, 0, source->length}, type, out);
}
