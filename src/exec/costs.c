/* SPDX-License-Identifier: Apache-2.0
 * costs.c: see costs.h. */
#include "exec/costs.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "device/device.h"

static const char *path;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void look(void) {
  const char *named = getenv("SITU_COSTS");
  path = named && *named ? named : NULL;
}

bool costs_wanted(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, look);
  return path != NULL;
}

static void write_program(FILE *file, const struct program *program) {
  const unsigned long long id = program->id;
  for (int32_t i = 0; i < program->n_lanes; i++)
    fprintf(file, "P %llu %d %zu\n", id, program->lanes[i].device, program->lanes[i].block_bytes);
  for (int32_t i = 0; i < program->n_commands; i++) {
    const struct plan_command *command = &program->commands[i];
    if (command->kind != COMMAND_CALL || command->once) continue;
    const struct launch *launch = &program->launches[command->launch];
    fprintf(file, "K %llu %d %.17g %.17g\n", id, command->device, launch->flops, launch->bytes);
  }
}

void costs_note(struct frame *frame) {
  const uint64_t runs = ++frame->runs;
  if (runs & (runs - 1)) return; /* 1, 2, 4, ... are enough to compare */
  pthread_mutex_lock(&lock);
  FILE *file = fopen(path, "a");
  if (file) {
    if (runs == 1) write_program(file, frame->program);
    fprintf(file, "R %llu %llu\n", (unsigned long long)frame->program->id,
            (unsigned long long)runs);
    fclose(file);
  }
  pthread_mutex_unlock(&lock);
}
