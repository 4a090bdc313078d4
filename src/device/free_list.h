/* SPDX-License-Identifier: Apache-2.0
 * free_list.h: the free chunks of an allocator, ordered by (size, address).
 *
 * Sizes are divided into bins, eight per power of two, with a bitmap of the bins that are not
 * empty. Each bin is a treap. Most bins hold a chunk or two, so that a search takes a few
 * instructions; with many chunks it is logarithmic.
 */
#ifndef SITU_DEVICE_FREE_LIST_H
#define SITU_DEVICE_FREE_LIST_H

#include "base/base.h"

enum { FREE_LIST_BINS = 432, FREE_LIST_WORDS = (FREE_LIST_BINS + 63) / 64 };

/* A free chunk, embedded in a larger record. `size` is a positive multiple of 256; size and address
 * must not change while the node is in the list. */
struct free_node {
  uint64_t size, address;
  struct free_node *left, *right;
  uint32_t priority;
};

/* Zero-initialized is empty. */
struct free_list {
  struct free_node *bins[FREE_LIST_BINS];
  uint64_t nonempty_bins[FREE_LIST_WORDS];
  uint32_t seed;
};

/* Inserts a node. */
void free_list_insert(struct free_list *free_list, struct free_node *free_node);

/* Removes a node, which must be in the list. */
void free_list_remove(struct free_list *free_list, struct free_node *free_node);

/* Changes the size and address of a node in the list. */
void free_list_resize(struct free_list *free_list, struct free_node *free_node, uint64_t size,
                      uint64_t address);

/* Returns the smallest node of at least `size` bytes (a positive multiple of 256), the lowest
 * address among equals, or NULL. */
struct free_node *free_list_find(const struct free_list *free_list, uint64_t size);

/* Returns the largest node, or NULL. */
struct free_node *free_list_largest(const struct free_list *free_list);

#endif
