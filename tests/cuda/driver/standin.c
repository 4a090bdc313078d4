/* SPDX-License-Identifier: Apache-2.0
 * standin.c: the lock, injected faults, random delays, and the log of calls. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/driver/standin.h"

pthread_mutex_t standin_lock = PTHREAD_MUTEX_INITIALIZER;

static char said[512];
static uint64_t random_state;

/* How often each function was called. */
static struct {
  const char *function;
  unsigned calls;
} counts[96];

static unsigned count_call(const char *function) {
  size_t i = 0;
  while (i < 95 && counts[i].function && counts[i].function != function) i++;
  counts[i].function = function;
  return ++counts[i].calls;
}

/* The error that STANDIN_FAIL asks for; `sticky` where the context is to be lost. Calls are counted
 * from the moment on when the variable has its value. */
static cuda_result asked_for(const char *function, bool *sticky) {
  static char seen[256];
  const char *wish = getenv("STANDIN_FAIL");
  const size_t length = strlen(function);
  if (!wish) wish = "";
  if (strncmp(seen, wish, sizeof seen - 1) != 0) {
    snprintf(seen, sizeof seen, "%s", wish);
    memset(counts, 0, sizeof counts);
  }
  const unsigned call = count_call(function);
  for (const char *at = wish; at; at = strchr(at, ',')) {
    char *end = NULL;
    if (*at == ',') at++;
    if (strncmp(at, function, length) != 0 || at[length] != ':') continue;
    const bool every = at[length + 1] == '*';
    const unsigned long wanted = strtoul(at + length + 1 + every, &end, 10);
    if ((!every && wanted != call) || *end != '=') continue;
    const unsigned long code = strtoul(end + 1, &end, 10);
    *sticky = *end == '!';
    return (cuda_result)code;
  }
  return CUDA_OK;
}

static _Thread_local int inside; /* a host function of a stream may not call */

cuda_result standin_enter(const char *function, int needs_context) {
  if (inside++) return CUDA_NOT_PERMITTED;
  pthread_mutex_lock(&standin_lock);
  bool sticky = false;
  const cuda_result wanted = asked_for(function, &sticky);
  struct CUctx_st *context = standin_context();
  if (!needs_context) return wanted;
  if (!standin_cards()) return CUDA_NOT_INITIALIZED;
  if (!context) return CUDA_INVALID_CONTEXT;
  if (wanted != CUDA_OK && sticky) context->error = wanted;
  if (needs_context == LOST_TOO) return wanted;
  return context->error != CUDA_OK ? context->error : wanted;
}

cuda_result standin_leave(cuda_result result) {
  if (--inside == 0) pthread_mutex_unlock(&standin_lock);
  return result;
}

unsigned standin_fault(const char *function) {
  bool sticky = false;
  pthread_mutex_lock(&standin_lock);
  const unsigned code = asked_for(function, &sticky);
  pthread_mutex_unlock(&standin_lock);
  return code;
}

void standin_seed(uint64_t seed) { random_state = seed * 2654435761u + 1; }

unsigned standin_random(unsigned n) {
  if (!random_state) {
    const char *seed = getenv("STANDIN_SEED");
    standin_seed(seed ? strtoull(seed, NULL, 10) : 1);
  }
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)((random_state >> 33) % n);
}

void standin_say(const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(said, sizeof said, format, args);
  va_end(args);
  fprintf(stderr, "CUDA stand-in: %s\n", said);
}

void standin_report(const char *text) { standin_say("%s", text); }

const char *standin_said(void) { return said; }
