/* SPDX-License-Identifier: Apache-2.0
 * bfc.c: best-fit-with-coalescing allocator; see bfc.h. Chunks of a region form a doubly linked
 * list in address order; free chunks are also in a free list ordered by (size, address). */
#include "device/bfc.h"

#include <stdlib.h>

#include "device/free_list.h"

enum {
  CHUNKS_PER_BLOCK = 256,       /* chunk records are allocated in blocks of this many */
  REGION_GRANULARITY = 2 << 20, /* region sizes of the default policy are multiples of this; first
                                   region of the reference policy */
  LARGE = 1 << 20, /* chunks larger than this are split only if the remainder is at least
                      LARGE_MIN_REMAINDER */
  LARGE_MIN_REMAINDER = 64 << 10,
  REFERENCE_MAX_REMAINDER =
      128 << 20 /* the reference policy always splits off a remainder of this size */
};

static const uint64_t MAX_LIMIT =
    1ull << 62; /* upper bound of limits, so that doubling cannot overflow */

struct region {
  void *memory;
  uint64_t address, size;
  struct chunk *first;
  int32_t n_allocated;
};

/* A chunk, either free (requested == 0, and in the free list) or allocated. `next` also links
 * unused records. */
struct chunk {
  struct free_node free_node; /* size and address are valid in both states */
  struct chunk *prev, *next;  /* neighbors in the region */
  struct region *region;      /* NULL: unused record */
  size_t requested;
  int32_t handle;
};

struct bfc {
  struct bfc_options options;
  struct bfc_sub_allocator source;
  struct free_list free_list;
  struct region **regions; /* ordered by address */
  int32_t region_capacity;
  struct chunk **blocks; /* indexed by handle / CHUNKS_PER_BLOCK */
  int32_t n_blocks;
  struct chunk *unused_chunks;
  uint64_t next_region_size; /* reference policy */
  uint64_t max_remainder;    /* reference policy: a remainder of this size is split off */
  struct bfc_stats stats;
};

struct bfc *bfc_create(const struct bfc_options *options, struct bfc_sub_allocator source) {
  struct bfc *bfc = calloc(1, sizeof *bfc);
  if (!bfc) return NULL;
  bfc->options = *options;
  if (bfc->options.limit > MAX_LIMIT) bfc->options.limit = MAX_LIMIT;
  bfc->source = source;
  bfc->stats.limit = bfc->next_region_size = bfc->options.limit;
  if (options->growth && bfc->next_region_size > REGION_GRANULARITY)
    bfc->next_region_size = REGION_GRANULARITY;
  bfc->next_region_size = round_up(bfc->next_region_size, BFC_ALIGNMENT);
  bfc->max_remainder = REFERENCE_MAX_REMAINDER;
  if (options->fragmentation_fraction > 0.0)
    bfc->max_remainder = (uint64_t)(options->fragmentation_fraction * (double)bfc->options.limit);
  return bfc;
}

void bfc_destroy(struct bfc *bfc) {
  if (!bfc) return;
  for (int32_t i = 0; i < bfc->stats.n_regions; i++) {
    struct region *region = bfc->regions[i];
    bfc->source.free(bfc->source.context, region->memory, region->address, region->size);
    free(region);
  }
  for (int32_t i = 0; i < bfc->n_blocks; i++) free(bfc->blocks[i]);
  free(bfc->regions);
  free(bfc->blocks);
  free(bfc);
}

/* Allocates CHUNKS_PER_BLOCK more chunk records. Returns false if out of memory. */
static bool allocate_chunk_block(struct bfc *bfc) {
  struct chunk **blocks = realloc(bfc->blocks, ((size_t)bfc->n_blocks + 1) * sizeof *blocks);
  if (!blocks) return false;
  bfc->blocks = blocks;
  struct chunk *block = calloc(CHUNKS_PER_BLOCK, sizeof *block);
  if (!block) return false;
  for (int32_t i = CHUNKS_PER_BLOCK; i-- > 0;) {
    block[i].handle = bfc->n_blocks * CHUNKS_PER_BLOCK + i;
    block[i].next = bfc->unused_chunks;
    bfc->unused_chunks = &block[i];
  }
  bfc->blocks[bfc->n_blocks++] = block;
  return true;
}

static struct chunk *acquire_chunk(struct bfc *bfc) {
  if (!bfc->unused_chunks && !allocate_chunk_block(bfc)) return NULL;
  struct chunk *chunk = bfc->unused_chunks;
  bfc->unused_chunks = chunk->next;
  return chunk;
}

static void release_chunk(struct bfc *bfc, struct chunk *chunk) {
  chunk->region = NULL;
  chunk->next = bfc->unused_chunks;
  bfc->unused_chunks = chunk;
}

/* Inserts a region in address order. Returns false if out of memory. */
static bool insert_region(struct bfc *bfc, struct region *region) {
  int32_t at = bfc->stats.n_regions;
  if (at == bfc->region_capacity) {
    const int32_t capacity = at ? at * 2 : 8;
    struct region **regions = realloc(bfc->regions, (size_t)capacity * sizeof *regions);
    if (!regions) return false;
    bfc->regions = regions;
    bfc->region_capacity = capacity;
  }
  for (; at > 0 && bfc->regions[at - 1]->address > region->address; at--)
    bfc->regions[at] = bfc->regions[at - 1];
  bfc->regions[at] = region;
  bfc->stats.n_regions++;
  return true;
}

/* Allocates a region of that size as one free chunk. Returns false if it is refused. */
static bool add_region(struct bfc *bfc, uint64_t size) {
  struct chunk *chunk = acquire_chunk(bfc);
  struct region *region = chunk ? calloc(1, sizeof *region) : NULL;
  bool ok =
      region && bfc->source.alloc(bfc->source.context, size, &region->memory, &region->address);
  if (ok) {
    region->size = size;
    region->first = chunk;
    ok = insert_region(bfc, region);
    if (!ok) bfc->source.free(bfc->source.context, region->memory, region->address, size);
  }
  if (!ok) {
    if (chunk) release_chunk(bfc, chunk);
    free(region);
    return false;
  }
  chunk->region = region;
  chunk->prev = chunk->next = NULL;
  chunk->requested = 0;
  chunk->free_node.size = size;
  chunk->free_node.address = region->address;
  free_list_insert(&bfc->free_list, &chunk->free_node);
  bfc->stats.reserved += size;
  bfc->stats.idle += size;
  return true;
}

uint64_t bfc_trim(struct bfc *bfc) {
  uint64_t freed = 0;
  int32_t n_kept = 0;
  for (int32_t i = 0; i < bfc->stats.n_regions; i++) {
    struct region *region = bfc->regions[i];
    if (region->n_allocated) {
      bfc->regions[n_kept++] = region;
      continue;
    }
    free_list_remove(&bfc->free_list, &region->first->free_node);
    release_chunk(bfc, region->first);
    freed += region->size;
    bfc->source.free(bfc->source.context, region->memory, region->address, region->size);
    free(region);
  }
  bfc->stats.n_regions = n_kept;
  bfc->stats.reserved -= freed;
  bfc->stats.idle = 0;
  return freed;
}

/* TensorFlow's back-off after a refusal: 0.9 of the size in single precision. Where rounding up
 * gives the same size again (TensorFlow 2.21 loops forever) it is reduced by one unit. */
static uint64_t shrink_reference(uint64_t size) {
  const uint64_t less = round_up((size_t)((float)size * 0.9f), BFC_ALIGNMENT);
  return less < size ? less : size - BFC_ALIGNMENT;
}

/* Adds a region; sizes double, also if the driver refuses, up to MAX_LIMIT. */
static bool extend_reference(struct bfc *bfc, uint64_t want) {
  const uint64_t available =
      (bfc->options.limit - bfc->stats.reserved) & ~(uint64_t)(BFC_ALIGNMENT - 1);
  if (want > available) return false;
  bool doubled = false;
  for (; want > bfc->next_region_size; bfc->next_region_size *= 2) doubled = true;
  uint64_t size = bfc->next_region_size < available ? bfc->next_region_size : available;
  while (!add_region(bfc, size)) {
    size = shrink_reference(size);
    if (size < want) return false;
  }
  if (!doubled && bfc->next_region_size < MAX_LIMIT) bfc->next_region_size *= 2;
  return true;
}

/* Reference policy, last resort: frees idle regions, if that is enough, to allocate a larger one.
 */
static bool collect_reference(struct bfc *bfc, uint64_t want) {
  const uint64_t idle = bfc->stats.idle;
  if (!bfc->options.collect || !idle) return false;
  if (want > bfc->options.limit - bfc->stats.reserved + idle) return false;
  bfc_trim(bfc);
  return extend_reference(bfc, want);
}

/* Region size of the default policy: everything on first use without growth, otherwise the request,
 * but at least 1/16 of the reserved memory so that small requests create few regions. */
static uint64_t choose_region_size(const struct bfc *bfc, uint64_t want, uint64_t available) {
  if (!bfc->options.growth && !bfc->stats.n_regions) return available;
  const uint64_t minimum = bfc->stats.reserved / 16;
  const uint64_t size = round_up(want > minimum ? want : minimum, REGION_GRANULARITY);
  return size < available ? size : available;
}

/* Adds a region. Idle regions are freed first and become part of the new one, which coalesces them
 * without reserving more than needed. */
static bool extend_default(struct bfc *bfc, uint64_t want) {
  const uint64_t limit = bfc->options.limit & ~(uint64_t)(BFC_ALIGNMENT - 1);
  if (want > limit - bfc->stats.reserved + bfc->stats.idle) return false;
  const uint64_t trimmed = bfc_trim(bfc);
  uint64_t size = choose_region_size(bfc, want, limit - bfc->stats.reserved);
  if (size < trimmed) size = trimmed;
  while (!add_region(bfc, size)) {
    if (size == want) return false;
    size = (size - size / 8) & ~(uint64_t)(BFC_ALIGNMENT - 1);
    if (size < want) size = want;
  }
  return true;
}

/* Returns whether the remainder of a chunk becomes a free chunk. */
static bool should_split(const struct bfc *bfc, uint64_t available, uint64_t want) {
  const uint64_t rest = available - want;
  if (rest < BFC_ALIGNMENT) return false;
  if (bfc->options.reference) return rest >= want || rest >= bfc->max_remainder;
  return want <= LARGE || rest >= LARGE_MIN_REMAINDER;
}

/* Splits `size` bytes off the front of a free chunk; the remainder stays in the free list. Returns
 * NULL if out of memory. */
static struct chunk *split_chunk(struct bfc *bfc, struct chunk *rest, uint64_t size) {
  struct chunk *split = acquire_chunk(bfc);
  if (!split) return NULL;
  split->region = rest->region;
  split->free_node.address = rest->free_node.address;
  split->free_node.size = size;
  split->prev = rest->prev;
  split->next = rest;
  if (split->prev)
    split->prev->next = split;
  else
    split->region->first = split;
  rest->prev = split;
  free_list_resize(&bfc->free_list, &rest->free_node, rest->free_node.size - size,
                   rest->free_node.address + size);
  return split;
}

/* Updates the statistics for an allocation. */
static void count_allocation(struct bfc *bfc, struct chunk *chunk) {
  struct bfc_stats *stats = &bfc->stats;
  if (!chunk->region->n_allocated++) stats->idle -= chunk->region->size;
  stats->allocations++;
  stats->n_chunks++;
  stats->in_use += chunk->free_node.size;
  stats->requested += chunk->requested;
  if (stats->peak < stats->in_use) stats->peak = stats->in_use;
  if (stats->largest < chunk->free_node.size) stats->largest = chunk->free_node.size;
}

/* Updates the statistics for a free. */
static void count_free(struct bfc *bfc, struct chunk *chunk) {
  struct bfc_stats *stats = &bfc->stats;
  if (!--chunk->region->n_allocated) stats->idle += chunk->region->size;
  stats->n_chunks--;
  stats->in_use -= chunk->free_node.size;
  stats->requested -= chunk->requested;
}

static void describe(const struct chunk *chunk, struct bfc_chunk *out) {
  out->region = chunk->region->memory;
  out->offset = chunk->free_node.address - chunk->region->address;
  out->size = chunk->free_node.size;
  out->requested = chunk->requested;
  out->address = chunk->free_node.address;
  out->handle = chunk->handle;
}

/* Adds a region that fits `want` bytes. */
static bool extend(struct bfc *bfc, uint64_t want) {
  if (!bfc->options.reference) return extend_default(bfc, want);
  return extend_reference(bfc, want) || collect_reference(bfc, want);
}

/* Returns the smallest free chunk of at least `want` bytes, in a new region if necessary, or NULL.
 */
static struct free_node *find(struct bfc *bfc, uint64_t want) {
  struct free_node *free_node = free_list_find(&bfc->free_list, want);
  if (free_node || !extend(bfc, want)) return free_node;
  return free_list_find(&bfc->free_list, want);
}

bool bfc_alloc(struct bfc *bfc, size_t bytes, struct bfc_chunk *out) {
  const uint64_t want = round_up(bytes, BFC_ALIGNMENT);
  struct free_node *free_node = bytes && bytes <= bfc->options.limit ? find(bfc, want) : NULL;
  if (!free_node) {
    *out = (struct bfc_chunk){0};
    return false;
  }
  struct chunk *chunk = (struct chunk *)free_node; /* free_node is the first member */
  struct chunk *split =
      should_split(bfc, free_node->size, want) ? split_chunk(bfc, chunk, want) : NULL;
  if (!split) free_list_remove(&bfc->free_list, free_node);
  if (split) chunk = split;
  chunk->requested = bytes;
  count_allocation(bfc, chunk);
  describe(chunk, out);
  return true;
}

/* Removes a chunk whose bytes a neighbor has absorbed. */
static void unlink_chunk(struct bfc *bfc, struct chunk *chunk) {
  if (chunk->next) chunk->next->prev = chunk->prev;
  if (chunk->prev)
    chunk->prev->next = chunk->next;
  else
    chunk->region->first = chunk->next;
  release_chunk(bfc, chunk);
}

/* Frees a chunk and coalesces it with free neighbors. */
static void free_chunk(struct bfc *bfc, struct chunk *chunk) {
  struct chunk *prev = chunk->prev, *next = chunk->next;
  if (prev && prev->requested) prev = NULL;
  if (next && next->requested) next = NULL;
  uint64_t size = chunk->free_node.size;
  if (!prev && !next) {
    chunk->requested = 0;
    free_list_insert(&bfc->free_list, &chunk->free_node);
    return;
  }
  if (prev) size += prev->free_node.size;
  if (next) size += next->free_node.size;
  if (prev && next) {
    free_list_remove(&bfc->free_list, &next->free_node);
    unlink_chunk(bfc, next);
  }
  struct chunk *merged = prev ? prev : next;
  free_list_resize(&bfc->free_list, &merged->free_node, size,
                   (prev ? prev : chunk)->free_node.address);
  unlink_chunk(bfc, chunk);
}

bool bfc_free(struct bfc *bfc, const struct bfc_chunk *allocation) {
  const int32_t block = allocation->handle / CHUNKS_PER_BLOCK;
  if (allocation->handle < 0 || block >= bfc->n_blocks) return false;
  struct chunk *chunk = &bfc->blocks[block][allocation->handle % CHUNKS_PER_BLOCK];
  if (!chunk->region || !chunk->requested || chunk->free_node.address != allocation->address)
    return false;
  count_free(bfc, chunk);
  free_chunk(bfc, chunk);
  return true;
}

void bfc_stats(const struct bfc *bfc, struct bfc_stats *out) {
  const struct free_node *largest = free_list_largest(&bfc->free_list);
  *out = bfc->stats;
  out->largest_free = largest ? largest->size : 0;
}

void bfc_reset_peak(struct bfc *bfc) { bfc->stats.peak = bfc->stats.in_use; }

void bfc_visit(const struct bfc *bfc, void (*visit)(void *context, const struct bfc_view *view),
               void *context) {
  for (int32_t i = 0; i < bfc->stats.n_regions; i++) {
    const struct region *region = bfc->regions[i];
    for (const struct chunk *chunk = region->first; chunk; chunk = chunk->next) {
      struct bfc_view view = {.region_address = region->address,
                              .region_bytes = region->size,
                              .used = chunk->requested > 0};
      describe(chunk, &view.chunk);
      visit(context, &view);
    }
  }
}
