/* SPDX-License-Identifier: Apache-2.0
 * explain.c: `situ explain`: shows the device of each node, the reason, and the copies between
 * devices. */
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "graph_plan.h"
#include "table.h"

/* The nodes of one device. */
struct share {
  const char *device;
  int nodes, requested; /* all nodes; nodes with a requested device */
};

struct shares {
  struct share *list;
  int count;
};

/* Counts the nodes per device, in the order of the devices. */
static situ_status count_shares(const situ_placement *placements, int count, struct shares *out) {
  int devices = 0;
  *out = (struct shares){0};
  situ_status s = situ_devices_count(&devices);
  if (s) return s;
  out->list = calloc((size_t)devices + 1, sizeof *out->list);
  if (!out->list) return situ_status_create(SITU_RESOURCE_EXHAUSTED, "Out of memory.");
  for (int d = 0; !s && d < devices; d++) {
    struct share share = {0};
    situ_device device;
    s = situ_devices_get(d, &device);
    for (int i = 0; !s && i < count; i++) {
      if (strcmp(device.name, placements[i].assigned) != 0) continue;
      share.device = placements[i].assigned;
      share.nodes++;
      share.requested += *placements[i].requested != 0;
    }
    if (share.nodes) out->list[out->count++] = share;
  }
  return s;
}

static bool print_nodes(const situ_placement *placements, int count) {
  struct table table = {.heads = {"node", "op", "requested", "device", "reason"}};
  for (int i = 0; i < count; i++) {
    table_add(&table, placements[i].node);
    table_add(&table, placements[i].op);
    table_add(&table, placements[i].requested);
    table_add(&table, table_device(placements[i].assigned));
    table_add(&table, placements[i].cause);
  }
  printf("Nodes\n");
  return table_print(&table);
}

static bool print_shares(const struct shares *shares) {
  struct table table = {.heads = {"device", ">nodes", ">with requested device"}};
  for (int i = 0; i < shares->count; i++) {
    table_add(&table, table_device(shares->list[i].device));
    table_number(&table, shares->list[i].nodes);
    table_number(&table, shares->list[i].requested);
  }
  printf("Nodes per device\n");
  return table_print(&table);
}

static bool print_text(const situ_plan *plan, const struct shares *shares, bool summary) {
  int count = 0;
  const situ_placement *placements = situ_plan_placements(plan, &count);
  if (!summary && !print_nodes(placements, count)) return false;
  if (!summary) putchar('\n');
  return print_shares(shares) && graph_plan_print_copies(plan);
}

static void json_nodes(const situ_placement *placements, int count) {
  json_open("nodes", '[');
  for (int i = 0; i < count; i++) {
    json_open(NULL, '{');
    json_string("name", placements[i].node);
    json_string("op", placements[i].op);
    json_string("requested", placements[i].requested);
    json_string("assigned", placements[i].assigned);
    json_string("cause", placements[i].cause);
    json_close();
  }
  json_close();
}

static void print_json(const situ_plan *plan, const struct shares *shares, bool summary) {
  int count = 0;
  const situ_placement *placements = situ_plan_placements(plan, &count);
  json_open(NULL, '{');
  if (!summary) json_nodes(placements, count);
  json_open("devices", '[');
  for (int i = 0; i < shares->count; i++) {
    json_open(NULL, '{');
    json_string("device", shares->list[i].device);
    json_number("nodes", shares->list[i].nodes);
    json_number("requested", shares->list[i].requested);
    json_close();
  }
  json_close();
  graph_plan_copies_json(plan);
  json_close();
}

static situ_status print(const struct args *args, const situ_plan *plan) {
  int count = 0;
  const situ_placement *placements = situ_plan_placements(plan, &count);
  const bool summary = args_has(args, "summary");
  struct shares shares;
  situ_status s = count_shares(placements, count, &shares);
  if (!s && args_has(args, "json"))
    print_json(plan, &shares, summary);
  else if (!s && !print_text(plan, &shares, summary))
    s = situ_status_create(SITU_RESOURCE_EXHAUSTED, "Out of memory.");
  free(shares.list);
  return s;
}

static int run(const struct args *args) {
  struct graph_plan graph_plan;
  int code = graph_plan_create(args, &graph_plan);
  if (code == SUCCESS) {
    const situ_status s = print(args, graph_plan.plan);
    if (s) code = command_fail(args, s);
  }
  graph_plan_free(&graph_plan);
  return code;
}

static const struct option options[] = {
    GRAPH_PLAN_OPTIONS, {"summary", NULL, "print only the nodes per device and the copies"}, {0}};

const struct command explain_command = {
    .name = "explain",
    .positional = "GRAPH",
    .min_args = 1,
    .max_args = 1,
    .help = "show the device of each node, the reason, and the copies",
    .details =
        "GRAPH is a file with a GraphDef in text, JSON or binary format (.pb); - is standard\n"
        "input. Nothing runs and no device is opened. The exit code is 1 if the graph cannot\n"
        "be placed; the error names the node and the reason.\n\n"
        "  situ explain model.pbtxt --gpus 4\n"
        "  situ explain model.pbtxt --gpus 1 --soft --feed x=32x784 --summary\n",
    .options = options,
    .repeatable = GRAPH_PLAN_REPEATABLE,
    .run = run};
