/* SPDX-License-Identifier: Apache-2.0
 * free_list.h: the free pieces of an allocator, ordered by (size, address).
 *
 * Sizes fall into bins, eight to a power of two, with a bit for each bin that is not empty; a bin
 * is a tree. Most trees hold a piece or two, so that a search is a few instructions; with many
 * pieces it stays logarithmic.
 */
#ifndef SITU_DEVICE_FREE_LIST_H
#define SITU_DEVICE_FREE_LIST_H

#include "base/base.h"

enum { FREE_LIST_BINS = 432, FREE_LIST_WORDS = (FREE_LIST_BINS + 63) / 64 };

/* A free piece; lives inside a larger record. `size` is a multiple of 256, not 0, and with the
 * address fixed while the hole is in the order. */
struct free_node {
  uint64_t size, address;
  struct free_node *left, *right;
  uint32_t priority;
};

/* Zero is empty. */
struct free_list {
  struct free_node *bins[FREE_LIST_BINS];
  uint64_t filled[FREE_LIST_WORDS];
  uint32_t seed;
};

/* Puts a hole into the order. */
void free_list_insert(struct free_list *free_list, struct free_node *free_node);

/* Takes a hole, which must be there, out of the order. */
void free_list_remove(struct free_list *free_list, struct free_node *free_node);

/* Gives a hole that is in the order another size and address. */
void free_list_resize(struct free_list *free_list, struct free_node *free_node, uint64_t size,
                      uint64_t address);

/* The smallest hole of at least `size` bytes (a multiple of 256, not 0), among equals the one of
 * the lowest address; NULL if there is none. */
struct free_node *free_list_find(const struct free_list *free_list, uint64_t size);

/* The largest hole, or NULL. */
struct free_node *free_list_largest(const struct free_list *free_list);

#endif
