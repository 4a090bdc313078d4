/* SPDX-License-Identifier: Apache-2.0
 * memory.c: the memory of one device: a limit, a best-fit allocator behind a lock, the owner of
 * every block and a log of recent events. */
#include "device/memory.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/fork.h"
#include "device/bfc.h"
#include "device/allocation_log.h"
#include "device/limit.h"
#include "device/oom.h"
#include "device/memory_snapshot.h"

static const uint64_t REPORT_PAGE = 2 << 20;

struct reclaimer {
  memory_reclaim *callback;
  void *context;
};

struct memory {
  struct memory_setup setup; /* its strings are owned */
  int generation;            /* fork_generation() when it was created */
  pthread_mutex_t lock;      /* guards what follows up to `n_calls` */
  struct memory_options options;
  enum memory_bound bound;
  uint64_t available; /* at the time the limit was set */
  struct bfc *bfc;
  struct allocation_log allocation_log;
  uint64_t next_address;    /* address of the next region in reports */
  uint64_t refused;         /* smallest region that the device refused in this call */
  situ_status device_error; /* device error in this call other than ResourceExhausted */
  int64_t failures;
  int64_t n_calls;              /* calls of memory_alloc, for fault injection */
  pthread_mutex_t reclaim_lock; /* guards what follows; locked before `lock` */
  struct reclaimer *reclaimers;
  int n_reclaimers;
};

situ_status memory_limit(const struct memory_options *options, uint64_t total, uint64_t available,
                         int capability_major, uint64_t *limit, enum memory_bound *bound) {
  const bool fraction =
      options->fraction < 0.0 || options->fraction > 0.0 || options->fraction != options->fraction;
  *bound = options->limit_bytes     ? BOUND_LIMIT
           : options->reserve_bytes ? BOUND_RESERVE
           : fraction               ? BOUND_FRACTION
                                    : BOUND_DEFAULT;
  switch (*bound) {
    case BOUND_LIMIT:
      return limit_bytes(available, options->limit_bytes, limit);
    case BOUND_RESERVE:
      return limit_reserve(available, options->reserve_bytes, limit);
    case BOUND_FRACTION:
      return limit_fraction(total, options->fraction, capability_major, limit);
    case BOUND_DEFAULT:
      break;
  }
  *limit = limit_default(available);
  return NULL;
}

/* Allocates a region. ResourceExhausted is not an error here: the allocator then tries smaller
 * regions. Any other error (device lost) is kept for the caller and stops the attempts. */
static bool alloc_region(void *context, size_t bytes, void **region, uint64_t *address) {
  struct memory *memory = context;
  if (memory->device_error) return false;
  const situ_status status = memory->setup.backend->alloc(memory->setup.device, bytes, region);
  if (status) {
    memory->refused = bytes;
    if (situ_status_code(status) == SITU_RESOURCE_EXHAUSTED)
      situ_status_release(status);
    else
      memory->device_error = status;
    return false;
  }
  *address = memory->next_address;
  memory->next_address += round_up(bytes, REPORT_PAGE) + REPORT_PAGE;
  allocation_log_record(&memory->allocation_log, ALLOCATION_LOG_REGION_ALLOC, bytes, *address,
                        NULL);
  return true;
}

static void free_region(void *context, void *region, uint64_t address, size_t bytes) {
  struct memory *memory = context;
  memory->setup.backend->free(memory->setup.device, region);
  allocation_log_record(&memory->allocation_log, ALLOCATION_LOG_REGION_FREE, bytes, address, NULL);
}

/* Computes the limit and creates an allocator for it. No effect on failure. */
static situ_status apply(struct memory *memory, const struct memory_options *options) {
  const struct memory_setup *setup = &memory->setup;
  uint64_t available = setup->info.memory, limit;
  enum memory_bound bound;
  if (setup->backend->available) TRY(setup->backend->available(setup->device, &available));
  TRY(memory_limit(options, setup->info.memory, available, setup->info.capability_major, &limit,
                   &bound));
  const struct bfc_options allocator_options = {
      .limit = limit, .growth = options->growth, .reference = options->reference, .collect = true};
  const struct bfc_sub_allocator source = {
      .context = memory, .alloc = alloc_region, .free = free_region};
  struct bfc *bfc = bfc_create(&allocator_options, source);
  if (!bfc) return NO_MEMORY();
  bfc_destroy(memory->bfc);
  memory->bfc = bfc;
  memory->options = *options;
  memory->bound = bound;
  memory->available = available;
  return NULL;
}

static situ_status init(struct memory *memory, const struct memory_options *options) {
  memory->setup.device_name = strdup(memory->setup.device_name);
  memory->setup.name = strdup(memory->setup.name);
  memory->next_address = REPORT_PAGE; /* address 0 stays unused */
  const bool ok = allocation_log_init(&memory->allocation_log) && memory->setup.device_name &&
                  memory->setup.name;
  return ok ? apply(memory, options) : NO_MEMORY();
}

situ_status memory_create(const struct memory_setup *setup, const struct memory_options *options,
                          struct memory **out) {
  struct memory *memory = calloc(1, sizeof *memory);
  if (!memory) return NO_MEMORY();
  memory->setup = *setup;
  memory->generation = fork_generation();
  pthread_mutex_init(&memory->lock, NULL);
  pthread_mutex_init(&memory->reclaim_lock, NULL);
  const situ_status status = init(memory, options);
  if (status) {
    memory_destroy(memory);
    return status;
  }
  *out = memory;
  return NULL;
}

/* Locks a memory. Returns false without locking in a forked child, where the lock may be held by a
 * thread of the parent and the device must not be used. */
static bool lock_memory(struct memory *memory) {
  if (memory->generation != fork_generation()) return false;
  pthread_mutex_lock(&memory->lock);
  return true;
}

/* The same for the reclaimers. */
static bool lock_reclaimers(struct memory *memory) {
  if (memory->generation != fork_generation()) return false;
  pthread_mutex_lock(&memory->reclaim_lock);
  return true;
}

situ_status memory_configure(struct memory *memory, const struct memory_options *options) {
  TRY(fork_check(memory->generation, memory->setup.device_name));
  pthread_mutex_lock(&memory->lock);
  struct bfc_stats stats;
  bfc_stats(memory->bfc, &stats);
  const situ_status status =
      stats.reserved
          ? situ_status_create(SITU_FAILED_PRECONDITION,
                               "The memory options of %s cannot be changed while %llu "
                               "bytes are reserved; call situ_device_trim first.",
                               memory->setup.device_name, (unsigned long long)stats.reserved)
          : apply(memory, options);
  pthread_mutex_unlock(&memory->lock);
  return status;
}

void memory_destroy(struct memory *memory) {
  if (!memory) return;
  bfc_destroy(memory->bfc);
  allocation_log_free(&memory->allocation_log);
  free((char *)memory->setup.device_name);
  free((char *)memory->setup.name);
  free(memory->reclaimers);
  pthread_mutex_destroy(&memory->lock);
  pthread_mutex_destroy(&memory->reclaim_lock);
  free(memory);
}

/* One attempt. Must hold the lock. */
static bool try_alloc(struct memory *memory, size_t bytes, const struct memory_tag *tag,
                      struct memory_block *out) {
  struct bfc_chunk chunk;
  memory->refused = 0;
  const size_t padded =
      memory->setup.info.align ? round_up(bytes, memory->setup.info.align) : bytes;
  if (!bfc_alloc(memory->bfc, padded, &chunk)) return false;
  allocation_log_set_holder(&memory->allocation_log, chunk.handle, tag);
  allocation_log_record(&memory->allocation_log, ALLOCATION_LOG_ALLOC, chunk.size, chunk.address,
                        allocation_log_holder(&memory->allocation_log, chunk.handle));
  *out = (struct memory_block){.span = {.region = chunk.region, .offset = chunk.offset},
                               .bytes = bytes,
                               .size = chunk.size,
                               .address = chunk.address,
                               .handle = chunk.handle};
  return true;
}

/* Runs the reclaimers in turn and retries after each that freed something. */
static bool alloc_under_pressure(struct memory *memory, size_t bytes, const struct memory_tag *tag,
                                 struct memory_block *out) {
  bool allocated = false;
  pthread_mutex_lock(&memory->reclaim_lock);
  for (int i = 0; i < memory->n_reclaimers && !allocated; i++) {
    if (!memory->reclaimers[i].callback(memory->reclaimers[i].context, bytes)) continue;
    pthread_mutex_lock(&memory->lock);
    allocated = !memory->device_error && try_alloc(memory, bytes, tag, out);
    pthread_mutex_unlock(&memory->lock);
  }
  pthread_mutex_unlock(&memory->reclaim_lock);
  return allocated;
}

/* Builds the out-of-memory error. Must hold the lock. */
static situ_status make_oom_error(struct memory *memory, size_t bytes,
                                  const struct memory_tag *tag) {
  const struct oom oom = {.device_name = memory->setup.device_name,
                          .allocator_name = memory->setup.name,
                          .bytes = bytes,
                          .tag = tag,
                          .options = &memory->options,
                          .bound = memory->bound,
                          .total = memory->setup.info.memory,
                          .available = memory->available,
                          .refused = memory->refused,
                          .bfc = memory->bfc,
                          .allocation_log = &memory->allocation_log};
  struct allocation_log_holder request;
  allocation_log_make_holder(tag, &request);
  allocation_log_record(&memory->allocation_log, ALLOCATION_LOG_OOM, bytes, 0, &request);
  memory->failures++;
  return oom_status(&oom);
}

/* Last attempt; returns the error if it fails. */
static situ_status alloc_or_fail(struct memory *memory, size_t bytes, const struct memory_tag *tag,
                                 struct memory_block *out) {
  pthread_mutex_lock(&memory->lock);
  situ_status status = memory->device_error;
  memory->device_error = NULL;
  if (!status && !try_alloc(memory, bytes, tag, out)) {
    status = memory->device_error ? memory->device_error : make_oom_error(memory, bytes, tag);
    memory->device_error = NULL;
  }
  pthread_mutex_unlock(&memory->lock);
  return status;
}

/* Counts calls of memory_alloc; fails the one selected for fault injection as if the device had
 * refused. */
static situ_status inject_fault(struct memory *memory, size_t bytes, const struct memory_tag *tag) {
  situ_status status = NULL;
  pthread_mutex_lock(&memory->lock);
  if (++memory->n_calls == memory->setup.info.fail_alloc) {
    memory->refused = bytes;
    status = status_note(make_oom_error(memory, bytes, tag), "  fail_alloc=%lld was injected",
                         (long long)memory->n_calls);
  }
  pthread_mutex_unlock(&memory->lock);
  return status;
}

situ_status memory_alloc(struct memory *memory, size_t bytes, const struct memory_tag *tag,
                         struct memory_block *out) {
  *out = (struct memory_block){0};
  TRY(fork_check(memory->generation, memory->setup.device_name));
  if (!bytes) return NULL;
  TRY(inject_fault(memory, bytes, tag));
  pthread_mutex_lock(&memory->lock);
  const bool allocated = try_alloc(memory, bytes, tag, out);
  pthread_mutex_unlock(&memory->lock);
  if (allocated || alloc_under_pressure(memory, bytes, tag, out)) return NULL;
  return alloc_or_fail(memory, bytes, tag, out);
}

void memory_free(struct memory *memory, struct memory_block *block) {
  if (!block->bytes) return;
  const struct bfc_chunk chunk = {.handle = block->handle, .address = block->address};
  if (lock_memory(memory)) {
    if (bfc_free(memory->bfc, &chunk))
      allocation_log_record(&memory->allocation_log, ALLOCATION_LOG_FREE, block->size,
                            block->address,
                            allocation_log_holder(&memory->allocation_log, block->handle));
    pthread_mutex_unlock(&memory->lock);
  }
  *block = (struct memory_block){0};
}

bool memory_add_reclaimer(struct memory *memory, memory_reclaim *callback, void *context) {
  if (!lock_reclaimers(memory)) return true;
  struct reclaimer *reclaimers =
      realloc(memory->reclaimers, ((size_t)memory->n_reclaimers + 1) * sizeof *reclaimers);
  if (reclaimers) {
    memory->reclaimers = reclaimers;
    reclaimers[memory->n_reclaimers++] = (struct reclaimer){callback, context};
  }
  pthread_mutex_unlock(&memory->reclaim_lock);
  return reclaimers != NULL;
}

void memory_remove_reclaimer(struct memory *memory, memory_reclaim *callback, void *context) {
  if (!lock_reclaimers(memory)) return;
  int n_kept = 0;
  for (int i = 0; i < memory->n_reclaimers; i++) {
    const struct reclaimer reclaimer = memory->reclaimers[i];
    if (reclaimer.callback != callback || reclaimer.context != context)
      memory->reclaimers[n_kept++] = reclaimer;
  }
  memory->n_reclaimers = n_kept;
  pthread_mutex_unlock(&memory->reclaim_lock);
}

/* Must hold the lock. */
static void collect_stats(struct memory *memory, struct memory_stats *out) {
  struct bfc_stats stats;
  bfc_stats(memory->bfc, &stats);
  *out = (struct memory_stats){.current = stats.in_use,
                               .peak = stats.peak,
                               .requested = stats.requested,
                               .reserved = stats.reserved,
                               .limit = stats.limit,
                               .largest_free = stats.largest_free,
                               .idle = stats.idle,
                               .allocations = stats.allocations,
                               .failures = memory->failures,
                               .regions = stats.n_regions,
                               .blocks = stats.n_chunks};
}

void memory_stats(struct memory *memory, struct memory_stats *out) {
  *out = (struct memory_stats){0};
  if (!lock_memory(memory)) return;
  collect_stats(memory, out);
  pthread_mutex_unlock(&memory->lock);
}

void memory_reset_peak(struct memory *memory) {
  if (!lock_memory(memory)) return;
  bfc_reset_peak(memory->bfc);
  pthread_mutex_unlock(&memory->lock);
}

uint64_t memory_trim(struct memory *memory) {
  if (!lock_reclaimers(memory)) return 0;
  for (int i = 0; i < memory->n_reclaimers; i++)
    memory->reclaimers[i].callback(memory->reclaimers[i].context, UINT64_MAX);
  pthread_mutex_unlock(&memory->reclaim_lock);
  pthread_mutex_lock(&memory->lock);
  const uint64_t bytes = bfc_trim(memory->bfc);
  pthread_mutex_unlock(&memory->lock);
  return bytes;
}

void memory_report(struct memory *memory, struct strbuf *out) {
  struct memory_stats stats;
  if (!lock_memory(memory)) {
    strbuf_append(out, "{}");
    return;
  }
  collect_stats(memory, &stats);
  memory_snapshot_write(out, memory->setup.device_name, memory->setup.name, memory->bfc,
                        &memory->allocation_log, &stats);
  pthread_mutex_unlock(&memory->lock);
}
