/* SPDX-License-Identifier: Apache-2.0
 * wire.h: reads the elements of protobuf's binary wire format: varints, fixed-size numbers and
 * fields. Little-endian machines only. */
#ifndef SITU_PROTO_WIRE_H
#define SITU_PROTO_WIRE_H

#include <string.h>

#include "base/base.h"

enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_LENGTH = 2, WIRE_FIXED32 = 5 };

/* Bytes that are not read yet. */
struct wire {
  const uint8_t *at, *end;
};

struct wire_field {
  uint32_t number;
  int type;           /* enum wire_type */
  uint64_t value;     /* of numbers */
  struct wire inside; /* of WIRE_LENGTH */
};

/* The readers return false if the input is truncated or malformed. */
static inline bool wire_read_varint(struct wire *wire, uint64_t *out) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64 && wire->at < wire->end; shift += 7) {
    const uint8_t byte = *wire->at++;
    value |= (uint64_t)(byte & 0x7f) << shift;
    if (byte & 0x80) continue;
    *out = value;
    return true;
  }
  return false;
}

static inline bool wire_read_fixed(struct wire *wire, size_t bytes, uint64_t *out) {
  *out = 0;
  if ((size_t)(wire->end - wire->at) < bytes) return false;
  memcpy(out, wire->at, bytes); /* the lowest byte comes first */
  wire->at += bytes;
  return true;
}

static inline bool wire_read_field(struct wire *wire, struct wire_field *out) {
  uint64_t tag = 0, length = 0;
  if (!wire_read_varint(wire, &tag) || !(tag >> 3) || tag > UINT32_MAX) return false;
  *out = (struct wire_field){.number = (uint32_t)(tag >> 3), .type = (int)(tag & 7)};
  if (out->type == WIRE_VARINT) return wire_read_varint(wire, &out->value);
  if (out->type == WIRE_FIXED64) return wire_read_fixed(wire, 8, &out->value);
  if (out->type == WIRE_FIXED32) return wire_read_fixed(wire, 4, &out->value);
  if (out->type != WIRE_LENGTH || !wire_read_varint(wire, &length)) return false;
  if (length > (uint64_t)(wire->end - wire->at)) return false;
  out->inside = (struct wire){wire->at, wire->at + length};
  wire->at += length;
  return true;
}

#endif
