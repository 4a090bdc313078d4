/* SPDX-License-Identifier: Apache-2.0
 * hints.c: devices, kernels and neighbours in a few lines; long lists are cut. */
#include "place/hints.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "place/sets.h"

enum { SHOWN_NODES = 3, SHOWN_DEVICES = 32, SHOWN_MEMBERS = 12 };

static int order_texts(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void hints_devices(const struct placer *placer, struct text *out) {
  const int32_t n = placer->problem->n_devices;
  const char **texts = malloc(sizeof *texts * (size_t)n);
  out->failed |= !texts;
  if (!texts) return;
  for (int32_t i = 0; i < n; i++) texts[i] = placer->problem->devices[i].text;
  qsort(texts, (size_t)n, sizeof *texts, order_texts);
  for (int32_t i = 0; i < n && i < SHOWN_DEVICES; i++)
    text_addf(out, "%s%s", i ? ", " : "", texts[i]);
  if (n > SHOWN_DEVICES) text_addf(out, ", and %d more", n - SHOWN_DEVICES);
  free(texts);
}

void hints_kinds(const struct placer *placer, struct text *out) {
  const char *comma = "";
  for (int32_t i = 0; i < placer->supports.n_kinds; i++) {
    if (!placer->supports.kinds[i].present) continue;
    text_addf(out, "%s%s", comma, placer->supports.kinds[i].text);
    comma = ", ";
  }
}

void hints_kernels(const struct placer *placer, int32_t node, struct text *out) {
  const struct place_problem *problem = placer->problem;
  const struct place_support *support = &problem->supports[problem->nodes[node].support];
  if (problem->words.kernels) {
    problem->words.kernels(problem->words.context, node, out);
    return;
  }
  for (int32_t i = 0; i < support->count; i++)
    text_addf(out, "%s%s", i ? ", " : "", support->kernels[i].kind);
  if (!support->count) text_add(out, "<no registered kernels>");
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
static void others(const struct placer *placer, int32_t node, struct text *out) {
  const struct place_problem *problem = placer->problem;
  const int32_t asked = placer->values[problem->nodes[node].spec];
  struct text names = {0};
  int32_t n = 0;
  for (int32_t i = 0; i < problem->n_nodes; i++) {
    const struct place_node *other = &problem->nodes[i];
    if (i == node || placer->values[other->spec] != asked || other->assigned >= 0) continue;
    if (n < SHOWN_NODES) text_addf(&names, "%s%s", n ? ", " : "", placer_name(placer, i));
    n++;
  }
  if (n)
    text_addf(out, "\n%d other node%s for the same: %s%s", n, n > 1 ? "s ask" : " asks",
              text_get(&names), n > SHOWN_NODES ? ", ..." : "");
  text_free(&names);
}

void hints_no_device(const struct placer *placer, int32_t node, struct text *out) {
  const struct place_problem *problem = placer->problem;
  const struct device_name *asked = &problem->specs[problem->nodes[node].spec].name;
  char local[NAME_SIZE];
  text_add(out, "\nThere is no such device. Devices: ");
  hints_devices(placer, out);
  const int32_t near = nearest(problem, asked);
  if (near >= 0)
    text_addf(out, "\nThe nearest one is %s",
              name_local(&problem->devices[near].name, local, sizeof local));
  else if (asked->has_kind)
    text_addf(out, "\nThere is no %s at all", asked->kind);
  others(placer, node, out);
  text_add(out, problem->soft
                    ? "\nSoft placement chooses another device, but not another job, replica or "
                      "task."
                    : "\nAsk for a device that exists, or turn on allow_soft_placement to let such "
                      "nodes go to another one.");
}

void hints_no_kernel(const struct placer *placer, int32_t node, struct text *out) {
  text_addf(out, "\nKernels of %s: ", placer_op(placer, node));
  hints_kernels(placer, node, out);
  if (!placer->problem->soft)
    text_add(out,
             "\nRemove the request, or turn on allow_soft_placement to let the node go where "
             "there is a kernel.");
}

/* "MatMul: GPU CPU " */
static void add_supported(struct placer *placer, int32_t node, struct text *out) {
  const struct support_row *row = &placer->supports.rows[placer_claim(placer, node).row];
  text_addf(out, "\n%s: ", placer_op(placer, node));
  for (int32_t i = 0; i < row->n_kinds; i++)
    text_addf(out, "%s ", placer->supports.kinds[row->kinds[i].kind].text);
}

static void add_member(const struct placer *placer, int32_t node, struct text *out) {
  const struct place_problem *problem = placer->problem;
  const struct place_node *member = &problem->nodes[node];
  text_addf(out, "\n  %s (%s) %s", placer_name(placer, node), placer_op(placer, node),
            problem->specs[member->spec].text);
  if (member->assigned >= 0)
    text_addf(out, " framework assigned device=%s", problem->devices[member->assigned].text);
}

void hints_group(struct placer *placer, int32_t node, const struct claim *claim, struct text *out) {
  const struct set *set = sets_find(placer, node);
  if (!set) return;
  char printed[NAME_SIZE];
  struct text kinds = {0}, members = {0};
  int32_t n = 0;
  for (int32_t i = 0; i < placer->problem->n_nodes; i++) {
    if (sets_find(placer, i) != set) continue;
    if (n < SHOWN_MEMBERS) add_supported(placer, i, &kinds);
    if (n < SHOWN_MEMBERS) add_member(placer, i, &members);
    n++;
  }
  text_addf(out,
            "\nColocation Debug Info:\nColocation group had the following types and supported "
            "devices: \nRequested device '%s'%s",
            name_print(&placer->specs.values[claim->requested].name, printed, sizeof printed),
            text_get(&kinds));
  text_addf(out,
            "\n\nColocation members, user-requested devices, and framework assigned devices, if "
            "any:%s",
            text_get(&members));
  if (n > SHOWN_MEMBERS) text_addf(out, "\n  and %d more", n - SHOWN_MEMBERS);
  out->failed |= kinds.failed || members.failed;
  text_free(&kinds);
  text_free(&members);
}
