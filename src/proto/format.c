/* SPDX-License-Identifier: Apache-2.0
 * format.c: parses and writes messages in any format, and the errors of parsers. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "proto/message.h"

enum { POSITION_SIZE = 64 };

/* Formats a position: line and column from 1, or the byte from 0 in binary format. */
static const char *format_position(const struct proto_source *source, size_t offset,
                                   char out[POSITION_SIZE]) {
  size_t start = 0, line = 1;
  for (size_t i = 0; !source->is_binary && i < offset && i < source->length; i++) {
    if (source->text[i] != '\n') continue;
    line++;
    start = i + 1;
  }
  if (source->is_binary)
    snprintf(out, POSITION_SIZE, "byte %zu", offset);
  else
    snprintf(out, POSITION_SIZE, "line %zu, column %zu", line, offset - start + 1);
  return out;
}

situ_status proto_error(const struct proto_source *source, size_t offset, const char *format, ...) {
  char *message = NULL;
  va_list arguments;
  va_start(arguments, format);
  const int length = vasprintf(&message, format, arguments);
  va_end(arguments);
  if (length < 0) return NO_MEMORY();
  char position[POSITION_SIZE];
  const situ_status status =
      source->text
          ? INVALID("%s, %s: %s", source->name, format_position(source, offset, position), message)
          : INVALID("%s: %s", source->name, message);
  free(message);
  return status;
}

situ_status proto_add_location(const struct proto_source *source, size_t offset,
                               situ_status status) {
  char position[POSITION_SIZE];
  if (!status || !source->text) return status;
  return status_note(status, "at %s of the %s", format_position(source, offset, position),
                     source->name);
}

situ_status situ_message_parse(situ_message *message, situ_format format, const char *data,
                               size_t length) {
  if (!message || (!data && length)) return INVALID("situ_message_parse: an argument is NULL.");
  const struct proto_source source = {.text = data ? data : "",
                                      .length = length,
                                      .name = schema_short_name(message->type->name),
                                      .arena = &message->tree->arena,
                                      .is_binary = format == SITU_FORMAT_BINARY};
  if (length > PROTO_MAX_SIZE) return INVALID("%s: more than 2 GiB", source.name);
  situ_message_touch(message);
  if (format == SITU_FORMAT_BINARY) return binary_read(&source, message);
  return format == SITU_FORMAT_JSON ? json_format_read(&source, message)
                                    : text_read(&source, message);
}

situ_status situ_message_write(const situ_message *message, situ_format format, char **out,
                               size_t *length) {
  if (!message || !out || !length) return INVALID("situ_message_write: an argument is NULL.");
  struct strbuf buffer = {0};
  if (format == SITU_FORMAT_BINARY) {
    *out = binary_write(message, length);
    return *out ? NULL : NO_MEMORY();
  }
  strbuf_append(&buffer, "");
  if (format == SITU_FORMAT_JSON)
    json_format_write(&buffer, message);
  else
    text_write(&buffer, message, format == SITU_FORMAT_TEXT ? 0 : -1);
  *out = buffer.failed ? NULL : buffer.data ? buffer.data : calloc(1, 1);
  *length = buffer.length;
  if (buffer.failed) strbuf_free(&buffer);
  return *out ? NULL : NO_MEMORY();
}

uint64_t situ_expansion_limit(uint64_t bytes) { return limits_expansion(bytes); }
