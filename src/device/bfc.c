/* SPDX-License-Identifier: Apache-2.0
 * bfc.c: best fit with coalescing: cuts the large regions of a device into pieces. */
#include "device/bfc.h"

#include <stdlib.h>

#include "device/free_list.h"

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
  int32_t used; /* pieces in use */
};

/* A piece, free (requested = 0: then it is in the order of holes) or in use. */
struct chunk {
  struct free_node free_node; /* size and address are valid in either state */
  struct chunk *before,
      *after;            /* neighbours in the region; `after` links records that are not used */
  struct region *region; /* NULL: record not used */
  size_t requested;
  int32_t handle;
};

struct bfc {
  struct bfc_options options;
  struct bfc_sub_allocator source;
  struct free_list free_list;
  struct region **regions; /* by address */
  int32_t region_capacity;
  struct chunk **blocks; /* records, by handle / RECORDS */
  int32_t n_blocks;
  struct chunk *unused;
  uint64_t next; /* reference: size of the next region */
  uint64_t cap;  /* reference: largest rest that stays unsplit, plus 1 */
  struct bfc_stats stats;
};

struct bfc *bfc_create(const struct bfc_options *options, struct bfc_sub_allocator source) {
  struct bfc *bfc = calloc(1, sizeof *bfc);
  if (!bfc) return NULL;
  bfc->options = *options;
  if (bfc->options.limit > MOST) bfc->options.limit = MOST;
  bfc->source = source;
  bfc->stats.limit = bfc->next = bfc->options.limit;
  if (options->growth && bfc->next > PAGE) bfc->next = PAGE;
  bfc->next = round_up(bfc->next, BFC_ALIGNMENT);
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
  int32_t kept = 0;
  for (int32_t i = 0; i < bfc->stats.n_regions; i++) {
    struct region *region = bfc->regions[i];
    if (region->used) {
      bfc->regions[kept++] = region;
      continue;
    }
    free_list_remove(&bfc->free_list, &region->first->free_node);
    drop_record(bfc, region->first);
    freed += region->size;
    bfc->source.free(bfc->source.context, region->memory, region->address, region->size);
    free(region);
  }
  bfc->stats.n_regions = kept;
  bfc->stats.reserved -= freed;
  bfc->stats.idle = 0;
  return freed;
}

/* TensorFlow's step after a refusal: 0.9 of the size, counted in single precision as there; where
 * that rounds up to the same size again (TensorFlow 2.21 then never ends) one unit less. */
static uint64_t step_reference(uint64_t size) {
  const uint64_t less = round_up((size_t)((float)size * 0.9f), BFC_ALIGNMENT);
  return less < size ? less : size - BFC_ALIGNMENT;
}

/* Regions double; the size is remembered even where the driver refuses. (It stops far above every
 * limit.) */
static bool extend_reference(struct bfc *bfc, uint64_t want) {
  const uint64_t available =
      (bfc->options.limit - bfc->stats.reserved) & ~(uint64_t)(BFC_ALIGNMENT - 1);
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

/* What the default policy asks for: everything on first use, or what is needed. A sixteenth of what
 * there is already is the least, so that many small requests make few regions. */
static uint64_t ask_default(const struct bfc *bfc, uint64_t want, uint64_t available) {
  if (!bfc->options.growth && !bfc->stats.n_regions) return available;
  const uint64_t least = bfc->stats.reserved / 16;
  const uint64_t size = round_up(want > least ? want : least, PAGE);
  return size < available ? size : available;
}

/* Regions that lie idle go back first and come again as one with the new one: what was apart is
 * joined, and the device gives no more than is needed. */
static bool extend_default(struct bfc *bfc, uint64_t want) {
  const uint64_t limit = bfc->options.limit & ~(uint64_t)(BFC_ALIGNMENT - 1);
  if (want > limit - bfc->stats.reserved + bfc->stats.idle) return false;
  const uint64_t joined = bfc_trim(bfc);
  uint64_t size = ask_default(bfc, want, limit - bfc->stats.reserved);
  if (size < joined) size = joined;
  while (!take_region(bfc, size)) {
    if (size == want) return false;
    size = (size - size / 8) & ~(uint64_t)(BFC_ALIGNMENT - 1);
    if (size < want) size = want;
  }
  return true;
}

/* Whether the rest of a hole becomes a hole of its own. */
static bool splits(const struct bfc *bfc, uint64_t have, uint64_t want) {
  const uint64_t rest = have - want;
  if (rest < BFC_ALIGNMENT) return false;
  if (bfc->options.reference) return rest >= want || rest >= bfc->cap;
  return want <= LARGE || rest >= LARGE_REST;
}

/* Cuts `size` bytes off the front of a hole; the rest stays in the order. NULL without memory for
 * the record. */
static struct chunk *cut(struct bfc *bfc, struct chunk *rest, uint64_t size) {
  struct chunk *front = take_record(bfc);
  if (!front) return NULL;
  front->region = rest->region;
  front->free_node.address = rest->free_node.address;
  front->free_node.size = size;
  front->before = rest->before;
  front->after = rest;
  if (front->before)
    front->before->after = front;
  else
    front->region->first = front;
  rest->before = front;
  free_list_resize(&bfc->free_list, &rest->free_node, rest->free_node.size - size,
                   rest->free_node.address + size);
  return front;
}

/* Books a piece that goes out. */
static void count(struct bfc *bfc, struct chunk *chunk) {
  struct bfc_stats *stats = &bfc->stats;
  if (!chunk->region->used++) stats->idle -= chunk->region->size;
  stats->allocations++;
  stats->n_pieces++;
  stats->in_use += chunk->free_node.size;
  stats->requested += chunk->requested;
  if (stats->peak < stats->in_use) stats->peak = stats->in_use;
  if (stats->largest < chunk->free_node.size) stats->largest = chunk->free_node.size;
}

/* Books a piece that comes back. */
static void discount(struct bfc *bfc, struct chunk *chunk) {
  struct bfc_stats *stats = &bfc->stats;
  if (!--chunk->region->used) stats->idle += chunk->region->size;
  stats->n_pieces--;
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

/* Gets more memory for a piece that no hole holds. */
static bool extend(struct bfc *bfc, uint64_t want) {
  if (!bfc->options.reference) return extend_default(bfc, want);
  return extend_reference(bfc, want) || collect_reference(bfc, want);
}

/* The smallest hole that holds `want` bytes, if need be in a new region; or NULL. */
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
  struct chunk *chunk = (struct chunk *)free_node; /* its first member */
  struct chunk *front = splits(bfc, free_node->size, want) ? cut(bfc, chunk, want) : NULL;
  if (!front) free_list_remove(&bfc->free_list, free_node);
  if (front) chunk = front;
  chunk->requested = bytes;
  count(bfc, chunk);
  describe(chunk, out);
  return true;
}

/* Takes a chunk out of its region; a neighbour got its bytes. */
static void unlink_chunk(struct bfc *bfc, struct chunk *chunk) {
  if (chunk->after) chunk->after->before = chunk->before;
  if (chunk->before)
    chunk->before->after = chunk->after;
  else
    chunk->region->first = chunk->after;
  drop_record(bfc, chunk);
}

/* Makes a chunk a hole, joined with the holes on either side. */
static void release(struct bfc *bfc, struct chunk *chunk) {
  struct chunk *before = chunk->before, *after = chunk->after;
  if (before && before->requested) before = NULL;
  if (after && after->requested) after = NULL;
  uint64_t size = chunk->free_node.size;
  if (!before && !after) {
    chunk->requested = 0;
    free_list_insert(&bfc->free_list, &chunk->free_node);
    return;
  }
  if (before) size += before->free_node.size;
  if (after) size += after->free_node.size;
  if (before && after) {
    free_list_remove(&bfc->free_list, &after->free_node);
    unlink_chunk(bfc, after);
  }
  struct chunk *whole = before ? before : after;
  free_list_resize(&bfc->free_list, &whole->free_node, size,
                   (before ? before : chunk)->free_node.address);
  unlink_chunk(bfc, chunk);
}

bool bfc_free(struct bfc *bfc, const struct bfc_chunk *piece) {
  const int32_t block = piece->handle / RECORDS;
  if (piece->handle < 0 || block >= bfc->n_blocks) return false;
  struct chunk *chunk = &bfc->blocks[block][piece->handle % RECORDS];
  if (!chunk->region || !chunk->requested || chunk->free_node.address != piece->address)
    return false;
  discount(bfc, chunk);
  release(bfc, chunk);
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
    for (const struct chunk *chunk = region->first; chunk; chunk = chunk->after) {
      struct bfc_view view = {.region_address = region->address,
                              .region_bytes = region->size,
                              .used = chunk->requested > 0};
      describe(chunk, &view.piece);
      visit(context, &view);
    }
  }
}
