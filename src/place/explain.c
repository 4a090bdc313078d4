/* SPDX-License-Identifier: Apache-2.0
 * explain.c: the reason of a placement in the user's words. */
#include <string.h>

#include "base/text.h"
#include "place/place.h"

/* A node that is being explained. */
struct subject {
  const struct placement *placement;
  const struct node *node;
  const struct device *device;
  struct place_reason reason;
};

/* "a kernel for float", or "a kernel" where no type matters. */
static void add_kernel(const struct node *node, struct text *out) {
  const int attr = node->schema->device_type_attr;
  text_add(out, "kernel");
  if (attr >= 0) text_addf(out, " for %s", situ_type_name(node->attrs[attr].type));
}

/* Lists the kinds of devices, other than the one taken, that have a kernel (or have none). */
static int add_kinds(const struct subject *of, bool with_kernel, struct text *out) {
  const struct device_list *list = of->placement->devices;
  int n = 0;
  for (int i = 0; i < list->count; i++) {
    const char *kind = list->devices[i]->name.kind;
    bool again = !strcmp(kind, of->device->name.kind);
    for (int k = 0; k < i; k++) again = again || !strcmp(kind, list->devices[k]->name.kind);
    if (again || schema_supports(of->node->schema, of->node->attrs, kind) != with_kernel) continue;
    text_addf(out, "%s%s", n++ ? ", " : "", kind);
  }
  return n;
}

static void only_kind(const struct subject *of, struct text *out) {
  struct text kinds = {0};
  if (add_kinds(of, false, &kinds)) {
    text_add(out, "no ");
    add_kernel(of->node, out);
    text_addf(out, " on %s", text_get(&kinds));
  } else {
    text_addf(out, "there are only %s devices", of->device->name.kind);
  }
  text_free(&kinds);
}

static void priority(const struct subject *of, struct text *out) {
  struct text kinds = {0};
  add_kinds(of, true, &kinds);
  text_addf(out, "%s has priority over %s and has a ", of->device->name.kind, text_get(&kinds));
  add_kernel(of->node, out);
  text_free(&kinds);
}

static const char *asked(const struct subject *of) {
  return of->placement->graph->specs[of->node->spec].written;
}

static void soft(const struct subject *of, struct text *out) {
  text_addf(out, "asked for '%s'", asked(of));
  if (of->reason.why == WHY_NO_DEVICE) text_add(out, ", which does not exist");
  if (of->reason.why == WHY_NEIGHBOURS) text_add(out, ", which cannot be met");
  if (of->reason.why == WHY_NO_KERNEL) {
    text_add(out, ", where there is no ");
    add_kernel(of->node, out);
  }
  text_add(out, "; soft placement chose another one");
}

static void neighbour(const struct subject *of, struct text *out) {
  static const char *const forms[] = {
      [CAUSE_REFERENCE] = "shares the state of '%s'",
      [CAUSE_COLOCATED] = "colocated with '%s'",
      [CAUSE_INPUT] = "needs only the shape of its input '%s' and follows it",
      [CAUSE_CONSUMERS] = "has no inputs and follows its consumers ('%s')",
  };
  const char *form = forms[of->reason.cause], *mark = strstr(form, "%s");
  text_add_n(out, form, (size_t)(mark - form));
  text_add(out, of->placement->graph->nodes[of->reason.other]->name);
  text_add(out, mark + 2);
  if (of->reason.why) text_addf(out, ", against its own request '%s'", asked(of));
}

void place_explain(const struct placement *placement, int32_t node, struct text *out) {
  if (node < 0 || node >= placement->n_nodes) return;
  const struct subject of = {placement, placement->graph->nodes[node],
                             placement->devices->devices[placement->device[node]],
                             placement->reasons[node]};
  switch ((enum place_cause)of.reason.cause) {
    case CAUSE_ASSIGNED:
      text_add(out, "has state and stays where it was");
      break;
    case CAUSE_REQUESTED:
      text_addf(out, "asked for '%s'", asked(&of));
      break;
    case CAUSE_REFERENCE:
    case CAUSE_COLOCATED:
    case CAUSE_INPUT:
    case CAUSE_CONSUMERS:
      neighbour(&of, out);
      break;
    case CAUSE_DEFAULT:
      text_add(out, "the default device");
      break;
    case CAUSE_ONLY_KIND:
      only_kind(&of, out);
      break;
    case CAUSE_PRIORITY:
      priority(&of, out);
      break;
    case CAUSE_SOFT:
      soft(&of, out);
      break;
  }
}
