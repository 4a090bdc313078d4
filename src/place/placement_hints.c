/* SPDX-License-Identifier: Apache-2.0
 * placement_hints.c: devices, kernels and neighbours in a few lines; long lists are cut. */
#include "place/placement_hints.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/strbuf.h"
#include "place/colocation.h"

enum { SHOWN_NODES = 3, SHOWN_DEVICES = 32, SHOWN_MEMBERS = 12 };

static int order_texts(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void placement_hints_devices(const struct placer *placer, struct strbuf *out) {
  const int32_t n = placer->problem->n_devices;
  const char **texts = malloc(sizeof *texts * (size_t)n);
  out->failed |= !texts;
  if (!texts) return;
  for (int32_t i = 0; i < n; i++) texts[i] = placer->problem->devices[i].text;
  qsort(texts, (size_t)n, sizeof *texts, order_texts);
  for (int32_t i = 0; i < n && i < SHOWN_DEVICES; i++)
    strbuf_appendf(out, "%s%s", i ? ", " : "", texts[i]);
  if (n > SHOWN_DEVICES) strbuf_appendf(out, ", and %d more", n - SHOWN_DEVICES);
  free(texts);
}

void placement_hints_kinds(const struct placer *placer, struct strbuf *out) {
  const char *comma = "";
  for (int32_t i = 0; i < placer->supports.n_kinds; i++) {
    if (!placer->supports.kinds[i].present) continue;
    strbuf_appendf(out, "%s%s", comma, placer->supports.kinds[i].text);
    comma = ", ";
  }
}

void placement_hints_kernels(const struct placer *placer, int32_t node, struct strbuf *out) {
  const struct place_problem *problem = placer->problem;
  const struct place_support *support = &problem->supports[problem->nodes[node].support];
  if (problem->words.kernels) {
    problem->words.kernels(problem->words.context, node, out);
    return;
  }
  for (int32_t i = 0; i < support->count; i++)
    strbuf_appendf(out, "%s%s", i ? ", " : "", support->kernels[i].kind);
  if (!support->count) strbuf_append(out, "<no registered kernels>");
}

static int32_t distance(int32_t a, int32_t b) { return a < b ? b - a : a - b; }

/* The device of the kind that is asked for with the nearest number; or -1. */
static int32_t nearest(const struct place_problem *problem, const struct device_name *asked) {
  int32_t best = -1;
  for (int32_t i = 0; asked->has_kind && i < problem->n_devices; i++) {
    const struct device_name *name = &problem->devices[i].name;
    if (strcasecmp(name->kind, asked->kind)) continue;
    if (best < 0 || distance(name->index, asked->index) <
                        distance(problem->devices[best].name.index, asked->index))
      best = i;
  }
  return best;
}

/* Who else asks for the same. */
static void others(const struct placer *placer, int32_t node, struct strbuf *out) {
  const struct place_problem *problem = placer->problem;
  const int32_t asked = placer->values[problem->nodes[node].spec];
  struct strbuf names = {0};
  int32_t n = 0;
  for (int32_t i = 0; i < problem->n_nodes; i++) {
    const struct place_node *other = &problem->nodes[i];
    if (i == node || placer->values[other->spec] != asked || other->assigned >= 0) continue;
    if (n < SHOWN_NODES) strbuf_appendf(&names, "%s%s", n ? ", " : "", placer_name(placer, i));
    n++;
  }
  if (n)
    strbuf_appendf(out, "\n%d other node%s for the same: %s%s", n, n > 1 ? "s ask" : " asks",
                   strbuf_get(&names), n > SHOWN_NODES ? ", ..." : "");
  strbuf_free(&names);
}

void placement_hints_no_device(const struct placer *placer, int32_t node, struct strbuf *out) {
  const struct place_problem *problem = placer->problem;
  const struct device_name *asked = &problem->specs[problem->nodes[node].spec].name;
  char local[NAME_SIZE];
  strbuf_append(out, "\nThere is no such device. Devices: ");
  placement_hints_devices(placer, out);
  const int32_t near = nearest(problem, asked);
  if (near >= 0)
    strbuf_appendf(out, "\nThe nearest one is %s",
                   name_local(&problem->devices[near].name, local, sizeof local));
  else if (asked->has_kind)
    strbuf_appendf(out, "\nThere is no %s at all", asked->kind);
  others(placer, node, out);
  strbuf_append(out,
                problem->soft
                    ? "\nSoft placement chooses another device, but not another job, replica or "
                      "task."
                    : "\nAsk for a device that exists, or turn on allow_soft_placement to let such "
                      "nodes go to another one.");
}

void placement_hints_no_kernel(const struct placer *placer, int32_t node, struct strbuf *out) {
  strbuf_appendf(out, "\nKernels of %s: ", placer_op(placer, node));
  placement_hints_kernels(placer, node, out);
  if (!placer->problem->soft)
    strbuf_append(out,
                  "\nRemove the request, or turn on allow_soft_placement to let the node go where "
                  "there is a kernel.");
}

/* "MatMul: GPU CPU " */
static void add_supported(struct placer *placer, int32_t node, struct strbuf *out) {
  const struct support_row *row = &placer->supports.rows[placer_claim(placer, node).row];
  strbuf_appendf(out, "\n%s: ", placer_op(placer, node));
  for (int32_t i = 0; i < row->n_kinds; i++)
    strbuf_appendf(out, "%s ", placer->supports.kinds[row->kinds[i].kind].text);
}

static void add_member(const struct placer *placer, int32_t node, struct strbuf *out) {
  const struct place_problem *problem = placer->problem;
  const struct place_node *member = &problem->nodes[node];
  strbuf_appendf(out, "\n  %s (%s) %s", placer_name(placer, node), placer_op(placer, node),
                 problem->specs[member->spec].text);
  if (member->assigned >= 0)
    strbuf_appendf(out, " framework assigned device=%s", problem->devices[member->assigned].text);
}

void placement_hints_group(struct placer *placer, int32_t node, const struct claim *claim,
                           struct strbuf *out) {
  const struct set *set = colocation_find(placer, node);
  if (!set) return;
  char printed[NAME_SIZE];
  struct strbuf kinds = {0}, members = {0};
  int32_t n = 0;
  for (int32_t i = 0; i < placer->problem->n_nodes; i++) {
    if (colocation_find(placer, i) != set) continue;
    if (n < SHOWN_MEMBERS) add_supported(placer, i, &kinds);
    if (n < SHOWN_MEMBERS) add_member(placer, i, &members);
    n++;
  }
  strbuf_appendf(out,
                 "\nColocation Debug Info:\nColocation group had the following types and supported "
                 "devices: \nRequested device '%s'%s",
                 name_print(&placer->specs.values[claim->requested].name, printed, sizeof printed),
                 strbuf_get(&kinds));
  strbuf_appendf(
      out,
      "\n\nColocation members, user-requested devices, and framework assigned devices, if "
      "any:%s",
      strbuf_get(&members));
  if (n > SHOWN_MEMBERS) strbuf_appendf(out, "\n  and %d more", n - SHOWN_MEMBERS);
  out->failed |= kinds.failed || members.failed;
  strbuf_free(&kinds);
  strbuf_free(&members);
}
