/* SPDX-License-Identifier: Apache-2.0
 * fuzz_message.c: any bytes as a message: the first byte selects the format, the second the type.
 * What is read is written in every format, and each reads back to the same. */
#include <stdio.h>
#include <stdlib.h>

#include "situ/message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_round(const situ_message *message, situ_format format) {
  char *text = NULL, *again = NULL;
  size_t length = 0, again_length = 0;
  situ_message *read = situ_message_create(situ_message_type_of(message));
  if (!read || situ_message_write(message, format, &text, &length)) abort();
  const situ_status status = situ_message_parse(read, format, text, length);
  if (status) {
    fprintf(stderr, "%s\n--- of:\n%s\n", situ_status_message(status), text);
    abort();
  }
  if (situ_message_write(read, format, &again, &again_length)) abort();
  if (length != again_length) {
    fprintf(stderr, "%s\n--- became:\n%s\n", text, again);
    abort();
  }
  situ_message_release(read);
  free(text);
  free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 2) return 0;
  static const situ_format formats[] = {SITU_FORMAT_BINARY, SITU_FORMAT_TEXT, SITU_FORMAT_JSON};
  const situ_message_type *type = situ_message_type_at(data[1]);
  situ_message *message = situ_message_create(type ? type : situ_message_type_at(0));
  if (!message) abort();
  const situ_status status =
      situ_message_parse(message, formats[data[0] % 3], (const char *)data + 2, size - 2);
  if (!status) check_round(message, SITU_FORMAT_BINARY);
  if (!status) check_round(message, SITU_FORMAT_TEXT);
  if (!status) check_round(message, SITU_FORMAT_TEXT_LINE);
  situ_status_release(status);
  situ_message_release(message);
  return 0;
}
