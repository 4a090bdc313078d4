/* SPDX-License-Identifier: Apache-2.0
 * fuzz_name.c: any text as a device name; a parsed name is printed and reads back the same. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/name.h"
#include "device/visible.h"

static void demand(bool holds, const char *what, const char *text) {
  if (holds) return;
  fprintf(stderr, "%s: '%s'\n", what, text);
  abort();
}

/* Lenient parsing loses parts that cannot be printed: it is only called. */
static void check_round(const char *text, unsigned flags) {
  struct device_name name, again;
  char printed[2 * NAME_SIZE];
  situ_status s = name_parse_flags(text, flags, &name);
  demand(!s || strlen(situ_status_message(s)), "an error without a text", text);
  if (!s) {
    name_print(&name, printed, sizeof printed);
    demand(strlen(printed) < NAME_SIZE, "a name that is too long", text);
  }
  if (!s && !(flags & NAME_REFERENCE)) {
    s = name_parse_flags(printed, flags, &again);
    demand(!s, "a printed name that cannot be read", printed);
    demand(name_equal(&name, &again), "a printed name that reads differently", text);
  }
  situ_status_release(s);
}

static void check_lists(const char *text) {
  static const struct visible_device gpus[] = {
      {"0000:02:00.0", "GPU-8932f937-d72c"}, {"0000:83:00.0", "GPU-8932ffff-d72c"}, {NULL, NULL}};
  int out[COUNT_OF(gpus)], n;
  char note[VISIBLE_NOTE_SIZE];
  n = visible_mask("X", text, gpus, (int)COUNT_OF(gpus), out, note);
  demand(n >= 0 && n <= (int)COUNT_OF(gpus), "too many devices", text);
  situ_status_release(visible_list(text, (int)COUNT_OF(gpus), out, &n));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = malloc(size + 1);
  if (!text) return 0;
  if (size) memcpy(text, data, size);
  text[size] = 0;
  for (unsigned flags = 0; flags < 8; flags++) check_round(text, flags);
  struct device_name name;
  situ_status_release(name_parse_local(text, &name));
  situ_status_release(name_canonicalize(text, "/job:a/replica:0/task:0/device:CPU:0", &name));
  check_lists(text);
  free(text);
  return 0;
}
