/* SPDX-License-Identifier: Apache-2.0
 * args.c: parses the command line of `situ` into a command, positional arguments and options. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"

const struct option args_common[] = {
    {"gpus", "SPEC", "simulate GPUs, as SITU_SIM_GPUS: 4, or 'Tesla K40c@0000:05:00.0=12GiB'"},
    {"help", NULL, "show this help"},
    {0}};

enum { MAX_NAME = 32 };

/* Levenshtein distance. */
static int edit_distance(const char *a, const char *b) {
  int row[MAX_NAME + 1];
  const int n = (int)strlen(b);
  if (n > MAX_NAME || strlen(a) > MAX_NAME) return MAX_NAME;
  for (int j = 0; j <= n; j++) row[j] = j;
  for (int i = 1; *a; a++, i++) {
    int diagonal = row[0];
    row[0] = i;
    for (int j = 1; j <= n; j++) {
      const int change = diagonal + (*a != b[j - 1]);
      const int add = row[j] + 1, drop = row[j - 1] + 1;
      diagonal = row[j];
      row[j] = change < add ? change : add;
      if (drop < row[j]) row[j] = drop;
    }
  }
  return row[n];
}

/* Similar enough for a suggestion: at most half of the letters differ. */
static bool is_near(int edits, const char *a, const char *b) {
  const size_t longer = strlen(a) > strlen(b) ? strlen(a) : strlen(b);
  return 2 * (size_t)edits <= longer;
}

const char *args_nearest(const char *wrong, const char *(*get)(const void *list, int i),
                         const void *list, int count) {
  const char *nearest = NULL;
  int least = MAX_NAME;
  for (int i = 0; i < count; i++) {
    const char *name = get(list, i);
    const bool begins = *wrong && !strncmp(name, wrong, strlen(wrong));
    const int edits = begins ? 0 : edit_distance(wrong, name);
    if (edits >= least || !is_near(edits, wrong, name)) continue;
    least = edits;
    nearest = name;
  }
  return nearest;
}

static const char *option_name(const void *list, int i) {
  return ((const struct option *)list)[i].name;
}

static int count_options(const struct option *list) {
  int n = 0;
  while (list && list[n].name) n++;
  return n;
}

const struct option *args_find_option(const struct command *command, const char *name,
                                      size_t length) {
  const struct option *lists[] = {command ? command->options : NULL, args_common};
  for (int k = 0; k < 2; k++)
    for (const struct option *option = lists[k]; option && option->name; option++)
      if (strlen(option->name) == length && !memcmp(option->name, name, length)) return option;
  return NULL;
}

/* Hint where to put the options of the script. */
static const char *separator_hint(const struct args *args) {
  const bool behind = args->command && args->command->passes_rest && args->n_positional;
  return behind ? " Put options of the script after --." : "";
}

static bool unknown_option(const struct args *args, const char *arg, size_t length) {
  char name[MAX_NAME + 1];
  snprintf(name, sizeof name, "%.*s", (int)length, arg);
  const char *suggestion = NULL;
  if (args->command)
    suggestion = args_nearest(name, option_name, args->command->options,
                              count_options(args->command->options));
  if (!suggestion)
    suggestion = args_nearest(name, option_name, args_common, count_options(args_common));
  if (suggestion)
    command_misuse(args, "Unknown option --%s. Did you mean --%s?%s", name, suggestion,
                   separator_hint(args));
  else
    command_misuse(args, "Unknown option --%s.%s", name, separator_hint(args));
  return false;
}

/* Whether the argument is an option and not a value. */
static bool is_option(const char *arg) { return !strncmp(arg, "--", 2); }

/* An option that is not repeatable may not be given twice with different values. */
static bool check_duplicate(const struct args *args, const struct option *option,
                            const char *value) {
  const bool repeatable =
      args->command && args->command->repeatable && strstr(args->command->repeatable, option->name);
  const char *previous = option->value && !repeatable ? args_value(args, option->name) : NULL;
  if (!previous || !strcmp(previous, value)) return true;
  command_misuse(args, "Option --%s is given twice: %s and %s.", option->name, previous, value);
  return false;
}

/* Parses "--name", "--name=value" or "--name value"; advances *at past the value. */
static bool parse_option(int argc, char **argv, int *at, struct args *out) {
  const char *arg = argv[*at] + 2;
  const char *equals = strchr(arg, '=');
  const size_t length = equals ? (size_t)(equals - arg) : strlen(arg);
  const struct option *option = args_find_option(out->command, arg, length);
  if (!option) return unknown_option(out, arg, length);
  const char *value = equals ? equals + 1 : NULL;
  if (!option->value && value) {
    command_misuse(out, "Option --%s takes no value.", option->name);
    return false;
  }
  if (option->value && !value) {
    if (*at + 1 >= argc || is_option(argv[*at + 1])) {
      command_misuse(out, "Option --%s needs a value: --%s %s.", option->name, option->name,
                     option->value);
      return false;
    }
    value = argv[++*at];
  }
  if (!check_duplicate(out, option, value)) return false;
  out->options[out->n_options++] = (struct given_option){option, value};
  return true;
}

/* The first positional argument is the command, the others are its arguments. */
static bool parse_positional(const char *arg, const struct command *(*find)(const char *name),
                             struct args *out) {
  if (out->command) {
    out->positional[out->n_positional++] = arg;
    return true;
  }
  out->command = find(arg);
  return out->command;
}

static bool check_positional(const struct args *args) {
  const struct command *command = args->command;
  if (!command || args_has(args, "help")) return true;
  if (args->n_positional < command->min_args)
    command_misuse(args, "Missing argument %s.", command->positional);
  else if (args->n_positional > command->max_args)
    command_misuse(args, "Unexpected argument '%s'.", args->positional[command->max_args]);
  else
    return true;
  return false;
}

bool args_parse(int argc, char **argv, const struct command *(*find)(const char *name),
                struct args *out) {
  *out = (struct args){.positional = calloc((size_t)argc + 1, sizeof *out->positional),
                       .options = calloc((size_t)argc + 1, sizeof *out->options)};
  if (!out->positional || !out->options) {
    fprintf(stderr, "situ: out of memory\n");
    return false;
  }
  bool only_positional = false; /* after "--" */
  for (int i = 1; i < argc; i++) {
    const char *arg = !strcmp(argv[i], "-h") ? "--help" : argv[i];
    const bool is_ours =
        !only_positional && !(out->command && out->command->passes_args && out->n_positional);
    if (!is_ours) arg = argv[i];
    if (is_ours && out->command && out->command->passes_args &&
        (!strcmp(arg, "-m") || !strcmp(arg, "-c"))) {
      out->positional[out->n_positional++] = arg;
    } else if (is_ours && !strcmp(arg, "--")) {
      only_positional = true;
    } else if (is_ours && !strncmp(arg, "--", 2)) {
      argv[i] = (char *)arg;
      if (!parse_option(argc, argv, &i, out)) return false;
    } else if (is_ours && arg[0] == '-' && arg[1]) {
      command_misuse(out, "Unknown option %s.%s", arg, separator_hint(out));
      return false;
    } else if (!parse_positional(arg, find, out)) {
      return false;
    }
  }
  return check_positional(out);
}

bool args_has(const struct args *args, const char *option) {
  for (int i = 0; i < args->n_options; i++)
    if (!strcmp(args->options[i].option->name, option)) return true;
  return false;
}

const char *args_value(const struct args *args, const char *option) {
  for (int i = args->n_options; i-- > 0;)
    if (!strcmp(args->options[i].option->name, option)) return args->options[i].value;
  return NULL;
}

void args_free(struct args *args) {
  free(args->positional);
  free(args->options);
  *args = (struct args){0};
}

static void print_prefix(const struct args *args) {
  fflush(stdout);
  fprintf(stderr, args->command ? "situ %s: " : "situ: ", args->command ? args->command->name : "");
}

int command_fail(const struct args *args, situ_status status) {
  print_prefix(args);
  situ_status_report(status, stderr);
  return FAILED;
}

int command_misuse(const struct args *args, const char *format, ...) {
  va_list list;
  va_start(list, format);
  print_prefix(args);
  vfprintf(stderr, format, list);
  va_end(list);
  fprintf(stderr, "\nTry 'situ %s%s--help'.\n", args->command ? args->command->name : "",
          args->command ? " " : "");
  return WRONG_USAGE;
}
