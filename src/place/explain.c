/* SPDX-License-Identifier: Apache-2.0
 * explain.c: describes the reason of a placement, for `situ explain` and the Python API. */
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

/* Appends "kernel for float", or "kernel" if the type does not matter. */
static void add_kernel(const struct node *node, struct strbuf *out) {
  const int attr = node->schema->device_type_attr;
  strbuf_append(out, "kernel");
  if (attr >= 0) strbuf_appendf(out, " for %s", situ_type_name(node->attrs[attr].type));
}

/* Lists the other kinds of devices that have a kernel, or those that have none. */
static int add_kinds(const struct subject *of, bool with_kernel, struct strbuf *out) {
  const struct device_list *list = of->placement->devices;
  int n = 0;
  for (int i = 0; i < list->count; i++) {
    const char *kind = list->devices[i]->name.kind;
    bool is_listed = !strcmp(kind, of->device->name.kind);
    for (int k = 0; k < i; k++) is_listed = is_listed || !strcmp(kind, list->devices[k]->name.kind);
    if (is_listed || schema_supports(of->node->schema, of->node->attrs, kind) != with_kernel)
      continue;
    strbuf_appendf(out, "%s%s", n++ ? ", " : "", kind);
  }
  return n;
}

static void explain_only_kind(const struct subject *of, struct strbuf *out) {
  struct strbuf kinds = {0};
  if (add_kinds(of, false, &kinds)) {
    strbuf_append(out, "no ");
    add_kernel(of->node, out);
    strbuf_appendf(out, " on %s", strbuf_get(&kinds));
  } else {
    strbuf_appendf(out, "there are only %s devices", of->device->name.kind);
  }
  out->failed = out->failed || kinds.failed;
  strbuf_free(&kinds);
}

static void explain_priority(const struct subject *of, struct strbuf *out) {
  struct strbuf kinds = {0};
  add_kinds(of, true, &kinds);
  strbuf_appendf(out, "%s has priority over %s and has a ", of->device->name.kind,
                 strbuf_get(&kinds));
  add_kernel(of->node, out);
  out->failed = out->failed || kinds.failed;
  strbuf_free(&kinds);
}

static const char *requested_device(const struct subject *of) {
  return of->placement->graph->specs[of->node->spec].written;
}

static void explain_soft_placement(const struct subject *of, struct strbuf *out) {
  strbuf_appendf(out, "requested '%s'", requested_device(of));
  if (of->reason.soft_cause == SOFT_NO_DEVICE) strbuf_append(out, ", which does not exist");
  if (of->reason.soft_cause == SOFT_COLOCATION)
    strbuf_append(out, ", where a colocated node cannot be placed");
  if (of->reason.soft_cause == SOFT_NO_KERNEL) {
    strbuf_append(out, ", where there is no ");
    add_kernel(of->node, out);
  }
  strbuf_append(out, "; soft placement chose another one");
}

static void explain_other_node(const struct subject *of, struct strbuf *out) {
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
  if (of->reason.soft_cause)
    strbuf_appendf(out, ", against its own request '%s'", requested_device(of));
}

void place_explain(const struct placement *placement, int32_t node, struct strbuf *out) {
  if (node < 0 || node >= placement->n_nodes) return;
  const struct subject of = {placement, placement->graph->nodes[node],
                             placement->devices->devices[placement->device[node]],
                             placement->reasons[node]};
  switch ((enum place_cause)of.reason.cause) {
    case CAUSE_ASSIGNED:
      strbuf_append(out, "is stateful and keeps its previous device");
      break;
    case CAUSE_REQUESTED:
      strbuf_appendf(out, "requested '%s'", requested_device(&of));
      break;
    case CAUSE_REFERENCE:
    case CAUSE_COLOCATED:
    case CAUSE_INPUT:
    case CAUSE_CONSUMERS:
      explain_other_node(&of, out);
      break;
    case CAUSE_DEFAULT:
      strbuf_append(out, "the default device");
      break;
    case CAUSE_ONLY_KIND:
      explain_only_kind(&of, out);
      break;
    case CAUSE_PRIORITY:
      explain_priority(&of, out);
      break;
    case CAUSE_SOFT:
      explain_soft_placement(&of, out);
      break;
  }
}
