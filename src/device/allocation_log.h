/* SPDX-License-Identifier: Apache-2.0
 * allocation_log.h: records the owner of every allocated chunk of a device and a ring buffer of
 * recent allocator events. The caller holds the lock of the owning struct memory. */
#ifndef SITU_DEVICE_ALLOCATION_LOG_H
#define SITU_DEVICE_ALLOCATION_LOG_H

#include "device/memory.h"

enum { ALLOCATION_LOG_OP = 64, ALLOCATION_LOG_EVENTS = 1024 };

/* A copy of a memory_tag, because the owner may be gone when the log is read. */
struct allocation_log_holder {
  char op[ALLOCATION_LOG_OP]; /* "" if unknown; a long name keeps its tail */
  situ_type type;
  situ_shape shape;
  int64_t step;
};

/* Event kinds: name, `action` of PyTorch's memory snapshots. */
#define ALLOCATION_LOG_KINDS(X)    \
  X(ALLOC, "alloc")                \
  X(FREE, "free_completed")        \
  X(REGION_ALLOC, "segment_alloc") \
  X(REGION_FREE, "segment_free")   \
  X(OOM, "oom")

enum allocation_log_kind {
#define ALLOCATION_LOG_KIND(name, action) ALLOCATION_LOG_##name,
  ALLOCATION_LOG_KINDS(ALLOCATION_LOG_KIND)
#undef ALLOCATION_LOG_KIND
};

struct allocation_log_event {
  uint64_t ticks; /* time stamp counter; see allocation_log_time */
  uint64_t bytes, address;
  enum allocation_log_kind kind;
  struct allocation_log_holder holder;
};

/* The same moment on two clocks: the time stamp counter of the processor, which is cheap enough to
 * read for every event, and the monotonic clock. */
struct allocation_log_clock {
  uint64_t ticks;
  int64_t time; /* nanoseconds */
};

/* Zero-initialized is empty. Event i is at events[i % ALLOCATION_LOG_EVENTS]. */
struct allocation_log {
  struct allocation_log_holder *holders; /* by chunk handle */
  int32_t capacity;
  int64_t n_events;
  struct allocation_log_clock start;
  struct allocation_log_event *events;
};

/* Allocates the ring buffer. Returns false if out of memory. */
bool allocation_log_init(struct allocation_log *allocation_log);
void allocation_log_free(struct allocation_log *allocation_log);

/* Records the owner of a chunk (`tag` may be NULL). If out of memory, the chunk has no owner. */
void allocation_log_set_holder(struct allocation_log *allocation_log, int32_t handle,
                               const struct memory_tag *tag);

/* Returns the owner of a chunk; an empty holder if unknown. */
const struct allocation_log_holder *allocation_log_holder(
    const struct allocation_log *allocation_log, int32_t handle);

/* Appends an event; `holder` may be NULL. */
void allocation_log_record(struct allocation_log *allocation_log, enum allocation_log_kind kind,
                           uint64_t bytes, uint64_t address,
                           const struct allocation_log_holder *holder);

/* Reads both clocks. */
struct allocation_log_clock allocation_log_now(void);

/* Converts the time stamp of an event to nanoseconds on the monotonic clock by linear interpolation
 * between `start` and `now`. */
int64_t allocation_log_time(const struct allocation_log *allocation_log,
                            const struct allocation_log_event *event,
                            struct allocation_log_clock now);

/* Converts a tag, which may be NULL. */
void allocation_log_make_holder(const struct memory_tag *tag, struct allocation_log_holder *out);

/* Appends "shape[2,3]"; nothing if the holder has no type. */
void allocation_log_append_shape(struct strbuf *text, const struct allocation_log_holder *holder);

/* Returns the name of the holder's type, "" if it has none. */
const char *allocation_log_type_name(const struct allocation_log_holder *holder);

/* Returns the `action` of PyTorch's memory snapshots for a kind. */
const char *allocation_log_action(enum allocation_log_kind kind);

#endif
