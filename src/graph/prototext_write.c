/* SPDX-License-Identifier: Apache-2.0
 * prototext_write.c: messages in protobuf's text form. */
#include <inttypes.h>

#include "graph/attrs.h"
#include "graph/proto.h"
#include "tensor/number.h"

static void write_scalar(struct text *out, const struct proto_value *value) {
  switch (value->field->kind) {
    case PROTO_INT32:
    case PROTO_INT64:
      text_addf(out, "%" PRId64, value->integer);
      break;
    case PROTO_FLOAT:
      number_write(out, SITU_FLOAT, value->real);
      break;
    case PROTO_DOUBLE:
      number_write(out, SITU_DOUBLE, value->real);
      break;
    case PROTO_BOOL:
      text_add(out, value->integer ? "true" : "false");
      break;
    case PROTO_TYPE:
      text_add(out, attrs_type_name((situ_type)value->integer));
      break;
    default:
      text_add(out, "\"");
      attrs_escape(out, value->bytes.data, value->bytes.length);
      text_add(out, "\"");
  }
}

void prototext_write(struct text *out, const struct proto_message *message, int indent) {
  for (const struct proto_value *value = message->first; value; value = value->next) {
    text_addf(out, "%*s%s", indent, "", value->field->name);
    if (value->field->message) {
      text_add(out, " {\n");
      prototext_write(out, value->message, indent + 2);
      text_addf(out, "%*s}\n", indent, "");
    } else {
      text_add(out, ": ");
      write_scalar(out, value);
      text_add(out, "\n");
    }
  }
}
