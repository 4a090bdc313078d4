/* SPDX-License-Identifier: Apache-2.0
 * attrs.c: see attrs.h. */
#include "graph/attrs.h"

#include <string.h>

#include "base/text.h"

/* Takes a candidate if it comes behind `after` and before what was found so far. */
static void offer(struct attrs_walk *best, const char *after, const char *name, int index) {
  if (after && strcmp(name, after) <= 0) return;
  if (best->name && strcmp(name, best->name) >= 0) return;
  best->name = name;
  best->index = index;
}

bool attrs_next(struct attrs_walk *walk) {
  const struct node *node = walk->node;
  struct attrs_walk best = {.node = node};
  for (int i = 0; i < node->schema->n_attrs; i++)
    if (node->attrs[i].kind != SITU_ATTR_NONE)
      offer(&best, walk->name, node->schema->attrs[i].name, i);
  if (node->n_groups) offer(&best, walk->name, "_class", ATTRS_CLASS);
  if (!best.name) return false;
  *walk = best;
  return true;
}

const char *attrs_type_name(situ_type type) {
#define ATTRS_TYPE(name, number, bytes, word, numpy) \
  if ((int)type == (number)) return "DT_" #name;
  SITU_TYPES(ATTRS_TYPE)
#undef ATTRS_TYPE
  return "DT_INVALID";
}

void attrs_escape(struct text *out, const char *bytes, size_t length) {
  static const char letters[] = "n\nr\rt\t\"\"''\\\\";
  for (size_t i = 0; i < length; i++) {
    const char c = bytes[i];
    const char *at = letters + 1;
    while (at < letters + sizeof letters - 1 && *at != c) at += 2;
    if (at < letters + sizeof letters - 1)
      text_addf(out, "\\%c", at[-1]);
    else if (c >= ' ' && c <= '~')
      text_add_n(out, &c, 1);
    else
      text_addf(out, "\\%03o", (unsigned)(unsigned char)c);
  }
}
