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

/* Options of ours that stand behind the script, and so are the script's: "--gpus 4 --check". */
static void find_behind(const struct args *args, char *out, size_t size) {
  *out = '\0';
  for (int i = 1; i < args->n_words && strcmp(args->words[i], "--"); i++) {
    const char *word = args->words[i], *equals = strchr(word, '=');
    if (strncmp(word, "--", 2)) continue;
    const size_t length = equals ? (size_t)(equals - word) : strlen(word);
    const struct option *option = args_find_option(args->command, word + 2, length - 2);
    if (!option) continue;
    const char *value = option->value && !equals && i + 1 < args->n_words ? args->words[++i] : NULL;
    const size_t used = strlen(out);
    snprintf(out + used, size - used, "%s%s%s%s", used ? " " : "", word, value ? " " : "",
             value ? value : "");
  }
}

static int run(const struct args *args) {
  char room[PATH_MAX];
  const char *python = python_find(room, sizeof room), *api = args_value(args, "api");
  if (api && strcmp(api, "v1") && strcmp(api, "v2"))
    return command_misuse(args, "--api is v1 or v2, not '%s'.", api);
  const situ_status devices = args_value(args, "gpus") ? count_devices() : NULL;
  if (devices) return command_fail(args, devices);
  if (args_value(args, "gpus")) setenv("SITU_SIM_GPUS", args_value(args, "gpus"), 1);
  char **argv = calloc((size_t)args->n_words + 11, sizeof *argv), trace[PATH_MAX + 16];
  char behind[512] = "--behind=";
  find_behind(args, behind + strlen(behind), sizeof behind - strlen(behind));
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
  if (strcmp(behind, "--behind=")) argv[n++] = behind;
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
    .usage = "[--OPTION]... SCRIPT [ARGUMENT]...",
    .least = 1,
    .most = INT_MAX,
    .help = "run an unmodified TensorFlow program",
    .more =
        "What follows the script is the script's own, options too:\n"
        "  situ run --gpus 4 train.py --its_own_option 3\n"
        "Also: situ run [--OPTION]... -m MODULE [ARGUMENT]...\n"
        "Python: $SITU_PYTHON, else the .venv beside the build, else python3.\n",
    .options = options,
    .run = run,
    .passes_on = true};
