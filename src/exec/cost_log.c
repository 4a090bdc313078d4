/* SPDX-License-Identifier: Apache-2.0
 * cost_log.c: counts runs per (call, program) in a hash table and appends them to the log file. */
#include "exec/cost_log.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fork.h"
#include "device/device.h"

enum { BUCKETS = 4096 };
static const uint64_t DESCRIBED = UINT64_MAX; /* as a call id: whether the program is written */

/* Runs of a program in calls with one id. */
struct count {
  struct count *next;
  uint64_t call, program, runs, written;
};

static const char *path;
static pid_t owner; /* children of fork do not write: their program ids are not unique */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct fork_handler fork_handler;
static struct count *counts[BUCKETS]; /* guarded by the lock, as is the file */
static _Thread_local uint64_t current_call;

static void write_runs(FILE *file, struct count *count) {
  fprintf(file, "R %llu %llu %llu\n", (unsigned long long)count->call,
          (unsigned long long)count->program, (unsigned long long)count->runs);
  count->written = count->runs;
}

/* Writes the remaining counts at exit. */
static void write_all(void) {
  if (getpid() != owner || pthread_mutex_trylock(&lock)) return;
  FILE *file = fopen(path, "a");
  for (int i = 0; file && i < BUCKETS; i++)
    for (struct count *count = counts[i]; count; count = count->next)
      if (count->call != DESCRIBED && count->runs != count->written) write_runs(file, count);
  if (file) fclose(file);
  pthread_mutex_unlock(&lock);
}

static void read_environment(void) {
  const char *value = getenv("SITU_COSTS");
  path = value && *value ? value : NULL;
  owner = getpid();
  if (path) atexit(write_all);
  fork_mutex_register(&lock, &fork_handler);
}

bool cost_log_is_enabled(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, read_environment);
  return path != NULL;
}

bool cost_log_begin(uint64_t program) {
  if (current_call) return false;
  current_call = program;
  return true;
}

void cost_log_end(void) { current_call = 0; }

static struct count *find(uint64_t call, uint64_t program) {
  struct count **bucket = &counts[(call * 31 + program) % BUCKETS];
  for (struct count *count = *bucket; count; count = count->next)
    if (count->call == call && count->program == program) return count;
  struct count *count = calloc(1, sizeof *count);
  if (!count) return NULL;
  *count = (struct count){.next = *bucket, .call = call, .program = program};
  *bucket = count;
  return count;
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
  for (int32_t i = 0; i < program->n_gradients; i++)
    fprintf(file, "G %llu %zu %s\n", id, program->gradients[i].bytes,
            program->gradients[i].variable);
}

void cost_log_add_run(const struct frame *frame) {
  if (getpid() != owner) return;
  pthread_mutex_lock(&lock);
  struct count *count = find(current_call, frame->program->id);
  const uint64_t runs = count ? ++count->runs : 0;
  const bool is_due = runs && !(runs & (runs - 1)); /* the process may end without exit() */
  FILE *file = is_due ? fopen(path, "a") : NULL;
  if (file) {
    struct count *described = find(DESCRIBED, frame->program->id);
    if (described && !described->runs++) write_program(file, frame->program);
    write_runs(file, count);
    fclose(file);
  }
  pthread_mutex_unlock(&lock);
}
