/* SPDX-License-Identifier: Apache-2.0
 * status.c: the value that carries a failure from where it happened to where it is reported. */
#define STATUS_BODY
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

struct situ_error {
  situ_code code;
  bool is_static;
  char *node;
  char *text;
};

static char no_memory_text[] = "Out of host memory: the process could not get memory to go on.";
static struct situ_error no_memory = {SITU_RESOURCE_EXHAUSTED, true, NULL, no_memory_text};

situ_status status_no_memory(void) { return &no_memory; }

static char *format_text(const char *format, va_list list) {
  va_list again;
  va_copy(again, list);
  const int length = vsnprintf(NULL, 0, format, again);
  va_end(again);
  char *text = length < 0 ? NULL : malloc((size_t)length + 1);
  if (text) vsnprintf(text, (size_t)length + 1, format, list);
  return text;
}

/* Takes ownership of the text. */
static situ_status make(situ_code code, char *text, const char *node) {
  situ_status status = text ? calloc(1, sizeof *status) : NULL;
  if (!status) {
    free(text);
    return &no_memory;
  }
  status->code = code;
  status->text = text;
  status->node = node ? strdup(node) : NULL;
  return status;
}

situ_status situ_status_create(situ_code code, const char *format, ...) {
  va_list list;
  va_start(list, format);
  char *text = format_text(format, list);
  va_end(list);
  return make(code, text, NULL);
}

situ_status status_note(situ_status status, const char *format, ...) {
  if (!status || status->is_static) return status;
  va_list list;
  va_start(list, format);
  char *note = format_text(format, list);
  va_end(list);
  const size_t old = strlen(status->text), more = note ? strlen(note) : 0;
  char *text = note ? realloc(status->text, old + more + 2) : NULL;
  if (text) {
    text[old] = '\n';
    memcpy(text + old + 1, note, more + 1);
    status->text = text;
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
  return make(status->code, strdup(status->text), status->node);
}

situ_code situ_status_code(situ_status status) { return status ? status->code : SITU_OK; }

const char *situ_status_message(situ_status status) { return status ? status->text : ""; }

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
  free(status->text);
  free(status);
}

int situ_status_report(situ_status status, FILE *stream) {
  if (!status) return 0;
  fprintf(stream, "%s: %s\n", situ_code_python(status->code), status->text);
  fflush(stream);
  situ_status_release(status);
  return 1;
}
