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

#include "costs.h"
#include "graph_plan.h"
#include "python.h"

/* GPUs for a script that fails with one GPU: it may request GPUs by index. */
static const char MANY_GPUS[] = "16";

/* In the child process: runs the script on simulated GPUs, with stdout discarded. */
static void exec_script(const struct args *args, const char *path, const char *gpus, int errors) {
  char buffer[PATH_MAX];
  const char *python = python_find(buffer, sizeof buffer);
  char **argv = calloc((size_t)args->n_positional + 8, sizeof *argv);
  const int null_fd = open("/dev/null", O_WRONLY);
  int n = 0;
  if (!argv || null_fd < 0 || dup2(null_fd, STDOUT_FILENO) < 0 || dup2(errors, STDERR_FILENO) < 0)
    _exit(FAILED);
  setenv("SITU_COSTS", path, 1);
  setenv("SITU_SIM_GPUS", gpus, 1);
  argv[n++] = (char *)python;
  argv[n++] = (char *)"-c";
  argv[n++] = (char *)PYTHON_RUN;
  argv[n++] = (char *)"--";
  for (int i = 0; i < args->n_positional; i++) argv[n++] = (char *)args->positional[i];
  execvp(python, argv);
  fprintf(stderr, "situ simulate: cannot start %s: %s\n", python, strerror(errno));
  _exit(FAILED);
}

/* Runs the script with stderr redirected to a file. Returns false if it failed. */
static bool run_script(const struct args *args, const char *path, const char *gpus, int errors) {
  fflush(NULL);
  if (truncate(path, 0) || ftruncate(errors, 0) || lseek(errors, 0, SEEK_SET)) return false;
  const pid_t child = fork();
  if (child == 0) exec_script(args, path, gpus, errors);
  int status = -1;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
         !WEXITSTATUS(status);
}

/* Returns whether the script failed because a requested GPU does not exist. */
static bool lacks_gpu(int errors) {
  char text[1 << 16];
  const ssize_t length = pread(errors, text, sizeof text - 1, 0);
  text[length > 0 ? length : 0] = '\0';
  return strcasestr(text, "gpu:") != NULL;
}

static void show_errors(int errors) {
  char text[1 << 12];
  ssize_t length = 0;
  lseek(errors, 0, SEEK_SET);
  while ((length = read(errors, text, sizeof text)) > 0) fwrite(text, 1, (size_t)length, stderr);
}

static situ_status run_and_read(const struct args *args, const char *path, int errors,
                                const struct scaling_gpu *gpu, double reached,
                                struct measured *out) {
  bool ran = run_script(args, path, "1", errors);
  if (!ran && lacks_gpu(errors)) ran = run_script(args, path, MANY_GPUS, errors);
  show_errors(errors);
  if (!ran) return situ_status_create(SITU_UNAVAILABLE, "%s failed.", args->positional[0]);
  return costs_read(path, gpu, reached, !args_has(args, "gradients"), out);
}

int measure_script(const struct args *args, const struct scaling_gpu *gpu, double reached,
                   struct measured *out) {
  char path[] = "/tmp/situ-costs-XXXXXX", log[] = "/tmp/situ-errors-XXXXXX";
  const int file = mkstemp(path), errors = mkstemp(log);
  situ_status s = NULL;
  if (file < 0 || errors < 0)
    s = situ_status_create(SITU_UNAVAILABLE, "Cannot create a temporary file: %s", strerror(errno));
  else
    s = run_and_read(args, path, errors, gpu, reached, out);
  if (file >= 0) close(file);
  if (errors >= 0) close(errors);
  if (file >= 0) unlink(path);
  if (errors >= 0) unlink(log);
  return s ? command_fail(args, s) : SUCCESS;
}

/* A graph without gradients has no scaling to predict, unless --gradients is given. */
static int check_gradients(const struct args *args, const struct measured *measured) {
  if (measured->gradients > 0 || args_has(args, "gradients")) return SUCCESS;
  return command_fail(
      args, situ_status_create(
                SITU_NOT_FOUND,
                "The run of the graph has no training step: it has no op that updates a variable "
                "by a gradient (ApplyAdam, ResourceApplyGradientDescent and the like, or a "
                "ScatterSub of an optimizer). Name one (--fetch), or give --gradients BYTES."));
}

/* Sets the compute cost of the busiest device; GPUs take precedence over the host. */
static void add_busiest(const situ_plan *plan, const struct scaling_gpu *gpu, double reached,
                        struct measured *out) {
  int n_devices = 0, count = 0;
  bool on_gpu = false;
  const situ_memory_need *needs = situ_plan_memory(plan, &n_devices);
  const situ_kernel *kernels = situ_plan_kernels(plan, &count);
  for (int d = 0; d < n_devices; d++) {
    struct measured share = {0};
    const bool is_gpu = strstr(needs[d].device, "GPU") != NULL;
    for (int i = 0; i < count; i++) {
      if (strcmp(kernels[i].device, needs[d].device) != 0) continue;
      share.seconds += scaling_kernel(gpu, reached, kernels[i].flops, kernels[i].bytes);
      share.flops += kernels[i].flops;
      share.kernels++;
    }
    if (!(share.kernels > 0) || (on_gpu && !is_gpu)) continue;
    if (is_gpu > on_gpu || share.seconds > out->seconds) *out = share;
    on_gpu = is_gpu;
  }
}

int measure_graph(const struct args *args, const struct scaling_gpu *gpu, double reached,
                  struct measured *out) {
  struct graph_plan graph_plan;
  const int code = graph_plan_create(args, &graph_plan);
  int count = 0;
  add_busiest(graph_plan.plan, gpu, reached, out);
  const situ_memory_need *needs = situ_plan_memory(graph_plan.plan, &count);
  for (int i = 0; i < count; i++)
    if ((double)needs[i].step_bytes > out->block) out->block = (double)needs[i].step_bytes;
  for (int i = 0; i < count; i++)
    if ((double)needs[i].variable_bytes > out->variables)
      out->variables = (double)needs[i].variable_bytes;
  out->gradients = (double)situ_plan_gradient_bytes(graph_plan.plan);
  out->steps = 1;
  graph_plan_free(&graph_plan);
  return code == SUCCESS ? check_gradients(args, out) : code;
}
