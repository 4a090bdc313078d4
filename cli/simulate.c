/* SPDX-License-Identifier: Apache-2.0
 * simulate.c: `situ simulate`: how training would scale to GPUs and machines that are not there. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "json.h"
#include "measure.h"
#include "planned.h"
#include "table.h"

/* What is asked for. */
struct question {
  struct scaling_gpu gpu;
  struct scaling_cluster cluster;
  struct scaling_step step;
  struct measured measured;
  double reached;
  bool strong;   /* the work of a step is shared out, and not done by each */
  int algorithm; /* -1: the quickest */
};

/* ---- Options ---- */

/* The factor of a unit of bytes; 0: there is none of that name. */
static double unit_of(const char *text) {
  static const struct {
    const char *name;
    double bytes;
  } units[] = {{"", 1},     {"b", 1},         {"kb", 1e3},      {"mb", 1e6},
               {"gb", 1e9}, {"kib", 1 << 10}, {"mib", 1 << 20}, {"gib", 1 << 30}};
  for (size_t i = 0; i < sizeof units / sizeof *units; i++)
    if (!strcasecmp(units[i].name, text)) return units[i].bytes;
  return 0;
}

/* The number of an option: above `over`, at most `most`; bytes may have a unit. */
static int read_number(const struct args *args, const char *option, const char *what, double over,
                       double most, double *out) {
  const char *text = args_value(args, option);
  char *end = NULL;
  if (!text) return DONE;
  *out = strtod(text, &end);
  const bool bytes = !strcmp(what, "bytes"), whole = !strcmp(what, "whole");
  const double unit = end == text ? 0 : bytes ? unit_of(end) : !*end;
  *out *= unit;
  if (unit > 0 && *out > over && *out <= most && (!whole || *out == floor(*out))) return DONE;
  if (most < 2)
    return command_misuse(args, "--%s is a number above 0, at most 1, not '%s'.", option, text);
  return command_misuse(args, "--%s is a %s%s, not '%s'.", option,
                        whole      ? "whole number above 0"
                        : over < 0 ? "number"
                                   : "number above 0",
                        bytes ? " of bytes, as in 25MB" : "", text);
}

static bool read_links(const char *text, struct scaling_cluster *out) {
  char near[64];
  snprintf(near, sizeof near, "%s", text ? text : "nvlink,ib");
  char *comma = strchr(near, ',');
  if (comma) *comma = '\0';
  return scaling_find_link(near, &out->near) &&
         scaling_find_link(comma ? comma + 1 : near, &out->far);
}

static int read_algorithm(const char *text) {
  for (int i = 0; text && i < SCALING_ALGORITHMS; i++)
    if (!strcmp(text, scaling_names[i])) return i;
  return !text || !strcmp(text, "auto") ? -1 : SCALING_ALGORITHMS;
}

static int read_numbers(const struct args *args, struct question *q) {
  double gpus = 1, nodes = 1;
  q->cluster = (struct scaling_cluster){
      .efficiency = 0.8, .bucket = 25e6, .overlap = !args_has(args, "no-overlap")};
  q->reached = 0.4;
  int code = read_number(args, "gpus", "whole", 0, 1 << 20, &gpus);
  if (code == DONE) code = read_number(args, "nodes", "whole", 0, 1 << 20, &nodes);
  if (code == DONE) code = read_number(args, "bucket", "bytes", 0, 1e15, &q->cluster.bucket);
  if (code == DONE) code = read_number(args, "efficiency", "part", 0, 1, &q->reached);
  if (code == DONE)
    code = read_number(args, "link-efficiency", "part", 0, 1, &q->cluster.efficiency);
  q->cluster.gpus = (int)gpus;
  q->cluster.nodes = (int)nodes;
  return code;
}

static int read_question(const struct args *args, struct question *q) {
  const char *device = args_value(args, "device"), *scaling = args_value(args, "scaling");
  const int code = read_numbers(args, q);
  if (code != DONE) return code;
  q->algorithm = read_algorithm(args_value(args, "algorithm"));
  q->strong = scaling && !strcmp(scaling, "strong");
  q->step.backward = 2.0 / 3; /* it does twice what the forward pass does */
  if (!scaling_find_gpu(device ? device : "v100", &q->gpu))
    return command_misuse(args, "there is no --device %s: see situ simulate --help.", device);
  if (!read_links(args_value(args, "link"), &q->cluster))
    return command_misuse(args, "--link is NEAR,FAR as in nvlink,ib, not '%s'.",
                          args_value(args, "link"));
  if (q->algorithm == SCALING_ALGORITHMS)
    return command_misuse(args, "--algorithm is ring, tree, hierarchical or auto.");
  if (scaling && strcmp(scaling, "weak") && strcmp(scaling, "strong"))
    return command_misuse(args, "--scaling is weak or strong, not '%s'.", scaling);
  return DONE;
}

static bool is_script(const char *path) {
  const size_t length = strlen(path);
  return length > 3 && !strcmp(path + length - 3, ".py");
}

static int measure(const struct args *args, struct question *q) {
  double compute = -1, gradients = -1;
  int code = read_number(args, "compute", "number", 0, 1e15, &compute);
  if (code == DONE) code = read_number(args, "gradients", "bytes", -1, 1e18, &gradients);
  if (code != DONE) return code;
  if (!args->n_words && (compute < 0 || gradients < 0))
    return command_misuse(args,
                          "name a script or a graph, or give --compute MS and --gradients BYTES.");
  if (args->n_words > 1 && !is_script(args->words[0]))
    return command_misuse(args, "'%s' is one word too many.", args->words[1]);
  if (args->n_words)
    code = is_script(args->words[0]) ? measure_script(args, &q->gpu, q->reached, &q->measured)
                                     : measure_graph(args, &q->gpu, q->reached, &q->measured);
  q->step.compute = compute < 0 ? q->measured.seconds : compute * 1e-3;
  q->step.gradients = gradients < 0 ? q->measured.gradients : gradients;
  return code;
}

/* ---- Answers ---- */

static enum scaling_algorithm best_of(const struct question *q, const struct scaling_cluster *c,
                                      const struct scaling_step *step) {
  if (q->algorithm >= 0) return (enum scaling_algorithm)q->algorithm;
  int best = 0;
  for (int i = 1; i < SCALING_ALGORITHMS; i++)
    if (scaling_predict(c, step, (enum scaling_algorithm)i).step <
        scaling_predict(c, step, (enum scaling_algorithm)best).step)
      best = i;
  return (enum scaling_algorithm)best;
}

/* A row of the answer: so many GPUs of so many machines. */
struct answer {
  struct scaling_cluster cluster;
  struct scaling_result result;
  enum scaling_algorithm algorithm;
  double alone, efficiency; /* seconds of a step of one GPU */
};

static struct answer answer(const struct question *q, int gpus, int nodes, int algorithm) {
  struct answer a = {.cluster = q->cluster, .alone = q->step.compute};
  struct scaling_step step = q->step;
  a.cluster.gpus = gpus;
  a.cluster.nodes = nodes;
  const double n = (double)gpus * nodes;
  if (q->strong) step.compute /= n;
  a.algorithm = algorithm >= 0 ? (enum scaling_algorithm)algorithm : best_of(q, &a.cluster, &step);
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

static void add_row(struct table *table, const struct answer *a) {
  char text[32];
  table_number(table, (int64_t)a->cluster.gpus * a->cluster.nodes);
  table_number(table, a->cluster.nodes);
  table_add(table, a->cluster.gpus * a->cluster.nodes > 1 ? scaling_names[a->algorithm] : "-");
  table_add(table, milliseconds(a->result.step, text));
  table_add(table, milliseconds(a->result.communication, text));
  table_add(table, milliseconds(a->result.exposed, text));
  table_add(table, percent(a->result.step > 0 ? a->result.exposed / a->result.step : 0, text));
  table_add(table, percent(a->efficiency, text));
}

#define HEADS                                                                            \
  {                                                                                      \
    ">GPUs", ">nodes", "all-reduce", ">step", ">communication", ">not hidden", ">share", \
        ">efficiency"                                                                    \
  }

/* One GPU, one machine, then twice as many machines each time. */
static bool print_growth(const struct question *q) {
  struct table table = {.heads = HEADS};
  struct answer a = answer(q, 1, 1, -1);
  add_row(&table, &a);
  for (int nodes = 1; nodes <= q->cluster.nodes;
       nodes = nodes < q->cluster.nodes && nodes * 2 > q->cluster.nodes ? q->cluster.nodes
                                                                        : nodes * 2) {
    if (nodes == 1 && q->cluster.gpus == 1) continue;
    a = answer(q, q->cluster.gpus, nodes, q->algorithm);
    add_row(&table, &a);
  }
  printf("\nScaling (%s)\n", q->strong ? "strong: the work of one step is shared out"
                                       : "weak: every GPU does what one did");
  return table_print(&table);
}

static bool print_algorithms(const struct question *q) {
  struct table table = {.heads = HEADS};
  for (int i = 0; i < SCALING_ALGORITHMS; i++) {
    const struct answer a = answer(q, q->cluster.gpus, q->cluster.nodes, i);
    add_row(&table, &a);
  }
  printf("\nWays to reduce\n");
  return table_print(&table);
}

/* The training steps of an iteration, and those that were found but are not part of it. */
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
                              : "it does not run in turns with the others");
  }
}

static void print_head(const struct args *args, const struct question *q) {
  char a[32], b[32], c[32];
  const struct measured *m = &q->measured;
  if (args->n_words)
    printf("%s: %s of %.0f kernels, %.3g GFLOP%s\n", args->words[0],
           m->n_parts > 1 && m->parts[1].times > 0 ? "an iteration" : "a step", m->kernels,
           m->flops / 1e9, q->strong ? ", shared out" : " on each GPU");
  print_parts(m);
  printf("gradients %s, computing %s on a %s (%.0f %% of its peak)\n",
         table_size((uint64_t)q->step.gradients, a), milliseconds(q->step.compute, b), q->gpu.model,
         100 * q->reached);
  printf("links: %s between GPUs, %s between machines (%.0f %% of %.1f and %.1f GB/s)\n",
         q->cluster.near.model, q->cluster.far.model, 100 * q->cluster.efficiency,
         q->cluster.near.bandwidth / 1e9, q->cluster.far.bandwidth / 1e9);
  if (!args->n_words) return;
  const double memory = m->block + m->variables;
  printf("memory of each GPU: %s (a step %s, variables %s), which %s\n",
         table_size((uint64_t)memory, a), table_size((uint64_t)m->block, b),
         table_size((uint64_t)m->variables, c), memory <= q->gpu.memory ? "fits" : "does NOT fit");
}

static void print_json(const struct question *q) {
  json_open(NULL, '{');
  json_size("gradient_bytes", (uint64_t)q->step.gradients);
  json_size("memory_bytes", (uint64_t)(q->measured.block + q->measured.variables));
  json_size("flops", (uint64_t)q->measured.flops);
  json_size("compute_ns", (uint64_t)(q->step.compute * 1e9));
  json_open("steps", '[');
  for (int i = 0; i < q->measured.n_parts; i++) {
    const struct measured_part *part = &q->measured.parts[i];
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
    const struct answer a = answer(q, q->cluster.gpus, q->cluster.nodes, i);
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
  struct question q = {0};
  int code = read_question(args, &q);
  if (code == DONE) code = measure(args, &q);
  if (code != DONE) return code;
  if (args_has(args, "json")) {
    print_json(&q);
    return DONE;
  }
  print_head(args, &q);
  if (print_growth(&q) && (q.cluster.gpus * q.cluster.nodes == 1 || print_algorithms(&q)))
    return DONE;
  return command_fail(args, situ_status_create(SITU_RESOURCE_EXHAUSTED, "No memory."));
}

static const struct option options[] = {
    {"nodes", "N", "machines, each with as many GPUs as --gpus says"},
    {"link", "NEAR,FAR", "links between GPUs and between machines: nvlink,ib"},
    {"device", "NAME", "k80, p100, v100 (default), a100, h100"},
    {"algorithm", "NAME", "ring, tree, hierarchical, or the quickest (auto)"},
    {"scaling", "HOW", "weak: each GPU does what one did (default); strong: share it out"},
    {"compute", "MS", "computing time of a step, where it was measured"},
    {"gradients", "BYTES", "what is reduced in a step: 102MB"},
    {"bucket", "BYTES", "gradients are reduced in portions of this size: 25MB"},
    {"no-overlap", NULL, "reduce when the backward pass is over"},
    {"efficiency", "PART", "of a GPU's peak that kernels reach: 0.4"},
    {"link-efficiency", "PART", "of a link's bandwidth that is reached: 0.8"},
    PLANNED_OPTIONS,
    {0}};

const struct command simulate_command = {
    .name = "simulate",
    .words = "[SCRIPT|GRAPH]",
    .usage = "[SCRIPT|GRAPH] [--OPTION]... [-- ARGUMENT...]",
    .least = 0,
    .most = INT_MAX,
    .help = "predict how training scales to GPUs and machines that are not there",
    .more =
        "A script (.py) is run on a simulated GPU to find its training step: what computes\n"
        "gradients of variables. Of a graph the plan of a run is taken. What stands behind --\n"
        "goes to the script. docs/explanation/scaling-model.md tells what the model assumes.\n"
        "Links: pcie nvlink nvlink1 nvlink3 nvlink4 eth10 eth25 eth50 eth100 fdr ib ib2 ib4 ib8,\n"
        "or bytes per second, with the latency in us: 12.5e9/5\n\n"
        "  situ simulate train.py --gpus 8 --nodes 16 --link nvlink,ib\n"
        "  situ simulate train.py --gpus 8 -- --batch_size 64 (an option of the script)\n"
        "  situ simulate --gpus 8 --nodes 32 --link nvlink1,eth50 --compute 147 --gradients "
        "102MB\n",
    .options = options,
    .many = PLANNED_MANY,
    .run = run,
    .passes_on_rest = true};
