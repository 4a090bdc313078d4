/* SPDX-License-Identifier: Apache-2.0
 * costs.c: see costs.h. Parses the cost log of a script and selects the programs that form a
 * training iteration. */
#include "costs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEVICES = 64 };

/* The cost of a program on a device; device 0 is the host. */
struct share {
  double seconds, flops, kernels, block;
};

struct program {
  unsigned long long id;
  double gradients;
  uint64_t variables; /* hash of the variables whose gradients it computes */
  struct share shares[MAX_DEVICES];
};

/* Number of runs of a program within calls that start with program `call`; 0: eager calls. `first`
 * and `last` are line numbers of the log, excluding lines written at exit. */
struct runs {
  unsigned long long call, program;
  double count;
  unsigned long first, last;
};

/* Gradients of the same variables that eager tapes computed; `first` and `last` count gradients. */
struct tape {
  double count, bytes;
  unsigned long first, last;
  uint64_t variables;
};

struct costs {
  struct program *programs;
  struct runs *runs;
  struct tape *tapes;
  int n_programs, n_runs, n_tapes;
  unsigned long line; /* current line number */
  double variables[MAX_DEVICES];
  char error[512]; /* reported when the script exited */
  const struct scaling_gpu *gpu;
  double reached;
  bool no_memory;
};

/* Returns the array with space for one more item; NULL if out of memory. */
static void *grow_array(struct costs *costs, void *items, int count, size_t size) {
  void *grown = realloc(items, size * ((size_t)count + 1));
  if (!grown) costs->no_memory = true;
  return grown;
}

static struct program *find_program(const struct costs *costs, unsigned long long id) {
  for (int i = costs->n_programs - 1; i >= 0; i--)
    if (costs->programs[i].id == id) return &costs->programs[i];
  return NULL;
}

static struct program *get_program(struct costs *costs, unsigned long long id) {
  struct program *known = find_program(costs, id);
  if (known) return known;
  struct program *items = grow_array(costs, costs->programs, costs->n_programs, sizeof *items);
  if (!items) return NULL;
  costs->programs = items;
  items[costs->n_programs] = (struct program){.id = id};
  return &items[costs->n_programs++];
}

/* Counts that are powers of 2 are logged during a run, others at exit: see exec/cost_log.c. */
static bool is_power_of_2(double count) {
  const unsigned long long n = (unsigned long long)count;
  return n && !(n & (n - 1));
}

static void set_runs(struct costs *costs, unsigned long long call, unsigned long long program,
                     double count) {
  for (int i = costs->n_runs - 1; i >= 0; i--) {
    if (costs->runs[i].call != call || costs->runs[i].program != program) continue;
    costs->runs[i].count = count;
    if (is_power_of_2(count)) costs->runs[i].last = costs->line;
    return;
  }
  struct runs *items = grow_array(costs, costs->runs, costs->n_runs, sizeof *items);
  if (!items) return;
  costs->runs = items;
  items[costs->n_runs++] = (struct runs){call, program, count, costs->line, costs->line};
}

static void add_tape(struct costs *costs, struct tape tape) {
  struct tape *items = grow_array(costs, costs->tapes, costs->n_tapes, sizeof *items);
  if (!items) return;
  costs->tapes = items;
  tape.variables = (uint64_t)costs->n_tapes; /* every line has different variables */
  items[costs->n_tapes++] = tape;
}

/* FNV-1a hash of a variable's name; the hash of a set of variables is the sum. */
static uint64_t hash_name(const char *name) {
  uint64_t hash = 14695981039346656037u;
  for (; *name && *name != '\n'; name++) hash = (hash ^ (unsigned char)*name) * 1099511628211u;
  return hash;
}

static void add_gradient(struct costs *costs, unsigned long long id, double bytes,
                         const char *name) {
  struct program *program = get_program(costs, id);
  if (!program) return;
  program->gradients += bytes;
  program->variables += hash_name(name);
}

static void add_kernel(const struct costs *costs, struct share *to, double flops, double bytes) {
  to->seconds += scaling_kernel(costs->gpu, costs->reached, flops, bytes);
  to->flops += flops;
  to->kernels++;
}

/* Parses a line. src/exec/cost_log.h describes the lines of the engine; Python adds at exit "V
 * device bytes" (variables), "T count bytes first last" (gradients of tapes) and "E text" (an
 * error). */
static void read_line(const char *line, struct costs *costs) {
  unsigned long long id = 0, other = 0;
  unsigned long first = 0, last = 0;
  int device = 0, name = 0;
  double a = 0, b = 0;
  struct program *program = NULL;
  if (sscanf(line, "V %d %lf", &device, &a) == 2) {
    if (device >= 0 && device < MAX_DEVICES) costs->variables[device] = a;
  } else if (sscanf(line, "T %lf %lf %lu %lu", &a, &b, &first, &last) == 4) {
    add_tape(costs, (struct tape){.count = a, .bytes = b, .first = first, .last = last});
  } else if (!strncmp(line, "E ", 2)) {
    snprintf(costs->error, sizeof costs->error, "%.*s", (int)strcspn(line + 2, "\n"), line + 2);
  } else if (sscanf(line, "R %llu %llu %lf", &other, &id, &a) == 3) {
    set_runs(costs, other, id, a);
  } else if (sscanf(line, "G %llu %lf %n", &id, &a, &name) == 2) {
    add_gradient(costs, id, a, line + name);
  } else if (sscanf(line, "P %llu %d %lf", &id, &device, &a) == 3) {
    if (device >= 0 && device < MAX_DEVICES && (program = get_program(costs, id)))
      program->shares[device].block += a;
  } else if (sscanf(line, "K %llu %d %lf %lf", &id, &device, &a, &b) == 4) {
    if (device >= 0 && device < MAX_DEVICES && (program = get_program(costs, id)))
      add_kernel(costs, &program->shares[device], a, b);
  }
}

/* ---- The training step ---- */

static void add_share(struct share *to, const struct share *from, double times) {
  to->seconds += times * from->seconds;
  to->flops += times * from->flops;
  to->kernels += times * from->kernels;
  if (from->block > 0) to->block += from->block;
}

/* The cost of a step per device. */
struct step {
  struct share shares[MAX_DEVICES];
  double gradients, runs;
  uint64_t variables;
};

static void add_program(const struct costs *costs, unsigned long long id, double times,
                        struct step *step) {
  const struct program *program = find_program(costs, id);
  if (!program) return;
  for (int d = 0; d < MAX_DEVICES; d++) add_share(&step->shares[d], &program->shares[d], times);
  step->gradients += program->gradients;
  step->variables += program->variables;
}

/* Returns the number of steps in calls that start with a program: one per call, or more if the
 * training step is in a loop. */
static double count_steps(const struct costs *costs, const struct runs *call) {
  double steps = call->count;
  for (int i = 0; i < costs->n_runs; i++) {
    const struct runs *runs = &costs->runs[i];
    if (runs->call != call->call || runs->count <= steps) continue;
    const struct program *program = find_program(costs, runs->program);
    if (program && program->gradients > 0) steps = runs->count;
  }
  return steps;
}

/* Computes the average cost per step of calls that start with a program. */
static void read_call(const struct costs *costs, const struct runs *call, struct step *step) {
  *step = (struct step){.runs = count_steps(costs, call)};
  for (int i = 0; i < costs->n_runs; i++)
    if (costs->runs[i].call == call->call)
      add_program(costs, costs->runs[i].program, costs->runs[i].count / step->runs, step);
}

/* Computes the cost per step of an eager training step: everything that runs at least half as
 * often. */
static void read_tape(const struct costs *costs, double steps, struct step *step) {
  *step = (struct step){.runs = steps};
  for (int i = 0; i < costs->n_runs; i++)
    if (2 * costs->runs[i].count >= steps)
      add_program(costs, costs->runs[i].program, costs->runs[i].count / steps, step);
}

/* Returns the GPU with the longest compute time; the host if no GPU has kernels. */
static const struct share *busiest_device(const struct step *step) {
  const struct share *best = &step->shares[0];
  for (int d = 1; d < MAX_DEVICES; d++)
    if (step->shares[d].kernels > 0 &&
        (best == &step->shares[0] || step->shares[d].seconds > best->seconds))
      best = &step->shares[d];
  return best;
}

/* ---- An iteration: training steps that alternate ---- */

/* A kind of training step: calls that start with the same program, or an eager tape. */
struct step_kind {
  struct share cost;
  double runs, gradients;
  uint64_t variables;        /* hash of the variables that it trains */
  unsigned long first, last; /* when it ran */
  const struct tape *tape;
  double total; /* runs of all variants */
  int same;     /* index of the variant that represents those with the same variables */
  double times; /* runs per iteration */
};

struct step_kinds {
  struct step_kind *items;
  int n;
};

static void add_step_kind(struct costs *costs, struct step_kinds *kinds, struct step_kind kind) {
  struct step_kind *items = grow_array(costs, kinds->items, kinds->n, sizeof *items);
  if (!items) return;
  kinds->items = items;
  items[kinds->n++] = kind;
}

static void find_step_kinds(struct costs *costs, bool trains, struct step_kinds *kinds) {
  struct step step;
  for (int i = 0; i < costs->n_runs; i++) {
    const struct runs *runs = &costs->runs[i];
    if (!runs->call || runs->call != runs->program) continue;
    read_call(costs, runs, &step);
    if (step.gradients > 0 || !trains)
      add_step_kind(costs, kinds,
                    (struct step_kind){.cost = *busiest_device(&step),
                                       .runs = step.runs,
                                       .gradients = step.gradients,
                                       .variables = step.variables,
                                       .first = runs->first,
                                       .last = runs->last});
  }
  for (int i = 0; i < costs->n_tapes; i++) {
    const struct tape *tape = &costs->tapes[i];
    read_tape(costs, tape->count, &step);
    if (tape->bytes > 0)
      add_step_kind(costs, kinds,
                    (struct step_kind){.cost = *busiest_device(&step),
                                       .runs = tape->count,
                                       .tape = tape,
                                       .gradients = tape->bytes,
                                       .variables = tape->variables,
                                       .first = tape->first,
                                       .last = tape->last});
  }
}

static double total_seconds(const struct step_kind *kind) {
  return kind->cost.seconds * kind->runs;
}

/* Merges variants that train the same variables (one step compiled for several shapes) into the one
 * with the largest total time. */
static void merge_variants(struct step_kinds *kinds) {
  for (int i = 0; i < kinds->n; i++) {
    struct step_kind *kind = &kinds->items[i];
    kind->same = i;
    for (int k = 0; k < kinds->n; k++) {
      const struct step_kind *other = &kinds->items[k];
      if (other->variables != kind->variables || !other->tape != !kind->tape) continue;
      if (total_seconds(other) > total_seconds(&kinds->items[kind->same])) kind->same = k;
    }
    kinds->items[kind->same].total += kind->runs;
  }
}

/* Returns whether two kinds alternate: each runs again after the other has started. Kinds that ran
 * once may belong to a single iteration. */
static bool alternates(const struct step_kind *a, const struct step_kind *b) {
  if (!a->tape != !b->tape) return false;
  return (a->total <= 1 && b->total <= 1) || (a->first < b->last && b->first < a->last);
}

/* Sets the runs per iteration of each kind, relative to the least frequent one; kinds that are 8
 * times less frequent than the most frequent are ignored for that. */
static void count_per_iteration(struct step_kinds *kinds, const struct step_kind *main) {
  double max_times = 0, min_times = 0;
  for (int i = 0; i < kinds->n; i++) {
    struct step_kind *kind = &kinds->items[i];
    kind->times = kind->same == i && (kind == main || alternates(kind, main)) ? kind->total : 0;
    if (kind->times > max_times) max_times = kind->times;
  }
  for (int i = 0; i < kinds->n; i++) {
    const double times = kinds->items[i].times;
    if (8 * times >= max_times && times > 0 && (min_times <= 0 || times < min_times))
      min_times = times;
  }
  for (int i = 0; i < kinds->n; i++) kinds->items[i].times /= min_times > 0 ? min_times : 1;
}

static void add_measured_part(const struct step_kind *kind, const struct step_kinds *kinds,
                              struct measured *out) {
  if (out->n_parts == MEASURED_PARTS) return;
  out->parts[out->n_parts++] = (struct measured_part){
      .times = kind->times,
      .runs = kind->runs,
      .kernels = kind->tape ? 0 : kind->cost.kernels,
      .gradients = kind->gradients,
      .is_variant = kind != &kinds->items[kind->same] && kinds->items[kind->same].times > 0};
}

/* Sums the kinds of an iteration. Eager kinds share their programs, which count once. */
static void sum_iteration(const struct costs *costs, const struct step_kinds *kinds,
                          const struct step_kind *main, struct measured *out) {
  struct share sum = {0};
  for (int i = 0; i < kinds->n; i++) {
    const struct step_kind *kind = &kinds->items[i];
    if (kind->times <= 0) continue;
    add_share(&sum, &kind->cost, kind->times);
    out->gradients += kind->times * kind->gradients;
    add_measured_part(kind, kinds, out);
  }
  out->steps = main->total / main->times;
  if (main->tape) {
    struct step step;
    read_tape(costs, out->steps, &step);
    sum = *busiest_device(&step);
  }
  out->seconds = sum.seconds;
  out->flops = sum.flops;
  out->kernels = sum.kernels;
  out->block = sum.block;
  for (int i = 0; i < kinds->n; i++)
    if (kinds->items[i].times <= 0) add_measured_part(&kinds->items[i], kinds, out);
}

static bool find_iteration(struct costs *costs, bool trains, struct measured *out) {
  struct step_kinds kinds = {0};
  const struct step_kind *main = NULL;
  find_step_kinds(costs, trains, &kinds);
  merge_variants(&kinds);
  for (int i = 0; i < kinds.n; i++)
    if (total_seconds(&kinds.items[i]) > (main ? total_seconds(main) : 0)) main = &kinds.items[i];
  if (main && trains) count_per_iteration(&kinds, main);
  if (main && !trains) kinds.items[main - kinds.items].times = 1;
  if (main) sum_iteration(costs, &kinds, main, out);
  if (!trains) out->n_parts = 0;
  for (int d = 0; d < MAX_DEVICES; d++)
    if (costs->variables[d] > out->variables) out->variables = costs->variables[d];
  free(kinds.items);
  return main != NULL;
}

static situ_status not_found(const struct costs *costs) {
  return situ_status_create(
      SITU_NOT_FOUND,
      "The program has no training step: none of its %d graphs and functions computes "
      "gradients of variables (tf.gradients, tf.GradientTape, an optimizer's minimize, fit). Give "
      "--gradients BYTES to use the one that takes the most time.",
      costs->n_programs);
}

static situ_status find_step(struct costs *costs, bool trains, struct measured *out) {
  if (costs->no_memory) return situ_status_create(SITU_RESOURCE_EXHAUSTED, "Out of memory.");
  if (*costs->error)
    return situ_status_create(SITU_INTERNAL, "Cannot determine the costs: %s", costs->error);
  if (find_iteration(costs, trains, out)) return NULL;
  return costs->n_programs ? not_found(costs)
                           : situ_status_create(SITU_NOT_FOUND, "The program ran no operations.");
}

situ_status costs_read(const char *path, const struct scaling_gpu *gpu, double reached, bool trains,
                       struct measured *out) {
  struct costs costs = {.gpu = gpu, .reached = reached};
  FILE *file = fopen(path, "r");
  if (!file)
    return situ_status_create(SITU_UNAVAILABLE, "Cannot read %s: %s", path, strerror(errno));
  char line[1024];
  for (; fgets(line, sizeof line, file); costs.line++) read_line(line, &costs);
  fclose(file);
  const situ_status s = find_step(&costs, trains, out);
  free(costs.programs);
  free(costs.runs);
  free(costs.tapes);
  return s;
}
