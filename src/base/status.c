/* SPDX-License-Identifier: Apache-2.0
 * status.c: statuses: error code, message and failed node. */
#define STATUS_BODY
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

struct situ_error {
  situ_code code;
  bool is_static;
  char *node;
  char *message;
};

static char no_memory_message[] = "Out of host memory: the process cannot allocate memory.";
static struct situ_error no_memory = {SITU_RESOURCE_EXHAUSTED, true, NULL, no_memory_message};

situ_status status_no_memory(void) { return &no_memory; }

static char *format_message(const char *format, va_list list) {
  va_list list_copy;
  va_copy(list_copy, list);
  const int length = vsnprintf(NULL, 0, format, list_copy);
  va_end(list_copy);
  char *message = length < 0 ? NULL : malloc((size_t)length + 1);
  if (message) vsnprintf(message, (size_t)length + 1, format, list);
  return message;
}

/* Takes ownership of the message. */
static situ_status create_status(situ_code code, char *message, const char *node) {
  situ_status status = message ? calloc(1, sizeof *status) : NULL;
  if (!status) {
    free(message);
    return &no_memory;
  }
  status->code = code;
  status->message = message;
  status->node = node ? strdup(node) : NULL;
  return status;
}

situ_status situ_status_create(situ_code code, const char *format, ...) {
  va_list list;
  va_start(list, format);
  char *message = format_message(format, list);
  va_end(list);
  return create_status(code, message, NULL);
}

situ_status status_note(situ_status status, const char *format, ...) {
  if (!status || status->is_static) return status;
  va_list list;
  va_start(list, format);
  char *note = format_message(format, list);
  va_end(list);
  const size_t old_length = strlen(status->message), note_length = note ? strlen(note) : 0;
  char *message = note ? realloc(status->message, old_length + note_length + 2) : NULL;
  if (message) {
    message[old_length] = '\n';
    memcpy(message + old_length + 1, note, note_length + 1);
    status->message = message;
  }
  free(note);
  return status;
}

situ_status status_at_node(situ_status status, const char *node) {
  if (status && !status->is_static && !status->node && node) status->node = strdup(node);
  return status;
}

situ_status status_first(situ_status first, situ_status next) {
  if (!first) return next;
  situ_status_release(next);
  return first;
}

situ_status status_copy(situ_status status) {
  if (!status || status->is_static) return status;
  return create_status(status->code, strdup(status->message), status->node);
}

situ_code situ_status_code(situ_status status) { return status ? status->code : SITU_OK; }

const char *situ_status_message(situ_status status) { return status ? status->message : ""; }

const char *situ_status_node(situ_status status) { return status ? status->node : NULL; }

const char *situ_code_name(situ_code code) {
#define CODE_NAME(name, number, python) \
  if ((int)code == (number)) return #name;
  SITU_CODES(CODE_NAME)
#undef CODE_NAME
  return "UNKNOWN";
}

const char *situ_code_python(situ_code code) {
#define CODE_PYTHON(name, number, python) \
  if ((int)code == (number)) return python;
  SITU_CODES(CODE_PYTHON)
#undef CODE_PYTHON
  return "UnknownError";
}

void situ_status_release(situ_status status) {
  if (!status || status->is_static) return;
  free(status->node);
  free(status->message);
  free(status);
}

int situ_status_report(situ_status status, FILE *stream) {
  if (!status) return 0;
  fprintf(stream, "%s: %s\n", situ_code_python(status->code), status->message);
  fflush(stream);
  situ_status_release(status);
  return 1;
}
