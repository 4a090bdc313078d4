/* SPDX-License-Identifier: Apache-2.0
 * holes.c: the free pieces of an allocator in the order of (size, address): bins of treaps. */
#include "device/holes.h"

/* 1..15 units of 256 bytes have a bin each; above, a power of two has eight. */
static unsigned bin_of(uint64_t size) {
  const uint64_t units = size >> 8;
  if (units < 16) return (unsigned)units;
  const unsigned log = 63u - (unsigned)__builtin_clzll(units);
  return (log - 3) * 8 + (unsigned)((units >> (log - 3)) & 7) + 8;
}

static bool before(const struct hole *a, const struct hole *b) {
  return a->size != b->size ? a->size < b->size : a->address < b->address;
}

static uint32_t next_priority(struct holes *holes) {
  uint32_t x = holes->seed ? holes->seed : 2463534242u;
  x ^= x << 13;
  x ^= x >> 17;
  x ^= x << 5;
  holes->seed = x;
  return x;
}

/* Cuts a tree into what lies before `hole` and what lies behind. */
static void split(struct hole *tree, const struct hole *hole, struct hole **low,
                  struct hole **high) {
  while (tree) {
    if (before(tree, hole)) {
      *low = tree;
      low = &tree->right;
      tree = tree->right;
    } else {
      *high = tree;
      high = &tree->left;
      tree = tree->left;
    }
  }
  *low = *high = NULL;
}

/* Joins two trees, all of `low` before all of `high`. */
static void join(struct hole *low, struct hole *high, struct hole **out) {
  while (low && high) {
    if (low->priority > high->priority) {
      *out = low;
      out = &low->right;
      low = low->right;
    } else {
      *out = high;
      out = &high->left;
      high = high->left;
    }
  }
  *out = low ? low : high;
}

void holes_insert(struct holes *holes, struct hole *hole) {
  const unsigned bin = bin_of(hole->size);
  struct hole **at = &holes->bins[bin];
  if (!*at) { /* the usual case */
    hole->left = hole->right = NULL;
    hole->priority = next_priority(holes);
    *at = hole;
    holes->filled[bin / 64] |= 1ull << (bin % 64);
    return;
  }
  hole->priority = next_priority(holes);
  while (*at && (*at)->priority >= hole->priority)
    at = before(hole, *at) ? &(*at)->left : &(*at)->right;
  split(*at, hole, &hole->left, &hole->right);
  *at = hole;
}

void holes_remove(struct holes *holes, struct hole *hole) {
  const unsigned bin = bin_of(hole->size);
  struct hole **at = &holes->bins[bin];
  while (*at != hole) at = before(hole, *at) ? &(*at)->left : &(*at)->right;
  join(hole->left, hole->right, at);
  if (!holes->bins[bin]) holes->filled[bin / 64] &= ~(1ull << (bin % 64));
}

void holes_resize(struct holes *holes, struct hole *hole, uint64_t size, uint64_t address) {
  const unsigned bin = bin_of(hole->size);
  const bool alone = holes->bins[bin] == hole && !hole->left && !hole->right;
  const bool stays = alone && bin == bin_of(size); /* the large hole that pieces are cut from */
  if (!stays) holes_remove(holes, hole);
  hole->size = size;
  hole->address = address;
  if (!stays) holes_insert(holes, hole);
}

/* The first bin from `bin` on that is not empty, or HOLES_BINS. */
static unsigned filled_from(const struct holes *holes, unsigned bin) {
  unsigned word = bin / 64;
  if (word >= HOLES_WORDS) return HOLES_BINS;
  uint64_t bits = holes->filled[word] & (~0ull << (bin % 64));
  while (!bits && ++word < HOLES_WORDS) bits = holes->filled[word];
  return bits ? word * 64 + (unsigned)__builtin_ctzll(bits) : HOLES_BINS;
}

struct hole *holes_find(const struct holes *holes, uint64_t size) {
  const unsigned bin = bin_of(size);
  struct hole *best = NULL;
  for (struct hole *at = holes->bins[bin]; at;) {
    const bool fits = at->size >= size;
    if (fits) best = at;
    at = fits ? at->left : at->right;
  }
  if (best) return best;
  const unsigned next = filled_from(holes, bin + 1);
  if (next == HOLES_BINS) return NULL;
  best = holes->bins[next];
  while (best->left) best = best->left;
  return best;
}

struct hole *holes_largest(const struct holes *holes) {
  for (unsigned word = HOLES_WORDS; word-- > 0;) {
    if (!holes->filled[word]) continue;
    struct hole *best =
        holes->bins[word * 64 + 63u - (unsigned)__builtin_clzll(holes->filled[word])];
    while (best->right) best = best->right;
    return best;
  }
  return NULL;
}
