/* SPDX-License-Identifier: Apache-2.0
 * free_list.c: the free chunks of an allocator, ordered by (size, address): size bins, each of them
 * a treap. */
#include "device/free_list.h"

/* Sizes of 1 to 15 units of 256 bytes have one bin each; larger ones eight bins per power of two.
 */
static unsigned bin_index(uint64_t size) {
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

/* Splits a treap into the nodes before and after `free_node`. */
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

/* Merges two treaps, all nodes of `low` before all of `high`. */
static void merge(struct free_node *low, struct free_node *high, struct free_node **out) {
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
  const unsigned bin = bin_index(free_node->size);
  struct free_node **at = &free_list->bins[bin];
  if (!*at) { /* common case */
    free_node->left = free_node->right = NULL;
    free_node->priority = next_priority(free_list);
    *at = free_node;
    free_list->nonempty_bins[bin / 64] |= 1ull << (bin % 64);
    return;
  }
  free_node->priority = next_priority(free_list);
  while (*at && (*at)->priority >= free_node->priority)
    at = before(free_node, *at) ? &(*at)->left : &(*at)->right;
  split(*at, free_node, &free_node->left, &free_node->right);
  *at = free_node;
}

void free_list_remove(struct free_list *free_list, struct free_node *free_node) {
  const unsigned bin = bin_index(free_node->size);
  struct free_node **at = &free_list->bins[bin];
  while (*at != free_node) at = before(free_node, *at) ? &(*at)->left : &(*at)->right;
  merge(free_node->left, free_node->right, at);
  if (!free_list->bins[bin]) free_list->nonempty_bins[bin / 64] &= ~(1ull << (bin % 64));
}

void free_list_resize(struct free_list *free_list, struct free_node *free_node, uint64_t size,
                      uint64_t address) {
  const unsigned bin = bin_index(free_node->size);
  const bool is_only_node =
      free_list->bins[bin] == free_node && !free_node->left && !free_node->right;
  const bool keeps_bin =
      is_only_node &&
      bin == bin_index(size); /* common case: the large chunk that others are split from */
  if (!keeps_bin) free_list_remove(free_list, free_node);
  free_node->size = size;
  free_node->address = address;
  if (!keeps_bin) free_list_insert(free_list, free_node);
}

/* Returns the first non-empty bin at or after `bin`, or FREE_LIST_BINS. */
static unsigned find_nonempty_bin(const struct free_list *free_list, unsigned bin) {
  unsigned word = bin / 64;
  if (word >= FREE_LIST_WORDS) return FREE_LIST_BINS;
  uint64_t bits = free_list->nonempty_bins[word] & (~0ull << (bin % 64));
  while (!bits && ++word < FREE_LIST_WORDS) bits = free_list->nonempty_bins[word];
  return bits ? word * 64 + (unsigned)__builtin_ctzll(bits) : FREE_LIST_BINS;
}

struct free_node *free_list_find(const struct free_list *free_list, uint64_t size) {
  const unsigned bin = bin_index(size);
  struct free_node *best = NULL;
  for (struct free_node *at = free_list->bins[bin]; at;) {
    const bool fits = at->size >= size;
    if (fits) best = at;
    at = fits ? at->left : at->right;
  }
  if (best) return best;
  const unsigned next = find_nonempty_bin(free_list, bin + 1);
  if (next == FREE_LIST_BINS) return NULL;
  best = free_list->bins[next];
  while (best->left) best = best->left;
  return best;
}

struct free_node *free_list_largest(const struct free_list *free_list) {
  for (unsigned word = FREE_LIST_WORDS; word-- > 0;) {
    if (!free_list->nonempty_bins[word]) continue;
    struct free_node *best =
        free_list
            ->bins[word * 64 + 63u - (unsigned)__builtin_clzll(free_list->nonempty_bins[word])];
    while (best->right) best = best->right;
    return best;
  }
  return NULL;
}
