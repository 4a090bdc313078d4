/* SPDX-License-Identifier: Apache-2.0
 * launch.c: runs a kernel: block by block, thread by thread from barrier to barrier. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/ptx/ptx.h"

enum { MOST_STEPS = 1 << 30 }; /* instructions of a thread between two barriers */

void launch_fault(struct thread *t, const struct insn *i, enum fault_kind kind, const char *format,
                  ...) {
  struct launch_context *launch = t->block->launch;
  t->stopped = true;
  if (launch->fault) return;
  va_list args;
  launch->fault = kind;
  const int used =
      snprintf(launch->text, sizeof launch->text,
               "kernel %s, line %d, thread %u: ", launch->entry->name, i->line, t->number);
  va_start(args, format);
  vsnprintf(launch->text + used, sizeof launch->text - (size_t)used, format, args);
  va_end(args);
}

/* Until the thread ends, fails or comes to a barrier. */
static void run_thread(struct thread *t) {
  int64_t left = MOST_STEPS;
  t->stopped = false;
  t->waits = NULL;
  while (!t->stopped && --left) {
    const struct insn *i = t->pc++;
    if (i->guard == NO_WORD || (t->words[i->guard].u64 & 1) != i->unless) i->run(t, i);
  }
  if (!left) launch_fault(t, t->pc, FAULT_ENDLESS, "does not end");
}

/* ---- Threads ---- */

static void set_constants(const struct launch_context *launch, union word *words) {
  for (const struct function *f = launch->module->functions; f; f = f->next)
    if (f == launch->entry || !f->is_entry)
      for (int k = 0; k < f->n_constants; k++) words[f->constants[k].word] = f->constants[k].value;
  for (int k = 0; k < 3; k++) {
    words[SPECIAL_NTID_X + k].u64 = launch->block[k];
    words[SPECIAL_NCTAID_X + k].u64 = launch->grid[k];
  }
}

static bool make_thread(const struct launch_context *launch, struct thread *t) {
  const struct module *m = launch->module;
  t->words = malloc(((size_t)m->n_words + 1) * sizeof *t->words);
  t->local = malloc((size_t)m->local_bytes + 1);
  t->param = calloc(1, (size_t)m->param_bytes + 1);
  if (!t->words || !t->local || !t->param) return false;
  memset(t->words, 0xee, ((size_t)m->n_words + 1) * sizeof *t->words); /* no accidental zeros */
  memset(t->local, 0xee, (size_t)m->local_bytes + 1);
  memcpy(t->param, launch->params, launch->param_bytes);
  set_constants(launch, t->words);
  return true;
}

static void begin_thread(struct thread *t, struct block *block, uint32_t number,
                         const uint32_t *index) {
  const struct launch_context *launch = block->launch;
  const uint32_t *size = launch->block;
  t->block = block;
  t->number = block->first + number;
  t->function = launch->entry;
  t->pc = launch->entry->insns;
  t->depth = 0;
  t->words[SPECIAL_TID_X].u64 = number % size[0];
  t->words[SPECIAL_TID_Y].u64 = number / size[0] % size[1];
  t->words[SPECIAL_TID_Z].u64 = number / size[0] / size[1];
  t->words[SPECIAL_LANEID].u64 = number % 32;
  t->words[SPECIAL_WARPID].u64 = number / 32;
  for (int k = 0; k < 3; k++) t->words[SPECIAL_CTAID_X + k].u64 = index[k];
}

/* ---- Blocks ---- */

/* Threads that all stand at one barrier go on; that only some do is a fault. False: the block is
 * done. */
static bool pass_barrier(struct block *block, struct thread *threads, uint32_t count) {
  uint32_t waiting = 0;
  const struct insn *where = NULL;
  bool same = true;
  for (uint32_t k = 0; k < count; k++) {
    if (!threads[k].waits) continue;
    waiting++;
    if (!where) where = threads[k].waits;
    if (where != threads[k].waits) same = false;
  }
  if (!waiting) return false;
  if (waiting < count)
    launch_fault(&threads[0], where, FAULT_BARRIER,
                 "%u threads wait at a barrier and %u have ended", waiting, count - waiting);
  else if (!same)
    launch_fault(&threads[0], where, FAULT_BARRIER, "threads wait at different barriers");
  block->epoch++;
  return !block->launch->fault;
}

static void run_block(struct block *block, struct thread *threads, const uint32_t *index) {
  const struct launch_context *launch = block->launch;
  const uint32_t count = launch->block[0] * launch->block[1] * launch->block[2];
  if (!launch->entry->has_barrier) { /* one thread's memory serves all */
    for (uint32_t k = 0; k < count && !launch->fault; k++) {
      begin_thread(threads, block, k, index);
      run_thread(threads);
    }
    return;
  }
  for (uint32_t k = 0; k < count; k++) begin_thread(&threads[k], block, k, index);
  do
    for (uint32_t k = 0; k < count && !launch->fault; k++) run_thread(&threads[k]);
  while (!launch->fault && pass_barrier(block, threads, count));
}

static void run_blocks(struct block *block, struct thread *threads) {
  struct launch_context *launch = block->launch;
  const uint32_t *grid = launch->grid;
  const uint32_t count = launch->block[0] * launch->block[1] * launch->block[2];
  const size_t shared = (size_t)launch->module->shared_bytes;
  for (uint32_t n = 0; n < grid[0] * grid[1] * grid[2] && !launch->fault; n++) {
    const uint32_t index[3] = {n % grid[0], n / grid[0] % grid[1], n / grid[0] / grid[1]};
    block->first = n * count;
    block->epoch = 1;
    memset(block->shared, 0xff, shared);
    if (launch->races) memset(block->shades, 0, shared * sizeof *block->shades);
    run_block(block, threads, index);
  }
}

static int most_insns(const struct module *module) {
  int most = 0;
  for (const struct function *f = module->functions; f; f = f->next)
    if (most < f->n_insns) most = f->n_insns;
  return most;
}

bool launch_run(struct launch_context *launch) {
  const size_t shared = (size_t)launch->module->shared_bytes;
  const uint32_t count = launch->block[0] * launch->block[1] * launch->block[2];
  const uint32_t held = launch->entry->has_barrier ? count : 1;
  struct thread *threads = calloc(held, sizeof *threads);
  struct block block = {.launch = launch,
                        .near = calloc((size_t)most_insns(launch->module), sizeof *block.near),
                        .shared = malloc(shared + 1),
                        .shades = calloc(shared + 1, sizeof *block.shades)};
  bool ok = threads && block.near && block.shared && block.shades;
  launch->fault = FAULT_NONE;
  for (uint32_t k = 0; k < held && ok; k++) ok = make_thread(launch, &threads[k]);
  if (ok) run_blocks(&block, threads);
  for (uint32_t k = 0; k < held && threads; k++) {
    free(threads[k].words);
    free(threads[k].local);
    free(threads[k].param);
  }
  free(threads);
  free(block.near);
  free(block.shared);
  free(block.shades);
  return ok && !launch->fault;
}
