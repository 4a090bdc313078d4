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
  struct share shares[MAX_DEVICES];
};

/* How often a program ran in calls that begin with program `call`; 0: eagerly. */
struct runs {
  unsigned long long call, program;
  double count;
};

/* Gradients that tapes computed eagerly, alike each time. */
struct tape {
  double count, bytes;
};

struct costs {
  struct program *programs;
  struct runs *runs;
  struct tape *tapes;
  int n_programs, n_runs, n_tapes;
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

static void set_runs(struct costs *costs, unsigned long long call, unsigned long long program,
                     double count) {
  for (int i = costs->n_runs - 1; i >= 0; i--) {
    if (costs->runs[i].call != call || costs->runs[i].program != program) continue;
    costs->runs[i].count = count;
    return;
  }
  struct runs *all = grow(costs, costs->runs, costs->n_runs, sizeof *all);
  if (!all) return;
  costs->runs = all;
  all[costs->n_runs++] = (struct runs){call, program, count};
}

static void add_tape(struct costs *costs, double count, double bytes) {
  struct tape *all = grow(costs, costs->tapes, costs->n_tapes, sizeof *all);
  if (!all) return;
  costs->tapes = all;
  all[costs->n_tapes++] = (struct tape){count, bytes};
}

static void add_kernel(const struct costs *costs, struct share *to, double flops, double bytes) {
  to->seconds += scaling_kernel(costs->gpu, costs->reached, flops, bytes);
  to->flops += flops;
  to->kernels++;
}

/* A line: src/exec/costs.h says what those of the engine hold; those of Python's end are
 * "V device bytes" (variables), "T count bytes" (gradients of tapes), "E text" (an error). */
static void read_line(const char *line, struct costs *costs) {
  unsigned long long id = 0, other = 0;
  int device = 0;
  double a = 0, b = 0;
  struct program *program = NULL;
  if (sscanf(line, "V %d %lf", &device, &a) == 2) {
    if (device >= 0 && device < MAX_DEVICES) costs->variables[device] = a;
  } else if (sscanf(line, "T %lf %lf", &a, &b) == 2) {
    add_tape(costs, a, b);
  } else if (!strncmp(line, "E ", 2)) {
    snprintf(costs->error, sizeof costs->error, "%.*s", (int)strcspn(line + 2, "\n"), line + 2);
  } else if (sscanf(line, "R %llu %llu %lf", &other, &id, &a) == 3) {
    set_runs(costs, other, id, a);
  } else if (sscanf(line, "G %llu %lf", &id, &a) == 2) {
    if ((program = find_program(costs, id))) program->gradients += a;
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
};

static void add_program(const struct costs *costs, unsigned long long id, double times,
                        struct step *step) {
  const struct program *program = lookup(costs, id);
  if (!program) return;
  for (int d = 0; d < MAX_DEVICES; d++) add_share(&step->shares[d], &program->shares[d], times);
  step->gradients += program->gradients;
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

/* A step with an eager tape: everything that runs about as often as gradients are computed. */
static void read_tape(const struct costs *costs, const struct tape *tape, struct step *step) {
  *step = (struct step){.runs = tape->count};
  for (int i = 0; i < costs->n_runs; i++)
    if (2 * costs->runs[i].count >= tape->count)
      add_program(costs, costs->runs[i].program, costs->runs[i].count / tape->count, step);
  step->gradients = tape->bytes;
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

static void take(const struct step *step, double *most, struct measured *out) {
  const struct share *share = busiest(step);
  if (share->seconds * step->runs <= *most) return;
  *most = share->seconds * step->runs;
  out->seconds = share->seconds;
  out->flops = share->flops;
  out->kernels = share->kernels;
  out->block = share->block;
  out->steps = step->runs;
  out->gradients = step->gradients;
}

static bool choose(const struct costs *costs, bool trains, struct measured *out) {
  double most = 0;
  struct step step;
  for (int i = 0; i < costs->n_runs; i++) {
    const struct runs *runs = &costs->runs[i];
    if (!runs->call || runs->call != runs->program) continue;
    read_call(costs, runs, &step);
    if (step.gradients > 0 || !trains) take(&step, &most, out);
  }
  for (int i = 0; i < costs->n_tapes; i++) {
    read_tape(costs, &costs->tapes[i], &step);
    if (step.gradients > 0) take(&step, &most, out);
  }
  for (int d = 0; d < MAX_DEVICES; d++)
    if (costs->variables[d] > out->variables) out->variables = costs->variables[d];
  return most > 0;
}

static situ_status not_found(const struct costs *costs) {
  return situ_status_create(
      SITU_NOT_FOUND,
      "The program has no training step: none of the %d graphs and functions that it ran computes "
      "gradients of variables (tf.gradients, tf.GradientTape, an optimizer's minimize, fit). Give "
      "--gradients BYTES to take the one on which most time goes.",
      costs->n_programs);
}

static situ_status find_step(const struct costs *costs, bool trains, struct measured *out) {
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
  while (fgets(line, sizeof line, file)) read_line(line, &costs);
  fclose(file);
  const situ_status s = find_step(&costs, trains, out);
  free(costs.programs);
  free(costs.runs);
  free(costs.tapes);
  return s;
}
