/* SPDX-License-Identifier: Apache-2.0
 * explain.c: the reason of a placement in the user's words. */
#include <string.h>

#include "base/strbuf.h"
#include "place/place.h"

/* A node that is being explained. */
struct subject {
  const struct placement *placement;
  const struct node *node;
  const struct device *device;
  struct place_reason reason;
};

/* "a kernel for float", or "a kernel" where no type matters. */
static void add_kernel(const struct node *node, struct strbuf *out) {
  const int attr = node->schema->device_type_attr;
  strbuf_append(out, "kernel");
  if (attr >= 0) strbuf_appendf(out, " for %s", situ_type_name(node->attrs[attr].type));
}

/* Lists the kinds of devices, other than the one taken, that have a kernel (or have none). */
static int add_kinds(const struct subject *of, bool with_kernel, struct strbuf *out) {
  const struct device_list *list = of->placement->devices;
  int n = 0;
  for (int i = 0; i < list->count; i++) {
    const char *kind = list->devices[i]->name.kind;
    bool again = !strcmp(kind, of->device->name.kind);
    for (int k = 0; k < i; k++) again = again || !strcmp(kind, list->devices[k]->name.kind);
    if (again || schema_supports(of->node->schema, of->node->attrs, kind) != with_kernel) continue;
    strbuf_appendf(out, "%s%s", n++ ? ", " : "", kind);
  }
  return n;
}

static void only_kind(const struct subject *of, struct strbuf *out) {
  struct strbuf kinds = {0};
  if (add_kinds(of, false, &kinds)) {
    strbuf_append(out, "no ");
    add_kernel(of->node, out);
    strbuf_appendf(out, " on %s", strbuf_get(&kinds));
  } else {
    strbuf_appendf(out, "there are only %s devices", of->device->name.kind);
  }
  strbuf_free(&kinds);
}

static void priority(const struct subject *of, struct strbuf *out) {
  struct strbuf kinds = {0};
  add_kinds(of, true, &kinds);
  strbuf_appendf(out, "%s has priority over %s and has a ", of->device->name.kind,
                 strbuf_get(&kinds));
  add_kernel(of->node, out);
  strbuf_free(&kinds);
}

static const char *asked(const struct subject *of) {
  return of->placement->graph->specs[of->node->spec].written;
}

static void soft(const struct subject *of, struct strbuf *out) {
  strbuf_appendf(out, "asked for '%s'", asked(of));
  if (of->reason.why == WHY_NO_DEVICE) strbuf_append(out, ", which does not exist");
  if (of->reason.why == WHY_NEIGHBOURS) strbuf_append(out, ", which cannot be met");
  if (of->reason.why == WHY_NO_KERNEL) {
    strbuf_append(out, ", where there is no ");
    add_kernel(of->node, out);
  }
  strbuf_append(out, "; soft placement chose another one");
}

static void neighbour(const struct subject *of, struct strbuf *out) {
  static const char *const forms[] = {
      [CAUSE_REFERENCE] = "shares the state of '%s'",
      [CAUSE_COLOCATED] = "colocated with '%s'",
      [CAUSE_INPUT] = "needs only the shape of its input '%s' and follows it",
      [CAUSE_CONSUMERS] = "has no inputs and follows its consumers ('%s')",
  };
  const char *form = forms[of->reason.cause], *mark = strstr(form, "%s");
  strbuf_append_n(out, form, (size_t)(mark - form));
  strbuf_append(out, of->placement->graph->nodes[of->reason.other]->name);
  strbuf_append(out, mark + 2);
  if (of->reason.why) strbuf_appendf(out, ", against its own request '%s'", asked(of));
}

void place_explain(const struct placement *placement, int32_t node, struct strbuf *out) {
  if (node < 0 || node >= placement->n_nodes) return;
  const struct subject of = {placement, placement->graph->nodes[node],
                             placement->devices->devices[placement->device[node]],
                             placement->reasons[node]};
  switch ((enum place_cause)of.reason.cause) {
    case CAUSE_ASSIGNED:
      strbuf_append(out, "has state and stays where it was");
      break;
    case CAUSE_REQUESTED:
      strbuf_appendf(out, "asked for '%s'", asked(&of));
      break;
    case CAUSE_REFERENCE:
    case CAUSE_COLOCATED:
    case CAUSE_INPUT:
    case CAUSE_CONSUMERS:
      neighbour(&of, out);
      break;
    case CAUSE_DEFAULT:
      strbuf_append(out, "the default device");
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
