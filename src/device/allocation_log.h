/* SPDX-License-Identifier: Apache-2.0
 * allocation_log.h: the holder of every allocated piece of a device's memory, and recent
 * allocator events. Guarded by its owner's lock. */
#ifndef SITU_DEVICE_ALLOCATION_LOG_H
#define SITU_DEVICE_ALLOCATION_LOG_H

#include "device/memory.h"

enum { ALLOCATION_LOG_OP = 64, ALLOCATION_LOG_EVENTS = 1024 };

/* A copy of a tag: the holder may be gone when it is asked for. */
struct allocation_log_holder {
  char op[ALLOCATION_LOG_OP]; /* "" where nobody said; the tail of a long name */
  situ_type type;
  situ_shape shape;
  int64_t step;
};

/* Every kind of event once: name, PyTorch's word. */
#define ALLOCATION_LOG_KINDS(X) \
  X(ALLOC, "alloc")             \
  X(FREE, "free_completed")     \
  X(REGION, "segment_alloc")    \
  X(UNREGION, "segment_free")   \
  X(OOM, "oom")

enum allocation_log_kind {
#define ALLOCATION_LOG_KIND(name, word) ALLOCATION_LOG_##name,
  ALLOCATION_LOG_KINDS(ALLOCATION_LOG_KIND)
#undef ALLOCATION_LOG_KIND
};

struct allocation_log_event {
  uint64_t ticks; /* see allocation_log_time */
  uint64_t bytes, address;
  enum allocation_log_kind kind;
  struct allocation_log_holder holder;
};

/* The same moment on two clocks: that of the processor, which is read for every event because it
 * costs a few nanoseconds, and the monotonic one. */
struct allocation_log_clock {
  uint64_t ticks;
  int64_t time; /* nanoseconds */
};

/* Zero is empty. Events are a ring: number i is at i % ALLOCATION_LOG_EVENTS. */
struct allocation_log {
  struct allocation_log_holder *holders; /* by handle of the piece */
  int32_t capacity;
  int64_t n_events; /* ever */
  struct allocation_log_clock start;
  struct allocation_log_event *events;
};

/* Makes the ring; false without memory. */
bool allocation_log_init(struct allocation_log *allocation_log);
void allocation_log_free(struct allocation_log *allocation_log);

/* Notes who holds a piece (`tag` may be NULL). Without memory for it the piece has no holder. */
void allocation_log_set_holder(struct allocation_log *allocation_log, int32_t handle,
                               const struct memory_tag *tag);

/* The holder of a piece; an empty one where none is known. */
const struct allocation_log_holder *allocation_log_holder(
    const struct allocation_log *allocation_log, int32_t handle);

/* Notes an event; `holder` may be NULL. */
void allocation_log_record(struct allocation_log *allocation_log, enum allocation_log_kind kind,
                           uint64_t bytes, uint64_t address,
                           const struct allocation_log_holder *holder);

/* The moment of now. */
struct allocation_log_clock allocation_log_now(void);

/* When an event was, in nanoseconds on the monotonic clock, seen from `now`. */
int64_t allocation_log_time(const struct allocation_log *allocation_log,
                            const struct allocation_log_event *event,
                            struct allocation_log_clock now);

/* A holder from a tag, which may be NULL. */
void allocation_log_make_holder(const struct memory_tag *tag, struct allocation_log_holder *out);

/* Appends "shape[2,3]"; nothing for a holder without a type. */
void allocation_log_append_shape(struct strbuf *text, const struct allocation_log_holder *holder);

/* The word for the holder's type; "" where it has none. */
const char *allocation_log_type_name(const struct allocation_log_holder *holder);

/* PyTorch's word for a kind. */
const char *allocation_log_action(enum allocation_log_kind kind);

#endif
