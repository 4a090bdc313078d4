/* SPDX-License-Identifier: Apache-2.0
 * cluster.c: `situ cluster`: lists the ranks that mpirun started, with their machines and GPUs. */
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "json.h"
#include "table.h"

/* The description of a rank. */
struct entry {
  situ_member member;
  int32_t gpus;
  char model[64]; /* of its first GPU */
};

static situ_status describe_self(struct entry *out) {
  int count = 0;
  situ_device device;
  situ_status s = situ_cluster_member(situ_cluster_rank(), &out->member);
  if (!s) s = situ_devices_count(&count);
  for (int i = 0; i < count && !s; i++) {
    s = situ_devices_get(i, &device);
    if (s || !strcmp(device.kind, "CPU")) continue;
    if (!out->gpus++) snprintf(out->model, sizeof out->model, "%s", device.model);
  }
  return s;
}

static bool print_table(const struct entry *entries, int n) {
  struct table table = {
      .heads = {">rank", ">machine", ">local", "host", ">process", ">GPUs", "first GPU"}};
  int machines = 0;
  for (int i = 0; i < n; i++) {
    const struct entry *entry = &entries[i];
    table_number(&table, entry->member.rank);
    table_number(&table, entry->member.machine);
    table_number(&table, entry->member.local_rank);
    table_add(&table, entry->member.host);
    table_number(&table, entry->member.pid);
    table_number(&table, entry->gpus);
    table_add(&table, entry->model);
    if (entry->member.machine >= machines) machines = entry->member.machine + 1;
  }
  printf("%d rank%s on %d machine%s\n", n, n == 1 ? "" : "s", machines, machines == 1 ? "" : "s");
  return table_print(&table);
}

static void print_json(const struct entry *entries, int n) {
  json_open(NULL, '{');
  json_number("size", n);
  json_open("ranks", '[');
  for (int i = 0; i < n; i++) {
    json_open(NULL, '{');
    json_number("rank", entries[i].member.rank);
    json_number("machine", entries[i].member.machine);
    json_number("local_rank", entries[i].member.local_rank);
    json_string("host", entries[i].member.host);
    json_number("process", entries[i].member.pid);
    json_number("gpus", entries[i].gpus);
    json_close();
  }
  json_close();
  json_close();
}

/* Gathers the descriptions of all ranks; rank 0 prints them. */
static situ_status show(const struct args *args) {
  struct entry own = {0};
  void *entries = NULL;
  size_t *sizes = NULL;
  situ_status s = situ_cluster_join(NULL);
  if (!s) s = describe_self(&own);
  const int n = situ_cluster_size();
  if (!s) sizes = calloc((size_t)n, sizeof *sizes);
  if (!s && !sizes) s = situ_status_create(SITU_RESOURCE_EXHAUSTED, "Out of memory.");
  if (!s) s = situ_cluster_all_gather(&own, sizeof own, &entries, sizes);
  if (!s && situ_cluster_rank() == 0) {
    if (args_has(args, "json"))
      print_json(entries, n);
    else if (!print_table(entries, n))
      s = situ_status_create(SITU_RESOURCE_EXHAUSTED, "Out of memory.");
    if (!s && n == 1 && !args_has(args, "json"))
      printf("\nThis is the only process. To start several: mpirun -np 4 situ cluster\n");
  }
  free(entries);
  free(sizes);
  return s;
}

static int run(const struct args *args) {
  const situ_status s = show(args);
  const int code = s ? command_fail(args, s) : SUCCESS;
  situ_cluster_leave();
  return code;
}

static const struct option options[] = {{"json", NULL, "print JSON"}, {0}};

const struct command cluster_command = {
    .name = "cluster",
    .positional = "",
    .help = "list the processes of a cluster and their machines",
    .details =
        "Start it like the program; rank 0 prints:\n\n"
        "  mpirun -np 4 situ cluster\n"
        "  mpirun --host a:4,b:4 situ cluster --gpus 2\n",
    .options = options,
    .run = run};
