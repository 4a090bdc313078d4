/* SPDX-License-Identifier: Apache-2.0
 * costs.c: see costs.h. */
#include "costs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEVICES = 64 };

/* What a program does on a device: 0 is the host. */
struct share {
  double seconds, flops, kernels, block;
};

struct program {
  unsigned long long id;
  double gradients;
  uint64_t variables; /* a hash of those that the gradients are of */
  struct share shares[MAX_DEVICES];
};

/* How often a program ran in calls that begin with program `call`; 0: eagerly. The first and the
 * last line that was written when it ran, and not at the end of the process. */
struct runs {
  unsigned long long call, program;
  double count;
  unsigned long first, last;
};

/* Gradients of the same variables that tapes computed eagerly; when that was, in gradients. */
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
  unsigned long line; /* that is read */
  double variables[MAX_DEVICES];
  char error[512]; /* of the end of the program */
  const struct scaling_gpu *gpu;
  double reached;
  bool no_memory;
};

/* The array with room for one more item; NULL without memory. */
static void *grow(struct costs *costs, void *items, int count, size_t size) {
  void *grown = realloc(items, size * ((size_t)count + 1));
  if (!grown) costs->no_memory = true;
  return grown;
}

static struct program *lookup(const struct costs *costs, unsigned long long id) {
  for (int i = costs->n_programs - 1; i >= 0; i--)
    if (costs->programs[i].id == id) return &costs->programs[i];
  return NULL;
}

static struct program *find_program(struct costs *costs, unsigned long long id) {
  struct program *known = lookup(costs, id);
  if (known) return known;
  struct program *all = grow(costs, costs->programs, costs->n_programs, sizeof *all);
  if (!all) return NULL;
  costs->programs = all;
  all[costs->n_programs] = (struct program){.id = id};
  return &all[costs->n_programs++];
}

/* Such counts are written when a program runs, others when the process ends: exec/cost_log.c. */
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
  struct runs *all = grow(costs, costs->runs, costs->n_runs, sizeof *all);
  if (!all) return;
  costs->runs = all;
  all[costs->n_runs++] = (struct runs){call, program, count, costs->line, costs->line};
}

static void add_tape(struct costs *costs, struct tape tape) {
  struct tape *all = grow(costs, costs->tapes, costs->n_tapes, sizeof *all);
  if (!all) return;
  costs->tapes = all;
  tape.variables = (uint64_t)costs->n_tapes; /* each line has variables of its own */
  all[costs->n_tapes++] = tape;
}

/* A hash of a variable's name; those of several variables are added. */
static uint64_t hash_of(const char *name) {
  uint64_t hash = 14695981039346656037u;
  for (; *name && *name != '\n'; name++) hash = (hash ^ (unsigned char)*name) * 1099511628211u;
  return hash;
}

static void add_gradient(struct costs *costs, unsigned long long id, double bytes,
                         const char *name) {
  struct program *program = find_program(costs, id);
  if (!program) return;
  program->gradients += bytes;
  program->variables += hash_of(name);
}

static void add_kernel(const struct costs *costs, struct share *to, double flops, double bytes) {
  to->seconds += scaling_kernel(costs->gpu, costs->reached, flops, bytes);
  to->flops += flops;
  to->kernels++;
}

/* A line: src/exec/cost_log.h says what those of the engine hold; those of Python's end are
 * "V device bytes" (variables), "T count bytes first last" (gradients of tapes), "E text" (an
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
    if (device >= 0 && device < MAX_DEVICES && (program = find_program(costs, id)))
      program->shares[device].block += a;
  } else if (sscanf(line, "K %llu %d %lf %lf", &id, &device, &a, &b) == 4) {
    if (device >= 0 && device < MAX_DEVICES && (program = find_program(costs, id)))
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

/* A step by device, and what is reduced in it. */
struct step {
  struct share shares[MAX_DEVICES];
  double gradients, runs;
  uint64_t variables;
};

static void add_program(const struct costs *costs, unsigned long long id, double times,
                        struct step *step) {
  const struct program *program = lookup(costs, id);
  if (!program) return;
  for (int d = 0; d < MAX_DEVICES; d++) add_share(&step->shares[d], &program->shares[d], times);
  step->gradients += program->gradients;
  step->variables += program->variables;
}

/* How many steps the calls that begin with a program make: one each, or more where the training
 * step is in a loop. */
static double count_steps(const struct costs *costs, const struct runs *call) {
  double steps = call->count;
  for (int i = 0; i < costs->n_runs; i++) {
    const struct runs *runs = &costs->runs[i];
    if (runs->call != call->call || runs->count <= steps) continue;
    const struct program *program = lookup(costs, runs->program);
    if (program && program->gradients > 0) steps = runs->count;
  }
  return steps;
}

/* The calls that begin with a program, each with all that it runs. */
static void read_call(const struct costs *costs, const struct runs *call, struct step *step) {
  *step = (struct step){.runs = count_steps(costs, call)};
  for (int i = 0; i < costs->n_runs; i++)
    if (costs->runs[i].call == call->call)
      add_program(costs, costs->runs[i].program, costs->runs[i].count / step->runs, step);
}

/* What runs about as often as so many steps, in one of them: of steps with an eager tape. */
static void read_tape(const struct costs *costs, double steps, struct step *step) {
  *step = (struct step){.runs = steps};
  for (int i = 0; i < costs->n_runs; i++)
    if (2 * costs->runs[i].count >= steps)
      add_program(costs, costs->runs[i].program, costs->runs[i].count / steps, step);
}

/* The GPU that has most to do; the host where no GPU has anything. */
static const struct share *busiest(const struct step *step) {
  const struct share *best = &step->shares[0];
  for (int d = 1; d < MAX_DEVICES; d++)
    if (step->shares[d].kernels > 0 &&
        (best == &step->shares[0] || step->shares[d].seconds > best->seconds))
      best = &step->shares[d];
  return best;
}

/* ---- An iteration: the training steps that run in turns ---- */

/* A kind of training step: calls that begin with a program, or, with `tape`, an eager tape. */
struct kind {
  struct share cost;
  double runs, gradients;
  uint64_t variables;        /* a hash of those that it trains */
  unsigned long first, last; /* when it ran */
  const struct tape *tape;
  double total; /* runs, with those of kinds that train the same variables */
  int same;     /* the kind that stands for those with the same variables */
  double times; /* in an iteration */
};

struct kinds {
  struct kind *all;
  int n;
};

static void add_kind(struct costs *costs, struct kinds *kinds, struct kind kind) {
  struct kind *all = grow(costs, kinds->all, kinds->n, sizeof *all);
  if (!all) return;
  kinds->all = all;
  all[kinds->n++] = kind;
}

static void find_kinds(struct costs *costs, bool trains, struct kinds *kinds) {
  struct step step;
  for (int i = 0; i < costs->n_runs; i++) {
    const struct runs *runs = &costs->runs[i];
    if (!runs->call || runs->call != runs->program) continue;
    read_call(costs, runs, &step);
    if (step.gradients > 0 || !trains)
      add_kind(costs, kinds,
               (struct kind){.cost = *busiest(&step),
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
      add_kind(costs, kinds,
               (struct kind){.cost = *busiest(&step),
                             .runs = tape->count,
                             .tape = tape,
                             .gradients = tape->bytes,
                             .variables = tape->variables,
                             .first = tape->first,
                             .last = tape->last});
  }
}

static double spent(const struct kind *kind) { return kind->cost.seconds * kind->runs; }

/* Lets the kind on which most time goes stand for all that train the same variables: one step that
 * was compiled for several shapes. */
static void join_variants(struct kinds *kinds) {
  for (int i = 0; i < kinds->n; i++) {
    struct kind *kind = &kinds->all[i];
    kind->same = i;
    for (int k = 0; k < kinds->n; k++) {
      const struct kind *other = &kinds->all[k];
      if (other->variables != kind->variables || !other->tape != !kind->tape) continue;
      if (spent(other) > spent(&kinds->all[kind->same])) kind->same = k;
    }
    kinds->all[kind->same].total += kind->runs;
  }
}

/* Whether two kinds run in turns: each runs again after the other has begun. What ran once each may
 * be a single iteration. */
static bool takes_turns(const struct kind *a, const struct kind *b) {
  if (!a->tape != !b->tape) return false;
  return (a->total <= 1 && b->total <= 1) || (a->first < b->last && b->first < a->last);
}

/* Sets how often each kind runs in an iteration: as often as for each run of the rarest one, but
 * for those that are rare exceptions. */
static void set_times(struct kinds *kinds, const struct kind *main) {
  double most = 0, least = 0;
  for (int i = 0; i < kinds->n; i++) {
    struct kind *kind = &kinds->all[i];
    kind->times = kind->same == i && (kind == main || takes_turns(kind, main)) ? kind->total : 0;
    if (kind->times > most) most = kind->times;
  }
  for (int i = 0; i < kinds->n; i++) {
    const double times = kinds->all[i].times;
    if (8 * times >= most && times > 0 && (least <= 0 || times < least)) least = times;
  }
  for (int i = 0; i < kinds->n; i++) kinds->all[i].times /= least > 0 ? least : 1;
}

static void add_part(const struct kind *kind, const struct kinds *kinds, struct measured *out) {
  if (out->n_parts == MEASURED_PARTS) return;
  out->parts[out->n_parts++] = (struct measured_part){
      .times = kind->times,
      .runs = kind->runs,
      .kernels = kind->tape ? 0 : kind->cost.kernels,
      .gradients = kind->gradients,
      .is_variant = kind != &kinds->all[kind->same] && kinds->all[kind->same].times > 0};
}

/* The sum of the kinds of an iteration. Eager ones share what runs: it is counted once. */
static void add_up(const struct costs *costs, const struct kinds *kinds, const struct kind *main,
                   struct measured *out) {
  struct share sum = {0};
  for (int i = 0; i < kinds->n; i++) {
    const struct kind *kind = &kinds->all[i];
    if (kind->times <= 0) continue;
    add_share(&sum, &kind->cost, kind->times);
    out->gradients += kind->times * kind->gradients;
    add_part(kind, kinds, out);
  }
  out->steps = main->total / main->times;
  if (main->tape) {
    struct step step;
    read_tape(costs, out->steps, &step);
    sum = *busiest(&step);
  }
  out->seconds = sum.seconds;
  out->flops = sum.flops;
  out->kernels = sum.kernels;
  out->block = sum.block;
  for (int i = 0; i < kinds->n; i++)
    if (kinds->all[i].times <= 0) add_part(&kinds->all[i], kinds, out);
}

static bool choose(struct costs *costs, bool trains, struct measured *out) {
  struct kinds kinds = {0};
  const struct kind *main = NULL;
  find_kinds(costs, trains, &kinds);
  join_variants(&kinds);
  for (int i = 0; i < kinds.n; i++)
    if (spent(&kinds.all[i]) > (main ? spent(main) : 0)) main = &kinds.all[i];
  if (main && trains) set_times(&kinds, main);
  if (main && !trains) kinds.all[main - kinds.all].times = 1;
  if (main) add_up(costs, &kinds, main, out);
  if (!trains) out->n_parts = 0;
  for (int d = 0; d < MAX_DEVICES; d++)
    if (costs->variables[d] > out->variables) out->variables = costs->variables[d];
  free(kinds.all);
  return main != NULL;
}

static situ_status not_found(const struct costs *costs) {
  return situ_status_create(
      SITU_NOT_FOUND,
      "The program has no training step: none of the %d graphs and functions that it ran computes "
      "gradients of variables (tf.gradients, tf.GradientTape, an optimizer's minimize, fit). Give "
      "--gradients BYTES to take the one on which most time goes.",
      costs->n_programs);
}

static situ_status find_step(struct costs *costs, bool trains, struct measured *out) {
  if (costs->no_memory) return situ_status_create(SITU_RESOURCE_EXHAUSTED, "No memory.");
  if (*costs->error)
    return situ_status_create(SITU_INTERNAL, "The costs could not be found out: %s", costs->error);
  if (choose(costs, trains, out)) return NULL;
  return costs->n_programs ? not_found(costs)
                           : situ_status_create(SITU_NOT_FOUND, "The program ran nothing.");
}

situ_status costs_read(const char *path, const struct scaling_gpu *gpu, double reached, bool trains,
                       struct measured *out) {
  struct costs costs = {.gpu = gpu, .reached = reached};
  FILE *file = fopen(path, "r");
  if (!file)
    return situ_status_create(SITU_UNAVAILABLE, "%s cannot be read: %s", path, strerror(errno));
  char line[1024];
  for (; fgets(line, sizeof line, file); costs.line++) read_line(line, &costs);
  fclose(file);
  const situ_status s = find_step(&costs, trains, out);
  free(costs.programs);
  free(costs.runs);
  free(costs.tapes);
  return s;
}
