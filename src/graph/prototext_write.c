/* SPDX-License-Identifier: Apache-2.0
 * prototext_write.c: writes messages in protobuf's text format. */
#include <inttypes.h>

#include "graph/attrs.h"
#include "graph/proto.h"
#include "tensor/number.h"

static void write_scalar(struct strbuf *out, const struct proto_value *value) {
  switch (value->field->kind) {
    case PROTO_INT32:
    case PROTO_INT64:
      strbuf_appendf(out, "%" PRId64, value->integer);
      break;
    case PROTO_FLOAT:
      number_write(out, SITU_FLOAT, value->real);
      break;
    case PROTO_DOUBLE:
      number_write(out, SITU_DOUBLE, value->real);
      break;
    case PROTO_BOOL:
      strbuf_append(out, value->integer ? "true" : "false");
      break;
    case PROTO_TYPE:
      strbuf_append(out, attrs_type_name((situ_type)value->integer));
      break;
    default:
      strbuf_append(out, "\"");
      attrs_escape(out, value->bytes.data, value->bytes.length);
      strbuf_append(out, "\"");
  }
}

void prototext_write(struct strbuf *out, const struct proto_message *message, int indent) {
  for (const struct proto_value *value = message->first; value; value = value->next) {
    strbuf_appendf(out, "%*s%s", indent, "", value->field->name);
    if (value->field->message) {
      strbuf_append(out, " {\n");
      prototext_write(out, value->message, indent + 2);
      strbuf_appendf(out, "%*s}\n", indent, "");
    } else {
      strbuf_append(out, ": ");
      write_scalar(out, value);
      strbuf_append(out, "\n");
    }
  }
}
