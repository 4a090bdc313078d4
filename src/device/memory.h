/* SPDX-License-Identifier: Apache-2.0
 * memory.h: the memory of one device: a limit, a best-fit allocator behind a lock, the owner of
 * every block and a log of recent events.
 *
 * Nothing is allocated from the device before the first memory_alloc. All functions are
 * thread-safe. After fork, the memory belongs to the parent: in the child memory_alloc fails and
 * memory_free does nothing.
 */
#ifndef SITU_DEVICE_MEMORY_H
#define SITU_DEVICE_MEMORY_H

#include "base/strbuf.h"
#include "device/backend.h"

/* How much memory of a device to use; zero-initialized is the default. The first bound that is set
 * applies: limit_bytes, reserve_bytes, fraction, otherwise TensorFlow 1.15's default (nearly all).
 */
struct memory_options {
  uint64_t limit_bytes;   /* upper bound */
  uint64_t reserve_bytes; /* leaves this much of the memory that is available at the start */
  double fraction;        /* fraction of the total memory */
  bool growth;            /* allocate regions as needed, not everything on first use */
  bool reference;         /* match TensorFlow's allocator to the byte */
};

/* Which option determines the limit; the out-of-memory error suggests to change it. */
enum memory_bound { BOUND_DEFAULT, BOUND_LIMIT, BOUND_RESERVE, BOUND_FRACTION };

/* Describes an allocation. Strings are copied (the tail of a long one). Zero-initialized is
 * unknown. */
struct memory_tag {
  const char *op; /* node name, or a purpose such as "step block" */
  situ_type type; /* SITU_NO_TYPE: not a tensor */
  situ_shape shape;
  int64_t step;
};

/* An allocated block; pass it to memory_free unchanged. Zero-initialized is no memory, and may be
 * freed. */
struct memory_block {
  struct span span;
  size_t bytes;     /* requested */
  size_t size;      /* allocated: at least `bytes` */
  uint64_t address; /* identifies the block in reports; not a device address */
  int32_t handle;
};

struct memory_stats {
  uint64_t current, peak; /* bytes in use; their maximum */
  uint64_t requested;     /* bytes requested for these */
  uint64_t reserved;      /* allocated from the device */
  uint64_t limit;
  uint64_t largest_free; /* size of the largest free chunk */
  uint64_t idle;         /* bytes that memory_trim would free */
  int64_t allocations;   /* total number */
  int64_t failures;      /* total number of ResourceExhausted errors */
  int32_t regions, blocks;
};

/* Arguments of memory_create. Strings are copied. */
struct memory_setup {
  const struct backend *backend;
  void *device;            /* an open device */
  const char *device_name; /* "/job:localhost/replica:0/task:0/device:GPU:0" */
  const char *name;        /* "GPU_0_bfc" */
  struct device_info info;
};

/* Callback that frees idle blocks with memory_free until at least `bytes` are free, and returns the
 * bytes freed. Runs in the thread that is out of memory, without the memory's lock. Must not block
 * on a lock that can be held during memory_alloc (use trylock), nor call memory_add_reclaimer or
 * memory_remove_reclaimer. */
typedef uint64_t memory_reclaim(void *context, uint64_t bytes);

struct memory;

/* Computes the limit for a device of `total` bytes of which `available` are free, with the formulas
 * of TensorFlow 1.15. `bound` is set to the option that determines it. InvalidArgument for a
 * fraction below 0; Internal for one above 1 on a device without unified memory. */
situ_status memory_limit(const struct memory_options *options, uint64_t total, uint64_t available,
                         int capability_major, uint64_t *limit,
                         enum memory_bound *bound) SITU_MUST_USE;

/* Creates the memory of an open device; queries the available memory, allocates nothing. */
situ_status memory_create(const struct memory_setup *setup, const struct memory_options *options,
                          struct memory **out) SITU_MUST_USE;

/* Frees all regions; blocks still allocated become invalid. NULL is allowed. */
void memory_destroy(struct memory *memory);

/* Allocates `bytes` bytes, aligned to 256; 0 bytes return the zero block. If they do not fit, calls
 * the reclaimers; if that does not help, returns ResourceExhausted with a report of at most a dozen
 * lines. `tag` may be NULL. */
situ_status memory_alloc(struct memory *memory, size_t bytes, const struct memory_tag *tag,
                         struct memory_block *out) SITU_MUST_USE;

/* Frees a block and clears it. No queue may use it any more. */
void memory_free(struct memory *memory, struct memory_block *block);

/* Registers a reclaimer. Returns false if out of memory. */
bool memory_add_reclaimer(struct memory *memory, memory_reclaim *callback, void *context);

/* Unregisters a reclaimer; waits for a running call of it. */
void memory_remove_reclaimer(struct memory *memory, memory_reclaim *callback, void *context);

/* Returns the current statistics. */
void memory_stats(struct memory *memory, struct memory_stats *out);

/* Sets `peak` to the bytes in use now. */
void memory_reset_peak(struct memory *memory);

/* Runs the reclaimers and frees all regions without allocated blocks; returns the bytes freed. */
uint64_t memory_trim(struct memory *memory);

/* Changes the options, and with them the limit. FailedPrecondition while memory is reserved from
 * the device. */
situ_status memory_configure(struct memory *memory,
                             const struct memory_options *options) SITU_MUST_USE;

/* Appends regions, blocks and recent events as JSON, with the field names of PyTorch's memory
 * snapshot. */
void memory_report(struct memory *memory, struct strbuf *out);

#endif
