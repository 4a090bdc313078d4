/* SPDX-License-Identifier: Apache-2.0
 * plan.c: `situ plan`: what a run of a graph will copy and need, against what devices have. */
#include "json.h"
#include "planned.h"
#include "table.h"

static bool fits(const situ_memory_need *need) { return need->peak_bytes <= need->limit_bytes; }

static bool print_needs(const situ_memory_need *needs, int count) {
  struct table table = {
      .heads = {"device", ">variables", ">step", ">peak", ">limit", ">part", ">kernels", "fits"}};
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

/* Where the variables' initial values take more than a step does. */
static void print_initializers(const situ_memory_need *needs, int count) {
  for (int i = 0; i < count; i++) {
    char bytes[32];
    if (needs[i].initializer_bytes <= needs[i].step_bytes) continue;
    printf("\nThe initializers of the variables take more of %s than a step: %s.\n",
           table_device(needs[i].device), table_size(needs[i].initializer_bytes, bytes));
  }
}

/* The devices whose memory is too small, and the way out. */
static void print_verdict(const situ_plan *plan, const situ_memory_need *needs, int count) {
  const char *uncounted = situ_plan_uncounted(plan);
  bool all = true;
  for (int i = 0; i < count; i++) {
    char missing[32];
    if (fits(&needs[i])) continue;
    if (all) putchar('\n');
    all = false;
    printf("It does not fit on %s: %s are missing.\n", table_device(needs[i].device),
           table_size(needs[i].peak_bytes - needs[i].limit_bytes, missing));
  }
  if (all && uncounted)
    printf("\nWhether it fits cannot be told: only a run can tell the memory of %s.\n", uncounted);
  else if (all)
    printf("\nIt fits.\n");
  else
    printf(
        "Use a smaller batch, place a part of the graph on another device, or raise the limit "
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
  planned_copies_json(plan);
  json_close();
}

static int run(const struct args *args) {
  struct planned planned;
  int code = planned_make(args, &planned), count = 0;
  if (code == DONE) {
    const situ_memory_need *needs = situ_plan_memory(planned.plan, &count);
    bool all = true, ok = true;
    for (int i = 0; i < count; i++) all = all && fits(&needs[i]);
    if (args_has(args, "json")) {
      print_json(planned.plan, needs, count, all);
    } else {
      ok = print_needs(needs, count);
      if (ok) print_initializers(needs, count);
      if (ok) ok = planned_copies(planned.plan);
      if (ok) print_verdict(planned.plan, needs, count);
    }
    if (!ok) code = command_fail(args, situ_status_create(SITU_RESOURCE_EXHAUSTED, "No memory."));
    const bool sure = all && !situ_plan_uncounted(planned.plan);
    if (ok && !sure && args_has(args, "check")) code = FAILED;
  }
  planned_free(&planned);
  return code;
}

static const struct option options[] = {
    PLANNED_OPTIONS,
    {"check", NULL, "exit code 1 if it does not fit, or if that cannot be told"},
    {0}};

const struct command plan_command = {
    .name = "plan",
    .words = "GRAPH",
    .least = 1,
    .most = 1,
    .help = "what a run of a graph will copy, and how much memory it needs where",
    .more =
        "GRAPH is a file with a GraphDef as text, as JSON or in binary form (.pb); - is\n"
        "standard input. variables stay from run to run; step is what one run takes besides:\n"
        "values, copies, scratch and constants; peak the smallest limit with which a session\n"
        "can initialize all variables and run the step; limit what may be taken of the device.\n"
        "Nothing runs, no memory is taken.\n\n"
        "  situ plan model.pbtxt --gpus 'Tesla K40c=12GiB' --feed x=512x784\n"
        "  SITU_GPU_MEMORY=limit=2GiB situ plan model.pbtxt --gpus 1 --check\n",
    .options = options,
    .many = PLANNED_MANY,
    .run = run};
