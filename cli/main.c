/* SPDX-License-Identifier: Apache-2.0
 * main.c: the situ command: command table, help, version and exit codes. */
#include <errno.h>
#include <string.h>

#include "command.h"

const struct command *const commands[] = {
    &devices_command,  &ops_command,     &explain_command,  &plan_command,       &run_command,
    &selftest_command, &cluster_command, &simulate_command, &completion_command, NULL};
enum { N_COMMANDS = sizeof commands / sizeof *commands - 1 };

static const char *command_name(const void *list, int i) {
  return ((const struct command *const *)list)[i]->name;
}

/* Reports a wrong command name, with a suggestion or the list of commands. */
static int misuse_name(const char *what, const char *name, const char *near) {
  const struct args none = {0};
  char all[256] = "";
  for (int i = 0; i < N_COMMANDS; i++) {
    const size_t length = strlen(all);
    snprintf(all + length, sizeof all - length, "%s%s", i ? ", " : "", commands[i]->name);
  }
  return near ? command_misuse(&none, "%s'%s'. Did you mean '%s'?", what, name, near)
              : command_misuse(&none, "%s%s%s%s Commands: %s.", what, *name ? "'" : "", name,
                               *name ? "'." : "", all);
}

static const struct command *find_command(const char *name) {
  for (int i = 0; i < N_COMMANDS; i++)
    if (!strcmp(commands[i]->name, name)) return commands[i];
  misuse_name("Unknown command ", name, args_nearest(name, command_name, commands, N_COMMANDS));
  return NULL;
}

static void print_options(const struct option *options) {
  for (const struct option *o = options; o && o->name; o++) {
    char left[40];
    snprintf(left, sizeof left, "--%s%s%s", o->name, o->value ? " " : "", o->value ? o->value : "");
    printf("  %-18s %s\n", left, o->help);
  }
}

static int print_help(void) {
  printf(
      "situ: a tensor runtime that shows where operations run, and why\n\n"
      "usage: situ COMMAND [--OPTION]... [ARGUMENT]...\n\n");
  for (int i = 0; i < N_COMMANDS; i++) printf("  %-18s %s\n", commands[i]->name, commands[i]->help);
  printf("\nOptions of every command:\n");
  print_options(args_common);
  printf("  %-18s %s\n", "--version", "show the version");
  printf(
      "\nExit codes: 0 success, 1 failure (reason on standard error), 2 wrong usage.\n"
      "Start with: situ devices --gpus 4\n");
  return SUCCESS;
}

static int print_command_help(const struct command *command) {
  printf("situ %s: %s\n\nusage: situ %s ", command->name, command->help, command->name);
  if (command->usage)
    printf("%s\n\n", command->usage);
  else
    printf("%s%s[--OPTION]...\n\n", command->positional, *command->positional ? " " : "");
  print_options(command->options);
  print_options(args_common);
  printf("\n%s", command->details);
  return SUCCESS;
}

static int run(const struct args *args) {
  if (!args->command && args_has(args, "help")) return print_help();
  if (!args->command) return misuse_name("Missing command.", "", NULL);
  if (args_has(args, "help")) return print_command_help(args->command);
  const char *gpus = args_value(args, "gpus");
  if (gpus && !*gpus)
    return command_misuse(args, "Option --gpus is empty. Use 0 for no simulated GPUs.");
  const situ_device_config config = {.sim_gpus = gpus};
  const situ_status s = situ_devices_configure(&config);
  return s ? command_fail(args, s) : args->command->run(args);
}

/* Reports write errors, such as a full disk. */
static int finish(int code) {
  if (!fflush(stdout) && !ferror(stdout)) return code;
  fprintf(stderr, "situ: cannot write: %s\n", strerror(errno));
  return FAILED;
}

int main(int argc, char **argv) {
  if (argc == 2 && !strcmp(argv[1], "--version")) {
    printf("situ %s\n", situ_version());
    return finish(SUCCESS);
  }
  struct args args;
  const int code = args_parse(argc, argv, find_command, &args) ? run(&args) : WRONG_USAGE;
  args_free(&args);
  return finish(code);
}
