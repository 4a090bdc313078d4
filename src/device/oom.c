/* SPDX-License-Identifier: Apache-2.0
 * oom.c: the error of a device that has not enough memory: one screen that names the way out. */
#include "device/oom.h"

#include <stdlib.h>
#include <string.h>

enum { TOP = 5 };

/* All that one op holds in one shape. */
struct share {
  const struct ledger_holder *holder;
  uint64_t bytes;
  int32_t pieces;
};

struct shares {
  const struct ledger *ledger;
  struct share *list;
  int32_t count, capacity;
};

static void add_share(void *context, const struct bfc_view *view) {
  struct shares *shares = context;
  if (!view->used || shares->count == shares->capacity) return;
  shares->list[shares->count++] =
      (struct share){.holder = ledger_holder(shares->ledger, view->piece.handle),
                     .bytes = view->piece.size,
                     .pieces = 1};
}

static int compare_dims(const situ_shape *a, const situ_shape *b) {
  if (a->rank != b->rank) return a->rank < b->rank ? -1 : 1;
  for (int i = 0; i < a->rank && i < SITU_MAX_RANK; i++)
    if (a->dim[i] != b->dim[i]) return a->dim[i] < b->dim[i] ? -1 : 1;
  return 0;
}

static int compare_holders(const struct ledger_holder *a, const struct ledger_holder *b) {
  const int by_name = strcmp(a->op, b->op);
  if (by_name) return by_name;
  if (a->type != b->type) return a->type < b->type ? -1 : 1;
  return a->type == SITU_NO_TYPE ? 0 : compare_dims(&a->shape, &b->shape);
}

static int by_holder(const void *a, const void *b) {
  const struct share *left = a, *right = b;
  return compare_holders(left->holder, right->holder);
}

static int by_bytes(const void *a, const void *b) {
  const struct share *left = a, *right = b;
  if (left->bytes != right->bytes) return left->bytes > right->bytes ? -1 : 1;
  return compare_holders(left->holder, right->holder);
}

/* Joins the shares of the same op, type and shape, and puts the largest first. */
static void join_shares(struct shares *shares) {
  int32_t kept = 0;
  qsort(shares->list, (size_t)shares->count, sizeof *shares->list, by_holder);
  for (int32_t i = 0; i < shares->count; i++) {
    struct share *last = kept ? &shares->list[kept - 1] : NULL;
    if (last && !compare_holders(last->holder, shares->list[i].holder)) {
      last->bytes += shares->list[i].bytes;
      last->pieces++;
    } else {
      shares->list[kept++] = shares->list[i];
    }
  }
  shares->count = kept;
  qsort(shares->list, (size_t)kept, sizeof *shares->list, by_bytes);
}

static void add_holders(struct text *text, const struct oom *oom, const struct bfc_stats *stats) {
  struct shares shares = {.ledger = oom->ledger, .capacity = stats->n_pieces};
  shares.list = stats->n_pieces ? calloc((size_t)stats->n_pieces, sizeof *shares.list) : NULL;
  if (!shares.list) return;
  bfc_walk(oom->bfc, add_share, &shares);
  join_shares(&shares);
  text_add(text, "\n  held by");
  for (int32_t i = 0; i < shares.count && i < TOP; i++) {
    const struct share *share = &shares.list[i];
    char bytes[32];
    text_addf(text, "\n    %10s  %s ", text_bytes(share->bytes, bytes),
              share->holder->op[0] ? share->holder->op : "(not named)");
    ledger_add_shape(text, share->holder);
    if (share->holder->type) text_addf(text, " %s", ledger_type(share->holder));
    if (share->pieces > 1) text_addf(text, ", %d pieces", share->pieces);
  }
  if (shares.count > TOP) text_addf(text, "\n    and %d more", shares.count - TOP);
  free(shares.list);
}

static void add_first_line(struct text *text, const struct oom *oom) {
  struct ledger_holder who;
  char bytes[32];
  ledger_copy(oom->tag, &who);
  if (who.type != SITU_NO_TYPE) {
    text_add(text, "OOM when allocating tensor with ");
    ledger_add_shape(text, &who);
    text_addf(text, " and type %s", ledger_type(&who));
  } else {
    text_addf(text, "OOM when allocating %s", text_bytes(oom->bytes, bytes));
  }
  text_addf(text, " on %s by allocator %s", oom->device_name, oom->allocator_name);
  text_addf(text, "\n  asked for: %s", text_bytes(oom->bytes, bytes));
  if (who.op[0]) text_addf(text, " by %s", who.op);
  if (who.step) text_addf(text, " in step %lld", (long long)who.step);
}

/* The most bytes that one piece could get: the largest hole, or what is not yet taken where the
 * device gives it. */
static uint64_t largest_piece(const struct oom *oom, const struct bfc_stats *stats) {
  const uint64_t more = stats->limit - stats->reserved + stats->idle;
  return !oom->refused && more > stats->largest_free ? more : stats->largest_free;
}

static void add_figures(struct text *text, const struct oom *oom, const struct bfc_stats *stats) {
  char a[32], b[32], c[32], d[32];
  const uint64_t left = stats->limit - stats->in_use;
  text_addf(text, "\n  limit: %s, in use: %s, peak: %s, taken from the device: %s",
            text_bytes(stats->limit, a), text_bytes(stats->in_use, b), text_bytes(stats->peak, c),
            text_bytes(stats->reserved, d));
  text_addf(text, "\n  largest free piece: %s: ", text_bytes(largest_piece(oom, stats), a));
  if (oom->refused)
    text_addf(text, "the device itself refused %s more", text_bytes(oom->refused, b));
  else if (oom->bytes <= left)
    text_addf(text, "fragmentation, %s are free in pieces", text_bytes(left, b));
  else
    text_addf(text, "too little memory, %s are missing", text_bytes(oom->bytes - left, b));
}

/* The way out where the limit is what is in the way and `need` bytes in all would do. */
static void add_limit_advice(struct text *text, const struct oom *oom, uint64_t need) {
  char now[32], then[32];
  const double part = oom->total ? (double)need / (double)oom->total : 0.0;
  const struct memory_options *options = oom->options;
  if (oom->bound == BOUND_FRACTION && need <= oom->total)
    text_addf(text, "raise per_process_gpu_memory_fraction from %g to at least %.3f",
              options->fraction, part + 0.0005);
  else if (oom->bound == BOUND_RESERVE && need <= oom->available)
    text_addf(text, "lower reserve_bytes from %s to at most %s",
              text_bytes(options->reserve_bytes, now), text_bytes(oom->available - need, then));
  else if (oom->bound == BOUND_LIMIT && need <= oom->available)
    text_addf(text, "raise limit_bytes from %s to at least %s",
              text_bytes(options->limit_bytes, now), text_bytes(need, then));
  else if (oom->bound == BOUND_DEFAULT && need <= oom->available)
    text_addf(text, "set limit_bytes to at least %s", text_bytes(need, then));
  else
    text_addf(text, "use a smaller batch: %s are needed and the device has %s",
              text_bytes(need, then), text_bytes(oom->total, now));
}

/* The one option to change. */
static void add_advice(struct text *text, const struct oom *oom, const struct bfc_stats *stats) {
  text_add(text, "\n  to change: ");
  if (oom->bytes > stats->limit - stats->in_use)
    add_limit_advice(text, oom, stats->in_use + round_up(oom->bytes, BFC_UNIT));
  else if (oom->refused)
    text_add(text, "end other programs that hold memory of this device, or use a smaller batch");
  else if (oom->options->growth)
    text_add(text, "set allow_growth to false, so that the memory is one piece");
  else
    text_add(text, "use a smaller batch, so that the pieces in use are smaller");
}

situ_status oom_status(const struct oom *oom) {
  struct text text = {0};
  struct bfc_stats stats;
  bfc_stats(oom->bfc, &stats);
  add_first_line(&text, oom);
  add_figures(&text, oom, &stats);
  add_holders(&text, oom, &stats);
  add_advice(&text, oom, &stats);
  const situ_status status =
      text.failed ? NO_MEMORY()
                  : situ_status_create(SITU_RESOURCE_EXHAUSTED, "%s", text_get(&text));
  text_free(&text);
  return status;
}
