/* SPDX-License-Identifier: Apache-2.0
 * conform.c: answers cases of a family, one JSON object a line, on standard input:
 *
 *   conform names|placer|bfc < cases.jsonl
 *
 * It prints {"id": ..., "result": ...} a line. What is expected is compared by whoever reads that.
 */
#include "conform/conform.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct family {
  const char *name;
  void (*answer)(const struct json *test, struct strbuf *out);
} families[] = {{"names", conform_names}, {"placer", conform_placer}, {"bfc", conform_bfc}};

static const struct family *find_family(const char *name) {
  for (size_t i = 0; i < COUNT_OF(families); i++)
    if (!strcmp(families[i].name, name)) return &families[i];
  return NULL;
}

static situ_status answer_line(const struct family *family, const char *line, size_t length) {
  struct arena arena = {0};
  struct strbuf out = {0};
  struct json *test = NULL;
  situ_status s = json_parse(line, length, &arena, &test);
  const struct json *id = json_get(test, "id");
  if (!s && !id) s = INVALID("A case is a JSON object with an \"id\".");
  if (!s) {
    strbuf_append(&out, "{\"id\": ");
    json_write(&out, id);
    strbuf_append(&out, ", \"result\": ");
    family->answer(test, &out);
    strbuf_append(&out, "}\n");
    if (out.failed) s = NO_MEMORY();
  }
  if (!s) fputs(strbuf_get(&out), stdout);
  strbuf_free(&out);
  arena_free(&arena);
  return s;
}

static situ_status answer_all(const struct family *family) {
  char *line = NULL;
  size_t capacity = 0;
  ssize_t length;
  situ_status s = NULL;
  for (int number = 1; !s && (length = getline(&line, &capacity, stdin)) > 0; number++) {
    if (strspn(line, " \t\r\n") == (size_t)length) continue;
    s = status_note(answer_line(family, line, (size_t)length), "In line %d of the input.", number);
  }
  free(line);
  return s;
}

int main(int argc, char **argv) {
  const struct family *family = argc == 2 ? find_family(argv[1]) : NULL;
  if (!family) {
    fprintf(stderr, "usage: conform names|placer|bfc < cases.jsonl\n");
    return 2;
  }
  return situ_status_report(answer_all(family), stderr);
}
