/* SPDX-License-Identifier: Apache-2.0
 * allocation_log.c: records the owner of every allocated chunk of a device and a ring buffer of
 * recent allocator events. The caller holds the lock of the owning struct memory. */
#include "device/allocation_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct allocation_log_holder no_holder;

static int64_t read_clock(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static uint64_t read_ticks(void) {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  return (uint64_t)read_clock();
#endif
}

struct allocation_log_clock allocation_log_now(void) {
  return (struct allocation_log_clock){.ticks = read_ticks(), .time = read_clock()};
}

int64_t allocation_log_time(const struct allocation_log *allocation_log,
                            const struct allocation_log_event *event,
                            struct allocation_log_clock now) {
  const struct allocation_log_clock start = allocation_log->start;
  if (now.ticks <= start.ticks || event->ticks <= start.ticks) return start.time;
  const double elapsed_fraction =
      (double)(event->ticks - start.ticks) / (double)(now.ticks - start.ticks);
  return start.time + (int64_t)(elapsed_fraction * (double)(now.time - start.time));
}

bool allocation_log_init(struct allocation_log *allocation_log) {
  *allocation_log = (struct allocation_log){0};
  allocation_log->start = allocation_log_now();
  allocation_log->events = calloc(ALLOCATION_LOG_EVENTS, sizeof *allocation_log->events);
  return allocation_log->events != NULL;
}

void allocation_log_free(struct allocation_log *allocation_log) {
  free(allocation_log->holders);
  free(allocation_log->events);
  *allocation_log = (struct allocation_log){0};
}

/* Keeps the tail of a long name, which is more specific than its head. */
static void copy_name(const char *name, char out[ALLOCATION_LOG_OP]) {
  const size_t length = strlen(name);
  if (length < ALLOCATION_LOG_OP) {
    memcpy(out, name, length + 1);
    return;
  }
  snprintf(out, ALLOCATION_LOG_OP, "...%s", name + length - (ALLOCATION_LOG_OP - 4));
}

void allocation_log_make_holder(const struct memory_tag *tag, struct allocation_log_holder *out) {
  out->op[0] = 0;
  out->type = tag ? tag->type : SITU_NO_TYPE;
  out->step = tag ? tag->step : 0;
  if (!tag) return;
  if (tag->op) copy_name(tag->op, out->op);
  out->shape = tag->shape;
}

static bool grow(struct allocation_log *allocation_log, int32_t handle) {
  int32_t capacity = allocation_log->capacity ? allocation_log->capacity : 256;
  while (capacity <= handle) capacity *= 2;
  struct allocation_log_holder *holders =
      realloc(allocation_log->holders, (size_t)capacity * sizeof *allocation_log->holders);
  if (!holders) return false;
  const size_t n_new = (size_t)(capacity - allocation_log->capacity);
  memset(holders + allocation_log->capacity, 0, n_new * sizeof *holders);
  allocation_log->holders = holders;
  allocation_log->capacity = capacity;
  return true;
}

void allocation_log_set_holder(struct allocation_log *allocation_log, int32_t handle,
                               const struct memory_tag *tag) {
  if (handle >= allocation_log->capacity && !grow(allocation_log, handle)) return;
  allocation_log_make_holder(tag, &allocation_log->holders[handle]);
}

const struct allocation_log_holder *allocation_log_holder(
    const struct allocation_log *allocation_log, int32_t handle) {
  return handle < allocation_log->capacity ? &allocation_log->holders[handle] : &no_holder;
}

void allocation_log_record(struct allocation_log *allocation_log, enum allocation_log_kind kind,
                           uint64_t bytes, uint64_t address,
                           const struct allocation_log_holder *holder) {
  struct allocation_log_event *event =
      &allocation_log->events[allocation_log->n_events++ % ALLOCATION_LOG_EVENTS];
  event->ticks = read_ticks();
  event->bytes = bytes;
  event->address = address;
  event->kind = kind;
  event->holder = holder ? *holder : no_holder;
}

void allocation_log_append_shape(struct strbuf *text, const struct allocation_log_holder *holder) {
  if (holder->type == SITU_NO_TYPE) return;
  if (holder->shape.rank < 0) {
    strbuf_append(text, "shape<unknown>");
    return;
  }
  strbuf_append(text, "shape[");
  for (int i = 0; i < holder->shape.rank && i < SITU_MAX_RANK; i++)
    strbuf_appendf(text, "%s%lld", i ? "," : "", (long long)holder->shape.dim[i]);
  strbuf_append(text, "]");
}

const char *allocation_log_type_name(const struct allocation_log_holder *holder) {
  switch (holder->type) {
#define ALLOCATION_LOG_TYPE(name, number, bytes, type_name, numpy) \
  case SITU_##name:                                                \
    return type_name;
    SITU_TYPES(ALLOCATION_LOG_TYPE)
#undef ALLOCATION_LOG_TYPE
    case SITU_NO_TYPE:
      break;
  }
  return "";
}

const char *allocation_log_action(enum allocation_log_kind kind) {
  static const char *const actions[] = {
#define ALLOCATION_LOG_KIND(name, action) [ALLOCATION_LOG_##name] = action,
      ALLOCATION_LOG_KINDS(ALLOCATION_LOG_KIND)
#undef ALLOCATION_LOG_KIND
  };
  return actions[kind];
}
