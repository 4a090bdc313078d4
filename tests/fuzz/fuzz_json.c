/* SPDX-License-Identifier: Apache-2.0
 * fuzz_json.c: any bytes as JSON; a parsed value is written and reads back the same. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

static void check_round(const struct json *value) {
  struct arena arena = {0};
  struct strbuf first = {0}, second = {0};
  struct json *again = NULL;
  json_write(&first, value);
  situ_status s = json_parse(strbuf_get(&first), first.length, &arena, &again);
  if (!s) json_write(&second, again);
  if (s || strcmp(strbuf_get(&first), strbuf_get(&second))) {
    fprintf(stderr, "'%s' reads as '%s'\n", strbuf_get(&first), strbuf_get(&second));
    abort();
  }
  strbuf_free(&first);
  strbuf_free(&second);
  arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct arena arena = {0};
  struct json *value = NULL;
  situ_status s = json_parse(size ? (const char *)data : "", size, &arena, &value);
  if (!s) check_round(value);
  situ_status_release(s);
  arena_free(&arena);
  return 0;
}
