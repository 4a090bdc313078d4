/* SPDX-License-Identifier: Apache-2.0
 * memory.h: the memory of one device: a limit, the allocator behind a lock, who holds what, what
 * happened lately.
 *
 * Nothing is taken from the device before the first memory_alloc. Every function may be called from
 * every thread. In a child of fork the memory is its parent's: it hands out nothing more, and what
 * comes back is left alone.
 */
#ifndef SITU_DEVICE_MEMORY_H
#define SITU_DEVICE_MEMORY_H

#include "base/strbuf.h"
#include "device/backend.h"

/* How much a device may take; zero is the default of everything. Of the bounds the first that is
 * set counts: limit_bytes, reserve_bytes, fraction, TensorFlow 1.15's default (nearly all). */
struct memory_options {
  uint64_t limit_bytes;   /* at most that many */
  uint64_t reserve_bytes; /* all that is free at the start but that many */
  double fraction;        /* that part of all */
  bool growth;            /* take memory as it is needed, not at once */
  bool reference;         /* TensorFlow's policy to the byte */
};

/* What bounds a device, for the error that names the one option to change. */
enum memory_bound { BOUND_DEFAULT, BOUND_LIMIT, BOUND_RESERVE, BOUND_FRACTION };

/* Who asks. Texts are copied (the tail of a long one). Zero is "nobody said". */
struct memory_tag {
  const char *op; /* name of the node, or what it is for: "step block" */
  situ_type type; /* SITU_NO_TYPE: no tensor */
  situ_shape shape;
  int64_t step;
};

/* Memory that was handed out: pass it back as it is. Zero is no memory, and may be freed. */
struct memory_block {
  struct span span;
  size_t bytes;     /* asked for */
  size_t size;      /* given: at least `bytes` */
  uint64_t address; /* for reports: no device address */
  int32_t handle;
};

struct memory_stats {
  uint64_t current, peak; /* in use; the most that was */
  uint64_t requested;     /* of current, what was asked for */
  uint64_t reserved;      /* taken from the device */
  uint64_t limit;
  uint64_t largest_free; /* largest hole */
  uint64_t idle;         /* what memory_trim would give back */
  int64_t allocations;   /* ever */
  int64_t failures;      /* ever: ResourceExhausted */
  int32_t regions, blocks;
};

/* What a memory is made for. Texts are copied. */
struct memory_setup {
  const struct backend *backend;
  void *device;            /* opened */
  const char *device_name; /* "/job:localhost/replica:0/task:0/device:GPU:0" */
  const char *name;        /* "GPU_0_bfc" */
  struct device_info info;
};

/* The holder of idle memory is asked for at least `bytes`; gives back with memory_free what it can
 * do without and returns the bytes. It is called by whichever thread runs out, without the memory's
 * lock; it must not wait for a lock that can be held while memory is asked for (try it instead),
 * nor call memory_add_reclaimer or memory_remove_reclaimer. */
typedef uint64_t memory_reclaim(void *context, uint64_t bytes);

struct memory;

/* The limit that options give to a device of `total` bytes of which `available` are free: the
 * formulas of TensorFlow 1.15. `bound` says which option it was. InvalidArgument for a fraction
 * below 0; Internal for one above 1 on a device without unified memory. */
situ_status memory_limit(const struct memory_options *options, uint64_t total, uint64_t available,
                         int capability_major, uint64_t *limit,
                         enum memory_bound *bound) SITU_MUST_USE;

/* Makes the memory of an opened device; asks how much is free, takes nothing. */
situ_status memory_create(const struct memory_setup *setup, const struct memory_options *options,
                          struct memory **out) SITU_MUST_USE;

/* Gives all regions back; blocks that are still out become invalid. NULL may be destroyed. */
void memory_destroy(struct memory *memory);

/* Hands out `bytes` bytes, aligned to 256; 0 bytes give the zero block. ResourceExhausted at once
 * when they do not fit, after the holders of idle memory were asked: a text of at most a dozen
 * lines. `tag` may be NULL. */
situ_status memory_alloc(struct memory *memory, size_t bytes, const struct memory_tag *tag,
                         struct memory_block *out) SITU_MUST_USE;

/* Takes a block back and clears it. The caller sees to it that no queue uses it any more. */
void memory_free(struct memory *memory, struct memory_block *block);

/* Registers somebody who can give idle memory back. False without memory. */
bool memory_add_reclaimer(struct memory *memory, memory_reclaim *callback, void *context);

/* Forgets a holder; waits for a call of it that runs. */
void memory_remove_reclaimer(struct memory *memory, memory_reclaim *callback, void *context);

/* The figures of now. */
void memory_stats(struct memory *memory, struct memory_stats *out);

/* Lets `peak` begin again at what is in use now. */
void memory_reset_peak(struct memory *memory);

/* Gives the device all regions of which nothing is in use; returns their bytes. */
uint64_t memory_trim(struct memory *memory);

/* Sets other options, and with them another limit. FailedPrecondition while anything is taken from
 * the device. */
situ_status memory_configure(struct memory *memory,
                             const struct memory_options *options) SITU_MUST_USE;

/* Appends regions, blocks and recent events as JSON, with the field names of PyTorch's memory
 * snapshot. */
void memory_report(struct memory *memory, struct strbuf *out);

#endif
