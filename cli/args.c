/* SPDX-License-Identifier: Apache-2.0
 * args.c: sorts the words behind `situ` into a command, its words and its options. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"

const struct option args_common[] = {
    {"gpus", "TEXT", "simulated GPUs, as SITU_SIM_GPUS: 4, or 'Tesla K40c@0000:05:00.0=12GiB'"},
    {"help", NULL, "this text"},
    {0}};

enum { MAX_NAME = 32 };

/* Letters to add, drop or change to make one word of the other. */
static int distance(const char *a, const char *b) {
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

/* Near enough to be meant: at most half of the letters differ. */
static bool is_near(int letters, const char *a, const char *b) {
  const size_t longer = strlen(a) > strlen(b) ? strlen(a) : strlen(b);
  return 2 * (size_t)letters <= longer;
}

const char *args_nearest(const char *wrong, const char *(*get)(const void *list, int i),
                         const void *list, int count) {
  const char *nearest = NULL;
  int least = MAX_NAME;
  for (int i = 0; i < count; i++) {
    const char *name = get(list, i);
    const bool begins = *wrong && !strncmp(name, wrong, strlen(wrong));
    const int letters = begins ? 0 : distance(wrong, name);
    if (letters >= least || !is_near(letters, wrong, name)) continue;
    least = letters;
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

/* Where the options of the script go. */
static const char *hint_rest(const struct args *args) {
  const bool behind = args->command && args->command->passes_on_rest && args->n_words;
  return behind ? " Options of the script stand behind --." : "";
}

static bool unknown_option(const struct args *args, const char *word, size_t length) {
  char name[MAX_NAME + 1];
  snprintf(name, sizeof name, "%.*s", (int)length, word);
  const char *near = NULL;
  if (args->command)
    near = args_nearest(name, option_name, args->command->options,
                        count_options(args->command->options));
  if (!near) near = args_nearest(name, option_name, args_common, count_options(args_common));
  if (near)
    command_misuse(args, "there is no option --%s. Did you mean --%s?%s", name, near,
                   hint_rest(args));
  else
    command_misuse(args, "there is no option --%s.%s", name, hint_rest(args));
  return false;
}

/* Whether the next word is an option, and no value. */
static bool is_option(const char *word) { return !strncmp(word, "--", 2); }

/* Of an option that may be given once, two values would leave one unheard. */
static bool check_twice(const struct args *args, const struct option *option, const char *value) {
  const bool many =
      args->command && args->command->many && strstr(args->command->many, option->name);
  const char *before = option->value && !many ? args_value(args, option->name) : NULL;
  if (!before || !strcmp(before, value)) return true;
  command_misuse(args, "--%s is given twice: %s and %s.", option->name, before, value);
  return false;
}

/* Takes "--name", "--name=value", "--name value"; *at moves over the words that were used. */
static bool take_option(int argc, char **argv, int *at, struct args *out) {
  const char *word = argv[*at] + 2;
  const char *equals = strchr(word, '=');
  const size_t length = equals ? (size_t)(equals - word) : strlen(word);
  const struct option *option = args_find_option(out->command, word, length);
  if (!option) return unknown_option(out, word, length);
  const char *value = equals ? equals + 1 : NULL;
  if (!option->value && value) {
    command_misuse(out, "--%s takes no value.", option->name);
    return false;
  }
  if (option->value && !value) {
    if (*at + 1 >= argc || is_option(argv[*at + 1])) {
      command_misuse(out, "--%s needs a value: --%s %s.", option->name, option->name,
                     option->value);
      return false;
    }
    value = argv[++*at];
  }
  if (!check_twice(out, option, value)) return false;
  out->given[out->n_given++] = (struct given){option, value};
  return true;
}

/* The first word names the command, the others are the command's. */
static bool take_word(const char *word, const struct command *(*find)(const char *name),
                      struct args *out) {
  if (out->command) {
    out->words[out->n_words++] = word;
    return true;
  }
  out->command = find(word);
  return out->command;
}

static bool check_words(const struct args *args) {
  const struct command *command = args->command;
  if (!command || args_has(args, "help")) return true;
  if (args->n_words < command->least)
    command_misuse(args, "%s is missing.", command->words);
  else if (args->n_words > command->most)
    command_misuse(args, "'%s' is one word too many.", args->words[command->most]);
  else
    return true;
  return false;
}

bool args_parse(int argc, char **argv, const struct command *(*find)(const char *name),
                struct args *out) {
  *out = (struct args){.words = calloc((size_t)argc + 1, sizeof *out->words),
                       .given = calloc((size_t)argc + 1, sizeof *out->given)};
  if (!out->words || !out->given) {
    fprintf(stderr, "situ: no memory\n");
    return false;
  }
  bool is_word = false; /* everything behind "--" is */
  for (int i = 1; i < argc; i++) {
    const char *word = !strcmp(argv[i], "-h") ? "--help" : argv[i];
    const bool ours = !is_word && !(out->command && out->command->passes_on && out->n_words);
    if (!ours) word = argv[i];
    if (ours && out->command && out->command->passes_on && !strcmp(word, "-m")) {
      out->words[out->n_words++] = word;
    } else if (ours && !strcmp(word, "--")) {
      is_word = true;
    } else if (ours && !strncmp(word, "--", 2)) {
      argv[i] = (char *)word;
      if (!take_option(argc, argv, &i, out)) return false;
    } else if (ours && word[0] == '-' && word[1]) {
      command_misuse(out, "there is no option %s.%s", word, hint_rest(out));
      return false;
    } else if (!take_word(word, find, out)) {
      return false;
    }
  }
  return check_words(out);
}

bool args_has(const struct args *args, const char *option) { return args_count(args, option) > 0; }

const char *args_value(const struct args *args, const char *option) {
  for (int i = args->n_given; i-- > 0;)
    if (!strcmp(args->given[i].option->name, option)) return args->given[i].value;
  return NULL;
}

int args_count(const struct args *args, const char *option) {
  int n = 0;
  for (int i = 0; i < args->n_given; i++) n += !strcmp(args->given[i].option->name, option);
  return n;
}

void args_free(struct args *args) {
  free(args->words);
  free(args->given);
  *args = (struct args){0};
}

static void say_command(const struct args *args) {
  fflush(stdout);
  fprintf(stderr, args->command ? "situ %s: " : "situ: ", args->command ? args->command->name : "");
}

int command_fail(const struct args *args, situ_status status) {
  say_command(args);
  situ_status_report(status, stderr);
  return FAILED;
}

int command_misuse(const struct args *args, const char *format, ...) {
  va_list list;
  va_start(list, format);
  say_command(args);
  vfprintf(stderr, format, list);
  va_end(list);
  fprintf(stderr, "\nTry 'situ %s%s--help'.\n", args->command ? args->command->name : "",
          args->command ? " " : "");
  return MISUSED;
}
