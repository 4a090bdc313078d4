/* SPDX-License-Identifier: Apache-2.0
 * run.c: `situ run`: runs an unmodified TensorFlow program in a Python where `import tensorflow`
 * imports situ. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "python.h"

static const struct option options[] = {
    {"api", "STYLE", "v1: graph mode; v2: eager mode. Default: detected from the program"},
    {"log-placement", NULL, "log the device of each operation"},
    {"trace", "FILE", "write a trace for chrome://tracing"},
    {"check", NULL, "list names that situ lacks, without running the program"},
    {0}};

/* Discovers the devices, so that an invalid --gpus fails before the program starts. */
static situ_status count_devices(void) {
  int count = 0;
  return situ_devices_count(&count);
}

/* Finds options of situ after the script, which are passed to the script: "--gpus 4 --check". */
static void find_misplaced_options(const struct args *args, char *out, size_t size) {
  *out = '\0';
  for (int i = 1; i < args->n_positional && strcmp(args->positional[i], "--"); i++) {
    const char *word = args->positional[i], *equals = strchr(word, '=');
    if (strncmp(word, "--", 2)) continue;
    const size_t length = equals ? (size_t)(equals - word) : strlen(word);
    const struct option *option = args_find_option(args->command, word + 2, length - 2);
    if (!option) continue;
    const char *value =
        option->value && !equals && i + 1 < args->n_positional ? args->positional[++i] : NULL;
    const size_t used = strlen(out);
    snprintf(out + used, size - used, "%s%s%s%s", used ? " " : "", word, value ? " " : "",
             value ? value : "");
  }
}

static int run(const struct args *args) {
  char buffer[PATH_MAX];
  const char *python = python_find(buffer, sizeof buffer), *api = args_value(args, "api");
  if (api && strcmp(api, "v1") && strcmp(api, "v2"))
    return command_misuse(args, "Option --api must be v1 or v2, not '%s'.", api);
  const situ_status devices = args_value(args, "gpus") ? count_devices() : NULL;
  if (devices) return command_fail(args, devices);
  if (args_value(args, "gpus")) setenv("SITU_SIM_GPUS", args_value(args, "gpus"), 1);
  char **argv = calloc((size_t)args->n_positional + 11, sizeof *argv), trace[PATH_MAX + 16];
  char misplaced[512] = "--behind=";
  find_misplaced_options(args, misplaced + strlen(misplaced), sizeof misplaced - strlen(misplaced));
  snprintf(trace, sizeof trace, "--trace=%s",
           args_value(args, "trace") ? args_value(args, "trace") : "");
  if (!argv)
    return command_fail(args, situ_status_create(SITU_RESOURCE_EXHAUSTED, "Out of memory."));
  int n = 0;
  argv[n++] = (char *)python;
  argv[n++] = (char *)"-c";
  argv[n++] = (char *)PYTHON_RUN;
  if (api) argv[n++] = (char *)(strcmp(api, "v1") ? "--api=v2" : "--api=v1");
  if (args_has(args, "log-placement")) argv[n++] = (char *)"--log-placement";
  if (args_value(args, "trace")) argv[n++] = trace;
  if (args_has(args, "check")) argv[n++] = (char *)"--check";
  if (strcmp(misplaced, "--behind=")) argv[n++] = misplaced;
  argv[n++] = (char *)"--";
  for (int i = 0; i < args->n_positional; i++) argv[n++] = (char *)args->positional[i];
  fflush(NULL);
  execvp(python, argv);
  const int code = errno;
  free(argv);
  return command_fail(
      args, situ_status_create(SITU_NOT_FOUND, "Cannot start %s: %s", python, strerror(code)));
}

const struct command run_command = {
    .name = "run",
    .positional = "SCRIPT",
    .usage = "[--OPTION]... SCRIPT [ARGUMENT]...",
    .min_args = 1,
    .max_args = INT_MAX,
    .help = "run an unmodified TensorFlow program",
    .details =
        "Everything after the script is passed to the script:\n"
        "  situ run --gpus 4 train.py --batch_size 64\n"
        "Instead of a script:\n"
        "  NOTEBOOK.ipynb  the code cells of a notebook, in order\n"
        "  -m MODULE       a module: situ run -m pytest tests\n"
        "  -c CODE         a program as a string\n"
        "  -               a program from standard input\n"
        "The interpreter is $SITU_PYTHON, else the .venv next to the build, else python3.\n",
    .options = options,
    .run = run,
    .passes_args = true};
