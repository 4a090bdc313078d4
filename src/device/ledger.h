/* SPDX-License-Identifier: Apache-2.0
 * ledger.h: who holds which piece of a device's memory, and what happened lately. Guarded by its
 * owner's lock. */
#ifndef SITU_DEVICE_LEDGER_H
#define SITU_DEVICE_LEDGER_H

#include "device/memory.h"

enum { LEDGER_OP = 64, LEDGER_EVENTS = 1024 };

/* A copy of a tag: the holder may be gone when it is asked for. */
struct ledger_holder {
  char op[LEDGER_OP]; /* "" where nobody said; the tail of a long name */
  situ_type type;
  situ_shape shape;
  int64_t step;
};

/* Every kind of event once: name, PyTorch's word. */
#define LEDGER_KINDS(X)       \
  X(ALLOC, "alloc")           \
  X(FREE, "free_completed")   \
  X(REGION, "segment_alloc")  \
  X(UNREGION, "segment_free") \
  X(OOM, "oom")

enum ledger_kind {
#define LEDGER_KIND(name, word) LEDGER_##name,
  LEDGER_KINDS(LEDGER_KIND)
#undef LEDGER_KIND
};

struct ledger_event {
  uint64_t ticks; /* see ledger_time */
  uint64_t bytes, address;
  enum ledger_kind kind;
  struct ledger_holder holder;
};

/* The same moment on two clocks: that of the processor, which is read for every event because it
 * costs a few nanoseconds, and the monotonic one. */
struct ledger_moment {
  uint64_t ticks;
  int64_t time; /* nanoseconds */
};

/* Zero is empty. Events are a ring: number i is at i % LEDGER_EVENTS. */
struct ledger {
  struct ledger_holder *holders; /* by handle of the piece */
  int32_t capacity;
  int64_t n_events; /* ever */
  struct ledger_moment start;
  struct ledger_event *events;
};

/* Makes the ring; false without memory. */
bool ledger_init(struct ledger *ledger);
void ledger_free(struct ledger *ledger);

/* Notes who holds a piece (`tag` may be NULL). Without memory for it the piece has no holder. */
void ledger_hold(struct ledger *ledger, int32_t handle, const struct memory_tag *tag);

/* The holder of a piece; an empty one where none is known. */
const struct ledger_holder *ledger_holder(const struct ledger *ledger, int32_t handle);

/* Notes an event; `holder` may be NULL. */
void ledger_note(struct ledger *ledger, enum ledger_kind kind, uint64_t bytes, uint64_t address,
                 const struct ledger_holder *holder);

/* The moment of now. */
struct ledger_moment ledger_now(void);

/* When an event was, in nanoseconds on the monotonic clock, seen from `now`. */
int64_t ledger_time(const struct ledger *ledger, const struct ledger_event *event,
                    struct ledger_moment now);

/* A holder from a tag, which may be NULL. */
void ledger_copy(const struct memory_tag *tag, struct ledger_holder *out);

/* Appends "shape[2,3]"; nothing for a holder without a type. */
void ledger_add_shape(struct text *text, const struct ledger_holder *holder);

/* The word for the holder's type; "" where it has none. */
const char *ledger_type(const struct ledger_holder *holder);

/* PyTorch's word for a kind. */
const char *ledger_word(enum ledger_kind kind);

#endif
