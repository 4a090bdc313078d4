/* SPDX-License-Identifier: Apache-2.0
 * explain.c: `situ explain`: where each node of a graph goes, why, and what is copied for it. */
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "planned.h"
#include "table.h"

/* Nodes of one device. */
struct share {
  const char *device;
  int nodes, asked; /* in all; those with a request of their own */
};

struct shares {
  struct share *list;
  int count;
};

static bool count_shares(const situ_placed *placed, int count, struct shares *out) {
  out->list = calloc((size_t)count + 1, sizeof *out->list);
  out->count = 0;
  for (int i = 0; out->list && i < count; i++) {
    int at = 0;
    while (at < out->count && strcmp(out->list[at].device, placed[i].assigned) != 0) at++;
    if (at == out->count) out->list[out->count++].device = placed[i].assigned;
    out->list[at].nodes++;
    out->list[at].asked += *placed[i].requested != 0;
  }
  return out->list;
}

static bool print_nodes(const situ_placed *placed, int count) {
  struct table table = {.heads = {"node", "op", "asked for", "device", "reason"}};
  for (int i = 0; i < count; i++) {
    table_add(&table, placed[i].node);
    table_add(&table, placed[i].op);
    table_add(&table, placed[i].requested);
    table_add(&table, table_device(placed[i].assigned));
    table_add(&table, placed[i].cause);
  }
  printf("Nodes\n");
  return table_print(&table);
}

static bool print_shares(const struct shares *shares) {
  struct table table = {.heads = {"device", ">nodes", ">asked for a device"}};
  for (int i = 0; i < shares->count; i++) {
    table_add(&table, table_device(shares->list[i].device));
    table_number(&table, shares->list[i].nodes);
    table_number(&table, shares->list[i].asked);
  }
  printf("\nNodes per device\n");
  return table_print(&table);
}

static bool print_text(const struct planned *planned, bool summary) {
  int count = 0;
  const situ_placed *placed = situ_plan_placed(planned->plan, &count);
  struct shares shares;
  bool ok = count_shares(placed, count, &shares);
  if (ok && !summary) ok = print_nodes(placed, count);
  if (ok) ok = print_shares(&shares);
  if (ok) ok = planned_copies(planned->plan);
  free(shares.list);
  return ok;
}

static bool print_json(const struct planned *planned, bool summary) {
  int count = 0;
  const situ_placed *placed = situ_plan_placed(planned->plan, &count);
  struct shares shares;
  if (!count_shares(placed, count, &shares)) return false;
  json_open(NULL, '{');
  if (!summary) {
    json_open("nodes", '[');
    for (int i = 0; i < count; i++) {
      json_open(NULL, '{');
      json_text("name", placed[i].node);
      json_text("op", placed[i].op);
      json_text("requested", placed[i].requested);
      json_text("assigned", placed[i].assigned);
      json_text("cause", placed[i].cause);
      json_close();
    }
    json_close();
  }
  json_open("devices", '[');
  for (int i = 0; i < shares.count; i++) {
    json_open(NULL, '{');
    json_text("device", shares.list[i].device);
    json_number("nodes", shares.list[i].nodes);
    json_number("requested", shares.list[i].asked);
    json_close();
  }
  json_close();
  planned_copies_json(planned->plan);
  json_close();
  free(shares.list);
  return true;
}

static int run(const struct args *args) {
  struct planned planned;
  int code = planned_make(args, &planned);
  const bool summary = args_has(args, "summary");
  if (code == DONE &&
      !(args_has(args, "json") ? print_json(&planned, summary) : print_text(&planned, summary)))
    code = command_fail(args, situ_status_create(SITU_RESOURCE_EXHAUSTED, "No memory."));
  planned_free(&planned);
  return code;
}

static const struct option options[] = {
    PLANNED_OPTIONS, {"summary", NULL, "only how many nodes go where, and the copies"}, {0}};

const struct command explain_command = {
    .name = "explain",
    .words = "GRAPH",
    .least = 1,
    .most = 1,
    .help = "where each node of a graph goes, why, and what is copied for it",
    .more =
        "GRAPH is a file with a GraphDef as text or as JSON (situ_graph_save writes it); - is\n"
        "standard input. Nothing runs and no device is opened. Exit code 1 if the graph\n"
        "cannot be placed; the error says which node, and why.\n\n"
        "  situ explain model.pbtxt --gpus 4\n"
        "  situ explain model.pbtxt --gpus 1 --soft --feed x=32x784 --summary\n",
    .options = options,
    .run = run};
