/* SPDX-License-Identifier: Apache-2.0
 * oom.c: the out-of-memory error of a device, with suggestions. */
#include "device/oom.h"

#include <stdlib.h>
#include <string.h>

enum { TOP = 5 };

/* All that one op holds in one shape. */
struct share {
  const struct allocation_log_holder *holder;
  uint64_t bytes;
  int32_t pieces;
};

struct shares {
  const struct allocation_log *allocation_log;
  struct share *list;
  int32_t count, capacity;
};

static void add_share(void *context, const struct bfc_view *view) {
  struct shares *shares = context;
  if (!view->used || shares->count == shares->capacity) return;
  shares->list[shares->count++] =
      (struct share){.holder = allocation_log_holder(shares->allocation_log, view->piece.handle),
                     .bytes = view->piece.size,
                     .pieces = 1};
}

static int compare_dims(const situ_shape *a, const situ_shape *b) {
  if (a->rank != b->rank) return a->rank < b->rank ? -1 : 1;
  for (int i = 0; i < a->rank && i < SITU_MAX_RANK; i++)
    if (a->dim[i] != b->dim[i]) return a->dim[i] < b->dim[i] ? -1 : 1;
  return 0;
}

static int compare_holders(const struct allocation_log_holder *a,
                           const struct allocation_log_holder *b) {
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

static void add_holders(struct strbuf *text, const struct oom *oom, const struct bfc_stats *stats) {
  struct shares shares = {.allocation_log = oom->allocation_log, .capacity = stats->n_pieces};
  shares.list = stats->n_pieces ? calloc((size_t)stats->n_pieces, sizeof *shares.list) : NULL;
  if (!shares.list) return;
  bfc_visit(oom->bfc, add_share, &shares);
  join_shares(&shares);
  strbuf_append(text, "\n  held by");
  for (int32_t i = 0; i < shares.count && i < TOP; i++) {
    const struct share *share = &shares.list[i];
    char bytes[32];
    strbuf_appendf(text, "\n    %10s  %s ", strbuf_format_bytes(share->bytes, bytes),
                   share->holder->op[0] ? share->holder->op : "(not named)");
    allocation_log_append_shape(text, share->holder);
    if (share->holder->type) strbuf_appendf(text, " %s", allocation_log_type_name(share->holder));
    if (share->pieces > 1) strbuf_appendf(text, ", %d pieces", share->pieces);
  }
  if (shares.count > TOP) strbuf_appendf(text, "\n    and %d more", shares.count - TOP);
  free(shares.list);
}

static void add_first_line(struct strbuf *text, const struct oom *oom) {
  struct allocation_log_holder who;
  char bytes[32];
  allocation_log_make_holder(oom->tag, &who);
  if (who.type != SITU_NO_TYPE) {
    strbuf_append(text, "OOM when allocating tensor with ");
    allocation_log_append_shape(text, &who);
    strbuf_appendf(text, " and type %s", allocation_log_type_name(&who));
  } else {
    strbuf_appendf(text, "OOM when allocating %s", strbuf_format_bytes(oom->bytes, bytes));
  }
  strbuf_appendf(text, " on %s by allocator %s", oom->device_name, oom->allocator_name);
  strbuf_appendf(text, "\n  asked for: %s", strbuf_format_bytes(oom->bytes, bytes));
  if (who.op[0]) strbuf_appendf(text, " by %s", who.op);
  if (who.step) strbuf_appendf(text, " in step %lld", (long long)who.step);
}

/* The most bytes that one piece could get: the largest hole, or what is not yet taken where the
 * device gives it. */
static uint64_t largest_piece(const struct oom *oom, const struct bfc_stats *stats) {
  const uint64_t more = stats->limit - stats->reserved + stats->idle;
  return !oom->refused && more > stats->largest_free ? more : stats->largest_free;
}

static void add_figures(struct strbuf *text, const struct oom *oom, const struct bfc_stats *stats) {
  char a[32], b[32], c[32], d[32];
  const uint64_t left = stats->limit - stats->in_use;
  strbuf_appendf(text, "\n  limit: %s, in use: %s, peak: %s, taken from the device: %s",
                 strbuf_format_bytes(stats->limit, a), strbuf_format_bytes(stats->in_use, b),
                 strbuf_format_bytes(stats->peak, c), strbuf_format_bytes(stats->reserved, d));
  strbuf_appendf(text,
                 "\n  largest free piece: %s: ", strbuf_format_bytes(largest_piece(oom, stats), a));
  if (oom->refused)
    strbuf_appendf(text, "the device itself refused %s more", strbuf_format_bytes(oom->refused, b));
  else if (oom->bytes <= left)
    strbuf_appendf(text, "fragmentation, %s are free in pieces", strbuf_format_bytes(left, b));
  else
    strbuf_appendf(text, "too little memory, %s are missing",
                   strbuf_format_bytes(oom->bytes - left, b));
}

/* The way out where the limit is what is in the way and `need` bytes in all would do. */
static void add_limit_advice(struct strbuf *text, const struct oom *oom, uint64_t need) {
  char now[32], then[32];
  const double part = oom->total ? (double)need / (double)oom->total : 0.0;
  const struct memory_options *options = oom->options;
  if (oom->bound == BOUND_FRACTION && need <= oom->total)
    strbuf_appendf(text, "raise per_process_gpu_memory_fraction from %g to at least %.3f",
                   options->fraction, part + 0.0005);
  else if (oom->bound == BOUND_RESERVE && need <= oom->available)
    strbuf_appendf(text, "lower reserve_bytes from %s to at most %s",
                   strbuf_format_bytes(options->reserve_bytes, now),
                   strbuf_format_bytes(oom->available - need, then));
  else if (oom->bound == BOUND_LIMIT && need <= oom->available)
    strbuf_appendf(text, "raise limit_bytes from %s to at least %s",
                   strbuf_format_bytes(options->limit_bytes, now), strbuf_format_bytes(need, then));
  else if (oom->bound == BOUND_DEFAULT && need <= oom->available)
    strbuf_appendf(text, "set limit_bytes to at least %s", strbuf_format_bytes(need, then));
  else
    strbuf_appendf(text, "use a smaller batch: %s are needed and the device has %s",
                   strbuf_format_bytes(need, then), strbuf_format_bytes(oom->total, now));
}

/* The one option to change. */
static void add_advice(struct strbuf *text, const struct oom *oom, const struct bfc_stats *stats) {
  strbuf_append(text, "\n  to change: ");
  if (oom->bytes > stats->limit - stats->in_use)
    add_limit_advice(text, oom, stats->in_use + round_up(oom->bytes, BFC_ALIGNMENT));
  else if (oom->refused)
    strbuf_append(text,
                  "end other programs that hold memory of this device, or use a smaller batch");
  else if (oom->options->growth)
    strbuf_append(text, "set allow_growth to false, so that the memory is one piece");
  else
    strbuf_append(text, "use a smaller batch, so that the pieces in use are smaller");
}

situ_status oom_status(const struct oom *oom) {
  struct strbuf text = {0};
  struct bfc_stats stats;
  bfc_stats(oom->bfc, &stats);
  add_first_line(&text, oom);
  add_figures(&text, oom, &stats);
  add_holders(&text, oom, &stats);
  add_advice(&text, oom, &stats);
  const situ_status status =
      text.failed ? NO_MEMORY()
                  : situ_status_create(SITU_RESOURCE_EXHAUSTED, "%s", strbuf_get(&text));
  strbuf_free(&text);
  return status;
}
