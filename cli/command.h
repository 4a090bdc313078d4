/* SPDX-License-Identifier: Apache-2.0
 * command.h: commands of `situ`, and their parsed arguments. */
#ifndef SITU_CLI_COMMAND_H
#define SITU_CLI_COMMAND_H

#include <situ/situ.h>

/* Exit codes of the process. */
enum { SUCCESS = 0, FAILED = 1, WRONG_USAGE = 2 };

/* An option: "--json", or "--fetch NAME" where `value` is "NAME". */
struct option {
  const char *name, *value;
  const char *help;
};

struct args;

/* A command; main.c has the table of commands. */
struct command {
  const char *name;
  const char *positional;       /* positional arguments for the help: "GRAPH", "[NAME]" */
  const char *choices;          /* allowed values of the argument: "bash zsh fish"; NULL: files */
  const char *usage;            /* usage line after the name; NULL: positional and options */
  int min_args, max_args;       /* number of positional arguments */
  const char *help;             /* one line */
  const char *details;          /* further text of its --help */
  const struct option *options; /* terminated by a NULL name */
  const char *repeatable;       /* names of options that may be repeated: "fetch feed" */
  int (*run)(const struct args *args);
  bool passes_args; /* everything after the first positional argument is passed to the script */
  bool passes_rest; /* everything after "--" is passed to the script */
};

extern const struct command devices_command, ops_command, explain_command, plan_command,
    run_command, selftest_command, cluster_command, simulate_command, completion_command;

/* All commands in the order of the help; NULL-terminated. */
extern const struct command *const commands[];

/* The parsed command line. */
struct args {
  const struct command *command; /* NULL until it is parsed */
  const char **positional;       /* without the command */
  int n_positional;
  struct given_option {
    const struct option *option;
    const char *value;
  } * options;
  int n_options;
};

/* Options of every command; terminated by a NULL name. */
extern const struct option args_common[];

/* Parses the arguments of main(); `find` returns the command with a name or NULL. On failure prints
 * an error and returns false. */
bool args_parse(int argc, char **argv, const struct command *(*find)(const char *name),
                struct args *out);

/* Returns whether an option was given, and the value of its last occurrence (or NULL). */
bool args_has(const struct args *args, const char *option);
const char *args_value(const struct args *args, const char *option);

/* Finds an option of the command or a common one; NULL if there is none. */
const struct option *args_find_option(const struct command *command, const char *name,
                                      size_t length);

/* Frees what args_parse allocated. */
void args_free(struct args *args);

/* Returns the most similar of `count` names, for suggestions; NULL if none is similar. */
const char *args_nearest(const char *wrong, const char *(*get)(const void *list, int i),
                         const void *list, int count);

/* Print "situ COMMAND: message" to stderr; return FAILED or WRONG_USAGE. */
int command_fail(const struct args *args, situ_status status);
int command_misuse(const struct args *args, const char *format, ...) SITU_FORMAT(2, 3);

#endif
