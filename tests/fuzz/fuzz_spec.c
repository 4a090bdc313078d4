/* SPDX-License-Identifier: Apache-2.0
 * fuzz_spec.c: any text as a list of simulated GPUs, and as a size. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/sim/spec.h"
#include "base/parse_size.h"

static void demand(bool holds, const char *what, const char *text) {
  if (holds) return;
  fprintf(stderr, "%s: '%s'\n", what, text);
  abort();
}

static void check_specs(const char *text) {
  static struct sim_spec specs[SIM_MAX];
  int count = -1;
  situ_status s = sim_spec_parse(text, specs, &count);
  demand(s ? !!strchr(situ_status_message(s), '^') : count >= 0 && count <= SIM_MAX,
         "no mark, or a wrong count", text);
  for (int i = 0; !s && i < count; i++) {
    demand(specs[i].memory && specs[i].model[0] && specs[i].bus_id[0], "a field is missing", text);
    for (int j = 0; j < i; j++)
      demand(strcmp(specs[i].bus_id, specs[j].bus_id), "one bus id for two", text);
  }
  situ_status_release(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = malloc(size + 1);
  if (!text) return 0;
  if (size) memcpy(text, data, size);
  text[size] = 0;
  uint64_t bytes;
  double rate;
  size_t place;
  check_specs(text);
  situ_status_release(parse_size(text, &bytes));
  situ_status_release(parse_rate_n(text, strlen(text), &rate, &place));
  free(text);
  return 0;
}
