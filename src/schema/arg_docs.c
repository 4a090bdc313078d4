/* SPDX-License-Identifier: Apache-2.0
 * arg_docs.c: see arg_docs.h. `args` of an op definition has a line "name: sentence." for each
 * argument; attributes that mean the same in every op are documented here once. */
#include "schema/arg_docs.h"

#include <stdio.h>
#include <string.h>

static const char *const shared_docs =
    "data_format: Order of the dimensions, channels last (NHWC) or channels first (NCHW).\n"
    "padding: SAME pads with zeros so that strides alone determine the output size; VALID does not "
    "pad.\n"
    "use_locking: If true, updates hold a lock; updates are always atomic here.\n"
    "seed: Seed of the op; 0 together with seed2 = 0 selects a random seed.\n"
    "seed2: Second seed, which avoids collisions.\n"
    "container: Container of the resource; empty selects the default one.\n"
    "shared_name: Name under which sessions share the resource; empty selects the node's name.\n"
    "dtype: Element type of the output.\n"
    "Tout: Element types of the outputs.\n"
    "message: Message of the error.\n";

/* Copies the line "name: ..." of `lines` without its name. */
static bool find_line(const char *lines, const char *name, char *out, size_t size) {
  const size_t length = strlen(name);
  for (const char *line = lines; line && *line;
       line += strcspn(line, "\n"), line += *line == '\n') {
    if (strncmp(line, name, length) || strncmp(line + length, ": ", 2)) continue;
    const char *sentence = line + length + 2;
    snprintf(out, size, "%.*s", (int)strcspn(sentence, "\n"), sentence);
    return true;
  }
  return false;
}

bool arg_docs_find(const struct op_def *op, const char *name, char *out, size_t size) {
  if (size) *out = '\0';
  return find_line(op->args, name, out, size) || find_line(shared_docs, name, out, size);
}
