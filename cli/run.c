/* SPDX-License-Identifier: Apache-2.0
 * run.c: situ run: an unmodified TensorFlow program, in a Python where `import tensorflow` gets
 * situ. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "python.h"

static const struct option options[] = {
    {"api", "STYLE", "v1: graphs and sessions; v2: eager; else told from the program"},
    {"log-placement", NULL, "say where operations run"},
    {"trace", "FILE", "write what ran where and when, for chrome://tracing"},
    {"check", NULL, "list the names the program uses that situ lacks; do not run it"},
    {0}};

/* Lists the devices, as the program will: a wrong --gpus fails before anything runs. */
static situ_status count_devices(void) {
  int count = 0;
  return situ_devices_count(&count);
}

static int run(const struct args *args) {
  char room[PATH_MAX];
  const char *python = python_find(room, sizeof room), *api = args_value(args, "api");
  if (api && strcmp(api, "v1") && strcmp(api, "v2"))
    return command_misuse(args, "--api is v1 or v2, not '%s'.", api);
  const situ_status devices = args_value(args, "gpus") ? count_devices() : NULL;
  if (devices) return command_fail(args, devices);
  if (args_value(args, "gpus")) setenv("SITU_SIM_GPUS", args_value(args, "gpus"), 1);
  char **argv = calloc((size_t)args->n_words + 10, sizeof *argv), trace[PATH_MAX + 16];
  snprintf(trace, sizeof trace, "--trace=%s",
           args_value(args, "trace") ? args_value(args, "trace") : "");
  if (!argv) return command_fail(args, situ_status_create(SITU_RESOURCE_EXHAUSTED, "no memory"));
  int n = 0;
  argv[n++] = (char *)python;
  argv[n++] = (char *)"-c";
  argv[n++] = (char *)PYTHON_RUN;
  if (api) argv[n++] = (char *)(strcmp(api, "v1") ? "--api=v2" : "--api=v1");
  if (args_has(args, "log-placement")) argv[n++] = (char *)"--log-placement";
  if (args_value(args, "trace")) argv[n++] = trace;
  if (args_has(args, "check")) argv[n++] = (char *)"--check";
  argv[n++] = (char *)"--";
  for (int i = 0; i < args->n_words; i++) argv[n++] = (char *)args->words[i];
  fflush(NULL);
  execvp(python, argv);
  const int code = errno;
  free(argv);
  return command_fail(
      args, situ_status_create(SITU_NOT_FOUND, "cannot start %s: %s", python, strerror(code)));
}

const struct command run_command = {
    .name = "run",
    .words = "SCRIPT",
    .least = 1,
    .most = INT_MAX,
    .help = "run an unmodified TensorFlow program",
    .more =
        "What follows the script is the script's own. Also: situ run -m MODULE.\n"
        "Python: $SITU_PYTHON, else the .venv beside the build, else python3.\n",
    .options = options,
    .run = run,
    .passes_on = true};
