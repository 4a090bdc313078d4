/* SPDX-License-Identifier: Apache-2.0
 * holes.h: the free pieces of an allocator in the order of (size, address).
 *
 * Sizes fall into bins, eight to a power of two, with a bit for each bin that is not empty; a bin
 * is a tree. Most trees hold a piece or two, so that a search is a few instructions; with many
 * pieces it stays logarithmic.
 */
#ifndef SITU_DEVICE_HOLES_H
#define SITU_DEVICE_HOLES_H

#include "base/base.h"

enum { HOLES_BINS = 432, HOLES_WORDS = (HOLES_BINS + 63) / 64 };

/* A free piece; lives inside a larger record. `size` is a multiple of 256, not 0, and with the
 * address fixed while the hole is in the order. */
struct hole {
  uint64_t size, address;
  struct hole *left, *right;
  uint32_t priority;
};

/* Zero is empty. */
struct holes {
  struct hole *bins[HOLES_BINS];
  uint64_t filled[HOLES_WORDS];
  uint32_t seed;
};

/* Puts a hole into the order. */
void holes_insert(struct holes *holes, struct hole *hole);

/* Takes a hole, which must be there, out of the order. */
void holes_remove(struct holes *holes, struct hole *hole);

/* Gives a hole that is in the order another size and address. */
void holes_resize(struct holes *holes, struct hole *hole, uint64_t size, uint64_t address);

/* The smallest hole of at least `size` bytes (a multiple of 256, not 0), among equals the one of
 * the lowest address; NULL if there is none. */
struct hole *holes_find(const struct holes *holes, uint64_t size);

/* The largest hole, or NULL. */
struct hole *holes_largest(const struct holes *holes);

#endif
