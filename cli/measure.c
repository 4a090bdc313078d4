/* SPDX-License-Identifier: Apache-2.0
 * measure.c: see measure.h. */
#include "measure.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "planned.h"
#include "python.h"

/* A program of the engine: what it does on GPUs, and on the host. */
struct program {
  unsigned long long id, runs;
  struct measured there, here;
};

struct programs {
  struct program *items;
  int count;
  double variables, gradients;
};

static struct program *find(struct programs *programs, unsigned long long id) {
  for (int i = programs->count - 1; i >= 0; i--)
    if (programs->items[i].id == id) return &programs->items[i];
  struct program *more = realloc(programs->items, sizeof *more * ((size_t)programs->count + 1));
  if (!more) return NULL;
  programs->items = more;
  more[programs->count] = (struct program){.id = id};
  return &more[programs->count++];
}

static void add_kernel(struct measured *to, const struct scaling_gpu *gpu, double reached,
                       double flops, double bytes) {
  to->seconds += scaling_kernel(gpu, reached, flops, bytes);
  to->flops += flops;
  to->kernels++;
}

/* A line of a file of costs: src/exec/costs.h says what it holds; "V all trained": variables. */
static void read_line(const char *line, const struct scaling_gpu *gpu, double reached,
                      struct programs *out) {
  unsigned long long id = 0;
  int device = 0;
  double a = 0, b = 0;
  struct program *program = NULL;
  if (sscanf(line, "V %lf %lf", &a, &b) == 2) {
    out->variables = a;
    out->gradients = b;
  } else if (sscanf(line, "R %llu %lf", &id, &a) == 2) {
    if ((program = find(out, id))) program->runs = (unsigned long long)a;
  } else if (sscanf(line, "P %llu %d %lf", &id, &device, &a) == 3) {
    if ((program = find(out, id))) *(device ? &program->there.block : &program->here.block) += a;
  } else if (sscanf(line, "K %llu %d %lf %lf", &id, &device, &a, &b) == 4) {
    if ((program = find(out, id)))
      add_kernel(device ? &program->there : &program->here, gpu, reached, a, b);
  }
}

/* The training step is where most time goes. */
static bool choose(const struct programs *programs, struct measured *out) {
  double longest = 0;
  for (int i = 0; i < programs->count; i++) {
    const struct program *program = &programs->items[i];
    const struct measured *some = program->there.kernels ? &program->there : &program->here;
    if (some->seconds * (double)program->runs <= longest) continue;
    longest = some->seconds * (double)program->runs;
    *out = *some;
    out->steps = (double)program->runs;
  }
  out->variables = programs->variables;
  out->gradients = programs->gradients;
  return longest > 0;
}

static situ_status read_costs(const char *path, const struct scaling_gpu *gpu, double reached,
                              struct measured *out) {
  struct programs programs = {0};
  FILE *file = fopen(path, "r");
  char line[256];
  while (file && fgets(line, sizeof line, file)) read_line(line, gpu, reached, &programs);
  if (file) fclose(file);
  const bool found = choose(&programs, out);
  free(programs.items);
  if (found) return NULL;
  return situ_status_create(SITU_NOT_FOUND, "The program ran no graph: there is no step to find.");
}

/* In the child: the script on one simulated GPU; its own output is not what is asked for. */
static void become_script(const struct args *args, const char *path) {
  char room[PATH_MAX];
  const char *python = python_find(room, sizeof room);
  char **argv = calloc((size_t)args->n_words + 8, sizeof *argv);
  const int nowhere = open("/dev/null", O_WRONLY);
  int n = 0;
  if (!argv || nowhere < 0 || dup2(nowhere, STDOUT_FILENO) < 0) _exit(FAILED);
  setenv("SITU_COSTS", path, 1);
  setenv("SITU_SIM_GPUS", "1", 1);
  argv[n++] = (char *)python;
  argv[n++] = (char *)"-c";
  argv[n++] = (char *)PYTHON_RUN;
  argv[n++] = (char *)"--";
  for (int i = 0; i < args->n_words; i++) argv[n++] = (char *)args->words[i];
  execvp(python, argv);
  fprintf(stderr, "situ simulate: cannot start %s: %s\n", python, strerror(errno));
  _exit(FAILED);
}

int measure_script(const struct args *args, const struct scaling_gpu *gpu, double reached,
                   struct measured *out) {
  char path[] = "/tmp/situ-costs-XXXXXX";
  const int file = mkstemp(path);
  if (file < 0)
    return command_fail(
        args, situ_status_create(SITU_UNAVAILABLE, "No file for costs: %s", strerror(errno)));
  close(file);
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) become_script(args, path);
  int status = -1;
  situ_status s = NULL;
  if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status))
    s = situ_status_create(SITU_UNAVAILABLE, "%s did not run to its end.", args->words[0]);
  if (!s) s = read_costs(path, gpu, reached, out);
  unlink(path);
  return s ? command_fail(args, s) : DONE;
}

int measure_graph(const struct args *args, const struct scaling_gpu *gpu, double reached,
                  struct measured *out) {
  struct planned planned;
  const int code = planned_make(args, &planned);
  int count = 0;
  const situ_kernel *kernels = situ_plan_kernels(planned.plan, &count);
  for (int i = 0; i < count; i++) add_kernel(out, gpu, reached, kernels[i].flops, kernels[i].bytes);
  const situ_need *needs = situ_plan_needs(planned.plan, &count);
  for (int i = 0; i < count; i++)
    if ((double)needs[i].step_bytes > out->block) out->block = (double)needs[i].step_bytes;
  out->variables = out->gradients = (double)situ_plan_variables(planned.plan);
  out->steps = 1;
  planned_free(&planned);
  return code;
}
