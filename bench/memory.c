/* SPDX-License-Identifier: Apache-2.0
 * memory.c: the memory of a device against malloc: pairs of one size, and a random trace.
 *
 * Device memory is kept behind a lock, with the name of the holder, statistics and a ring of
 * events; the bare allocator is shown beside it. malloc gives host memory and writes its records
 * into it, which device memory does not allow: it is a yardstick, not a rival.
 */
#include <stdio.h>
#include <stdlib.h>

#include "device/bfc.h"
#include "device/registry.h"
#include "support/bench.h"

enum { PAIRS = 1000, SLOTS = 512, STEPS = 20000 };

/* A step of the trace: frees what the slot holds, or fills it. */
struct step {
  int32_t slot;
  uint32_t bytes; /* 0: free */
};

/* The trace, ending as empty as it began so that it can be repeated, and an allocator of each kind.
 */
static struct {
  struct step steps[STEPS + SLOTS];
  int n_steps;
  size_t pair_bytes;
  struct bfc *bfc;
  struct memory *memory;
  void *pointers[SLOTS];
  struct bfc_chunk pieces[SLOTS];
  struct memory_block blocks[SLOTS];
} bench;

static const struct memory_tag tag = {
    .op = "tower_0/conv1/Conv2D", .type = SITU_FLOAT, .shape = {.rank = 2, .dim = {128, 64}}};

/* Sizes from 256 bytes to 4 MiB, as many of each magnitude; about half of the slots are full. */
static void make_trace(void) {
  static bool full[SLOTS];
  uint64_t state = 88172645463325252u;
  for (int i = 0; i < STEPS; i++) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    const int32_t slot = (int32_t)(state >> 8 & (SLOTS - 1));
    const uint32_t magnitude = 256u << (state >> 20) % 14;
    const uint32_t bytes = magnitude + (uint32_t)(state >> 32) % magnitude;
    full[slot] = !full[slot];
    bench.steps[bench.n_steps++] = (struct step){slot, full[slot] ? bytes : 0};
  }
  for (int32_t s = 0; s < SLOTS; s++)
    if (full[s]) bench.steps[bench.n_steps++] = (struct step){s, 0};
}

static void malloc_one(int32_t slot, size_t bytes) { bench.pointers[slot] = malloc(bytes); }
static void malloc_free(int32_t slot) { free(bench.pointers[slot]); }

static void bfc_one(int32_t slot, size_t bytes) {
  bench_expect(bfc_alloc(bench.bfc, bytes, &bench.pieces[slot]), "allocation");
}
static void bfc_back(int32_t slot) { bfc_free(bench.bfc, &bench.pieces[slot]); }

static void memory_one(int32_t slot, size_t bytes) {
  bench_check(memory_alloc(bench.memory, bytes, &tag, &bench.blocks[slot]));
}
static void memory_back(int32_t slot) { memory_free(bench.memory, &bench.blocks[slot]); }

/* An allocator as the two tests see it. */
struct allocator {
  void (*alloc)(int32_t slot, size_t bytes);
  void (*free)(int32_t slot);
};

static void run_pairs(void *context) {
  const struct allocator *a = context;
  for (int i = 0; i < PAIRS; i++) {
    a->alloc(0, bench.pair_bytes);
    a->free(0);
  }
}

static void run_trace(void *context) {
  const struct allocator *a = context;
  for (int i = 0; i < bench.n_steps; i++) {
    const struct step *step = &bench.steps[i];
    if (step->bytes)
      a->alloc(step->slot, step->bytes);
    else
      a->free(step->slot);
  }
}

static void measure(const char *name, const char *what, void (*run)(void *), double pairs) {
  if (!bench_wants(name)) return;
  static const struct allocator allocators[] = {
      {memory_one, memory_back}, {malloc_one, malloc_free}, {bfc_one, bfc_back}};
  struct bench_side sides[3];
  for (int i = 0; i < 3; i++)
    sides[i] = (struct bench_side){
        .run = run, .context = (void *)(uintptr_t)&allocators[i], .alone = true};
  bench_alternate(sides, 3);
  const double ns = 1e9 / pairs;
  char note[64];
  snprintf(note, sizeof note, "without lock and records %.0f ns", sides[2].best * ns);
  bench_report(&(struct bench_row){.name = name,
                                   .what = what,
                                   .value = sides[0].best * ns,
                                   .unit = "ns/pair",
                                   .against = "malloc and free",
                                   .yardstick = sides[1].best * ns,
                                   .note = note});
}

static bool take_region(void *context, size_t bytes, void **region, uint64_t *address) {
  (void)context;
  *region = aligned_alloc(BFC_ALIGNMENT, bytes); /* never touched */
  *address = (uint64_t)(uintptr_t)*region;
  return *region != NULL;
}

static void give_region(void *context, void *region, uint64_t address, size_t bytes) {
  (void)context;
  (void)address;
  (void)bytes;
  free(region);
}

static void open_memory(void) {
  const situ_device_config config = {.sim_gpus = "1", .visible_devices = "0"};
  const struct device_list *devices = NULL;
  bench_check(situ_devices_configure(&config));
  bench_check(registry_acquire(NULL, false, &devices));
  bench_check(device_open(devices->devices[1]));
  bench.memory = devices->devices[1]->memory;
  const struct bfc_options options = {.limit = (uint64_t)4 << 30};
  bench.bfc =
      bfc_create(&options, (struct bfc_sub_allocator){.alloc = take_region, .free = give_region});
}

int main(int argc, char **argv) {
  bench_start(argc, argv);
  make_trace();
  open_memory();
  bench.pair_bytes = 1024;
  measure("memory.pairs_1k", "allocate and free 1 KiB of a device", run_pairs, PAIRS);
  bench.pair_bytes = 1 << 20;
  measure("memory.pairs_1m", "allocate and free 1 MiB of a device", run_pairs, PAIRS);
  measure("memory.trace", "random trace, 256 B to 8 MiB, 256 pieces in use", run_trace,
          bench.n_steps / 2.0);
  bfc_destroy(bench.bfc);
  registry_release();
  return 0;
}
