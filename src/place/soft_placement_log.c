/* SPDX-License-Identifier: Apache-2.0
 * soft_placement_log.c: formats the warning of soft placement: one line per (requested device,
 * chosen device, cause), and the ignored colocations. */
#include "place/soft_placement_log.h"

#include "base/strbuf.h"

enum { SHOWN_LINES = 8, SHOWN_NODES = 3 };

/* Nodes with the same request, device and cause. */
struct line {
  int32_t spec, device, count;
  uint8_t soft_cause;
  int32_t nodes[SHOWN_NODES];
};

/* Adds a node to its line; returns the number of lines. */
static int add_node(const struct placer *placer, int32_t node, struct line *lines, int n) {
  const struct line one = {.spec = placer->problem->nodes[node].spec,
                           .device = placer->device[node],
                           .soft_cause = placer->reasons[node].soft_cause};
  int at = 0;
  while (at < n && (lines[at].spec != one.spec || lines[at].device != one.device ||
                    lines[at].soft_cause != one.soft_cause))
    at++;
  if (at == SHOWN_LINES) return n;
  if (at == n) lines[n++] = one;
  if (lines[at].count < SHOWN_NODES) lines[at].nodes[lines[at].count] = node;
  lines[at].count++;
  return n;
}

static void add_line(const struct placer *placer, const struct line *line, struct strbuf *out) {
  static const char *const causes[] = {
      [SOFT_NONE] = "",
      [SOFT_NO_DEVICE] = ", which does not exist",
      [SOFT_NO_KERNEL] = ", where there is no kernel",
      [SOFT_COLOCATION] = ", where a colocated node cannot be placed",
  };
  strbuf_append(out, "\n  ");
  for (int32_t i = 0; i < line->count && i < SHOWN_NODES; i++)
    strbuf_appendf(out, "%s%s", i ? ", " : "", placer_name(placer, line->nodes[i]));
  if (line->count > SHOWN_NODES) strbuf_appendf(out, " and %d more", line->count - SHOWN_NODES);
  strbuf_appendf(out, ": requested '%s'%s; now on %s", placer->problem->specs[line->spec].text,
                 causes[line->soft_cause], placer->problem->devices[line->device].text);
}

static void add_moved(const struct placer *placer, struct strbuf *out) {
  struct line lines[SHOWN_LINES];
  int n = 0;
  int32_t n_shown = 0;
  for (int32_t i = 0; i < placer->problem->n_nodes; i++)
    if (placer->reasons[i].cause == CAUSE_SOFT) n = add_node(placer, i, lines, n);
  strbuf_appendf(out, "Soft placement moved %d node%s:", placer->n_moved,
                 placer->n_moved > 1 ? "s" : "");
  for (int i = 0; i < n; i++) {
    add_line(placer, &lines[i], out);
    n_shown += lines[i].count;
  }
  if (n_shown < placer->n_moved) strbuf_appendf(out, "\n  and %d more", placer->n_moved - n_shown);
}

situ_status soft_placement_log_warn(const struct placer *placer, struct arena *arena,
                                    const char **out) {
  const struct sets *sets = &placer->sets;
  *out = NULL;
  if (!placer->n_moved && !sets->n_rejected) return NULL;
  struct strbuf message = {0};
  if (placer->n_moved) add_moved(placer, &message);
  if (sets->n_rejected)
    strbuf_appendf(&message, "%sSoft placement ignored %d colocation%s: %s is not with %s",
                   placer->n_moved ? "\n" : "", sets->n_rejected,
                   sets->n_rejected > 1 ? "s, the first one" : "",
                   placer_name(placer, sets->first.consumer),
                   placer_name(placer, sets->first.producer));
  *out = message.failed ? NULL : arena_strndup(arena, strbuf_get(&message), message.length);
  strbuf_free(&message);
  return *out ? NULL : NO_MEMORY();
}
