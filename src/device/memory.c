/* SPDX-License-Identifier: Apache-2.0
 * memory.c: the memory of one device: a limit, the allocator behind a lock, who holds what, what
 * happened lately. */
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

static const uint64_t PAGE = 2 << 20;

struct hook {
  memory_reclaim *callback;
  void *context;
};

struct memory {
  struct memory_setup setup; /* its texts are ours */
  int generation;            /* of forks */
  pthread_mutex_t lock;      /* of what follows, down to the hooks */
  struct memory_options options;
  enum memory_bound bound;
  uint64_t available; /* when the limit was set */
  struct bfc *bfc;
  struct allocation_log allocation_log;
  uint64_t end;        /* where the next region goes in the addresses of reports */
  uint64_t refused;    /* smallest region that the device refused in this call */
  situ_status trouble; /* what the device said in this call, where it is not "no memory" */
  int64_t failures;
  int64_t asked;             /* calls of memory_alloc, for the fault to inject */
  pthread_mutex_t hook_lock; /* of the hooks; held while they run, taken before `lock` */
  struct hook *hooks;
  int n_hooks;
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

/* The allocator asks for a region. A refusal is no failure here: smaller ones are tried. Anything
 * but "no memory" (a device that is lost) is kept for the caller, and ends the trying. */
static bool take_region(void *context, size_t bytes, void **region, uint64_t *address) {
  struct memory *memory = context;
  if (memory->trouble) return false;
  const situ_status status = memory->setup.backend->alloc(memory->setup.device, bytes, region);
  if (status) {
    memory->refused = bytes;
    if (situ_status_code(status) == SITU_RESOURCE_EXHAUSTED)
      situ_status_release(status);
    else
      memory->trouble = status;
    return false;
  }
  *address = memory->end;
  memory->end += round_up(bytes, PAGE) + PAGE;
  allocation_log_record(&memory->allocation_log, ALLOCATION_LOG_REGION_ALLOC, bytes, *address,
                        NULL);
  return true;
}

static void give_region(void *context, void *region, uint64_t address, size_t bytes) {
  struct memory *memory = context;
  memory->setup.backend->free(memory->setup.device, region);
  allocation_log_record(&memory->allocation_log, ALLOCATION_LOG_REGION_FREE, bytes, address, NULL);
}

/* Sets the limit that the options give and an allocator for it. On failure all stays as it was. */
static situ_status apply(struct memory *memory, const struct memory_options *options) {
  const struct memory_setup *setup = &memory->setup;
  uint64_t available = setup->info.memory, limit;
  enum memory_bound bound;
  if (setup->backend->available) TRY(setup->backend->available(setup->device, &available));
  TRY(memory_limit(options, setup->info.memory, available, setup->info.capability_major, &limit,
                   &bound));
  const struct bfc_options how = {
      .limit = limit, .growth = options->growth, .reference = options->reference, .collect = true};
  const struct bfc_sub_allocator source = {
      .context = memory, .alloc = take_region, .free = give_region};
  struct bfc *bfc = bfc_create(&how, source);
  if (!bfc) return NO_MEMORY();
  bfc_destroy(memory->bfc);
  memory->bfc = bfc;
  memory->options = *options;
  memory->bound = bound;
  memory->available = available;
  return NULL;
}

/* What is ours of a memory. */
static situ_status fill(struct memory *memory, const struct memory_options *options) {
  memory->setup.device_name = strdup(memory->setup.device_name);
  memory->setup.name = strdup(memory->setup.name);
  memory->end = PAGE; /* so that address 0 is nobody's */
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
  pthread_mutex_init(&memory->hook_lock, NULL);
  const situ_status status = fill(memory, options);
  if (status) {
    memory_destroy(memory);
    return status;
  }
  *out = memory;
  return NULL;
}

/* Locks a memory; false, and nothing is locked, in a child of fork: another thread of the parent
 * may have held the lock, and the device is not ours. */
static bool enter(struct memory *memory) {
  if (memory->generation != fork_generation()) return false;
  pthread_mutex_lock(&memory->lock);
  return true;
}

/* The same for the hooks. */
static bool enter_hooks(struct memory *memory) {
  if (memory->generation != fork_generation()) return false;
  pthread_mutex_lock(&memory->hook_lock);
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
                               "The memory options of %s cannot change any more: %llu "
                               "bytes are taken from it (situ_device_trim).",
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
  free(memory->hooks);
  pthread_mutex_destroy(&memory->lock);
  pthread_mutex_destroy(&memory->hook_lock);
  free(memory);
}

/* One try, with the lock. */
static bool try_alloc(struct memory *memory, size_t bytes, const struct memory_tag *tag,
                      struct memory_block *out) {
  struct bfc_chunk piece;
  memory->refused = 0;
  const size_t whole = memory->setup.info.align ? round_up(bytes, memory->setup.info.align) : bytes;
  if (!bfc_alloc(memory->bfc, whole, &piece)) return false;
  allocation_log_set_holder(&memory->allocation_log, piece.handle, tag);
  allocation_log_record(&memory->allocation_log, ALLOCATION_LOG_ALLOC, piece.size, piece.address,
                        allocation_log_holder(&memory->allocation_log, piece.handle));
  *out = (struct memory_block){.span = {.region = piece.region, .offset = piece.offset},
                               .bytes = bytes,
                               .size = piece.size,
                               .address = piece.address,
                               .handle = piece.handle};
  return true;
}

/* Asks the holders of idle memory, one after the other, and tries again after each that gave some.
 */
static bool alloc_under_pressure(struct memory *memory, size_t bytes, const struct memory_tag *tag,
                                 struct memory_block *out) {
  bool done = false;
  pthread_mutex_lock(&memory->hook_lock);
  for (int i = 0; i < memory->n_hooks && !done; i++) {
    if (!memory->hooks[i].callback(memory->hooks[i].context, bytes)) continue;
    pthread_mutex_lock(&memory->lock);
    done = !memory->trouble && try_alloc(memory, bytes, tag, out);
    pthread_mutex_unlock(&memory->lock);
  }
  pthread_mutex_unlock(&memory->hook_lock);
  return done;
}

/* What is said of a failure; called with the lock. */
static situ_status explain(struct memory *memory, size_t bytes, const struct memory_tag *tag) {
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
  struct allocation_log_holder who;
  allocation_log_make_holder(tag, &who);
  allocation_log_record(&memory->allocation_log, ALLOCATION_LOG_OOM, bytes, 0, &who);
  memory->failures++;
  return oom_status(&oom);
}

/* The last try, and what is said when it fails too. */
static situ_status alloc_or_explain(struct memory *memory, size_t bytes,
                                    const struct memory_tag *tag, struct memory_block *out) {
  pthread_mutex_lock(&memory->lock);
  situ_status status = memory->trouble;
  memory->trouble = NULL;
  if (!status && !try_alloc(memory, bytes, tag, out)) {
    status = memory->trouble ? memory->trouble : explain(memory, bytes, tag);
    memory->trouble = NULL;
  }
  pthread_mutex_unlock(&memory->lock);
  return status;
}

/* Counts a call; the one that a fault was injected for fails as if the device had refused. */
static situ_status inject(struct memory *memory, size_t bytes, const struct memory_tag *tag) {
  situ_status status = NULL;
  pthread_mutex_lock(&memory->lock);
  if (++memory->asked == memory->setup.info.fail_alloc) {
    memory->refused = bytes;
    status = status_note(explain(memory, bytes, tag), "  fail_alloc=%lld was injected",
                         (long long)memory->asked);
  }
  pthread_mutex_unlock(&memory->lock);
  return status;
}

situ_status memory_alloc(struct memory *memory, size_t bytes, const struct memory_tag *tag,
                         struct memory_block *out) {
  *out = (struct memory_block){0};
  TRY(fork_check(memory->generation, memory->setup.device_name));
  if (!bytes) return NULL;
  TRY(inject(memory, bytes, tag));
  pthread_mutex_lock(&memory->lock);
  const bool done = try_alloc(memory, bytes, tag, out);
  pthread_mutex_unlock(&memory->lock);
  if (done || alloc_under_pressure(memory, bytes, tag, out)) return NULL;
  return alloc_or_explain(memory, bytes, tag, out);
}

void memory_free(struct memory *memory, struct memory_block *block) {
  if (!block->bytes) return;
  const struct bfc_chunk piece = {.handle = block->handle, .address = block->address};
  if (enter(memory)) {
    if (bfc_free(memory->bfc, &piece))
      allocation_log_record(&memory->allocation_log, ALLOCATION_LOG_FREE, block->size,
                            block->address,
                            allocation_log_holder(&memory->allocation_log, block->handle));
    pthread_mutex_unlock(&memory->lock);
  }
  *block = (struct memory_block){0};
}

bool memory_add_reclaimer(struct memory *memory, memory_reclaim *callback, void *context) {
  if (!enter_hooks(memory)) return true;
  struct hook *hooks = realloc(memory->hooks, ((size_t)memory->n_hooks + 1) * sizeof *hooks);
  if (hooks) {
    memory->hooks = hooks;
    hooks[memory->n_hooks++] = (struct hook){callback, context};
  }
  pthread_mutex_unlock(&memory->hook_lock);
  return hooks != NULL;
}

void memory_remove_reclaimer(struct memory *memory, memory_reclaim *callback, void *context) {
  if (!enter_hooks(memory)) return;
  int kept = 0;
  for (int i = 0; i < memory->n_hooks; i++) {
    const struct hook hook = memory->hooks[i];
    if (hook.callback != callback || hook.context != context) memory->hooks[kept++] = hook;
  }
  memory->n_hooks = kept;
  pthread_mutex_unlock(&memory->hook_lock);
}

/* The figures, with the lock. */
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
                               .blocks = stats.n_pieces};
}

void memory_stats(struct memory *memory, struct memory_stats *out) {
  *out = (struct memory_stats){0};
  if (!enter(memory)) return;
  collect_stats(memory, out);
  pthread_mutex_unlock(&memory->lock);
}

void memory_reset_peak(struct memory *memory) {
  if (!enter(memory)) return;
  bfc_reset_peak(memory->bfc);
  pthread_mutex_unlock(&memory->lock);
}

uint64_t memory_trim(struct memory *memory) {
  if (!enter_hooks(memory)) return 0;
  for (int i = 0; i < memory->n_hooks; i++)
    memory->hooks[i].callback(memory->hooks[i].context, UINT64_MAX);
  pthread_mutex_unlock(&memory->hook_lock);
  pthread_mutex_lock(&memory->lock);
  const uint64_t bytes = bfc_trim(memory->bfc);
  pthread_mutex_unlock(&memory->lock);
  return bytes;
}

void memory_report(struct memory *memory, struct strbuf *out) {
  struct memory_stats stats;
  if (!enter(memory)) {
    strbuf_append(out, "{}");
    return;
  }
  collect_stats(memory, &stats);
  memory_snapshot_write(out, memory->setup.device_name, memory->setup.name, memory->bfc,
                        &memory->allocation_log, &stats);
  pthread_mutex_unlock(&memory->lock);
}
