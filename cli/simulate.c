/* SPDX-License-Identifier: Apache-2.0
 * simulate.c: `situ simulate`: predicts how training scales to more GPUs and machines. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "json.h"
#include "measure.h"
#include "graph_plan.h"
#include "table.h"

/* The parsed options. */
struct request {
  struct scaling_gpu gpu;
  struct scaling_cluster cluster;
  struct scaling_step step;
  struct measured measured;
  double reached;
  bool strong;   /* strong scaling: the work of a step is divided among the GPUs */
  int algorithm; /* -1: the fastest */
};

/* ---- Options ---- */

/* Returns the bytes of a unit; 0 if it is unknown. */
static double find_unit(const char *value) {
  static const struct {
    const char *name;
    double bytes;
  } units[] = {{"", 1},     {"b", 1},         {"kb", 1e3},      {"mb", 1e6},
               {"gb", 1e9}, {"kib", 1 << 10}, {"mib", 1 << 20}, {"gib", 1 << 30}};
  for (size_t i = 0; i < sizeof units / sizeof *units; i++)
    if (!strcasecmp(units[i].name, value)) return units[i].bytes;
  return 0;
}

/* Reads a numeric option: above `lower`, at most `most`. Bytes may have a unit. */
static int read_number(const struct args *args, const char *option, const char *what, double lower,
                       double most, double *out) {
  const char *value = args_value(args, option);
  char *end = NULL;
  if (!value) return SUCCESS;
  *out = strtod(value, &end);
  const bool bytes = !strcmp(what, "bytes"), whole = !strcmp(what, "whole");
  const double unit = end == value ? 0 : bytes ? find_unit(end) : !*end;
  *out *= unit;
  if (unit > 0 && *out > lower && *out <= most && (!whole || *out == floor(*out))) return SUCCESS;
  if (most < 2)
    return command_misuse(args, "Option --%s must be above 0 and at most 1, not '%s'.", option,
                          value);
  return command_misuse(args, "Option --%s must be a %s%s, not '%s'.", option,
                        whole       ? "whole number above 0"
                        : lower < 0 ? "number"
                                    : "number above 0",
                        bytes ? " of bytes, such as 25MB" : "", value);
}

static bool read_links(const char *value, struct scaling_cluster *out) {
  char intranode[64];
  snprintf(intranode, sizeof intranode, "%s", value ? value : "nvlink,ib");
  char *comma = strchr(intranode, ',');
  if (comma) *comma = '\0';
  return scaling_find_link(intranode, &out->intranode) &&
         scaling_find_link(comma ? comma + 1 : intranode, &out->internode);
}

static int read_algorithm(const char *value) {
  for (int i = 0; value && i < SCALING_ALGORITHMS; i++)
    if (!strcmp(value, scaling_names[i])) return i;
  return !value || !strcmp(value, "auto") ? -1 : SCALING_ALGORITHMS;
}

static int read_numbers(const struct args *args, struct request *request) {
  double gpus = 1, nodes = 1;
  request->cluster = (struct scaling_cluster){
      .efficiency = 0.8, .bucket = 25e6, .overlap = !args_has(args, "no-overlap")};
  request->reached = 0.4;
  int code = read_number(args, "gpus", "whole", 0, 1 << 20, &gpus);
  if (code == SUCCESS) code = read_number(args, "nodes", "whole", 0, 1 << 20, &nodes);
  if (code == SUCCESS)
    code = read_number(args, "bucket", "bytes", 0, 1e15, &request->cluster.bucket);
  if (code == SUCCESS) code = read_number(args, "efficiency", "part", 0, 1, &request->reached);
  if (code == SUCCESS)
    code = read_number(args, "link-efficiency", "part", 0, 1, &request->cluster.efficiency);
  request->cluster.gpus = (int)gpus;
  request->cluster.nodes = (int)nodes;
  return code;
}

static int read_request(const struct args *args, struct request *request) {
  const char *device = args_value(args, "device"), *scaling = args_value(args, "scaling");
  const int code = read_numbers(args, request);
  if (code != SUCCESS) return code;
  request->algorithm = read_algorithm(args_value(args, "algorithm"));
  request->strong = scaling && !strcmp(scaling, "strong");
  request->step.backward = 2.0 / 3; /* assumes twice the cost of the forward pass */
  if (!scaling_find_gpu(device ? device : "v100", &request->gpu))
    return command_misuse(args, "Unknown device %s: see situ simulate --help.", device);
  if (!read_links(args_value(args, "link"), &request->cluster))
    return command_misuse(args, "Option --link must be NEAR,FAR, such as nvlink,ib, not '%s'.",
                          args_value(args, "link"));
  if (request->algorithm == SCALING_ALGORITHMS)
    return command_misuse(args, "Option --algorithm must be ring, tree, hierarchical or auto.");
  if (scaling && strcmp(scaling, "weak") && strcmp(scaling, "strong"))
    return command_misuse(args, "Option --scaling must be weak or strong, not '%s'.", scaling);
  return SUCCESS;
}

static bool is_script(const char *path) {
  const size_t length = strlen(path);
  return length > 3 && !strcmp(path + length - 3, ".py");
}

static int measure(const struct args *args, struct request *request) {
  double compute = -1, gradients = -1;
  int code = read_number(args, "compute", "number", 0, 1e15, &compute);
  if (code == SUCCESS) code = read_number(args, "gradients", "bytes", -1, 1e18, &gradients);
  if (code != SUCCESS) return code;
  if (!args->n_positional && (compute < 0 || gradients < 0))
    return command_misuse(
        args, "Missing argument: a script, a graph, or --compute MS and --gradients BYTES.");
  if (args->n_positional > 1 && !is_script(args->positional[0]))
    return command_misuse(args, "Unexpected argument '%s'.", args->positional[1]);
  if (args->n_positional)
    code = is_script(args->positional[0])
               ? measure_script(args, &request->gpu, request->reached, &request->measured)
               : measure_graph(args, &request->gpu, request->reached, &request->measured);
  request->step.compute = compute < 0 ? request->measured.seconds : compute * 1e-3;
  request->step.gradients = gradients < 0 ? request->measured.gradients : gradients;
  return code;
}

/* ---- Predictions ---- */

static enum scaling_algorithm best_algorithm(const struct request *request,
                                             const struct scaling_cluster *c,
                                             const struct scaling_step *step) {
  if (request->algorithm >= 0) return (enum scaling_algorithm)request->algorithm;
  int best = 0;
  for (int i = 1; i < SCALING_ALGORITHMS; i++)
    if (scaling_predict(c, step, (enum scaling_algorithm)i).step <
        scaling_predict(c, step, (enum scaling_algorithm)best).step)
      best = i;
  return (enum scaling_algorithm)best;
}

/* The prediction for a number of GPUs and machines. */
struct prediction {
  struct scaling_cluster cluster;
  struct scaling_result result;
  enum scaling_algorithm algorithm;
  double alone, efficiency; /* alone: seconds of a step on one GPU */
};

static struct prediction prediction(const struct request *request, int gpus, int nodes,
                                    int algorithm) {
  struct prediction a = {.cluster = request->cluster, .alone = request->step.compute};
  struct scaling_step step = request->step;
  a.cluster.gpus = gpus;
  a.cluster.nodes = nodes;
  const double n = (double)gpus * nodes;
  if (request->strong) step.compute /= n;
  a.algorithm = algorithm >= 0 ? (enum scaling_algorithm)algorithm
                               : best_algorithm(request, &a.cluster, &step);
  a.result = scaling_predict(&a.cluster, &step, a.algorithm);
  a.efficiency = step.compute / a.result.step;
  return a;
}

static const char *milliseconds(double seconds, char out[32]) {
  snprintf(out, 32, seconds < 1 ? "%.3g ms" : "%.0f ms", seconds * 1e3);
  return out;
}

static const char *percent(double part, char out[32]) {
  snprintf(out, 32, "%.1f %%", 100 * part);
  return out;
}

static void add_row(struct table *table, const struct prediction *a) {
  char value[32];
  table_number(table, (int64_t)a->cluster.gpus * a->cluster.nodes);
  table_number(table, a->cluster.nodes);
  table_add(table, a->cluster.gpus * a->cluster.nodes > 1 ? scaling_names[a->algorithm] : "-");
  table_add(table, milliseconds(a->result.step, value));
  table_add(table, milliseconds(a->result.communication, value));
  table_add(table, milliseconds(a->result.exposed, value));
  table_add(table, percent(a->result.step > 0 ? a->result.exposed / a->result.step : 0, value));
  table_add(table, percent(a->efficiency, value));
}

#define HEADS                                                                         \
  {                                                                                   \
    ">GPUs", ">nodes", "all-reduce", ">step", ">communication", ">exposed", ">share", \
        ">efficiency"                                                                 \
  }

/* Prints one GPU, one machine, then powers of two up to all machines. */
static bool print_scaling(const struct request *request) {
  struct table table = {.heads = HEADS};
  struct prediction a = prediction(request, 1, 1, -1);
  add_row(&table, &a);
  for (int nodes = 1; nodes <= request->cluster.nodes;
       nodes = nodes < request->cluster.nodes && nodes * 2 > request->cluster.nodes
                   ? request->cluster.nodes
                   : nodes * 2) {
    if (nodes == 1 && request->cluster.gpus == 1) continue;
    a = prediction(request, request->cluster.gpus, nodes, request->algorithm);
    add_row(&table, &a);
  }
  printf("\nScaling (%s)\n", request->strong ? "strong: the GPUs share the work of one step"
                                             : "weak: every GPU does the work of one step");
  return table_print(&table);
}

static bool print_algorithms(const struct request *request) {
  struct table table = {.heads = HEADS};
  for (int i = 0; i < SCALING_ALGORITHMS; i++) {
    const struct prediction a =
        prediction(request, request->cluster.gpus, request->cluster.nodes, i);
    add_row(&table, &a);
  }
  printf("\nAll-reduce algorithms\n");
  return table_print(&table);
}

/* Prints the training steps of an iteration, and those that are not part of it. */
static void print_parts(const struct measured *m) {
  char size[32], kernels[32];
  for (int i = 0; m->n_parts > 1 && i < m->n_parts; i++) {
    const struct measured_part *part = &m->parts[i];
    table_size((uint64_t)part->gradients, size);
    snprintf(kernels, sizeof kernels, part->kernels > 0 ? " of %.0f kernels" : "", part->kernels);
    if (part->times > 0)
      printf("  %.3g x a training step%s, gradients %s\n", part->times, kernels, size);
    else
      printf("  not counted: a training step%s, gradients %s, run %.0f times: %s\n", kernels, size,
             part->runs,
             part->is_variant ? "it trains the same variables"
                              : "it does not alternate with the others");
  }
}

static void print_head(const struct args *args, const struct request *request) {
  char a[32], b[32], c[32];
  const struct measured *m = &request->measured;
  if (args->n_positional)
    printf("%s: %s of %.0f kernels, %.3g GFLOP%s\n", args->positional[0],
           m->n_parts > 1 && m->parts[1].times > 0 ? "an iteration" : "a step", m->kernels,
           m->flops / 1e9, request->strong ? ", shared by all GPUs" : " on each GPU");
  print_parts(m);
  printf("gradients %s, compute time %s on a %s (%.0f %% of its peak)\n",
         table_size((uint64_t)request->step.gradients, a), milliseconds(request->step.compute, b),
         request->gpu.model, 100 * request->reached);
  printf("links: %s between GPUs, %s between machines (%.0f %% of %.1f and %.1f GB/s)\n",
         request->cluster.intranode.model, request->cluster.internode.model,
         100 * request->cluster.efficiency, request->cluster.intranode.bandwidth / 1e9,
         request->cluster.internode.bandwidth / 1e9);
  if (!args->n_positional) return;
  const double memory = m->block + m->variables;
  printf("memory of each GPU: %s (a step %s, variables %s), which %s\n",
         table_size((uint64_t)memory, a), table_size((uint64_t)m->block, b),
         table_size((uint64_t)m->variables, c),
         memory <= request->gpu.memory ? "fits" : "does NOT fit");
}

static void print_json(const struct request *request) {
  json_open(NULL, '{');
  json_size("gradient_bytes", (uint64_t)request->step.gradients);
  json_size("memory_bytes", (uint64_t)(request->measured.block + request->measured.variables));
  json_size("flops", (uint64_t)request->measured.flops);
  json_size("compute_ns", (uint64_t)(request->step.compute * 1e9));
  json_open("steps", '[');
  for (int i = 0; i < request->measured.n_parts; i++) {
    const struct measured_part *part = &request->measured.parts[i];
    json_open(NULL, '{');
    json_bool("counted", part->times > 0);
    json_size("runs", (uint64_t)part->runs);
    json_size("kernels", (uint64_t)part->kernels);
    json_size("gradient_bytes", (uint64_t)part->gradients);
    json_close();
  }
  json_close();
  json_open("algorithms", '[');
  for (int i = 0; i < SCALING_ALGORITHMS; i++) {
    const struct prediction a =
        prediction(request, request->cluster.gpus, request->cluster.nodes, i);
    json_open(NULL, '{');
    json_string("name", scaling_names[i]);
    json_size("step_ns", (uint64_t)(a.result.step * 1e9));
    json_size("communication_ns", (uint64_t)(a.result.communication * 1e9));
    json_size("exposed_ns", (uint64_t)(a.result.exposed * 1e9));
    json_close();
  }
  json_close();
  json_close();
}

static int run(const struct args *args) {
  struct request request = {0};
  int code = read_request(args, &request);
  if (code == SUCCESS) code = measure(args, &request);
  if (code != SUCCESS) return code;
  if (args_has(args, "json")) {
    print_json(&request);
    return SUCCESS;
  }
  print_head(args, &request);
  if (print_scaling(&request) &&
      (request.cluster.gpus * request.cluster.nodes == 1 || print_algorithms(&request)))
    return SUCCESS;
  return command_fail(args, situ_status_create(SITU_RESOURCE_EXHAUSTED, "Out of memory."));
}

static const struct option options[] = {
    {"nodes", "N", "number of machines, each with --gpus GPUs"},
    {"link", "NEAR,FAR", "links within and between machines: nvlink,ib"},
    {"device", "NAME", "k80, p100, v100 (default), a100, h100"},
    {"algorithm", "NAME", "ring, tree, hierarchical, or the fastest (auto)"},
    {"scaling", "HOW", "weak (default): work grows with the GPUs; strong: it is shared"},
    {"compute", "MS", "measured compute time of a step"},
    {"gradients", "BYTES", "size of the all-reduce of a step: 102MB"},
    {"bucket", "BYTES", "all-reduce gradients in buckets of this size. Default: 25MB"},
    {"no-overlap", NULL, "start the all-reduce after the backward pass"},
    {"efficiency", "FRACTION", "of the peak that kernels achieve. Default: 0.4"},
    {"link-efficiency", "FRACTION", "of the link bandwidth that is achieved. Default: 0.8"},
    GRAPH_PLAN_OPTIONS,
    {0}};

const struct command simulate_command = {
    .name = "simulate",
    .positional = "[SCRIPT|GRAPH]",
    .usage = "[SCRIPT|GRAPH] [--OPTION]... [-- ARGUMENT...]",
    .min_args = 0,
    .max_args = INT_MAX,
    .help = "predict how training scales to more GPUs and machines",
    .details =
        "A script (.py) runs on a simulated GPU; its training step is what computes gradients of\n"
        "variables. A graph is planned. Arguments after -- are passed to the script. See\n"
        "docs/explanation/scaling-model.md for the model and its assumptions.\n"
        "Links: pcie nvlink nvlink1 nvlink3 nvlink4 eth10 eth25 eth50 eth100 fdr ib ib2 ib4 ib8,\n"
        "or bytes per second / latency in us: 12.5e9/5\n\n"
        "  situ simulate train.py --gpus 8 --nodes 16 --link nvlink,ib\n"
        "  situ simulate train.py --gpus 8 -- --batch_size 64 (an option of the script)\n"
        "  situ simulate --gpus 8 --nodes 32 --link nvlink1,eth50 --compute 147 --gradients "
        "102MB\n",
    .options = options,
    .repeatable = GRAPH_PLAN_REPEATABLE,
    .run = run,
    .passes_rest = true};
