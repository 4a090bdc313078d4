/* SPDX-License-Identifier: Apache-2.0
 * completion.c: `situ completion`: prints completion scripts for bash, zsh and fish, generated from
 * the command table. */
#include <string.h>

#include "command.h"

/* Calls `print` for every option of a command, its own and the common ones. */
static void each_option(const struct command *command,
                        void (*print)(const struct command *, const struct option *)) {
  for (const struct option *o = command->options; o && o->name; o++) print(command, o);
  for (const struct option *o = args_common; o->name; o++) print(command, o);
}

/* Prints a string for a single-quoted shell word. */
static void print_quoted(const char *string) {
  for (; *string; string++) {
    if (*string == '\'')
      fputs("'\\''", stdout);
    else
      putchar(*string);
  }
}

static void print_bash_option(const struct command *command, const struct option *option) {
  (void)command;
  printf(" --%s", option->name);
}

/* Completes the words of commands that allow only some. */
static void print_bash_choices(void) {
  printf("  case ${COMP_WORDS[1]} in\n");
  for (int i = 0; commands[i]; i++)
    if (commands[i]->choices)
      printf("    %s) words='%s' ;;\n", commands[i]->name, commands[i]->choices);
  printf("  esac\n");
}

static void print_bash(void) {
  printf("_situ() {\n  local current=${COMP_WORDS[COMP_CWORD]} options= words=\n  COMPREPLY=()\n");
  printf("  if [ \"$COMP_CWORD\" = 1 ]; then\n    options='");
  for (int i = 0; commands[i]; i++) printf("%s ", commands[i]->name);
  printf("--help --version'\n  else\n    case ${COMP_WORDS[1]} in\n");
  for (int i = 0; commands[i]; i++) {
    printf("      %s) options='", commands[i]->name);
    each_option(commands[i], print_bash_option);
    printf("' ;;\n");
  }
  printf("    esac\n  fi\n");
  print_bash_choices();
  printf(
      "  case $current in\n"
      "    -*) ;;\n"
      "    *) [ \"$COMP_CWORD\" = 1 ] || options=$words ;;\n"
      "  esac\n"
      "  mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$current\")\n"
      "  [ -n \"$options\" ] || mapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n"
      "}\ncomplete -o filenames -F _situ situ\n");
}

static void print_zsh_option(const struct command *command, const struct option *option) {
  (void)command;
  printf(" \\\n        '--%s", option->name);
  putchar('[');
  for (const char *c = option->help; *c; c++) {
    if (strchr("[]:\\", *c)) putchar('\\');
    if (*c == '\'')
      fputs("'\\''", stdout);
    else
      putchar(*c);
  }
  printf("]%s%s%s'", option->value ? ":" : "", option->value ? option->value : "",
         option->value ? ":_files" : "");
}

static void print_zsh(void) {
  printf("#compdef situ\n_situ() {\n  local -a commands\n  commands=(\n");
  for (int i = 0; commands[i]; i++) {
    printf("    '%s:", commands[i]->name);
    print_quoted(commands[i]->help);
    printf("'\n");
  }
  printf(
      "  )\n  if (( CURRENT == 2 )); then\n    _describe command commands\n    return\n  fi\n"
      "  case $words[2] in\n");
  for (int i = 0; commands[i]; i++) {
    printf("    %s)\n      _arguments", commands[i]->name);
    each_option(commands[i], print_zsh_option);
    if (commands[i]->choices)
      printf(" ':%s:(%s)' ;;\n", commands[i]->positional, commands[i]->choices);
    else
      printf(" '*:file:_files' ;;\n");
  }
  printf("  esac\n}\ncompdef _situ situ\n");
}

static void print_fish_option(const struct command *command, const struct option *option) {
  printf("complete -c situ -n '__fish_seen_subcommand_from %s' -l %s %s-d '", command->name,
         option->name, option->value ? "-r " : "");
  print_quoted(option->help);
  printf("'\n");
}

static void print_fish(void) {
  for (int i = 0; commands[i]; i++) {
    printf("complete -c situ -n __fish_use_subcommand -a %s -d '", commands[i]->name);
    print_quoted(commands[i]->help);
    printf("'\n");
  }
  for (int i = 0; commands[i]; i++) {
    each_option(commands[i], print_fish_option);
    if (commands[i]->choices)
      printf("complete -c situ -n '__fish_seen_subcommand_from %s' -f -a '%s'\n", commands[i]->name,
             commands[i]->choices);
  }
}

#define SHELLS(X) X(bash) X(zsh) X(fish)

static const struct {
  const char *name;
  void (*print)(void);
} shells[] = {
#define SHELL_ROW(name) {#name, print_##name},
    SHELLS(SHELL_ROW)
#undef SHELL_ROW
};

static int run(const struct args *args) {
  for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
    if (!strcmp(shells[i].name, args->positional[0])) {
      shells[i].print();
      return SUCCESS;
    }
#define LISTED(name) ", " #name
  return command_misuse(args, "unknown shell '%s'. Supported: %s.", args->positional[0],
                        &SHELLS(LISTED)[2]);
#undef LISTED
}

const struct command completion_command = {
    .name = "completion",
    .positional = "SHELL",
#define SHELL_CHOICE(name) #name " "
    .choices = SHELLS(SHELL_CHOICE),
#undef SHELL_CHOICE
    .min_args = 1,
    .max_args = 1,
    .help = "print a completion script for bash, zsh or fish",
    .details =
        "bash:  eval \"$(situ completion bash)\"                in ~/.bashrc\n"
        "zsh:   eval \"$(situ completion zsh)\"                 in ~/.zshrc, after compinit\n"
        "fish:  situ completion fish > ~/.config/fish/completions/situ.fish\n",
    .run = run,
};
