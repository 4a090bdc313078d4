/* SPDX-License-Identifier: Apache-2.0
 * bfc.h: best-fit-with-coalescing allocator: divides large regions of device memory into chunks.
 *
 * An allocation takes the smallest free chunk that fits, the lowest address among equals. Adjacent
 * free chunks are always coalesced. The allocator never touches the memory it manages, so that it
 * serves every back end, and does not call malloc in the steady state. It does not lock; the caller
 * (device/memory.c) does.
 *
 * There are two policies. The reference policy matches TensorFlow 2.21 to the byte: a chunk is
 * split only if it is at least twice the request or the remainder exceeds a cap, and regions double
 * in size. The default policy splits off every useful remainder and allocates regions of the size
 * that is needed, and so wastes less.
 */
#ifndef SITU_DEVICE_BFC_H
#define SITU_DEVICE_BFC_H

#include "base/base.h"

enum { BFC_ALIGNMENT = 256 }; /* granularity of sizes and offsets, in bytes */

/* Allocates regions. `alloc` returns false if the driver refuses. Addresses order the regions, are
 * multiples of BFC_ALIGNMENT, and regions never overlap. */
struct bfc_sub_allocator {
  void *context;
  bool (*alloc)(void *context, size_t bytes, void **region, uint64_t *address);
  void (*free)(void *context, void *region, uint64_t address, size_t bytes);
};

struct bfc_options {
  uint64_t limit; /* upper bound of `reserved` */
  bool growth;    /* allocate regions as needed; otherwise everything on first use */
  bool reference; /* use TensorFlow's policy */
  bool collect;   /* reference policy: if nothing fits, free the idle regions and retry. The default
                     policy always does */
  double fragmentation_fraction; /* reference policy: cap of an unsplit remainder, as a fraction of
                                    the limit; 0: 128 MiB */
};

struct bfc_stats {
  int64_t allocations; /* total number */
  uint64_t in_use;     /* bytes in allocated chunks */
  uint64_t requested;  /* bytes requested for these chunks */
  uint64_t peak;       /* maximum of in_use */
  uint64_t largest;    /* size of the largest chunk allocated so far */
  uint64_t limit;
  uint64_t reserved;     /* bytes in regions; TensorFlow's pool_bytes */
  uint64_t largest_free; /* size of the largest free chunk */
  uint64_t idle;         /* bytes in regions without allocated chunks, which bfc_trim frees */
  int32_t n_regions;
  int32_t n_chunks; /* allocated */
};

/* An allocated chunk. */
struct bfc_chunk {
  void *region;
  size_t offset; /* within the region */
  size_t size;   /* at least `requested` */
  size_t requested;
  uint64_t address;
  int32_t handle; /* small integer, unique among allocated chunks, reused after free */
};

/* A chunk as passed to the callback of bfc_visit. */
struct bfc_view {
  struct bfc_chunk chunk;
  uint64_t region_address;
  uint64_t region_bytes;
  bool used;
};

struct bfc;

/* Creates an allocator without regions. Returns NULL if out of memory. */
struct bfc *bfc_create(const struct bfc_options *options, struct bfc_sub_allocator source);

/* Frees all regions, also those with allocated chunks. NULL is allowed. */
void bfc_destroy(struct bfc *bfc);

/* Allocates `bytes` bytes. Returns false and clears `*out` if they do not fit or are 0. */
bool bfc_alloc(struct bfc *bfc, size_t bytes, struct bfc_chunk *out);

/* Frees a chunk. Returns false and does nothing if it is not allocated (double free, or from
 * another allocator). */
bool bfc_free(struct bfc *bfc, const struct bfc_chunk *chunk);

/* Returns the current statistics. */
void bfc_stats(const struct bfc *bfc, struct bfc_stats *out);

/* Sets `peak` to the bytes in use now. */
void bfc_reset_peak(struct bfc *bfc);

/* Frees the regions without allocated chunks; returns their total size. */
uint64_t bfc_trim(struct bfc *bfc);

/* Calls `visit` for every chunk, allocated or free, in the order of addresses. `visit` must not
 * call the allocator. */
void bfc_visit(const struct bfc *bfc, void (*visit)(void *context, const struct bfc_view *view),
               void *context);

#endif
