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

/* One share per device that has nodes, in the order of the devices. */
static situ_status count_shares(const situ_placement *placed, int count, struct shares *out) {
  int devices = 0;
  *out = (struct shares){0};
  situ_status s = situ_devices_count(&devices);
  if (s) return s;
  out->list = calloc((size_t)devices + 1, sizeof *out->list);
  if (!out->list) return situ_status_create(SITU_RESOURCE_EXHAUSTED, "No memory.");
  for (int d = 0; !s && d < devices; d++) {
    struct share share = {0};
    situ_device device;
    s = situ_devices_get(d, &device);
    for (int i = 0; !s && i < count; i++) {
      if (strcmp(device.name, placed[i].assigned) != 0) continue;
      share.device = placed[i].assigned;
      share.nodes++;
      share.asked += *placed[i].requested != 0;
    }
    if (share.nodes) out->list[out->count++] = share;
  }
  return s;
}

static bool print_nodes(const situ_placement *placed, int count) {
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
  printf("Nodes per device\n");
  return table_print(&table);
}

static bool print_text(const situ_plan *plan, const struct shares *shares, bool summary) {
  int count = 0;
  const situ_placement *placed = situ_plan_placements(plan, &count);
  if (!summary && !print_nodes(placed, count)) return false;
  if (!summary) putchar('\n');
  return print_shares(shares) && planned_copies(plan);
}

static void json_nodes(const situ_placement *placed, int count) {
  json_open("nodes", '[');
  for (int i = 0; i < count; i++) {
    json_open(NULL, '{');
    json_string("name", placed[i].node);
    json_string("op", placed[i].op);
    json_string("requested", placed[i].requested);
    json_string("assigned", placed[i].assigned);
    json_string("cause", placed[i].cause);
    json_close();
  }
  json_close();
}

static void print_json(const situ_plan *plan, const struct shares *shares, bool summary) {
  int count = 0;
  const situ_placement *placed = situ_plan_placements(plan, &count);
  json_open(NULL, '{');
  if (!summary) json_nodes(placed, count);
  json_open("devices", '[');
  for (int i = 0; i < shares->count; i++) {
    json_open(NULL, '{');
    json_string("device", shares->list[i].device);
    json_number("nodes", shares->list[i].nodes);
    json_number("requested", shares->list[i].asked);
    json_close();
  }
  json_close();
  planned_copies_json(plan);
  json_close();
}

static situ_status print(const struct args *args, const situ_plan *plan) {
  int count = 0;
  const situ_placement *placed = situ_plan_placements(plan, &count);
  const bool summary = args_has(args, "summary");
  struct shares shares;
  situ_status s = count_shares(placed, count, &shares);
  if (!s && args_has(args, "json"))
    print_json(plan, &shares, summary);
  else if (!s && !print_text(plan, &shares, summary))
    s = situ_status_create(SITU_RESOURCE_EXHAUSTED, "No memory.");
  free(shares.list);
  return s;
}

static int run(const struct args *args) {
  struct planned planned;
  int code = planned_make(args, &planned);
  if (code == DONE) {
    const situ_status s = print(args, planned.plan);
    if (s) code = command_fail(args, s);
  }
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
        "GRAPH is a file with a GraphDef as text, as JSON or in binary form (.pb); - is\n"
        "standard input. Nothing runs and no device is opened. Exit code 1 if the graph\n"
        "cannot be placed; the error says which node, and why.\n\n"
        "  situ explain model.pbtxt --gpus 4\n"
        "  situ explain model.pbtxt --gpus 1 --soft --feed x=32x784 --summary\n",
    .options = options,
    .many = PLANNED_MANY,
    .run = run};
