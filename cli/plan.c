/* SPDX-License-Identifier: Apache-2.0
 * plan.c: `situ plan`: the copies and the memory of a run, compared with the limits of the devices.
 * */
#include "json.h"
#include "graph_plan.h"
#include "table.h"

static bool fits(const situ_memory_need *need) { return need->peak_bytes <= need->limit_bytes; }

static bool print_needs(const situ_memory_need *needs, int count) {
  struct table table = {
      .heads = {"device", ">variables", ">step", ">peak", ">limit", ">used", ">kernels", "fits"}};
  for (int i = 0; i < count; i++) {
    char part[32];
    const double of =
        needs[i].limit_bytes ? (double)needs[i].peak_bytes / (double)needs[i].limit_bytes : 0;
    snprintf(part, sizeof part, "%.1f %%", 100 * of);
    table_add(&table, table_device(needs[i].device));
    table_bytes(&table, needs[i].variable_bytes);
    table_bytes(&table, needs[i].step_bytes);
    table_bytes(&table, needs[i].peak_bytes);
    table_bytes(&table, needs[i].limit_bytes);
    table_add(&table, part);
    table_number(&table, needs[i].kernels);
    table_add(&table, fits(&needs[i]) ? "yes" : "NO");
  }
  printf("Memory\n");
  return table_print(&table);
}

/* Reports initializers that need more memory than the step. */
static void print_initializers(const situ_memory_need *needs, int count) {
  for (int i = 0; i < count; i++) {
    char bytes[32];
    if (needs[i].initializer_bytes <= needs[i].step_bytes) continue;
    printf("\nThe variable initializers need more memory of %s than a step: %s.\n",
           table_device(needs[i].device), table_size(needs[i].initializer_bytes, bytes));
  }
}

/* Reports whether the run fits, and how to make it fit. */
static void print_verdict(const situ_plan *plan, const situ_memory_need *needs, int count) {
  const char *uncounted = situ_plan_uncounted(plan);
  bool all = true;
  for (int i = 0; i < count; i++) {
    char missing[32];
    if (fits(&needs[i])) continue;
    if (all) putchar('\n');
    all = false;
    printf("It does not fit on %s: %s too little.\n", table_device(needs[i].device),
           table_size(needs[i].peak_bytes - needs[i].limit_bytes, missing));
  }
  if (all && uncounted)
    printf("\nCannot determine whether it fits: the memory of %s is known only at run time.\n",
           uncounted);
  else if (all)
    printf("\nIt fits.\n");
  else
    printf(
        "Reduce the batch size, move nodes to another device, or raise the limit "
        "(SITU_GPU_MEMORY).\n");
}

static void print_json(const situ_plan *plan, const situ_memory_need *needs, int count, bool all) {
  json_open(NULL, '{');
  if (!all || !situ_plan_uncounted(plan)) json_bool("fits", all);
  if (situ_plan_uncounted(plan)) json_string("uncounted", situ_plan_uncounted(plan));
  json_open("devices", '[');
  for (int i = 0; i < count; i++) {
    json_open(NULL, '{');
    json_string("device", needs[i].device);
    json_size("peak_bytes", needs[i].peak_bytes);
    json_size("limit_bytes", needs[i].limit_bytes);
    json_size("variable_bytes", needs[i].variable_bytes);
    json_size("step_bytes", needs[i].step_bytes);
    json_size("initializer_bytes", needs[i].initializer_bytes);
    json_bool("fits", fits(&needs[i]));
    json_number("kernels", needs[i].kernels);
    json_close();
  }
  json_close();
  graph_plan_copies_json(plan);
  json_close();
}

static int run(const struct args *args) {
  struct graph_plan graph_plan;
  int code = graph_plan_create(args, &graph_plan), count = 0;
  if (code == SUCCESS) {
    const situ_memory_need *needs = situ_plan_memory(graph_plan.plan, &count);
    bool all = true, ok = true;
    for (int i = 0; i < count; i++) all = all && fits(&needs[i]);
    if (args_has(args, "json")) {
      print_json(graph_plan.plan, needs, count, all);
    } else {
      ok = print_needs(needs, count);
      if (ok) print_initializers(needs, count);
      if (ok) ok = graph_plan_print_copies(graph_plan.plan);
      if (ok) print_verdict(graph_plan.plan, needs, count);
    }
    if (!ok)
      code = command_fail(args, situ_status_create(SITU_RESOURCE_EXHAUSTED, "Out of memory."));
    const bool sure = all && !situ_plan_uncounted(graph_plan.plan);
    if (ok && !sure && args_has(args, "check")) code = FAILED;
  }
  graph_plan_free(&graph_plan);
  return code;
}

static const struct option options[] = {
    GRAPH_PLAN_OPTIONS,
    {"check", NULL, "exit with 1 if it does not fit or this cannot be determined"},
    {0}};

const struct command plan_command = {
    .name = "plan",
    .positional = "GRAPH",
    .min_args = 1,
    .max_args = 1,
    .help = "compute the memory and the copies of a run",
    .details =
        "GRAPH is a file with a GraphDef in text, JSON or binary format (.pb); - is standard\n"
        "input. variables is memory that persists between runs; step is what one run needs in\n"
        "addition: values, copies, scratch memory and constants; peak is the smallest limit with\n"
        "which a session can initialize all variables and run the step; limit is the memory that\n"
        "may be allocated. Nothing runs, and no memory is allocated.\n\n"
        "  situ plan model.pbtxt --gpus 'Tesla K40c=12GiB' --feed x=512x784\n"
        "  SITU_GPU_MEMORY=limit=2GiB situ plan model.pbtxt --gpus 1 --check\n",
    .options = options,
    .repeatable = GRAPH_PLAN_REPEATABLE,
    .run = run};
