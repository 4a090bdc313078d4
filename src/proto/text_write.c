/* SPDX-License-Identifier: Apache-2.0
 * text_write.c: writes messages in protobuf's text format. */
#include <inttypes.h>
#include <stdlib.h>

#include "proto/message.h"
#include "tensor/number.h"

void text_escape(struct strbuf *out, const char *bytes, size_t length, bool is_utf8) {
  static const char letters[] = "n\nr\rt\t\"\"''\\\\";
  for (size_t i = 0; i < length; i++) {
    const char c = bytes[i];
    const char *at = letters + 1;
    while (at < letters + sizeof letters - 1 && *at != c) at += 2;
    if (at < letters + sizeof letters - 1)
      strbuf_appendf(out, "\\%c", at[-1]);
    else if ((c >= ' ' && c <= '~') || (is_utf8 && c < 0))
      strbuf_append_n(out, &c, 1);
    else
      strbuf_appendf(out, "\\%03o", (unsigned)(unsigned char)c);
  }
}

static void write_scalar(struct strbuf *out, const situ_field *field,
                         const struct proto_value *value) {
  const char *name = NULL;
  switch (field->kind) {
    case SITU_FIELD_FLOAT:
      number_write(out, SITU_FLOAT, value->real);
      break;
    case SITU_FIELD_DOUBLE:
      number_write(out, SITU_DOUBLE, value->real);
      break;
    case SITU_FIELD_BOOL:
      strbuf_append(out, value->integer ? "true" : "false");
      break;
    case SITU_FIELD_STRING:
    case SITU_FIELD_BYTES:
      strbuf_append(out, "\"");
      text_escape(out, value->bytes->data, value->bytes->length, field->kind == SITU_FIELD_STRING);
      strbuf_append(out, "\"");
      break;
    case SITU_FIELD_UINT64:
    case SITU_FIELD_FIXED64:
      strbuf_appendf(out, "%" PRIu64, (uint64_t)value->integer);
      break;
    default:
      name = field->values ? schema_enum_name(field->values, value->integer) : NULL;
      if (name)
        strbuf_append(out, name);
      else
        strbuf_appendf(out, "%" PRId64, value->integer);
  }
}

/* Writes a value and the end of its line; indent -1: all on one line. */
static void write_value(struct strbuf *out, const situ_field *field,
                        const struct proto_value *value, int indent) {
  const bool is_line = indent < 0;
  if (is_line && out->length && out->data[out->length - 1] != ' ') strbuf_append(out, " ");
  strbuf_appendf(out, "%*s%s", is_line ? 0 : indent, "", field->name);
  if (field->message) {
    strbuf_append(out, is_line ? " { " : " {\n");
    text_write(out, value->message, is_line ? -1 : indent + 2);
    if (is_line)
      strbuf_append(out, out->data[out->length - 1] == ' ' ? "}" : " }");
    else
      strbuf_appendf(out, "%*s}\n", indent, "");
  } else {
    strbuf_append(out, ": ");
    write_scalar(out, field, value);
    strbuf_append(out, is_line ? "" : "\n");
  }
}

static void write_map(struct strbuf *out, const situ_field *field, const struct proto_list *list,
                      int indent) {
  const struct proto_value **sorted = proto_sorted_entries(list);
  if (!sorted) out->failed = true;
  for (size_t i = 0; sorted && i < list->count; i++) write_value(out, field, sorted[i], indent);
  free((void *)sorted);
}

void text_write(struct strbuf *out, const situ_message *message, int indent) {
  for (uint16_t i = 0; i < message->count && !out->failed; i++) {
    const struct proto_value *slot = &message->slots[i];
    const situ_field *field = proto_field_of(message, slot);
    if (!proto_is_written(message, slot)) {
      continue;
    } else if (field->is_map) {
      write_map(out, field, slot->list, indent);
    } else if (field->is_repeated) {
      for (size_t k = 0; k < slot->list->count; k++)
        write_value(out, field, &slot->list->items[k], indent);
    } else {
      write_value(out, field, slot, indent);
    }
  }
}
