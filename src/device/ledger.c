/* SPDX-License-Identifier: Apache-2.0
 * ledger.c: who holds which piece of a device's memory, and what happened lately. */
#include "device/ledger.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct ledger_holder nobody;

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

struct ledger_moment ledger_now(void) {
  return (struct ledger_moment){.ticks = read_ticks(), .time = read_clock()};
}

int64_t ledger_time(const struct ledger *ledger, const struct ledger_event *event,
                    struct ledger_moment now) {
  const struct ledger_moment start = ledger->start;
  if (now.ticks <= start.ticks || event->ticks <= start.ticks) return start.time;
  const double part = (double)(event->ticks - start.ticks) / (double)(now.ticks - start.ticks);
  return start.time + (int64_t)(part * (double)(now.time - start.time));
}

bool ledger_init(struct ledger *ledger) {
  *ledger = (struct ledger){0};
  ledger->start = ledger_now();
  ledger->events = calloc(LEDGER_EVENTS, sizeof *ledger->events);
  return ledger->events != NULL;
}

void ledger_free(struct ledger *ledger) {
  free(ledger->holders);
  free(ledger->events);
  *ledger = (struct ledger){0};
}

/* The tail of a long name says more than its head. */
static void copy_name(const char *name, char out[LEDGER_OP]) {
  const size_t length = strlen(name);
  if (length < LEDGER_OP) {
    memcpy(out, name, length + 1);
    return;
  }
  snprintf(out, LEDGER_OP, "...%s", name + length - (LEDGER_OP - 4));
}

void ledger_copy(const struct memory_tag *tag, struct ledger_holder *out) {
  out->op[0] = 0;
  out->type = tag ? tag->type : SITU_NO_TYPE;
  out->step = tag ? tag->step : 0;
  if (!tag) return;
  if (tag->op) copy_name(tag->op, out->op);
  out->shape = tag->shape;
}

static bool grow(struct ledger *ledger, int32_t handle) {
  int32_t capacity = ledger->capacity ? ledger->capacity : 256;
  while (capacity <= handle) capacity *= 2;
  struct ledger_holder *holders =
      realloc(ledger->holders, (size_t)capacity * sizeof *ledger->holders);
  if (!holders) return false;
  const size_t more = (size_t)(capacity - ledger->capacity);
  memset(holders + ledger->capacity, 0, more * sizeof *holders);
  ledger->holders = holders;
  ledger->capacity = capacity;
  return true;
}

void ledger_hold(struct ledger *ledger, int32_t handle, const struct memory_tag *tag) {
  if (handle >= ledger->capacity && !grow(ledger, handle)) return;
  ledger_copy(tag, &ledger->holders[handle]);
}

const struct ledger_holder *ledger_holder(const struct ledger *ledger, int32_t handle) {
  return handle < ledger->capacity ? &ledger->holders[handle] : &nobody;
}

void ledger_note(struct ledger *ledger, enum ledger_kind kind, uint64_t bytes, uint64_t address,
                 const struct ledger_holder *holder) {
  struct ledger_event *event = &ledger->events[ledger->n_events++ % LEDGER_EVENTS];
  event->ticks = read_ticks();
  event->bytes = bytes;
  event->address = address;
  event->kind = kind;
  event->holder = holder ? *holder : nobody;
}

void ledger_add_shape(struct text *text, const struct ledger_holder *holder) {
  if (holder->type == SITU_NO_TYPE) return;
  if (holder->shape.rank < 0) {
    text_add(text, "shape<unknown>");
    return;
  }
  text_add(text, "shape[");
  for (int i = 0; i < holder->shape.rank && i < SITU_MAX_RANK; i++)
    text_addf(text, "%s%lld", i ? "," : "", (long long)holder->shape.dim[i]);
  text_add(text, "]");
}

const char *ledger_type(const struct ledger_holder *holder) {
  switch (holder->type) {
#define LEDGER_TYPE(name, number, bytes, word, numpy) \
  case SITU_##name:                                   \
    return word;
    SITU_TYPES(LEDGER_TYPE)
#undef LEDGER_TYPE
    case SITU_NO_TYPE:
      break;
  }
  return "";
}

const char *ledger_word(enum ledger_kind kind) {
  static const char *const words[] = {
#define LEDGER_KIND(name, word) [LEDGER_##name] = word,
      LEDGER_KINDS(LEDGER_KIND)
#undef LEDGER_KIND
  };
  return words[kind];
}
