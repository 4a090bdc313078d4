/* SPDX-License-Identifier: Apache-2.0
 * peak_memory.c: see peak_memory.h. A binary search over limits replays the allocations of the
 * programs. */
#include "api/peak_memory.h"

#include <stdlib.h>

#include "device/bfc.h"
#include "device/memory.h"

static const uint64_t MAX_BYTES = UINT64_C(1) << 50; /* larger than any device */

/* The allocations of a program on the device, in the order of exec/. */
enum lifetime {
  FRAME,       /* block and results: idle after the run, freed when memory runs out */
  STATE,       /* lives as long as the session */
  HOST_RESULT, /* result of a host op: lives until the end of the run */
};

struct request {
  enum lifetime lifetime;
  int32_t program;
  size_t bytes;
  bool held; /* allocated in the current replay */
  struct bfc_chunk piece;
};

struct replay {
  struct device *device;
  struct memory_options options;
  struct request *requests;
  int count, capacity;
  struct bfc *bfc;
  uint64_t end; /* end of the simulated address space */
};

static situ_status add(struct replay *replay, enum lifetime lifetime, int program, size_t bytes) {
  if (!bytes) return NULL;
  if (replay->count == replay->capacity) {
    const int capacity = replay->capacity ? 2 * replay->capacity : 64;
    struct request *grown = realloc(replay->requests, (size_t)capacity * sizeof *grown);
    if (!grown) return NO_MEMORY();
    replay->requests = grown;
    replay->capacity = capacity;
  }
  const size_t align = replay->device->info.align;
  replay->requests[replay->count++] = (struct request){
      .lifetime = lifetime, .program = program, .bytes = align ? round_up(bytes, align) : bytes};
  return NULL;
}

/* ---- Allocations of the programs ---- */

static bool is_on_device(const struct replay *replay, const struct slot *slot) {
  return slot->device == replay->device->number;
}

static bool same_state(const struct slot *a, const struct slot *b) {
  return a->kind == SLOT_STATE && b->kind == SLOT_STATE && a->node == b->node &&
         a->output == b->output && a->device == b->device;
}

/* Returns whether an earlier program, or an earlier slot of this one, allocates the same state. */
static bool is_counted(const struct program *const *programs, int number, int32_t slot) {
  const struct slot *wanted = &programs[number]->slots[slot];
  for (int p = 0; p <= number; p++) {
    const int32_t n = p < number ? programs[p]->n_slots : slot;
    for (int32_t i = 0; i < n; i++)
      if (same_state(&programs[p]->slots[i], wanted)) return true;
  }
  return false;
}

static situ_status add_frame(struct replay *replay, const struct program *program, int number) {
  for (int32_t i = 0; i < program->n_lanes; i++)
    if (program->lanes[i].device == replay->device->number)
      TRY(add(replay, FRAME, number, program->lanes[i].block_bytes));
  for (int32_t i = 0; i < program->n_fetches; i++) {
    const struct slot *slot =
        program->fetches[i].slot < 0 ? NULL : &program->slots[program->fetches[i].slot];
    if (slot && slot->kind == SLOT_RESULT && slot->index == i && is_on_device(replay, slot))
      TRY(add(replay, FRAME, number, slot->bytes));
  }
  return NULL;
}

static situ_status add_program(struct replay *replay, const struct program *const *programs,
                               int number) {
  const struct program *program = programs[number];
  for (int32_t i = 0; i < program->n_slots; i++) {
    const struct slot *slot = &program->slots[i];
    if (slot->kind == SLOT_STATE && is_on_device(replay, slot) && !is_counted(programs, number, i))
      TRY(add(replay, STATE, number, slot->bytes));
  }
  TRY(add_frame(replay, program, number));
  for (int32_t i = 0; i < program->n_slots; i++)
    if (program->slots[i].kind == SLOT_HOST_OUTPUT && is_on_device(replay, &program->slots[i]))
      TRY(add(replay, HOST_RESULT, number, program->slots[i].bytes));
  return NULL;
}

/* ---- Replay ---- */

static bool reserve_region(void *context, size_t bytes, void **region, uint64_t *address) {
  struct replay *replay = context;
  *region = NULL;
  *address = replay->end;
  replay->end += round_up(bytes, BFC_ALIGNMENT) + BFC_ALIGNMENT;
  return true;
}

static void give_region(void *context, void *region, uint64_t address, size_t bytes) {
  (void)context, (void)region, (void)address, (void)bytes;
}

static void give(struct replay *replay, struct request *request) {
  if (request->held) bfc_free(replay->bfc, &request->piece);
  request->held = false;
}

/* Frees the idle frames of programs before `program`; false if there are none. */
static bool drop_idle(struct replay *replay, int32_t program) {
  bool dropped = false;
  for (int i = 0; i < replay->count; i++) {
    struct request *request = &replay->requests[i];
    if (request->lifetime != FRAME || request->program >= program || !request->held) continue;
    give(replay, request);
    dropped = true;
  }
  return dropped;
}

static void end_run(struct replay *replay, int32_t program) {
  for (int i = 0; i < replay->count; i++)
    if (replay->requests[i].lifetime == HOST_RESULT && replay->requests[i].program == program)
      give(replay, &replay->requests[i]);
}

static bool take(struct replay *replay, struct request *request) {
  request->held = bfc_alloc(replay->bfc, request->bytes, &request->piece);
  if (!request->held && drop_idle(replay, request->program))
    request->held = bfc_alloc(replay->bfc, request->bytes, &request->piece);
  return request->held;
}

/* Returns whether all programs run with a limit. */
static situ_status fits_limit(struct replay *replay, uint64_t limit, bool *out) {
  const struct bfc_options how = {.limit = limit,
                                  .growth = replay->options.growth,
                                  .reference = replay->options.reference,
                                  .collect = true};
  const struct bfc_sub_allocator source = {
      .context = replay, .alloc = reserve_region, .free = give_region};
  replay->end = BFC_ALIGNMENT;
  replay->bfc = bfc_create(&how, source);
  if (!replay->bfc) return NO_MEMORY();
  *out = true;
  for (int i = 0; *out && i < replay->count; i++) {
    struct request *request = &replay->requests[i];
    if (i && request->program != replay->requests[i - 1].program)
      end_run(replay, replay->requests[i - 1].program);
    *out = take(replay, request);
  }
  for (int i = 0; i < replay->count; i++) replay->requests[i].held = false;
  bfc_destroy(replay->bfc);
  replay->bfc = NULL;
  return NULL;
}

/* Searches for the smallest sufficient limit, below or above `limit`. */
static situ_status search(struct replay *replay, uint64_t limit, uint64_t *out) {
  uint64_t fails = 0, runs = limit & ~(uint64_t)(BFC_ALIGNMENT - 1);
  bool fits = false;
  if (runs) TRY(fits_limit(replay, runs, &fits));
  if (!runs) runs = BFC_ALIGNMENT;
  while (!fits && runs < MAX_BYTES) {
    fails = runs;
    runs *= 2;
    TRY(fits_limit(replay, runs, &fits));
  }
  while (runs - fails > BFC_ALIGNMENT) {
    const uint64_t middle = ((fails + runs) / 2) & ~(uint64_t)(BFC_ALIGNMENT - 1);
    TRY(fits_limit(replay, middle, &fits));
    *(fits ? &runs : &fails) = middle;
  }
  *out = runs;
  return NULL;
}

/* Host devices: no limit, and programs keep their frames. */
static uint64_t sum_host_bytes(const struct replay *replay) {
  uint64_t bytes = 0;
  for (int i = 0; i < replay->count; i++) bytes += replay->requests[i].bytes;
  return bytes;
}

static void count(const struct replay *replay, int n, struct peak *out) {
  uint64_t bytes = 0;
  for (int i = 0; i < replay->count; i++) {
    const struct request *request = &replay->requests[i];
    if (i && request->program != replay->requests[i - 1].program) bytes = 0;
    if (request->lifetime == STATE)
      out->variables += request->bytes;
    else
      bytes += request->bytes;
    if (request->program == n - 1)
      out->step = bytes;
    else if (bytes > out->earlier)
      out->earlier = bytes;
  }
}

situ_status peak_memory_find(const struct program *const *programs, int n, struct device *device,
                             uint64_t limit, struct peak *out) {
  *out = (struct peak){0};
  struct replay replay = {.device = device};
  situ_status status = NULL;
  for (int i = 0; i < n && !status; i++) status = add_program(&replay, programs, i);
  if (!status) {
    count(&replay, n, out);
    if (device->backend->is_host) {
      out->peak = sum_host_bytes(&replay);
    } else if (replay.count) {
      replay.options = device_options(device);
      status = search(&replay, limit, &out->peak);
    }
  }
  free(replay.requests);
  return status;
}
