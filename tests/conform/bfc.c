/* SPDX-License-Identifier: Apache-2.0
 * bfc.c: replays a trace on the reference policy of the allocator and prints what happened. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "conform/conform.h"
#include "device/bfc.h"

/* What lives under an id of the trace. */
struct held {
  int64_t id;
  struct bfc_chunk piece;
  bool live;
};

/* A driver with a capacity, and the events so far. */
struct replay {
  struct strbuf *out;
  struct bfc *bfc;
  uint64_t capacity, taken, end;
  bool any; /* an event was written */
  struct held *held;
  int n_held;
};

static void event(struct replay *replay) {
  strbuf_append(replay->out, replay->any ? ", " : "");
  replay->any = true;
}

/* A new region starts after the last one, rounded up to a page, plus 1 MiB. */
static bool take(void *context, size_t bytes, void **region, uint64_t *address) {
  struct replay *replay = context;
  event(replay);
  if (bytes > replay->capacity - replay->taken) {
    strbuf_appendf(replay->out, "[\"deny\", %zu]", bytes);
    return false;
  }
  *address = replay->end ? round_up(replay->end, 4096) + (1u << 20) : 0;
  *region = NULL;
  replay->end = *address + bytes;
  replay->taken += bytes;
  strbuf_appendf(replay->out, "[\"region\", %" PRIu64 ", %zu]", *address, bytes);
  return true;
}

static void give(void *context, void *region, uint64_t address, size_t bytes) {
  struct replay *replay = context;
  (void)region;
  replay->taken -= bytes;
  if (!replay->bfc) return; /* the end of the trace is no event */
  event(replay);
  strbuf_appendf(replay->out, "[\"unregion\", %" PRIu64 ", %zu]", address, bytes);
}

static struct held *find(struct replay *replay, int64_t id) {
  for (int i = replay->n_held; i-- > 0;)
    if (replay->held[i].id == id) return &replay->held[i];
  return NULL;
}

static void replay_alloc(struct replay *replay, int64_t id, int64_t bytes) {
  struct held *held = &replay->held[replay->n_held++];
  held->id = id;
  held->live = bfc_alloc(replay->bfc, bytes > 0 ? (size_t)bytes : 0, &held->piece);
  event(replay);
  if (held->live)
    strbuf_appendf(replay->out, "[\"ptr\", %" PRId64 ", %" PRIu64 ", %zu, %zu]", id,
                   held->piece.address, held->piece.size, held->piece.requested);
  else
    strbuf_appendf(replay->out, "[\"ptr\", %" PRId64 ", \"null\"]", id);
}

static void replay_free(struct replay *replay, int64_t id) {
  struct held *held = find(replay, id);
  if (held && held->live) held->live = !bfc_free(replay->bfc, &held->piece);
}

static void replay_stats(struct replay *replay) {
  struct bfc_stats stats;
  bfc_stats(replay->bfc, &stats);
  event(replay);
  strbuf_appendf(
      replay->out,
      "[\"stats\", %" PRId64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64 "]",
      stats.allocations, stats.in_use, stats.peak, stats.largest, stats.limit, stats.reserved);
}

static void replay_op(struct replay *replay, const struct json *op) {
  const char *verb = json_string(json_at(op, 0), "");
  const int64_t id = json_integer(json_at(op, 1), 0);
  if (!strcmp(verb, "alloc")) replay_alloc(replay, id, json_integer(json_at(op, 2), 0));
  if (!strcmp(verb, "free")) replay_free(replay, id);
  if (!strcmp(verb, "stats")) replay_stats(replay);
}

void conform_bfc(const struct json *test, struct strbuf *out) {
  const struct json *ops = json_get(test, "ops");
  const struct bfc_options options = {
      .limit = (uint64_t)json_integer(json_get(test, "limit"), 0),
      .growth = json_bool(json_get(test, "allow_growth"), false),
      .reference = true,
      .collect = json_bool(json_get(test, "gc"), false),
      .fragmentation_fraction = json_number(json_get(test, "fragmentation_fraction"), 0.0)};
  struct replay replay = {.out = out,
                          .capacity = (uint64_t)json_integer(json_get(test, "capacity"), 0)};
  const struct bfc_sub_allocator source = {.context = &replay, .alloc = take, .free = give};
  struct bfc *bfc = bfc_create(&options, source);
  replay.held = calloc(ops ? (size_t)ops->count + 1 : 1, sizeof *replay.held);
  replay.bfc = bfc;
  strbuf_append(out, "[");
  if (bfc && replay.held)
    for (const struct json *op = json_first(ops); op; op = op->next) replay_op(&replay, op);
  strbuf_append(out, "]");
  replay.bfc = NULL;
  bfc_destroy(bfc);
  free(replay.held);
}
