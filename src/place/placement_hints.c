/* SPDX-License-Identifier: Apache-2.0
 * placement_hints.c: formats the hints of placement errors; long lists are truncated. */
#include "place/placement_hints.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/strbuf.h"
#include "place/colocation.h"

enum { SHOWN_NODES = 3, SHOWN_DEVICES = 32, SHOWN_MEMBERS = 12 };

static int compare_strings(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void placement_hints_devices(const struct placer *placer, struct strbuf *out) {
  const int32_t n = placer->problem->n_devices;
  const char **names = malloc(sizeof *names * (size_t)n);
  out->failed |= !names;
  if (!names) return;
  for (int32_t i = 0; i < n; i++) names[i] = placer->problem->devices[i].text;
  qsort(names, (size_t)n, sizeof *names, compare_strings);
  for (int32_t i = 0; i < n && i < SHOWN_DEVICES; i++)
    strbuf_appendf(out, "%s%s", i ? ", " : "", names[i]);
  if (n > SHOWN_DEVICES) strbuf_appendf(out, ", and %d more", n - SHOWN_DEVICES);
  free(names);
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
  if (problem->callbacks.kernels) {
    problem->callbacks.kernels(problem->callbacks.context, node, out);
    return;
  }
  for (int32_t i = 0; i < support->count; i++)
    strbuf_appendf(out, "%s%s", i ? ", " : "", support->kernels[i].kind);
  if (!support->count) strbuf_append(out, "<no registered kernels>");
}

static int32_t distance(int32_t a, int32_t b) { return a < b ? b - a : a - b; }

/* The device of the requested kind with the nearest index, or -1. */
static int32_t find_nearest(const struct place_problem *problem,
                            const struct device_name *requested) {
  int32_t best = -1;
  for (int32_t i = 0; requested->has_kind && i < problem->n_devices; i++) {
    const struct device_name *name = &problem->devices[i].name;
    if (strcasecmp(name->kind, requested->kind)) continue;
    if (best < 0 || distance(name->index, requested->index) <
                        distance(problem->devices[best].name.index, requested->index))
      best = i;
  }
  return best;
}

/* Lists the other nodes with the same request. */
static void append_other_nodes(const struct placer *placer, int32_t node, struct strbuf *out) {
  const struct place_problem *problem = placer->problem;
  const int32_t requested = placer->values[problem->nodes[node].spec];
  struct strbuf names = {0};
  int32_t n = 0;
  for (int32_t i = 0; i < problem->n_nodes; i++) {
    const struct place_node *other = &problem->nodes[i];
    if (i == node || placer->values[other->spec] != requested || other->assigned >= 0) continue;
    if (n < SHOWN_NODES) strbuf_appendf(&names, "%s%s", n ? ", " : "", placer_name(placer, i));
    n++;
  }
  if (n)
    strbuf_appendf(out, "\n%d other node%s the same device: %s%s", n,
                   n > 1 ? "s request" : " requests", strbuf_get(&names),
                   n > SHOWN_NODES ? ", ..." : "");
  strbuf_free(&names);
}

void placement_hints_no_device(const struct placer *placer, int32_t node, struct strbuf *out) {
  const struct place_problem *problem = placer->problem;
  const struct device_name *requested = &problem->specs[problem->nodes[node].spec].name;
  char local[NAME_SIZE];
  strbuf_append(out, "\nThere is no such device. Devices: ");
  placement_hints_devices(placer, out);
  const int32_t near = find_nearest(problem, requested);
  if (near >= 0)
    strbuf_appendf(out, "\nThe nearest one is %s",
                   name_local(&problem->devices[near].name, local, sizeof local));
  else if (requested->has_kind)
    strbuf_appendf(out, "\nThere is no %s at all", requested->kind);
  append_other_nodes(placer, node, out);
  strbuf_append(
      out, problem->soft
               ? "\nSoft placement chooses another device, but not another job, replica or "
                 "task."
               : "\nRequest an existing device, or set allow_soft_placement to use another one.");
}

void placement_hints_no_kernel(const struct placer *placer, int32_t node, struct strbuf *out) {
  strbuf_appendf(out, "\nKernels of %s: ", placer_op(placer, node));
  placement_hints_kernels(placer, node, out);
  if (!placer->problem->soft)
    strbuf_append(
        out, "\nRemove the request, or set allow_soft_placement to use a device with a kernel.");
}

/* "MatMul: GPU CPU " */
static void add_supported(struct placer *placer, int32_t node, struct strbuf *out) {
  const struct kernel_set *kernel_set =
      &placer->supports.kernel_sets[placer_constraints(placer, node).kernel_set];
  strbuf_appendf(out, "\n%s: ", placer_op(placer, node));
  for (int32_t i = 0; i < kernel_set->n_kinds; i++)
    strbuf_appendf(out, "%s ", placer->supports.kinds[kernel_set->kinds[i].kind].text);
}

static void add_member(const struct placer *placer, int32_t node, struct strbuf *out) {
  const struct place_problem *problem = placer->problem;
  const struct place_node *member = &problem->nodes[node];
  strbuf_appendf(out, "\n  %s (%s) %s", placer_name(placer, node), placer_op(placer, node),
                 problem->specs[member->spec].text);
  if (member->assigned >= 0)
    strbuf_appendf(out, " framework assigned device=%s", problem->devices[member->assigned].text);
}

void placement_hints_group(struct placer *placer, int32_t node,
                           const struct constraints *constraints, struct strbuf *out) {
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
  strbuf_appendf(
      out,
      "\nColocation Debug Info:\nColocation group had the following types and supported "
      "devices: \nRequested device '%s'%s",
      name_print(&placer->specs.values[constraints->requested].name, printed, sizeof printed),
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
