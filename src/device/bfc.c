/* SPDX-License-Identifier: Apache-2.0
 * bfc.c: best fit with coalescing: cuts the large regions of a device into pieces. */
#include "device/bfc.h"

#include <stdlib.h>

#include "device/holes.h"

enum {
  RECORDS = 256,   /* chunks per block of records */
  PAGE = 2 << 20,  /* the default policy takes multiples of this; the reference's first region */
  LARGE = 1 << 20, /* pieces above this keep a rest below LARGE_REST to themselves */
  LARGE_REST = 64 << 10,
  REFERENCE_CAP = 128 << 20 /* the reference splits off a rest of this size in any case */
};

static const uint64_t MOST = 1ull << 62; /* highest limit: what is doubled stays a number */

struct region {
  void *memory;
  uint64_t address, size;
  struct chunk *first;
};

/* A piece, free (requested = 0: then it is in the order of holes) or in use. */
struct chunk {
  struct hole hole; /* size and address are valid in either state */
  struct chunk *before,
      *after;            /* neighbours in the region; `after` links records that are not used */
  struct region *region; /* NULL: record not used */
  size_t requested;
  int32_t handle;
};

struct bfc {
  struct bfc_options options;
  struct bfc_source source;
  struct holes holes;
  struct region **regions; /* by address */
  int32_t region_capacity;
  struct chunk **blocks; /* records, by handle / RECORDS */
  int32_t n_blocks;
  struct chunk *unused;
  uint64_t next; /* reference: size of the next region */
  uint64_t cap;  /* reference: largest rest that stays unsplit, plus 1 */
  struct bfc_stats stats;
};

struct bfc *bfc_create(const struct bfc_options *options, struct bfc_source source) {
  struct bfc *bfc = calloc(1, sizeof *bfc);
  if (!bfc) return NULL;
  bfc->options = *options;
  if (bfc->options.limit > MOST) bfc->options.limit = MOST;
  bfc->source = source;
  bfc->stats.limit = bfc->next = bfc->options.limit;
  if (options->growth && bfc->next > PAGE) bfc->next = PAGE;
  bfc->next = round_up(bfc->next, BFC_UNIT);
  bfc->cap = REFERENCE_CAP;
  if (options->fragmentation_fraction > 0.0)
    bfc->cap = (uint64_t)(options->fragmentation_fraction * (double)bfc->options.limit);
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

/* Makes RECORDS more records; false without memory. */
static bool add_records(struct bfc *bfc) {
  struct chunk **blocks = realloc(bfc->blocks, ((size_t)bfc->n_blocks + 1) * sizeof *blocks);
  if (!blocks) return false;
  bfc->blocks = blocks;
  struct chunk *block = calloc(RECORDS, sizeof *block);
  if (!block) return false;
  for (int32_t i = RECORDS; i-- > 0;) {
    block[i].handle = bfc->n_blocks * RECORDS + i;
    block[i].after = bfc->unused;
    bfc->unused = &block[i];
  }
  bfc->blocks[bfc->n_blocks++] = block;
  return true;
}

static struct chunk *take_record(struct bfc *bfc) {
  if (!bfc->unused && !add_records(bfc)) return NULL;
  struct chunk *chunk = bfc->unused;
  bfc->unused = chunk->after;
  return chunk;
}

static void drop_record(struct bfc *bfc, struct chunk *chunk) {
  chunk->region = NULL;
  chunk->after = bfc->unused;
  bfc->unused = chunk;
}

static bool is_whole(const struct chunk *chunk) { return !chunk->before && !chunk->after; }

static void insert_hole(struct bfc *bfc, struct chunk *chunk) {
  chunk->requested = 0;
  if (is_whole(chunk)) bfc->stats.idle += chunk->hole.size;
  holes_insert(&bfc->holes, &chunk->hole);
}

static void remove_hole(struct bfc *bfc, struct chunk *chunk) {
  if (is_whole(chunk)) bfc->stats.idle -= chunk->hole.size;
  holes_remove(&bfc->holes, &chunk->hole);
}

/* Puts a region into the array, in the order of addresses; false without memory. */
static bool list_region(struct bfc *bfc, struct region *region) {
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

/* Takes a region of that size from the source, as one hole; false when it is refused. */
static bool take_region(struct bfc *bfc, uint64_t size) {
  struct chunk *chunk = take_record(bfc);
  struct region *region = chunk ? calloc(1, sizeof *region) : NULL;
  bool ok =
      region && bfc->source.alloc(bfc->source.context, size, &region->memory, &region->address);
  if (ok) {
    region->size = size;
    region->first = chunk;
    ok = list_region(bfc, region);
    if (!ok) bfc->source.free(bfc->source.context, region->memory, region->address, size);
  }
  if (!ok) {
    if (chunk) drop_record(bfc, chunk);
    free(region);
    return false;
  }
  chunk->region = region;
  chunk->before = chunk->after = NULL;
  chunk->hole.size = size;
  chunk->hole.address = region->address;
  insert_hole(bfc, chunk);
  bfc->stats.reserved += size;
  return true;
}

uint64_t bfc_trim(struct bfc *bfc) {
  uint64_t freed = 0;
  int32_t kept = 0;
  for (int32_t i = 0; i < bfc->stats.n_regions; i++) {
    struct region *region = bfc->regions[i];
    if (region->first->requested || region->first->after) {
      bfc->regions[kept++] = region;
      continue;
    }
    remove_hole(bfc, region->first);
    drop_record(bfc, region->first);
    freed += region->size;
    bfc->source.free(bfc->source.context, region->memory, region->address, region->size);
    free(region);
  }
  bfc->stats.n_regions = kept;
  bfc->stats.reserved -= freed;
  return freed;
}

/* TensorFlow's step after a refusal: 0.9 of the size, counted in single precision as there; where
 * that rounds up to the same size again (TensorFlow 2.21 then never ends) one unit less. */
static uint64_t step_reference(uint64_t size) {
  const uint64_t less = round_up((size_t)((float)size * 0.9f), BFC_UNIT);
  return less < size ? less : size - BFC_UNIT;
}

/* Regions double; the size is remembered even where the driver refuses. (It stops far above every
 * limit.) */
static bool extend_reference(struct bfc *bfc, uint64_t want) {
  const uint64_t available = (bfc->options.limit - bfc->stats.reserved) & ~(uint64_t)(BFC_UNIT - 1);
  if (want > available) return false;
  bool raised = false;
  for (; want > bfc->next; bfc->next *= 2) raised = true;
  uint64_t size = bfc->next < available ? bfc->next : available;
  while (!take_region(bfc, size)) {
    size = step_reference(size);
    if (size < want) return false;
  }
  if (!raised && bfc->next < MOST) bfc->next *= 2;
  return true;
}

/* The reference's last resort: free regions go back, if that can help at all, so that a larger one
 * fits. */
static bool collect_reference(struct bfc *bfc, uint64_t want) {
  const uint64_t idle = bfc->stats.idle;
  if (!bfc->options.collect || !idle) return false;
  if (want > bfc->options.limit - bfc->stats.reserved + idle) return false;
  bfc_trim(bfc);
  return extend_reference(bfc, want);
}

/* The default policy: everything on first use, or what is needed. Regions that lie idle go back
 * first and come again as one with the new one: what was apart is joined, and the device gives no
 * more than is needed. */
static bool extend_default(struct bfc *bfc, uint64_t want) {
  const uint64_t limit = bfc->options.limit;
  if (want > limit - bfc->stats.reserved + bfc->stats.idle) return false;
  const uint64_t joined = bfc_trim(bfc);
  const uint64_t available = (limit - bfc->stats.reserved) & ~(uint64_t)(BFC_UNIT - 1);
  if (want > available) return false;
  uint64_t size = round_up(want, PAGE);
  if (!bfc->options.growth && !bfc->stats.n_regions) size = available;
  if (size < joined) size = joined;
  if (size > available) size = available;
  while (!take_region(bfc, size)) {
    if (size == want) return false;
    size = (size - size / 8) & ~(uint64_t)(BFC_UNIT - 1);
    if (size < want) size = want;
  }
  return true;
}

/* Whether the rest of a hole becomes a hole of its own. */
static bool splits(const struct bfc *bfc, uint64_t have, uint64_t want) {
  const uint64_t rest = have - want;
  if (rest < BFC_UNIT) return false;
  if (bfc->options.reference) return rest >= want || rest >= bfc->cap;
  return want <= LARGE || rest >= LARGE_REST;
}

/* Cuts a chunk that is in no order behind `size` bytes. Without memory for the record the chunk
 * stays whole. */
static void split(struct bfc *bfc, struct chunk *chunk, uint64_t size) {
  struct chunk *rest = take_record(bfc);
  if (!rest) return;
  rest->region = chunk->region;
  rest->hole.address = chunk->hole.address + size;
  rest->hole.size = chunk->hole.size - size;
  rest->before = chunk;
  rest->after = chunk->after;
  if (rest->after) rest->after->before = rest;
  chunk->after = rest;
  chunk->hole.size = size;
  insert_hole(bfc, rest);
}

static void count(struct bfc_stats *stats, uint64_t size, uint64_t requested) {
  stats->allocations++;
  stats->n_pieces++;
  stats->in_use += size;
  stats->requested += requested;
  if (stats->peak < stats->in_use) stats->peak = stats->in_use;
  if (stats->largest < size) stats->largest = size;
}

static struct bfc_piece describe(const struct chunk *chunk) {
  return (struct bfc_piece){.region = chunk->region->memory,
                            .offset = chunk->hole.address - chunk->region->address,
                            .size = chunk->hole.size,
                            .requested = chunk->requested,
                            .address = chunk->hole.address,
                            .handle = chunk->handle};
}

/* Gets more memory for a piece that no hole holds. */
static bool extend(struct bfc *bfc, uint64_t want) {
  if (!bfc->options.reference) return extend_default(bfc, want);
  return extend_reference(bfc, want) || collect_reference(bfc, want);
}

bool bfc_alloc(struct bfc *bfc, size_t bytes, struct bfc_piece *out) {
  *out = (struct bfc_piece){0};
  if (!bytes || bytes > bfc->options.limit) return false;
  const uint64_t want = round_up(bytes, BFC_UNIT);
  struct hole *hole = holes_find(&bfc->holes, want);
  if (!hole && extend(bfc, want)) hole = holes_find(&bfc->holes, want);
  if (!hole) return false;
  struct chunk *chunk = (struct chunk *)hole; /* its first member */
  remove_hole(bfc, chunk);
  if (splits(bfc, hole->size, want)) split(bfc, chunk, want);
  chunk->requested = bytes;
  count(&bfc->stats, hole->size, bytes);
  *out = describe(chunk);
  return true;
}

/* Joins a chunk with its free neighbour behind it, which is in the order; its record is dropped. */
static void absorb_next(struct bfc *bfc, struct chunk *chunk) {
  struct chunk *next = chunk->after;
  chunk->hole.size += next->hole.size;
  chunk->after = next->after;
  if (chunk->after) chunk->after->before = chunk;
  drop_record(bfc, next);
}

bool bfc_free(struct bfc *bfc, const struct bfc_piece *piece) {
  const int32_t block = piece->handle / RECORDS;
  if (piece->handle < 0 || block >= bfc->n_blocks) return false;
  struct chunk *chunk = &bfc->blocks[block][piece->handle % RECORDS];
  if (!chunk->region || !chunk->requested || chunk->hole.address != piece->address) return false;
  bfc->stats.in_use -= chunk->hole.size;
  bfc->stats.requested -= chunk->requested;
  bfc->stats.n_pieces--;
  if (chunk->after && !chunk->after->requested) {
    remove_hole(bfc, chunk->after);
    absorb_next(bfc, chunk);
  }
  if (chunk->before && !chunk->before->requested) {
    chunk = chunk->before;
    remove_hole(bfc, chunk);
    absorb_next(bfc, chunk);
  }
  insert_hole(bfc, chunk);
  return true;
}

void bfc_stats(const struct bfc *bfc, struct bfc_stats *out) {
  const struct hole *largest = holes_largest(&bfc->holes);
  *out = bfc->stats;
  out->largest_free = largest ? largest->size : 0;
}

void bfc_reset_peak(struct bfc *bfc) { bfc->stats.peak = bfc->stats.in_use; }

void bfc_walk(const struct bfc *bfc, void (*visit)(void *context, const struct bfc_view *view),
              void *context) {
  for (int32_t i = 0; i < bfc->stats.n_regions; i++) {
    const struct region *region = bfc->regions[i];
    for (const struct chunk *chunk = region->first; chunk; chunk = chunk->after) {
      const struct bfc_view view = {.piece = describe(chunk),
                                    .region_address = region->address,
                                    .region_bytes = region->size,
                                    .used = chunk->requested > 0};
      visit(context, &view);
    }
  }
}
