/* SPDX-License-Identifier: Apache-2.0
 * command.h: what a command of `situ` is, and the words it was called with. */
#ifndef SITU_CLI_COMMAND_H
#define SITU_CLI_COMMAND_H

#include <situ/situ.h>

/* What the process returns. */
enum { DONE = 0, FAILED = 1, MISUSED = 2 };

/* An option: "--json", or "--fetch NAME" where `value` is "NAME". */
struct option {
  const char *name, *value;
  const char *help;
};

struct args;

/* A command; the table of all is in main.c. */
struct command {
  const char *name;
  const char *words;            /* what it takes besides options: "GRAPH", "[NAME]" */
  const char *choices;          /* the allowed words, "bash zsh fish"; NULL: files */
  const char *usage;            /* what stands behind its name in its usage line; NULL: words and
                                   options */
  int least, most;              /* how many words */
  const char *help;             /* a line */
  const char *more;             /* what its own --help says besides */
  const struct option *options; /* ends in a name of NULL */
  const char *many;             /* those that may be given several times: "fetch feed" */
  int (*run)(const struct args *args);
  bool passes_on;      /* what follows its first word is the program's: words and options */
  bool passes_on_rest; /* the same of what follows "--" behind it; other options are ours */
};

extern const struct command devices_command, ops_command, explain_command, plan_command,
    run_command, selftest_command, cluster_command, simulate_command, completion_command;

/* All commands, in the order of the help; ends in NULL. */
extern const struct command *const commands[];

/* The words behind `situ`, sorted. */
struct args {
  const struct command *command; /* NULL until it is known */
  const char **words;            /* the command's own */
  int n_words;
  struct given {
    const struct option *option;
    const char *value;
  } * given;
  int n_given;
};

/* Options that every command has; ends in a name of NULL. */
extern const struct option args_common[];

/* Sorts the words of main(); `find` gives the command of a name or NULL. Prints what is wrong with
 * them and returns false. */
bool args_parse(int argc, char **argv, const struct command *(*find)(const char *name),
                struct args *out);

/* Whether an option was given, and the value of the last such one (NULL if there is none). */
bool args_has(const struct args *args, const char *option);
const char *args_value(const struct args *args, const char *option);

/* The option of that name among the command's and the common ones; NULL if there is none. */
const struct option *args_find_option(const struct command *command, const char *name,
                                      size_t length);

/* The number of times an option was given. */
int args_count(const struct args *args, const char *option);

/* Frees what args_parse made. */
void args_free(struct args *args);

/* Of `count` names that `get` gives, the one nearest to a wrong name; NULL if none is near. */
const char *args_nearest(const char *wrong, const char *(*get)(const void *list, int i),
                         const void *list, int count);

/* Prints "situ COMMAND: text" on standard error; returns FAILED or MISUSED. */
int command_fail(const struct args *args, situ_status status);
int command_misuse(const struct args *args, const char *format, ...) SITU_FORMAT(2, 3);

#endif
