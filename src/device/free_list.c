/* SPDX-License-Identifier: Apache-2.0
 * free_list.c: the free pieces of an allocator, ordered by (size, address): bins of treaps. */
#include "device/free_list.h"

/* 1..15 units of 256 bytes have a bin each; above, a power of two has eight. */
static unsigned bin_of(uint64_t size) {
  const uint64_t units = size >> 8;
  if (units < 16) return (unsigned)units;
  const unsigned log = 63u - (unsigned)__builtin_clzll(units);
  return (log - 3) * 8 + (unsigned)((units >> (log - 3)) & 7) + 8;
}

static bool before(const struct free_node *a, const struct free_node *b) {
  return a->size != b->size ? a->size < b->size : a->address < b->address;
}

static uint32_t next_priority(struct free_list *free_list) {
  uint32_t x = free_list->seed ? free_list->seed : 2463534242u;
  x ^= x << 13;
  x ^= x >> 17;
  x ^= x << 5;
  free_list->seed = x;
  return x;
}

/* Cuts a tree into what lies before `hole` and what lies behind. */
static void split(struct free_node *tree, const struct free_node *free_node, struct free_node **low,
                  struct free_node **high) {
  while (tree) {
    if (before(tree, free_node)) {
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
static void join(struct free_node *low, struct free_node *high, struct free_node **out) {
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

void free_list_insert(struct free_list *free_list, struct free_node *free_node) {
  const unsigned bin = bin_of(free_node->size);
  struct free_node **at = &free_list->bins[bin];
  if (!*at) { /* the usual case */
    free_node->left = free_node->right = NULL;
    free_node->priority = next_priority(free_list);
    *at = free_node;
    free_list->filled[bin / 64] |= 1ull << (bin % 64);
    return;
  }
  free_node->priority = next_priority(free_list);
  while (*at && (*at)->priority >= free_node->priority)
    at = before(free_node, *at) ? &(*at)->left : &(*at)->right;
  split(*at, free_node, &free_node->left, &free_node->right);
  *at = free_node;
}

void free_list_remove(struct free_list *free_list, struct free_node *free_node) {
  const unsigned bin = bin_of(free_node->size);
  struct free_node **at = &free_list->bins[bin];
  while (*at != free_node) at = before(free_node, *at) ? &(*at)->left : &(*at)->right;
  join(free_node->left, free_node->right, at);
  if (!free_list->bins[bin]) free_list->filled[bin / 64] &= ~(1ull << (bin % 64));
}

void free_list_resize(struct free_list *free_list, struct free_node *free_node, uint64_t size,
                      uint64_t address) {
  const unsigned bin = bin_of(free_node->size);
  const bool alone = free_list->bins[bin] == free_node && !free_node->left && !free_node->right;
  const bool stays = alone && bin == bin_of(size); /* the large hole that pieces are cut from */
  if (!stays) free_list_remove(free_list, free_node);
  free_node->size = size;
  free_node->address = address;
  if (!stays) free_list_insert(free_list, free_node);
}

/* The first bin from `bin` on that is not empty, or FREE_LIST_BINS. */
static unsigned filled_from(const struct free_list *free_list, unsigned bin) {
  unsigned word = bin / 64;
  if (word >= FREE_LIST_WORDS) return FREE_LIST_BINS;
  uint64_t bits = free_list->filled[word] & (~0ull << (bin % 64));
  while (!bits && ++word < FREE_LIST_WORDS) bits = free_list->filled[word];
  return bits ? word * 64 + (unsigned)__builtin_ctzll(bits) : FREE_LIST_BINS;
}

struct free_node *free_list_find(const struct free_list *free_list, uint64_t size) {
  const unsigned bin = bin_of(size);
  struct free_node *best = NULL;
  for (struct free_node *at = free_list->bins[bin]; at;) {
    const bool fits = at->size >= size;
    if (fits) best = at;
    at = fits ? at->left : at->right;
  }
  if (best) return best;
  const unsigned next = filled_from(free_list, bin + 1);
  if (next == FREE_LIST_BINS) return NULL;
  best = free_list->bins[next];
  while (best->left) best = best->left;
  return best;
}

struct free_node *free_list_largest(const struct free_list *free_list) {
  for (unsigned word = FREE_LIST_WORDS; word-- > 0;) {
    if (!free_list->filled[word]) continue;
    struct free_node *best =
        free_list->bins[word * 64 + 63u - (unsigned)__builtin_clzll(free_list->filled[word])];
    while (best->right) best = best->right;
    return best;
  }
  return NULL;
}
