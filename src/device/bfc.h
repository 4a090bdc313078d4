/* SPDX-License-Identifier: Apache-2.0
 * bfc.h: best fit with coalescing: cuts the large regions of a device into pieces.
 *
 * A free piece is found by (size, address): the smallest that fits, among equals the lowest.
 * Neighbours that are free are always merged. It touches no device memory, so that it serves every
 * back end, and in the steady state it calls no malloc. Nothing here locks: device/memory.c does.
 *
 * Two policies share this structure. The reference one is TensorFlow 2.21's to the byte: a piece is
 * split only when it is twice as large as asked (or the rest passes a cap), regions double. The
 * default one splits whatever is worth having and takes regions of the size that is needed, and so
 * wastes less.
 */
#ifndef SITU_DEVICE_BFC_H
#define SITU_DEVICE_BFC_H

#include "base/base.h"

enum { BFC_ALIGNMENT = 256 }; /* sizes and offsets are multiples of this */

/* Where regions come from. `alloc` gives false when the driver refuses; the address orders regions
 * and must be a multiple of BFC_ALIGNMENT; regions never overlap. */
struct bfc_sub_allocator {
  void *context;
  bool (*alloc)(void *context, size_t bytes, void **region, uint64_t *address);
  void (*free)(void *context, void *region, uint64_t address, size_t bytes);
};

struct bfc_options {
  uint64_t limit; /* most bytes in regions */
  bool growth;    /* take regions as they are needed; else everything on first use */
  bool reference; /* TensorFlow's policy */
  bool collect;   /* reference: when nothing fits, give free regions back and try once more. The
                     default policy does it always */
  double fragmentation_fraction; /* reference: cap of the unsplit rest, as a part of the limit; 0:
                                    128 MiB */
};

struct bfc_stats {
  int64_t allocations; /* ever */
  uint64_t in_use;     /* bytes in pieces handed out */
  uint64_t requested;  /* of these, what was asked for */
  uint64_t peak;       /* most that was ever in use */
  uint64_t largest;    /* largest piece ever handed out */
  uint64_t limit;
  uint64_t reserved;     /* bytes in regions: TensorFlow's pool */
  uint64_t largest_free; /* largest piece that is free now */
  uint64_t idle; /* bytes in regions of which nothing is in use: what bfc_trim would give back */
  int32_t n_regions;
  int32_t n_pieces; /* in use */
};

/* Memory that was handed out. */
struct bfc_chunk {
  void *region;
  size_t offset; /* in the region */
  size_t size;   /* of the piece: at least `requested` */
  size_t requested;
  uint64_t address;
  int32_t handle; /* number of the record; small, unique among the pieces in use, and used again
                     later */
};

/* A piece as bfc_visit shows it. */
struct bfc_view {
  struct bfc_chunk piece;
  uint64_t region_address;
  uint64_t region_bytes;
  bool used;
};

struct bfc;

/* Makes an allocator; takes no region yet. NULL without memory. */
struct bfc *bfc_create(const struct bfc_options *options, struct bfc_sub_allocator source);

/* Gives every region back, whether pieces are in use or not. NULL may be destroyed. */
void bfc_destroy(struct bfc *bfc);

/* Hands out `bytes` bytes. False, with `*out` cleared, when they do not fit or are 0. */
bool bfc_alloc(struct bfc *bfc, size_t bytes, struct bfc_chunk *out);

/* Takes a piece back. False, and nothing happens, when it is not in use (freed twice, or of another
 * allocator). */
bool bfc_free(struct bfc *bfc, const struct bfc_chunk *piece);

/* The figures of now. */
void bfc_stats(const struct bfc *bfc, struct bfc_stats *out);

/* Lets `peak` begin again at what is in use now. */
void bfc_reset_peak(struct bfc *bfc);

/* Gives the regions of which nothing is in use back to the source; returns their bytes. */
uint64_t bfc_trim(struct bfc *bfc);

/* Shows every piece, free ones too, by region and address. `visit` must not call the allocator. */
void bfc_visit(const struct bfc *bfc, void (*visit)(void *context, const struct bfc_view *view),
               void *context);

#endif
